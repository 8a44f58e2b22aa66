"""`tpharness app`: put a chat application, as it runs, into every interruption, and say whether it is safe."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from rich.markup import escape

from tpharness.apps.cases.case import CaseTool
from tpharness.apps.cases.catalogue import all_cases
from tpharness.apps.config import CONFIG_FILE, LAST_PORT, AppConfig, arguments_of, config_of_url, load_config
from tpharness.cli.options import Argument, Exit, Option, given_options
from tpharness.cli.reports import take_all, written_on_every_way_out
from tpharness.cli.tracing import DEFAULT_TRACE, TraceOption, TraceToOption, tracing
from tpharness.errors import UsageError
from tpharness.printable import make_printable, say, without_credentials
from tpharness.report import ConsoleReport, Report, parse_reports, report_words
from tpharness.report.terminal import make_console
from tpharness.targets.children import split_command
from tpharness.trace.format import Traced
from tpharness.trace.secrets import secrets_of

__all__ = ["application"]

_DEFAULT_PORT = 9100
_INIT_TAKES = (
    *("config", "history", "client", "allow_tool", "tool_args", "effects", "on_disconnect", "provider_port"),
    *("concurrency", "fail_on", "command", "ci", "own_host", "baseline"),
)
"""The options of which `init` makes something."""


def application(
    name: Annotated[
        str | None,
        Argument(metavar="[NAME|URL|init]", help="An application of tpharness.toml, the address of one, or init."),
    ] = None,
    ids: Annotated[
        list[str] | None,
        Argument(
            metavar="[CASE]...",
            help="Case ids, themes, patterns with *, or `basic`; all when none. After init: the URL.",
        ),
    ] = None,
    config: Annotated[Path | None, Option(help=f"Another file than the nearest {CONFIG_FILE}, here or above.")] = None,
    history: Annotated[
        str | None,
        Option(metavar="PROFILE", help="What the client posts: client, last-message, mastra, …, python:MODULE:CLASS."),
    ] = None,
    client: Annotated[
        str | None,
        Option(
            metavar="CLIENT",
            help="Let a real client post: peer:ai-sdk-client, peer:ai-sdk-browser, peer:ag-ui-client, ….",
        ),
    ] = None,
    allow_tool: Annotated[
        list[str] | None, Option(metavar="NAME", help="A tool of the application that may be called, for real.")
    ] = None,
    tool_args: Annotated[
        list[str] | None,
        Option(metavar="NAME=JSON", help="Arguments for an allowed tool, or a list of those of two calls."),
    ] = None,
    effects: Annotated[
        str | None,
        Option(
            metavar="COMMAND|ledger",
            help="A shell command that prints how often a tool has run, tried with a first run; ledger serves one.",
        ),
    ] = None,
    on_disconnect: Annotated[
        str | None, Option(metavar="stop|continue", help="What it means to do when its client leaves.")
    ] = None,
    provider_port: Annotated[
        int | None,
        Option(min=0, max=LAST_PORT, help="The port of the model's API; 9100 for an application that runs."),
    ] = None,
    concurrency: Annotated[int | None, Option(min=1, help="Cases at once.")] = None,
    fail_on: Annotated[
        Literal["must", "should"] | None,
        Option(help="Which findings fail a case: those at MUST (the default), or those at SHOULD as well."),
    ] = None,
    sweep: Annotated[bool, Option("--sweep", help="Also cut after every piece of the model's answers.")] = False,
    scenarios: Annotated[list[Path] | None, Option(help="Scenario files or folders to make cases of, too.")] = None,
    lenient: Annotated[
        bool, Option("--lenient", help="Answer also what the real model API would refuse; findings stay.")
    ] = False,
    command: Annotated[
        str | None, Option(metavar="COMMAND", help="Start the application by it; it listens on the port in PORT.")
    ] = None,
    ci: Annotated[
        Literal["github", "gitlab"] | None, Option(help="With init: write what CI needs to judge it, too.")
    ] = None,
    own_host: Annotated[
        str | None, Option("--i-own-this-host", metavar="HOST", help="Allow an application on this host.")
    ] = None,
    baseline: Annotated[Path | None, Option(help="Known failures, a YAML file.")] = None,
    write_baseline: Annotated[
        Path | None,
        Option(metavar="FILE", help="Write what fails as a baseline, with reasons to be filled in."),
    ] = None,
    compare_to: Annotated[
        Path | None,
        Option(metavar="FILE", help="An earlier JSON report, as of the main branch: say what is new, and gone."),
    ] = None,
    reproduction: Annotated[
        Path | None,
        Option(metavar="FILE", help="Write the first failure as a program that needs no tpharness, after it was run."),
    ] = None,
    report: Annotated[
        list[str] | None, Option(metavar="REPORT", help=f"One of {report_words()}; may be given again.")
    ] = None,
    trace: TraceOption = Traced.FAILED,
    trace_to: TraceToOption = DEFAULT_TRACE,
    first: Annotated[bool, Option("-x", "--exitfirst", help="End after the first case that fails.")] = False,
    list_: Annotated[bool, Option("--list", help="Name the cases, and play none.")] = False,
) -> None:
    """Judge a chat application as it runs.

    tpharness is the API of its model and the client of its chat, interrupts answers, and judges what the model is sent
    on the next turn. `tpharness docs APPLICATIONS` has the configuration, the cases and the checks.

    \b
    tpharness app NAME [CASE]...  plays an application of tpharness.toml
    tpharness app URL             plays one that runs already, without a file
    tpharness app init URL        asks it once, calls no tool, and appends its
                                  table to tpharness.toml; --command starts it
    tpharness app init NAME --ci github  writes its workflow, also gitlab
    tpharness app --list          names the cases
    """  # noqa: D301  # click keeps the lines behind a backspace as they are
    if list_:
        for source in all_cases(
            CaseTool(name="tool", args={"text": "value"}), ledger=True, sweep=sweep, scenarios=tuple(scenarios or ())
        ):
            say(f"{source.id:<36}  {source.title}")
        return
    from tpharness.apps.engine import AppOptions, client_name, run_app  # noqa: PLC0415  # the list needs none of this
    from tpharness.cli.app_table import print_table  # noqa: PLC0415
    from tpharness.report.comparison import read_earlier  # noqa: PLC0415

    given: dict[str, Any] = {
        key: value
        for key, value in {
            "history": history,
            "client": client,
            "allow": tuple(allow_tool) if allow_tool else None,
            "args": _tool_args(tool_args or []) or None,
            "effects": effects,
            "on_disconnect": on_disconnect,
            "provider_port": provider_port,
            "concurrency": concurrency,
            "fail_on": fail_on,
            "command": tuple(split_command(command)) if command is not None else None,
        }.items()
        if value is not None
    }
    from tpharness.cli.app_init import init_application, tell_environment  # noqa: PLC0415

    default_port = 0 if command else _DEFAULT_PORT
    if name == "init":
        written = {**given, **({"baseline": str(baseline)} if baseline is not None else {})}
        others = [word for word in given_options(but=_INIT_TAKES) if word.startswith("--")]
        init_application(ids or [], config, {"provider_port": default_port, **written}, own_host, ci, others)
        return
    if ci is not None:
        raise UsageError("--ci goes with init", hint=f"tpharness app init {name or 'URL'} --ci {ci}")
    chosen = _chosen(name, config, given)
    wants_console, destinations = parse_reports(report or [])
    known = baseline or chosen.baseline_path
    if write_baseline is not None:
        from tpharness.verdict.baseline_write import check_new_baseline  # noqa: PLC0415  # only to write one

        check_new_baseline(write_baseline, known)
    pipe = not wants_console or any(destination.path == "-" for destination in destinations)
    out = make_console(soft_wrap=True, stderr=pipe)
    options = AppOptions(
        config=chosen,
        ids=tuple(ids or ()),
        baseline=baseline,
        owned=own_host,
        sweep=sweep,
        scenarios=tuple(scenarios or ()),
        strict=not lenient,
        record=trace is not Traced.NONE or reproduction is not None,
        exit_first=first,
        on_wait=partial(say, err=True),
        on_ready=None if chosen.command else lambda variables: tell_environment(out, chosen, variables),
    )
    failure = None
    if reproduction is not None:
        from tpharness.cli.app_reproduction import FirstFailure  # noqa: PLC0415  # only to write one

        failure = FirstFailure(reproduction, chosen)
    earlier = None if compare_to is None else read_earlier(compare_to)
    console = ConsoleReport(stderr=pipe, again=_alone(chosen), earlier=earlier) if wants_console else None
    model = Report(trace=None if trace is Traced.NONE else trace_to, earlier=earlier)
    if wants_console and not chosen.allow:
        out.print("No tool may be called: cases that call one are not applicable. Allow one with --allow-tool NAME.")
    elif wants_console:
        out.print(escape(make_printable(f"Tools that will be called, for real: {', '.join(chosen.allow)}")))
    show_trace = partial(tracing, trace_to, trace, targets=[chosen.url], quiet=not wants_console, stderr=pipe)
    with (
        written_on_every_way_out(destinations, lambda destination: destination.write(model)),
        show_trace(secrets=secrets_of(chosen.headers, chosen.env)) as traced,
    ):
        feed = partial(traced.feed, server=chosen.name, client=client_name(chosen))
        take_all(run_app(options), model, console, feed if failure is None else partial(_feed_both, failure, feed))
        if wants_console:
            print_table(out, model)
        if write_baseline is not None:
            from tpharness.cli.after_run import write_new_baseline  # noqa: PLC0415

            write_new_baseline(write_baseline, model, known)
    if failure is not None:
        failure.write()
    if not wants_console:
        from tpharness.cli.after_run import say_where_pages_are  # noqa: PLC0415

        say_where_pages_are(destinations, [model])
    raise Exit(0 if model.passed else 1)


def _feed_both(failure: Any, feed: Callable[[Any], None], event: Any) -> None:
    failure.feed(event)
    feed(event)


def _chosen(name: str | None, path: Path | None, given: dict[str, Any]) -> AppConfig:
    if name is not None and name.startswith(("http://", "https://")):
        known = config_of_url(name, **{"provider_port": 0 if given.get("command") else _DEFAULT_PORT, **given})
    else:
        known = replace(load_config(name, path), **given)
        if not known.command and not known.provider_port:
            known = replace(known, provider_port=_DEFAULT_PORT)
    if known.on_disconnect not in (None, "stop", "continue"):
        raise UsageError(f"--on-disconnect takes stop or continue, not {known.on_disconnect!r}")
    from tpharness.apps.client import require_known_client  # noqa: PLC0415

    require_known_client(known.client, "--client")
    beside = sorted(set(known.args) - set(known.allow))
    if beside:
        source = "--tool-args" if "args" in given else f"{path or CONFIG_FILE} [apps.{known.name}]: tools.args"
        raise UsageError(f"{source} names {beside[0]!r}, which is not allowed", hint=f"--allow-tool {beside[0]}")
    return known


def _alone(config: AppConfig) -> str:
    """Return the command that plays one case, `{id}`, of the same application in the same way."""
    options = shlex.join(given_options(but=("report", "trace", "trace_to", "write_baseline", "compare_to", "first")))
    return without_credentials(f"tpharness app {shlex.quote(config.name)} {{id}} {options}".rstrip())


def _tool_args(texts: list[str]) -> dict[str, tuple[Mapping[str, Any], ...]]:
    found: dict[str, tuple[Mapping[str, Any], ...]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        try:
            args = json.loads(value)
        except (ValueError, RecursionError):
            equals = ""
        if not equals:
            raise UsageError(f"--tool-args takes NAME=JSON, not {text!r}", hint="""book_hotel='{"city": "Paris"}'""")
        found[name] = arguments_of(args, f"--tool-args {name}")
    return found
