"""`tpharness run --server ag-ui+http://…`: a server that has nothing but its AG-UI endpoint."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.markup import escape

from tpharness.apps.ag_ui.engine import CLIENT, run_posts
from tpharness.apps.ag_ui.options import PREFIX, PROMPT, PostOptions, address_of
from tpharness.apps.ag_ui.rules import rule_lines, rules_badge
from tpharness.certificate.summary import badge_picture
from tpharness.cli.files import read_json
from tpharness.cli.headers import parse_header
from tpharness.cli.options import Exit, given_options
from tpharness.cli.reports import take_all, written_on_every_way_out
from tpharness.cli.tracing import tracing
from tpharness.errors import UsageError
from tpharness.findings import Level, load_kinds
from tpharness.output import check_writable, json_text, write_atomically
from tpharness.printable import counted, make_printable, without_credentials
from tpharness.report import ConsoleReport, Destination, Report
from tpharness.report.terminal import make_console
from tpharness.targets.remote import Patience
from tpharness.trace.format import Traced
from tpharness.trace.secrets import secrets_of
from tpharness.verdict import Outcome
from tpharness.verdict.baseline_write import check_new_baseline

__all__ = ["Posted", "run_ag_ui_server"]

_GOES_WITH = (
    *("ids", "server", "report", "baseline", "write_baseline", "trace", "trace_to", "verbose", "quiet", "no_config"),
    *("first", "maxfail", "prompt", "header", "forwarded_props", "state", "tools", "context", "resume", "patience"),
    *("own_host", "badge"),
)
"""The options of `run` that say something here."""

_PLAYED = (Outcome.PASSED, Outcome.FAILED, Outcome.EXPECTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """What the options of `run` say about a server of AG-UI."""

    servers: Sequence[str]
    ids: Sequence[str] = ()
    prompts: Sequence[str] = ()
    headers: Sequence[str] = ()
    forwarded_props: Path | None = None
    state: Path | None = None
    tools: Path | None = None
    context: Path | None = None
    resume: Path | None = None
    patience: float | None = None
    owned: str | None = None
    badge: Path | None = None
    baseline: Path | None = None
    write_baseline: Path | None = None
    maxfail: int = 0
    trace: Traced = Traced.FAILED
    trace_to: Path = Path()
    verbosity: int = 0


def run_ag_ui_server(
    servers: Sequence[str], baseline: Path | None, *, console: bool, destinations: Sequence[Destination]
) -> None:
    """Play the cases, and exit with 0 where they passed. The other options are those of the running command."""
    said = _said(click.get_current_context().params, servers, baseline)
    _require_fitting_options()
    url, login = address_of(_only(said.servers), os.environ)
    headers = {**login, **dict(map(parse_header, said.headers))}
    forwarded = None if said.forwarded_props is None else read_json(str(said.forwarded_props))
    options = PostOptions(
        url=url,
        headers=headers,
        prompts=tuple(said.prompts) or (PROMPT,),
        forwarded_props=forwarded,
        state=None if said.state is None else read_json(str(said.state)),
        tools=_list_of(said.tools, "--tools", ("name", "description")),
        resume=None if said.resume is None else read_json(str(said.resume)),
        context=_list_of(said.context, "--context", ("description", "value")),
        ids=tuple(said.ids),
        baseline=said.baseline,
        owned=said.owned,
        maxfail=said.maxfail,
        record=said.trace is not Traced.NONE,
        patience=Patience().waiting(said.patience),
    )
    if said.badge is not None:
        _require_badge(said.badge)
    if said.write_baseline is not None:
        check_new_baseline(said.write_baseline, said.baseline)
    pipe = any(destination.path == "-" for destination in destinations)
    out = make_console(soft_wrap=True, stderr=pipe)
    shown = ConsoleReport(stderr=pipe, again=_alone(said), verbosity=said.verbosity) if console else None
    model = Report(trace=None if said.trace is Traced.NONE else said.trace_to)
    secrets = secrets_of(headers, dict(_texts(forwarded)))
    show_trace = partial(
        tracing, said.trace_to, said.trace, targets=[url], secrets=secrets, quiet=not console, stderr=pipe
    )
    with (
        written_on_every_way_out(destinations, lambda destination: destination.write(model)),
        show_trace() as traced,
    ):
        feed = partial(traced.feed, server=without_credentials(url), client=CLIENT)
        take_all(run_posts(options), model, shown, feed)
        if console and said.verbosity >= 0:
            for line in (*_advice(model), *_fates(model), "", *rule_lines(model.results)):
                out.print(escape(make_printable(line)))
        if said.badge is not None:
            _write_badge(said.badge, model)
        if said.write_baseline is not None:
            from tpharness.cli.after_run import write_new_baseline  # noqa: PLC0415

            write_new_baseline(said.write_baseline, model, said.baseline)
    if not console:
        from tpharness.cli.after_run import say_where_pages_are  # noqa: PLC0415

        say_where_pages_are(destinations, [model])
    raise Exit(0 if model.passed else 1)


def _only(servers: Sequence[str]) -> str:
    """Return the one server. UsageError for several, and for one that is not posted to."""
    if not servers or not servers[0].startswith(PREFIX):
        raise UsageError(
            "--prompt, --header, --forwarded-props, --state, --tools, --context, --resume, --badge and"
            " --i-own-this-host are about what is posted to a server of AG-UI",
            hint="name one: --server ag-ui+http://127.0.0.1:8000/agent",
        )
    if len(servers) > 1:
        raise UsageError("a server ag-ui+… is played by itself", hint="run once for each server")
    return servers[0]


def _require_badge(path: Path) -> None:
    """UsageError for a badge that could not be written in the end."""
    if path.suffix not in (".svg", ".json"):
        raise UsageError(f"{path} is not a badge", hint="name a .svg, or a .json for shields.io's endpoint badge")
    check_writable(path, "the badge")


def _write_badge(path: Path, model: Report) -> None:
    """Write the badge of a run that came to its end."""
    badge = rules_badge(model.results)
    write_atomically(str(path), badge_picture(badge) if path.suffix == ".svg" else json_text(badge) + "\n")


def _said(params: Mapping[str, Any], servers: Sequence[str], baseline: Path | None) -> Posted:
    """Return what the parameters of `run` say."""
    same = (
        "forwarded_props",
        "state",
        "tools",
        "context",
        "resume",
        "patience",
        "badge",
        "write_baseline",
        "trace",
        "trace_to",
    )
    return Posted(
        servers=servers,
        ids=params["ids"] or (),
        prompts=params["prompt"] or (),
        headers=params["header"] or (),
        owned=params["own_host"],
        baseline=baseline,
        maxfail=1 if params["first"] else params["maxfail"],
        verbosity=int(params["verbose"]) - int(params["quiet"]),
        **{name: params[name] for name in same},
    )


def _alone(said: Posted) -> str:
    """Return the command that plays one case, `{id}`, without what the headers say: it may be secret."""
    words = given_options(but=("report", "trace", "trace_to", "write_baseline", "header"))
    words += [word for text in said.headers for word in ("--header", f"{text.partition(':')[0]}: …")]
    return without_credentials(f"tpharness run {{id}} {shlex.join(words)}")


def _require_fitting_options() -> None:
    """UsageError for an option that speaks of scenarios, clients or wires of the suite."""
    words = given_options(but=_GOES_WITH)
    if words:
        raise UsageError(
            f"{words[0]} does not go with --server ag-ui+…, which plays cases of its own on one server",
            hint="leave it away; tpharness docs AG_UI has the cases and the options",
        )


def _list_of(path: Path | None, option: str, needs: Sequence[str]) -> list[Mapping[str, Any]]:
    """Return the objects of a file. UsageError where it is not a list of objects that have these members as texts."""
    if path is None:
        return []
    found = read_json(str(path))
    wanted = " and ".join(needs)
    right = isinstance(found, list) and all(
        isinstance(one, dict) and all(isinstance(one.get(name), str) for name in needs) for one in found
    )
    if not right:
        raise UsageError(f"{option} {path} is not a list of objects with {wanted}", hint="as a RunAgentInput has it")
    return list(found)


def _texts(value: Any, name: str = "") -> list[tuple[str, str]]:
    """Return the texts in a JSON value with the names under which they stand."""
    if isinstance(value, str):
        return [(name, value)]
    if isinstance(value, dict):
        return [pair for key, one in value.items() for pair in _texts(one, str(key))]
    return [pair for one in value for pair in _texts(one, name)] if isinstance(value, list) else []


def _advice(model: Report) -> list[str]:
    """Return each kind of finding at SHOULD with the number of its cases."""
    counts = Counter(
        code
        for result in model.results
        for code in {finding.code for finding in result.findings if finding.level is Level.SHOULD}
    )
    kinds = load_kinds()
    lines = [
        f"SHOULD {code} in {counted(cases, 'case')}: {kinds[code].title} (tpharness explain {code})"
        for code, cases in counts.most_common()
    ]
    return ["", *lines] if lines else []


def _fates(model: Report) -> list[str]:
    """Return what the turn after each cut makes of what was left, as far as the wire shows it."""
    rows = [
        f"  {result.id}: {result.reason}"
        for result in model.results
        if result.id.startswith("next/") and result.reason and result.outcome in _PLAYED
    ]
    return ["", "the turn after a cut:", *rows] if rows else []
