"""Running the cases of an application: first contact, cases, verdicts, as the events that every report reads.

In: the application, which cases, a baseline. Out: run events. The provider and the client live on one event loop; the
application is started, watched, and started again when a case has made it exit.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import aiohttp

from tpharness.apps.cases.arguments import arguments_for, other_arguments
from tpharness.apps.cases.case import AppCase, CaseTool, Need
from tpharness.apps.cases.catalogue import BASIC, CaseSource, all_cases
from tpharness.apps.checks import APP_CHECKS
from tpharness.apps.client import Profile, RealClients, find_profile
from tpharness.apps.config import LEDGER, AppConfig, require_loopback
from tpharness.apps.contact import CONTACT, Contact, first_contact
from tpharness.apps.effects import (
    COMMAND_VARIABLE,
    MCP_VARIABLE,
    URL_VARIABLE,
    EffectLedger,
    MountedLedger,
    counting_alone,
)
from tpharness.apps.fixes import require_known_framework, with_fixes
from tpharness.apps.judge import demand_should, judge_app
from tpharness.apps.marks import call_id, new_mark
from tpharness.apps.measure import measure_tool
from tpharness.apps.own_loop import on_own_loop
from tpharness.apps.play import NotPlayedError, Player
from tpharness.apps.process import EXITED, AppProcess, until_it_listens
from tpharness.apps.provider.server import Provider
from tpharness.apps.table_place import table_place
from tpharness.apps.thread.judge import judge_thread
from tpharness.apps.tracing import AppRecord
from tpharness.apps.trouble import misread_run
from tpharness.errors import UsageError, did_you_mean
from tpharness.findings import Level, Place, shorten
from tpharness.run.baselines import load_baseline
from tpharness.targets.server_process import free_port
from tpharness.trace.tape import Tape, recording
from tpharness.verdict import CheckState, Outcome, Result, RunEvent, RunStarted
from tpharness.verdict.baseline import Baseline
from tpharness.verdict.case_run import CaseRun
from tpharness.verdict.result import THREAD_SUFFIX

__all__ = ["KINDS", "AppOptions", "play_app", "run_app"]

KINDS = (EXITED,)
_AFTER_EXIT = f"correct {EXITED.code} first: it may come from nothing else than that the process had ended"
_OUTPUT_SHOWN = 200
_CLAUSES = len({check.clause for check in APP_CHECKS})
_UNCUT = ("uncut/tool-call", "uncut/text")
_BESIDE = 8
"""Cases at once where nothing is declared, and the ledger knows the effects of each."""
_EXIT_SECONDS = 0.5  # until the end of a process is known whose connections are gone


@dataclass(frozen=True, slots=True, kw_only=True)
class AppOptions:
    """What to play. `ids` are case ids, themes or patterns, all when empty; `owned` is `--i-own-this-host`.

    `baseline` is a file of known failures, that of the application for None; `known` are some that were read already.
    `sweep` adds a case for every piece of the model's answers; `scenarios` are files or folders of scenarios to make
    cases of. `strict` is whether the provider refuses what the real API refuses. `on_ready` is called with the
    environment that the application needs, once the provider listens, `on_wait` with words why the run
    waits for another one. `record` keeps of each case what a trace needs;
    `exit_first` ends the run after the first case that fails.
    """

    config: AppConfig
    ids: tuple[str, ...] = ()
    baseline: Path | None = None
    known: Baseline | None = None
    owned: str | None = None
    sweep: bool = False
    scenarios: tuple[Path, ...] = ()
    strict: bool = True
    on_ready: Callable[[dict[str, str]], None] | None = None
    on_wait: Callable[[str], None] | None = None
    record: bool = False
    exit_first: bool = False


def run_app(options: AppOptions) -> Iterator[RunEvent]:
    """Play the cases and yield the events of the run.

    UsageError or TargetError where it cannot be begun; UsageError also where a method of the request profile raises.
    """
    return on_own_loop(play_app(options))


async def play_app(options: AppOptions) -> AsyncGenerator[RunEvent, None]:
    """Play the cases on the running loop, and yield the events of the run."""
    require_loopback(options.config, owned=options.owned)
    require_known_framework(options.config)
    config = options.config
    if "{port}" in config.url:
        config = config.on_port(free_port())
    profile = find_profile(config.history, folder=config.folder)
    known = options.baseline or config.baseline_path
    if options.known is not None:
        baseline = options.known
    else:
        baseline = load_baseline(known) if known is not None else Baseline(entries={})
    _require_known_cases(options)
    async with AsyncExitStack() as stack:
        if config.effects_command is not None:
            alone = counting_alone(config.effects_command, config.run_folder, options.on_wait)
            await stack.enter_async_context(alone)
        stage = await _Stage.open(stack, config, options, profile)
        contact = await first_contact(stage.player, new_mark())
        events = _report_trouble(stage, contact) if contact.trouble else _play_all(stage, contact, options, baseline)
        async with aclosing(events):  # its cases end before the clients that they play with are closed
            async for event in events:
                yield event


@dataclass(slots=True, kw_only=True)
class _Stage:
    """What all cases share."""

    config: AppConfig
    provider: Provider
    player: Player
    process: AppProcess | None
    ledger: EffectLedger | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    restarting: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def doubtful(self) -> int:
        """How many runs of tools could have been of several cases."""
        return self.ledger.doubtful if self.ledger is not None else 0

    @classmethod
    async def open(cls, stack: AsyncExitStack, config: AppConfig, options: AppOptions, profile: Profile) -> _Stage:
        """Start provider, ledger, application and client, in this order."""
        provider = await stack.enter_async_context(Provider(port=config.provider_port, strict=options.strict))
        environment, ledger = provider.environment(), None
        if config.effects == LEDGER:
            port = config.provider_port and config.provider_port + 1
            mounted = await stack.enter_async_context(MountedLedger(config.allow, port=port))
            environment, ledger = {**environment, **mounted.environment}, mounted.ledger
        if options.on_ready is not None:
            options.on_ready(environment)
        process = None
        if config.command:
            process = await stack.enter_async_context(AppProcess(config, environment))
        else:
            await until_it_listens(config)
        connector = aiohttp.TCPConnector(limit=0, force_close=True)
        session = await stack.enter_async_context(
            aiohttp.ClientSession(
                connector=connector, timeout=aiohttp.ClientTimeout(total=None), cookie_jar=aiohttp.DummyCookieJar()
            )
        )
        real = None
        if config.client is not None:
            real = await stack.enter_async_context(RealClients(config.client, profile))
        player = Player(config, provider, session, profile, ledger, real=real)
        return cls(
            config=config,
            provider=provider,
            player=player,
            process=process,
            ledger=ledger,
            environment=_of_any_host(environment, provider.port),
        )


async def _play_all(
    stage: _Stage, contact: Contact, options: AppOptions, baseline: Baseline
) -> AsyncGenerator[RunEvent, None]:
    tool = chosen_tool(stage.config, contact.tools)
    sources = _select_cases(options, options.ids, tool)
    title = f"{stage.config.name} ({contact.api})"
    yield RunStarted(
        scenarios=len(sources),
        server=title,
        client=client_name(stage.config),
        versions=(),
        application=stage.config.name,
        unseen=stage.config.unseen,
        described=table_place(stage.config),
    )
    run = CaseRun(baseline)
    if tool is not None:
        await measure_tool(stage.player, tool, stage.config.effects_command)
    misread = await _misread(stage, tool) if stage.player.is_foreign else None
    if misread is not None:
        for event in run.take(misread.id, [misread]):
            yield event
        yield run.finish(clause_count=_CLAUSES)
        return
    at_once = _cases_at_once(stage, options)
    limit = asyncio.Semaphore(at_once)

    async def one(source: CaseSource) -> list[Result]:
        async with limit:
            with recording() as tape:
                return await _play_one(stage, source, tape if options.record else None)

    async def beside(source: CaseSource) -> list[Result] | None:
        """Play a case beside others, and return None where it has to be played alone to be sure."""
        if source.is_about_others:
            return None
        doubtful = stage.doubtful
        results = await one(source)
        return results if stage.doubtful == doubtful and all(map(_is_sure, results)) else None

    tasks = [asyncio.create_task(beside(source) if at_once > 1 else one(source)) for source in sources]
    ended = ""
    try:
        for number, (source, task) in enumerate(zip(sources, tasks, strict=True), 1):
            results = await task
            if results is None:
                await asyncio.wait(tasks)
                results = await one(source)
            for event in run.take(source.id, results):
                yield event
            if options.exit_first and number < len(sources) and not all(one.outcome.green for one in run.played):
                ended = f"ended after one failure; {len(sources) - number} of {len(sources)} cases were not played"
                break
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    others = _name_others(sources, tool, threads=stage.player.shows_reloads)
    problems = [] if options.ids or ended else baseline.find_outdated(run.played, elsewhere=others)
    yield run.finish(problems, ended=ended, exercised=_exercised(run.played), clause_count=_CLAUSES)


def _cases_at_once(stage: _Stage, options: AppOptions) -> int:
    """Return how many cases may run at the same time: one where nobody could say whose effects are counted."""
    config = stage.config
    if config.effects is None:
        return config.concurrency or 1
    if config.effects != LEDGER or not stage.player.names_calls:
        return 1
    return config.concurrency or (1 if options.exit_first else _BESIDE)


def _is_sure(result: Result) -> bool:
    """Whether a case that was played beside others would come out so alone, too.

    What is found may come from another case: a process that it has ended, a chat that it has disturbed, a machine that
    it keeps busy.
    """
    played = result.outcome is not Outcome.NOT_APPLICABLE or not result.seconds
    return played and result.outcome.green and all(finding.level is Level.MAY for finding in result.findings)


async def _report_trouble(stage: _Stage, contact: Contact) -> AsyncGenerator[RunEvent, None]:
    """Yield the events of a run that has only the first message, and an application that did not take it."""
    name = stage.config.name
    client, place = client_name(stage.config), table_place(stage.config)
    yield RunStarted(scenarios=1, server=name, client=client, versions=(), application=name, described=place)
    states = {check.name: CheckState.NOT_APPLICABLE for check in APP_CHECKS}
    found = (contact.trouble,) if contact.trouble is not None else ()
    result = Result(id=CONTACT, outcome=Outcome.ERRORED, checks=states, findings=found, seconds=contact.seconds)
    if stage.process is not None and await stage.process.has_exited(_EXIT_SECONDS):
        result = _exited(result, stage.process)
    elif stage.process is not None:
        result = _with_last_words(result, stage.process)
    run = CaseRun(Baseline(entries={}))
    for event in run.take(CONTACT, [result]):
        yield event
    yield replace(run.finish(clause_count=_CLAUSES), seconds=contact.seconds)


async def _misread(stage: _Stage, tool: CaseTool | None) -> Result | None:
    """Play a run that nobody cuts under a profile of the user; where it is found wrong return that nothing is said."""
    begun = time.monotonic()
    token = new_mark()
    case = next(one for one in all_cases(tool, ledger=False, sweep=False) if one.id in _UNCUT).make(call_id(token))
    evidence = await stage.player.play(case, token)
    result = judge_app(evidence, seconds=time.monotonic() - begun)
    codes = {finding.code for finding in result.findings if finding.level is Level.MUST}
    if result.outcome is not Outcome.FAILED:
        return None
    return replace(result, outcome=Outcome.ERRORED, findings=(misread_run(evidence, codes).with_place(case=case.id),))


async def _play_one(stage: _Stage, source: CaseSource, tape: Tape | None) -> list[Result]:
    """Play a case and return the verdict, and the one on its thread where the application writes ThreadProtocol.

    With a tape both have the record of the playing.
    """
    begun = time.monotonic()
    token = new_mark()
    case = source.make(call_id(token))
    reason = case.not_applicable or _unmet(case, stage)
    if reason:
        return [_not_applicable(case, reason)]
    starts = stage.process.starts if stage.process is not None else 0
    try:
        evidence = await stage.player.play(case, token)
    except NotPlayedError as error:
        return [_not_applicable(case, str(error), time.monotonic() - begun)]
    result = judge_app(evidence, seconds=time.monotonic() - begun)
    result = with_fixes(result, {asked.agent for _, asked in evidence.asked}, stage.config)
    thread = judge_thread(evidence) if result.outcome is not Outcome.ERRORED else None
    if stage.process is not None and any(t.reply is not None and not t.reply.status for t in evidence.turns):
        await stage.process.has_exited()
    async with stage.restarting:  # several cases may see it ended; one of them starts it again
        if stage.process is not None and (stage.process.exited is not None or stage.process.starts > starts):
            result = _exited(result, stage.process)
        if stage.process is not None and stage.process.exited is not None:
            stage.player.tool_has_run = False  # its start may remove what was counted
            await stage.process.restart()
    results = [result] if thread is None else [result, thread]
    if stage.config.fail_on == "should":
        results = [demand_should(one) for one in results]
    if tape is None:
        return results
    record = AppRecord(
        app=stage.config.name,
        client=client_name(stage.config),
        evidence=evidence,
        tape=tape,
        environment=stage.environment,
        tool_seconds=stage.player.tool_seconds or 0.0,
    )
    return [replace(one, record=record) for one in results]


def _of_any_host(environment: Mapping[str, str], port: int) -> dict[str, str]:
    """Return the environment with `{model}` in place of the host of the model's API and of the ledger over HTTP."""
    named = {name: value for name, value in environment.items() if name not in (MCP_VARIABLE, COMMAND_VARIABLE)}
    if URL_VARIABLE in named:
        named[URL_VARIABLE] = "http://{model}"
    return {name: value.replace(f"127.0.0.1:{port}", "{model}") for name, value in named.items()}


