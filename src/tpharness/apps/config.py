"""`tpharness.toml`: the applications of a repository, each a table `[apps.NAME]`.

In: the file, or an address and options. Out: `AppConfig`. Everything that is wrong with it is a UsageError that names
the file, the table and the key, and says what is allowed.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urljoin, urlsplit

from tpharness.apps.client import Addresses, Route, require_known_client
from tpharness.errors import InputError, UsageError, did_you_mean
from tpharness.findings import quote
from tpharness.project_file import PROJECT_FILE, check_keys, find_project_file, read_project_file
from tpharness.targets.children import split_command
from tpharness.targets.endpoint import is_loopback

__all__ = [
    "CONFIG_FILE",
    "LAST_PORT",
    "LEDGER",
    "AppConfig",
    "arguments_of",
    "config_of_url",
    "load_config",
    "require_loopback",
]

CONFIG_FILE = PROJECT_FILE
LEDGER = "ledger"
"""The value of `effects` with which tools of ours are served to the application, which know when they ran."""
LAST_PORT = 65533
"""The last port that the model's API may have: the two after it are those of the ledger and of MCP."""
_TRIMS = ("messages", "tools")
_METHODS = ("GET", "POST", "PUT", "DELETE")


@dataclass(frozen=True, slots=True, kw_only=True)
class AppConfig:
    """One application.

    `command` starts it in `run_folder`, empty where it runs already; `{port}` in `url` and `command` is a free port.
    `file` describes it, None where the command line does; `folder` is that of the file, `cwd` another one for the
    process and for `effects`, made where it does not exist.
    `history` names the request profile, `client` the real client that posts, None for our own. `on_disconnect` is what
    the application means to do when its client leaves, None if nothing is declared. `stop`, `thread` and `resume` are
    routes such as `POST /api/chat/{id}/stop`; `stop_body` is the JSON object that the stop button posts. `regenerate`
    says whether the page has a button for another answer, which posts as `regenerate()` of `useChat` does; `edit`
    whether a message can be edited there, which posts as `sendMessage()` does with the id of a message. `trims` is what
    the application leaves out of a long chat on purpose: "messages", the oldest ones, sent as a summary or not at all;
    "tools", the calls of earlier turns with their results, or the contents of these. `outcome_unknown` are the texts by
    which it tells its model that nobody knows whether a tool has run. `framework` is what the application is built on,
    "" for what it calls itself to its model's API. `allow` are the
    tools that may be called, `args` their arguments: those of a first call, and perhaps other ones of a second.
    `effects` is a shell command that prints how often a tool has run, or `LEDGER`. `headers` and `body` are sent with
    every post. `fail_on` is the weakest level of a finding that fails its case. `concurrency` is how many cases run at
    once, None to leave that to the engine. Seconds: `ready` until it listens, `answer` for one answer, `stop_within`
    until a run that is to stop has stopped, `quiet` without a chunk until the client's stream counts as quiet.
    """

    name: str
    url: str
    command: tuple[str, ...] = ()
    history: str = "client"
    client: str | None = None
    on_disconnect: Literal["stop", "continue"] | None = None
    stop: str | None = None
    stop_body: Mapping[str, Any] = field(default_factory=dict)
    thread: str | None = None
    resume: str | None = None
    regenerate: bool = False
    edit: bool = False
    trims: tuple[str, ...] = ()
    outcome_unknown: tuple[str, ...] = ()
    framework: str = ""
    allow: tuple[str, ...] = ()
    args: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)
    effects: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    other_headers: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    folder: Path = Path()
    file: Path | None = None
    cwd: str = "."
    baseline: str | None = None
    fail_on: Literal["must", "should"] = "must"
    provider_port: int = 0
    concurrency: int | None = None
    ready: float = 60.0
    answer: float = 30.0
    stop_within: float = 1.0
    quiet: float = 0.03

    @property
    def port(self) -> int:
        """The port of the address."""
        parts = urlsplit(self.url)
        return parts.port or (443 if parts.scheme == "https" else 80)

    @property
    def host(self) -> str:
        """The host of the address."""
        return urlsplit(self.url).hostname or ""

    @property
    def run_folder(self) -> Path:
        """The folder in which the application and the effects command run."""
        return self.folder / self.cwd

    @property
    def effects_command(self) -> str | None:
        """The shell command that counts effects, None without one."""
        return None if self.effects == LEDGER else self.effects

    @property
    def baseline_path(self) -> Path | None:
        """The file of known failures, None without one."""
        return None if self.baseline is None else self.folder / self.baseline

    @property
    def unseen(self) -> str:
        """What a run with these settings cannot see, and what to set; "" where it sees all that it can."""
        said = []
        if not self.allow:
            said.append(
                "No tool may be called, so that nothing is known of what an interruption does to one: allow a harmless"
                ' one, tools = {allow = ["NAME"]}.'
            )
        elif self.effects is None:
            said.append(
                "Effects are not counted: a booking that is forgotten or made twice may not be seen. Set effects, to a"
                ' command that counts them or to "ledger".'
            )
        if self.allow and self.effects != LEDGER:
            said.append(
                "Without the ledger nobody knows the result of a call: that two calls at once get each other's, for the"
                ' model and on the page alike, is not seen (effects = "ledger").'
            )
        if self.on_disconnect is None:
            said.append(
                "What a run is to do when its user leaves is not declared, and not judged: set on_disconnect, to"
                ' "stop" or "continue".'
            )
        return " ".join(said)

    @property
    def addresses(self) -> Addresses:
        """The addresses as the client wants them."""
        return self.addresses_of()

    def addresses_of(self, *, other_user: bool = False) -> Addresses:
        """Return the addresses with the headers of the user, or of another one."""
        return Addresses(
            chat=self.url,
            stop=self._route(self.stop, self.stop_body),
            thread=self._route(self.thread),
            resume=self._route(self.resume),
            headers={**self.headers, **(self.other_headers if other_user else {})},
        )

    def on_port(self, port: int) -> AppConfig:
        """Return the same application with `{port}` filled in."""
        command = tuple(word.replace("{port}", str(port)) for word in self.command)
        return replace(self, url=self.url.replace("{port}", str(port)), command=command)

    def _route(self, text: str | None, body: Mapping[str, Any] | None = None) -> Route | None:
        if text is None:
            return None
        method, _, path = text.partition(" ")
        return Route(method=method, url=urljoin(self.url, path), body=body if method == "POST" else None)


