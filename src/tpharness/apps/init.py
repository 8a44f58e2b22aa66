"""`tpharness app init`: ask an application once, and write down what was seen of it.

In: its address, and the command that starts it if it does not run already. Out: the profile that it understands, the
model API, the tools, what it does when its client leaves, and a table for `tpharness.toml`. No tool is called.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from tpharness.apps.cases.basic import basic_cases
from tpharness.apps.client import PROFILES, find_profile
from tpharness.apps.client.session import posts_to
from tpharness.apps.config import LEDGER, AppConfig, require_loopback
from tpharness.apps.contact import Contact, first_contact
from tpharness.apps.effects import MountedLedger
from tpharness.apps.evidence import AppEvidence
from tpharness.apps.marks import call_id, new_mark
from tpharness.apps.play import Player
from tpharness.apps.probe import Address, AddressKey, Chatted, chat_on_two_pages, find_addresses
from tpharness.apps.process import EXITED, AppProcess, until_it_listens
from tpharness.apps.provider.server import Provider
from tpharness.apps.trouble import find_trouble, turn_trouble
from tpharness.errors import TargetError, UsageError
from tpharness.output import write_atomically
from tpharness.project_file import read_project_file
from tpharness.targets.server_process import free_port

__all__ = ["Described", "describe_application", "require_new_table", "write_table"]

_EXAMPLE = 'command = ["npm", "start"]'
_MEANS: Mapping[AddressKey, str] = {
    "thread": "the view after a reload",
    "resume": "the answer that still streams, after a reload",
    "stop": "the stop button",
}
_EXIT_SECONDS = 0.5  # until the end of a process is known whose connections are gone
_ORDER = (
    "ai-sdk",
    "last-message",
    "mastra",
    "ag-ui",
    "ai-sdk-text",
    "chat-completions",
    "responses",
    "langgraph",
    "adk",
    "agno",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """An application as it was seen: the name and text of its table, lines for people, the tools that it offers."""

    name: str
    table: str
    lines: Sequence[str]
    tools: Sequence[str] = ()


def describe_application(
    config: AppConfig, *, owned: str | None = None, on_ready: Callable[[dict[str, str]], None] | None = None
) -> Described:
    """Ask the application with one profile after the other until one reaches the model.

    TargetError with what the application did where none does.
    """
    require_loopback(config, owned=owned)
    return asyncio.run(_describe(config, on_ready))


def require_new_table(file: Path, config: AppConfig) -> None:
    """UsageError where the file has a table of the name that this application gets; InputError where it is not TOML."""
    name = _table_name(config)
    apps = read_project_file(file).get("apps", {}) if file.exists() else {}
    if not isinstance(apps, dict):
        raise UsageError(f"{file}: apps is not a table", hint="each application is a table [apps.NAME]")
    if name in apps:
        raise UsageError(f"{file} has a table [apps.{_key(name)}] already", hint="rename it, or change it by hand")


def write_table(file: Path, found: Described) -> None:
    """Append the table to a file, made where there is none."""
    text = file.read_text("utf-8") if file.exists() else ""
    write_atomically(str(file), f"{text.rstrip()}\n\n{found.table}".lstrip("\n"))


async def _describe(config: AppConfig, on_ready: Callable[[dict[str, str]], None] | None) -> Described:
    given = config
    if "{port}" in config.url:
        config = config.on_port(free_port())
    async with AsyncExitStack() as stack:
        provider = await stack.enter_async_context(Provider(port=config.provider_port))
        environment = provider.environment()
        if config.effects == LEDGER:  # an application may ask for its tools when it starts
            port = config.provider_port and config.provider_port + 1
            mounted = await stack.enter_async_context(MountedLedger(config.allow, port=port))
            environment = {**environment, **mounted.environment}
        session = await stack.enter_async_context(
            aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, force_close=True),
                timeout=aiohttp.ClientTimeout(total=None),
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        )
        if on_ready is not None:
            on_ready(environment)
        if not config.command:
            await until_it_listens(config)
            return await _ask(given, config, provider, session)
        process = await stack.enter_async_context(AppProcess(config, environment))
        try:
            return await _ask(given, config, provider, session)
        except TargetError as error:
            if not await process.has_exited(_EXIT_SECONDS):
                raise
            hint = EXITED.remedy
            raise TargetError(f"{EXITED.title}: {process.last_end}", hint=hint) from error


async def _ask(given: AppConfig, config: AppConfig, provider: Provider, session: aiohttp.ClientSession) -> Described:
    """Ask with one profile after the other; `config` is what was `given`, on its port."""
    refused: list[str] = []
    for name in _ORDER if config.history == "client" else (config.history,):
        player = Player(replace(config, history=name), provider, session, find_profile(name))
        contact = await first_contact(player, new_mark())
        if contact.trouble is not None:
            refused.append(f"{name}: {contact.trouble.line()}; {contact.trouble.remedy}")
            continue
        missing = [tool for tool in config.allow if tool not in contact.tools]
        if missing:
            offered = ", ".join(sorted(contact.tools)) or "no tool"
            raise UsageError(
                f"the application does not offer its model the tool {missing[0]!r}", hint=f"it offers {offered}"
            )
        knows = await _remembers(player)
        chatted = await chat_on_two_pages(config, provider, session, find_profile(name))
        kept = _keeper(chatted, knows=knows, by_page=player.keeps_history)
        if chatted.server_keeps and player.keeps_history and config.history == "client":
            found, player = await _smaller(name, player, config, provider, session)
        else:
            found = name
        stops = await _stops(player)
        profile = find_profile(found)
        addresses = await find_addresses(config, session, chatted, profile)
        described = replace(given, history=found, url=posts_to(given.url, profile))
        table_name = _table_name(given)
        return _described(described, contact, refused, addresses, name=table_name, kept=kept, stops=stops)
    raise TargetError(f"{config.url}: no request profile reached the model", hint="\n  ".join(refused))


def _keeper(chatted: Chatted, *, knows: bool, by_page: bool) -> str:
    """Say who was seen to keep the history: `knows` is whether the second turn of a page knew the first."""
    if chatted.server_keeps or (knows and not by_page):
        return "the server keeps it: the model knew the first message when the second was posted alone"
    if not knows:
        return "nobody was seen to keep it: the second turn did not know the first"
    if not chatted.asked:
        return "not seen who keeps it: a second page that posted its message alone did not reach the model"
    return "the page keeps it: posted alone, by a second page, the second message came to the model without the first"


async def _smaller(
    name: str, player: Player, config: AppConfig, provider: Provider, session: aiohttp.ClientSession
) -> tuple[str, Player]:
    """Return the first profile that posts only the last message, and whose history the server keeps; else the given."""
    for other in _ORDER:
        tried = Player(replace(config, history=other), provider, session, find_profile(other))
        if tried.keeps_history or (await first_contact(tried, new_mark())).trouble is not None:
            continue
        if await _remembers(tried):
            return other, tried
    return name, player


async def _remembers(player: Player) -> bool:
    """Whether the second turn of a chat tells the model of the first."""
    token = new_mark()
    evidence = await player.play(basic_cases(None, call_id(token))[0], token)
    _require_alive(evidence)
    later = evidence.turns[-1].asked
    return bool(later) and any(evidence.turns[0].says in message.text for message in later[0].history)


async def _stops(player: Player) -> bool:
    """Whether the application leaves the model's answer when its client leaves in a text."""
    token = new_mark()
    case = next(c for c in basic_cases(None, call_id(token)) if c.id == "user-leaves/in-text")
    evidence = await player.play(case, token)
    _require_alive(evidence)
    cut = evidence.turns[0].cut
    return cut is not None and cut.left_after is not None