def client_name(config: AppConfig) -> str:
    """Return who posts what: the request profile, and the real client where one posts."""
    return config.history if config.client is None else f"{config.history}, {config.client}"


def chosen_tool(config: AppConfig, offered: Mapping[str, Any]) -> CaseTool | None:
    """Return the first allowed tool that the application offers, with its arguments; None where none is allowed.

    UsageError where an allowed tool is not offered.
    """
    if not config.allow:
        return None
    missing = [name for name in config.allow if name not in offered]
    if missing:
        known = ", ".join(sorted(offered)) or "no tool"
        raise UsageError(f"the application does not offer its model the tool {missing[0]!r}", hint=f"it offers {known}")
    name = config.allow[0]
    if name in config.args:
        first, *other = config.args[name]
        return CaseTool(name=name, args=first, other_args=next(iter(other), None))
    args = arguments_for(name, offered[name])
    return CaseTool(name=name, args=args, other_args=other_arguments(args, offered[name]))


def _require_known_cases(options: AppOptions) -> None:
    """UsageError where a case that is asked for does not exist, before anything is started or waited for.

    How many pieces a sweep has is not known before the tool is.
    """
    ids = [one.partition("@")[0] for one in options.ids] if options.sweep else options.ids
    _select_cases(options, ids, CaseTool(name="", args={}) if options.config.allow else None)