_TABLE = {f.name: f for f in fields(AppConfig) if f.name not in ("name", "allow", "args", "file", "folder")}
_KEYS = (*_TABLE, "tools")
_TEXT = ((str,), "a string")
_OBJECT = ((dict,), "a table")
_SWITCH = ((bool,), "true or false")
_COUNT = ((int,), "a whole number")
_NUMBER = ((int, float), "a number")
_KINDS: Mapping[str, tuple[tuple[type, ...], str]] = {
    "url": _TEXT,
    "history": _TEXT,
    "client": _TEXT,
    "on_disconnect": _TEXT,
    "stop": _TEXT,
    "stop_body": _OBJECT,
    "thread": _TEXT,
    "resume": _TEXT,
    "regenerate": _SWITCH,
    "edit": _SWITCH,
    "trims": ((list,), "a list of words"),
    "outcome_unknown": ((list,), "a list of texts"),
    "framework": _TEXT,
    "effects": _TEXT,
    "headers": _OBJECT,
    "other_headers": _OBJECT,
    "body": _OBJECT,
    "env": _OBJECT,
    "cwd": _TEXT,
    "baseline": _TEXT,
    "fail_on": _TEXT,
    "provider_port": _COUNT,
    "concurrency": _COUNT,
    "ready": _NUMBER,
    "answer": _NUMBER,
    "stop_within": _NUMBER,
    "quiet": _NUMBER,
    "command": ((str, list), "a string or an array of strings"),
    "tools": _OBJECT,
}
_HINT = "`tpharness docs APPLICATIONS` has every key"
_ARGS_EXAMPLE = '{book_hotel = [{city = "Paris"}, {city = "Rome"}]}'