def _require_alive(evidence: AppEvidence) -> None:
    """TargetError where the application did not play a case: nothing can be said of one that has ended."""
    trouble, last = find_trouble(evidence), evidence.turns[-1]
    if trouble is None and (last.reply is None or not last.reply.status):
        trouble = turn_trouble(last)
    if trouble is not None:
        raise TargetError(f"{evidence.case.title}: {trouble.line()}", hint=trouble.remedy)


def _table_name(config: AppConfig) -> str:
    return (urlsplit(config.url).path.strip("/").replace("/", "-") or "chat").removeprefix("api-")


def _key(name: str) -> str:
    """Return a name as a key of TOML: in quotes unless it is a bare key, since a dot would begin another table."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


def _described(
    config: AppConfig,
    contact: Contact,
    refused: list[str],
    addresses: Sequence[Address],
    *,
    name: str,
    kept: str,
    stops: bool,
) -> Described:
    tools = sorted(contact.tools)
    allowed = f"allowed: {', '.join(config.allow)}" if config.allow else "none is allowed in the table"
    lines = [
        f"model API       {contact.api}",
        f"history         {config.history}; {kept}",
        f"on_disconnect   {_leaving(config, stops=stops)}",
        *(f"{one.key:<16}{'' if one.found else 'not found: '}{one.text} {one.said}" for one in addresses),
        f"tools           {', '.join(tools) or 'none'}; none was called, and {allowed}",
        *(f"refused         {line}" for line in refused),
    ]
    started = f"command = {json.dumps(list(config.command), ensure_ascii=False)}"
    known = f"tpharness-known-{re.sub(r'[^A-Za-z0-9-]', '-', name)}.yaml"
    table = [
        f"[apps.{_key(name)}]",
        started
        if config.command
        else '# command = ["npm", "start"]                # uncomment to let tpharness start it',
        f"url = {json.dumps(config.url)}",
        *([f"provider_port = {config.provider_port}"] if config.provider_port else []),
        f"history = {json.dumps(config.history)}                     # one of: client, {', '.join(PROFILES)}",
        *([f"client = {json.dumps(config.client)}"] if config.client is not None else []),
        _on_disconnect_line(config, stops=stops),
        *(_address_line(one) for one in addresses),
        f"tools = {{{_tools_text(config)}}}                      # it offers: {', '.join(tools) or 'none'}",
        "# regenerate = true                        # the page has a button for another answer",
        "# edit = true                              # a message can be edited",
        *_effects_lines(config),
        *([f"concurrency = {config.concurrency}"] if config.concurrency is not None else []),
        f'fail_on = "{config.fail_on}"                         # "should" fails also what breaks a SHOULD',
        f"baseline = {json.dumps(config.baseline)}"
        if config.baseline is not None
        else f'# baseline = "{known}"     # what is known to fail, as --write-baseline {known} writes it',
    ]
    return Described(name=name, table="\n".join(table) + "\n", lines=lines, tools=tuple(tools))


def _address_line(one: Address) -> str:
    line = f"{one.key} = {json.dumps(one.text, ensure_ascii=False)}"
    if one.found:
        return f"{line}     # {_MEANS[one.key]}; it {one.said}"
    return f"# {line}     # {_MEANS[one.key]}, if it has an address; this one {' '.join(one.said.split())}"


def _leaving(config: AppConfig, *, stops: bool) -> str:
    """Say what was seen when the client left, and what is declared: what was seen may be the mistake."""
    seen, did = (
        ("stop", "it stopped when its client left") if stops else ("continue", "it went on when its client left")
    )
    if config.on_disconnect is None:
        return f"not declared; {did}. Say in the table which of the two you mean"
    if config.on_disconnect == seen:
        return f"{seen}, and {did}"
    return f"{config.on_disconnect}, but {did}: the cases `user-leaves` will find that"


def _on_disconnect_line(config: AppConfig, *, stops: bool) -> str:
    did = "it stopped when its client left" if stops else "it went on when its client left"
    if config.on_disconnect is None:
        return f'# on_disconnect = "…"                      # decide: "stop" or "continue"; {did}'
    return f"on_disconnect = {json.dumps(config.on_disconnect)}                # {did}"


def _effects_lines(config: AppConfig) -> list[str]:
    if config.effects is not None:
        return [f"effects = {json.dumps(config.effects)}"]
    return [
        "# Effects are not counted: a booking that is forgotten or made twice may not be seen. One of the two:",
        '# effects = "wc -l < effects.txt"          # prints how often a tool has run',
        '# effects = "ledger"                       # tpharness serves the tool',
    ]


def _tools_text(config: AppConfig) -> str:
    """Return what the table says of tools: which are allowed, and the arguments that were given for them."""
    allow = f"allow = {json.dumps(list(config.allow), ensure_ascii=False)}"
    args = {name: [dict(one) for one in some] for name, some in config.args.items()}
    given = {name: some[0] if len(some) == 1 else some for name, some in args.items()}
    return f"{allow}, args = {_toml(given)}" if given else allow


def _toml(value: Any) -> str:
    """Return a JSON value as an inline value of TOML. UsageError for null, which TOML does not have."""
    if value is None:
        raise UsageError("tpharness.toml cannot say null in the arguments of a tool", hint="leave the argument out")
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(str(key))} = {_toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