def _select_cases(options: AppOptions, ids: Sequence[str], tool: CaseTool | None) -> list[CaseSource]:
    """Return the cases that `ids` ask for. UsageError where one of them asks for none."""
    ledger = options.config.effects == LEDGER
    users = bool(options.config.other_headers)
    known = all_cases(tool, ledger=ledger, other_user=users, sweep=options.sweep, scenarios=options.scenarios)
    unknown = [one for one in ids if not any(_wanted(source, [one]) for source in known)]
    if unknown:
        names = [*dict.fromkeys([BASIC, *(one.id.partition("/")[0] for one in known)]), *(one.id for one in known)]
        hint = did_you_mean(unknown[0], names, "`tpharness app --list` names the cases")
        raise UsageError(f"no case is called {', '.join(unknown)}", hint=hint)
    return [source for source in known if _wanted(source, ids)]


def _name_others(played: Sequence[CaseSource], tool: CaseTool | None, *, threads: bool) -> list[str]:
    """Return what only a run that sweeps, or that has the ledger, calls its results."""
    known = {source.id for source in played}
    ids = [one.id for one in all_cases(tool, ledger=True, other_user=True, sweep=True) if one.id not in known]
    return ids if not threads else [*ids, *(f"{case}{THREAD_SUFFIX}" for case in ids)]