def load_config(name: str | None, path: Path | None = None) -> AppConfig:
    """Return the application of that name, the only one for None.

    It is in the file `path`, or in the nearest `tpharness.toml`, here or in a folder above.
    """
    here = Path(CONFIG_FILE)
    file = path or (here if here.exists() else find_project_file(Path.cwd()) or here)
    if not file.exists():
        hint = "`tpharness app init URL` writes one, or give the application's address: tpharness app http://…"
        raise InputError(f"{file}: {os.strerror(errno.ENOENT)}", hint=hint)
    apps = read_project_file(file).get("apps")
    if not isinstance(apps, dict) or not apps:
        raise UsageError(f"{file} has no table [apps.NAME]", hint="`tpharness app init URL` writes one")
    if name is None and len(apps) > 1:
        raise UsageError(f"{file} has {len(apps)} applications", hint=f"name one: {', '.join(apps)}")
    chosen = next(iter(apps)) if name is None else name
    if chosen not in apps:
        hint = did_you_mean(chosen, apps, f"it has {', '.join(apps)}")
        raise UsageError(f"{file} has no application {chosen!r}", hint=hint)
    table = apps[chosen]
    where = f"{file} [apps.{chosen}]"
    if not isinstance(table, dict):
        raise UsageError(f"{where} is {quote(table)}, expected a table", hint=_HINT)
    return _config(chosen, table, where, file.resolve())


def config_of_url(url: str, **options: Any) -> AppConfig:
    """Return an application that runs already, known by its address alone."""
    return _checked(AppConfig(name=url, url=url, **options), "the address")


def require_loopback(config: AppConfig, *, owned: str | None) -> None:
    """UsageError for an application on another machine, unless `owned` names just that host."""
    if is_loopback(config.host) or (owned is not None and owned == config.host):
        return
    raise UsageError(
        f"{config.url} is not on this machine, and the cases interrupt, repeat and call tools for real",
        hint=f"run the application here, or say that it is yours: --i-own-this-host {config.host}",
    )


def _config(name: str, table: Mapping[str, Any], where: str, file: Path) -> AppConfig:
    check_keys(table, _KEYS, where)
    for key, value in table.items():
        types, expected = _KINDS[key]
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            raise UsageError(f"{where}: {key} is {quote(value)}, expected {expected}", hint=_HINT)
    if "url" not in table:
        raise UsageError(
            f"{where} has no url", hint='the address that takes the posts: url = "http://127.0.0.1:3000/…"'
        )
    values: dict[str, Any] = {key: value for key, value in table.items() if key not in ("tools", "command")}
    command = table.get("command", ())
    values["trims"] = tuple(table.get("trims", ()))
    values["outcome_unknown"] = tuple(map(str, table.get("outcome_unknown", ())))
    values["command"] = tuple(split_command(command)) if isinstance(command, str) else tuple(map(str, command))
    tools = _tools(table.get("tools", {}), where)
    return _checked(AppConfig(name=name, file=file, folder=file.parent, **values, **tools), where)


def _tools(table: Mapping[str, Any], where: str) -> dict[str, Any]:
    unknown = sorted(set(table) - {"allow", "args"})
    allow, args = table.get("allow", []), table.get("args", {})
    if unknown:
        raise UsageError(f"{where}: tools has an unknown key {unknown[0]!r}", hint="known keys: allow, args")
    if not isinstance(allow, list) or not all(isinstance(tool, str) for tool in allow):
        raise UsageError(f"{where}: tools.allow is not a list of names", hint='allow = ["book_hotel"]')
    if not isinstance(args, dict):
        raise UsageError(
            f"{where}: tools.args is {quote(args)}, expected a table of tools", hint=f"args = {_ARGS_EXAMPLE}"
        )
    read = {name: arguments_of(value, f"{where}: tools.args.{name}") for name, value in args.items()}
    beside = sorted(set(args) - set(allow))
    if beside:
        hint = f"allow = [{', '.join(map(json.dumps, (*allow, beside[0])))}]"
        raise UsageError(f"{where}: tools.args names {beside[0]!r}, which tools.allow does not allow", hint=hint)
    return {"allow": tuple(allow), "args": read}