def _wanted(source: CaseSource, patterns: Sequence[str]) -> bool:
    """Whether a case is asked for: by its id, a pattern, its theme, the group `basic`, or the id that was swept.

    The id of the verdict on a thread asks for its case.
    """
    names = (source.id.partition("/")[0], source.id.partition("@")[0], source.group)
    asked = [pattern.removesuffix(THREAD_SUFFIX) for pattern in patterns]
    return not asked or any(fnmatchcase(source.id, pattern) or pattern in names for pattern in asked)


def _unmet(case: AppCase, stage: _Stage) -> str:
    """Return why a case cannot be played on an application with this configuration, empty where it can."""
    config = stage.config
    has = {
        Need.TOOL: bool(config.allow),
        Need.STOP: config.stop is not None,
        Need.THREAD: stage.player.shows_reloads,
        Need.RESUME: config.resume is not None,
        Need.REGENERATE: config.regenerate,
        Need.EDIT: config.edit,
        Need.THOUGHTS: stage.player.wants_thoughts,
        Need.SERVER_HISTORY: not stage.player.keeps_history,
    }
    return next((need.value for need in Need if need in case.needs and not has.get(need, True)), "")


def _not_applicable(case: AppCase, reason: str, seconds: float = 0.0) -> Result:
    states = {check.name: CheckState.NOT_APPLICABLE for check in APP_CHECKS}
    return Result(id=case.id, outcome=Outcome.NOT_APPLICABLE, checks=states, reason=reason, seconds=seconds)


def _exited(result: Result, process: AppProcess) -> Result:
    finding = EXITED.at(Place(case=result.id), got=process.last_end)
    others = (replace(other, advice=_AFTER_EXIT) for other in result.findings)
    return replace(result, outcome=Outcome.FAILED, findings=(finding, *others))


def _with_last_words(result: Result, process: AppProcess) -> Result:
    """Add the end of the application's output, which nobody else shows: the reason is often an exception there."""
    if not process.last_words:
        return result
    end = shorten(process.last_words[-_OUTPUT_SHOWN:], _OUTPUT_SHOWN)
    found = tuple(replace(f, got=f"{f.got}; the end of its output: {end}") for f in result.findings)
    return replace(result, findings=found)


def _exercised(results: Iterable[Result]) -> dict[str, tuple[str, ...]]:
    """Map each clause about applications to the cases that were held to it."""
    found: dict[str, tuple[str, ...]] = {}
    for result in results:
        for clause in result.clauses:
            found[clause] = (*found.get(clause, ()), result.id)
    return found