def arguments_of(value: Any, where: str) -> tuple[Mapping[str, Any], ...]:
    """Return the arguments that were given for a tool: one object, or a list of two that differ, for two calls.

    UsageError, which begins with `where`, for anything else.
    """
    given = value if isinstance(value, list) else [value]
    if not all(isinstance(one, dict) for one in given) or (isinstance(value, list) and len(value) != 2):
        raise UsageError(
            f"{where} is {quote(value)}, expected an object, or a list of two objects: for a first and a second call",
            hint=f"such as {_ARGS_EXAMPLE}",
        )
    if len(given) == 2 and given[0] == given[1]:
        raise UsageError(
            f"{where} has the same arguments twice, expected other ones for the second call",
            hint="with equal arguments results that change places are not seen; give two objects that differ, or one",
        )
    return tuple(given)


def _is_http_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is not a number below 65536, a host in half a pair of brackets
        return False


def _checked(config: AppConfig, where: str) -> AppConfig:
    if "{port}" in config.url and not config.command:
        raise UsageError(
            f"{where}: {{port}} in {config.url!r} needs a command",
            hint="give the port on which the application runs; {port} is a free one for an application that tpharness"
            f" starts with `command` in {CONFIG_FILE}",
        )
    if not _is_http_address(config.on_port(1).url):
        raise UsageError(
            f"{where}: {config.url!r} is not an http address", hint="such as http://127.0.0.1:3000/api/chat"
        )
    if config.on_disconnect not in (None, "stop", "continue"):
        raise UsageError(f"{where}: on_disconnect is {config.on_disconnect!r}", hint='"stop" or "continue"')
    if config.fail_on not in ("must", "should"):
        hint = '"should" fails also what breaks a SHOULD, such as a run that goes on after a stop'
        raise UsageError(f"{where}: fail_on is {config.fail_on!r}, expected must or should", hint=hint)
    unknown = [word for word in config.trims if word not in _TRIMS]
    if unknown:
        raise UsageError(
            f"{where}: trims has {quote(unknown[0])}, expected one of {', '.join(_TRIMS)}",
            hint='trims = ["messages"] tells the model only the end of a chat, ["tools"] leaves old calls out',
        )
    if not all(words.strip() for words in config.outcome_unknown):
        raise UsageError(
            f"{where}: outcome_unknown is {quote(list(config.outcome_unknown))}, expected texts with a word in them",
            hint='the result by which your application says it: outcome_unknown = ["The outcome is not known"]',
        )
    require_known_client(config.client, f"{where}: client")
    for key in ("stop", "thread", "resume"):
        route = getattr(config, key)
        if route is not None and (route.split(" ")[0] not in _METHODS or len(route.split(" ")) != 2):
            raise UsageError(
                f"{where}: {key} is {route!r}", hint=f'a method and a path: {key} = "GET /api/chat/{{id}}"'
            )
    if not 0 <= config.provider_port <= LAST_PORT:
        raise UsageError(
            f"{where}: provider_port is {config.provider_port}, expected 1 to {LAST_PORT}, or 0 for a free one",
            hint="the two ports after it are those of the ledger and of MCP",
        )
    for key in ("concurrency", "ready", "answer", "stop_within", "quiet"):
        if (given := getattr(config, key)) is not None and given <= 0:
            raise UsageError(f"{where}: {key} is {given}, expected a number above 0", hint=_HINT)
    return config
