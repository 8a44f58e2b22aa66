"""Playing the cases of a server of AG-UI, as the events that every report reads.

In: the options. Out: run events. The prompts come first: what is cut later, and where, is known from their answers.
Cases are played one after another, each in a chat of its own. A run ends early when nothing listens any more.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import aiohttp

from tpharness.apps.ag_ui import judge
from tpharness.apps.ag_ui.cases import INPUTS, NEWER, RESOLVED, CaseOf, case_sources, tools_returned, whole_id
from tpharness.apps.ag_ui.options import PostOptions
from tpharness.apps.ag_ui.page import ChatPage
from tpharness.apps.ag_ui.places import EVENT, PLACES
from tpharness.apps.ag_ui.post import AnswerEnd, PostAnswer, Poster
from tpharness.apps.ag_ui.tracing import PostRecord
from tpharness.apps.own_loop import on_own_loop
from tpharness.errors import TargetError
from tpharness.findings import Finding, Level, shorten
from tpharness.printable import without_credentials
from tpharness.run.baselines import load_baseline
from tpharness.trace.tape import Tape, recording
from tpharness.verdict import CheckState, Outcome, Result, RunEvent, RunStarted
from tpharness.verdict.baseline import Baseline
from tpharness.verdict.case_run import CaseRun
from tpharness.wires.ag_ui.judge import is_ag_ui

__all__ = ["CLIENT", "play_posts", "run_posts"]

CLIENT = "a page of AG-UI 1.0"
_CHECK = "ag-ui"
_NO_WAY = "no answer to the prompts comes to this place ({0}): name a prompt that leads there, --prompt TEXT"
_NOTHING_ASKED = "no run ends with an interrupt: name a prompt that leads to one, --prompt TEXT"
_NO_PAYLOAD = "it is not said what resolves the interrupt: --resume FILE has the payload"
_NOT_REACHED = "this time the answer did not come to the place ({0})"


@dataclass(slots=True)
class _Stage:
    """What all cases share."""

    options: PostOptions
    poster: Poster
    wholes: list[PostAnswer] = field(default_factory=list)
    pages: list[ChatPage] = field(default_factory=list)
    gone: str = ""

    @property
    def returned(self) -> Mapping[str, Sequence[Any]]:
        """What each tool was seen to return."""
        return tools_returned(answer.events for answer in self.wholes)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Played:
    """A result before it has seconds and a record."""

    id: str
    about: str
    answers: Sequence[PostAnswer]
    findings: Sequence[Finding] = ()
    reason: str = ""
    applies: bool = True


def run_posts(options: PostOptions) -> Iterator[RunEvent]:
    """Play the cases and yield the events of the run. UsageError or TargetError where it cannot be begun."""
    return on_own_loop(play_posts(options))


async def play_posts(options: PostOptions) -> AsyncGenerator[RunEvent, None]:
    """Play the cases on the running loop, and yield the events of the run."""
    baseline = load_baseline(options.baseline) if options.baseline is not None else Baseline(entries={})
    connector = aiohttp.TCPConnector(limit=0, force_close=True)
    async with aiohttp.ClientSession(
        connector=connector,
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=options.patience.connect),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"Accept-Encoding": "identity"},
        read_bufsize=1 << 16,
    ) as session:
        stage = _Stage(options, Poster(session, options.url, options.headers, options.patience))
        firsts = [await _timed(_play_whole(stage, number), options) for number in range(len(options.prompts))]
        asks = [bool(judge.asked_of(answer)) for answer in stage.wholes]
        sources = case_sources([answer.passed for answer in stage.wholes], asks, options.ids)
        title = without_credentials(options.url)
        yield RunStarted(scenarios=len(firsts) + len(sources), server=title, client=CLIENT, versions=())
        run = CaseRun(baseline)
        failed, ended = 0, ""
        for number, results in enumerate(firsts):
            for event in run.take(whole_id(number), [replace(one, size=number) for one in results]):
                yield event
            failed += sum(not result.outcome.green for result in results)
        for done, source in enumerate(sources):
            left = f"{len(sources) - done} of {len(firsts) + len(sources)} cases were not played"
            if stage.gone:
                ended = f"ended since nothing listens any more at {title}; {left}"
                break
            if 0 < options.maxfail <= failed:
                ended = f"ended after {failed} failures; {left}"
                break
            results = await _timed(_play_source(stage, source), options)
            for event in run.take(source.id, [replace(one, size=len(firsts) + done) for one in results]):
                yield event
            failed += sum(not result.outcome.green for result in results)
        problems = [] if options.ids or ended else baseline.find_outdated(run.played)
        yield run.finish(problems, ended=ended)


async def _timed(playing: Awaitable[list[_Played]], options: PostOptions) -> list[Result]:
    """Return the results of a source, with what a trace needs."""
    begun = time.monotonic()
    with recording() as tape:
        played = await playing
    seconds = (time.monotonic() - begun) / max(1, len(played))
    return [_result(one, seconds, tape if options.record else None, options) for one in played]


def _result(one: _Played, seconds: float, tape: Tape | None, options: PostOptions) -> Result:
    findings = tuple(finding.with_place(case=one.id) for finding in one.findings)
    trouble = next((found for found in map(judge.trouble_of, one.answers) if found is not None), None)
    failed = any(finding.level is Level.MUST for finding in findings)
    outcome, state = Outcome.PASSED, CheckState.PASSED
    if trouble is not None and trouble.kind == judge.UNREACHABLE:
        outcome, state, findings = Outcome.ERRORED, CheckState.NOT_APPLICABLE, (trouble.with_place(case=one.id),)
    elif trouble is not None or failed:
        outcome, state = Outcome.FAILED, CheckState.FAILED
        findings = (*((trouble.with_place(case=one.id),) if trouble is not None else ()), *findings)
    elif not one.applies:
        outcome, state = Outcome.NOT_APPLICABLE, CheckState.NOT_APPLICABLE
    record = None
    if tape is not None and one.answers:
        shown = without_credentials(options.url)
        record = PostRecord(server=shown, client=CLIENT, about=one.about, answers=one.answers, tape=tape)
    return Result(
        id=one.id,
        outcome=outcome,
        checks={_CHECK: state},
        findings=findings,
        reason=one.reason,
        seconds=seconds,
        record=record,
    )


# ------------------------------------------------------------------------------------------------ playing


async def _play_whole(stage: _Stage, number: int) -> list[_Played]:
    """Post a prompt and read its whole answer. TargetError where this is not a server of AG-UI."""
    page = ChatPage(stage.options)
    page.say(stage.options.prompts[number])
    answer = await stage.poster.post(page.post(), reading=page.read())
    _require_ag_ui(answer, stage.options.url)
    stage.wholes.append(answer)
    stage.pages.append(page)
    about = f"the whole answer to {shorten(stage.options.prompts[number], 60)!r}"
    found = [*judge.judge_answer(answer), *judge.judge_run_error(answer)]
    return [_Played(id=whole_id(number), about=about, answers=[answer], findings=found)]


async def _play_source(stage: _Stage, source: CaseOf) -> list[_Played]:
    if source.place:
        played = await _play_cut(stage, source)
    elif source.id == RESOLVED:
        played = [await _play_resolved(stage, source)]
    elif source.id in INPUTS:
        played = [await _play_input(stage, source.id)]
    else:
        played = [await _play_next(stage, source.id, stage.pages[0], "the turn after a whole answer")]
    if any(answer.gone for one in played for answer in one.answers):
        stage.gone = source.id
    return played


async def _play_cut(stage: _Stage, source: CaseOf) -> list[_Played]:
    """Leave at the place; then write the next message, with what the page holds."""
    cut_id, next_id = source.ids
    where = PLACES.get(source.place, f"behind event {source.place.removeprefix(EVENT)}")
    about = f"we leave where {where}"
    if source.prompt < 0:
        reason = _NO_WAY.format(where)
        return [_Played(id=one, about=about, answers=[], reason=reason, applies=False) for one in source.ids]
    page = ChatPage(stage.options)
    page.say(stage.options.prompts[source.prompt])
    answer = await stage.poster.post(page.post(), reading=page.read(), leave=source.place)
    if answer.end is not AnswerEnd.LEFT:
        found = judge.judge_answer(answer)
        reason = _NOT_REACHED.format(where)
        first = _Played(id=cut_id, about=about, answers=[answer], findings=found, reason=reason, applies=False)
        return [first, _Played(id=next_id, about=about, answers=[], reason=reason, applies=False)]
    first = _Played(id=cut_id, about=about, answers=[answer], findings=judge.judge_answer(answer))
    return [first, await _play_next(stage, next_id, page, f"the turn after: {about}", before=answer)]


async def _play_next(
    stage: _Stage, case_id: str, page: ChatPage, about: str, *, before: PostAnswer | None = None
) -> _Played:
    page.say(stage.options.says_next)
    posted = page.post()
    answer = await stage.poster.post(posted, reading=page.read())
    answers = [*([] if before is None else [before]), answer]
    busy: list[Finding] = []
    if before is not None and judge.fails_next(answer):  # the run that we have left may still go on
        await asyncio.sleep(stage.options.patience.settle)
        posted = page.post()
        again = await stage.poster.post(posted, reading=page.read())
        answers.append(again)
        if again.status and not judge.fails_next(again):
            busy, answer = [judge.judge_busy(answer)], again
    found = [*busy, *(judge.judge_next(answer, posted, stage.returned) if answer.status else ())]
    became = judge.what_became(answer, posted, stage.returned) if answer.status else ""
    return _Played(id=case_id, about=about, answers=answers, findings=found, reason=became)


async def _play_resolved(stage: _Stage, source: CaseOf) -> _Played:
    """Answer what a run has asked, as the user of `--resume` does."""
    about = "the user answers what the run has asked"
    payload = stage.options.resume
    if source.prompt < 0 or payload is None:
        why = _NOTHING_ASKED if source.prompt < 0 else _NO_PAYLOAD
        return _Played(id=source.id, about=about, answers=[], reason=why, applies=False)
    page = ChatPage(stage.options)
    page.say(stage.options.prompts[source.prompt])
    first = await stage.poster.post(page.post(), reading=page.read())
    asked = judge.asked_of(first)
    if not asked:
        return _Played(id=source.id, about=about, answers=[first], reason=_NOTHING_ASKED, applies=False)
    resume = [{"interruptId": one, "status": "resolved", "payload": payload} for one in asked]
    answer = await stage.poster.post({**page.post(), "resume": resume}, reading=page.read())
    found = [*judge.judge_answer(answer), *judge.judge_run_error(answer)] if answer.status else []
    return _Played(id=source.id, about=about, answers=[first, answer], findings=found)


async def _play_input(stage: _Stage, case_id: str) -> _Played:
    odd = INPUTS[case_id]
    page = ChatPage(stage.options)
    page.say(stage.options.prompts[0])
    answer = await stage.poster.post(odd.make(page.post()), reading=page.read())
    if not answer.status:
        found: list[Finding] = []
    elif odd.rejected:
        found = judge.judge_rejected(answer)
    else:
        kind = _REFUSED_AS[case_id]
        found = [*judge.judge_answer(answer, refused=kind), *judge.judge_run_error(answer, kind)]
        found = [one for one in found if one.place.side != "input"]  # which is odd on purpose
        if case_id == "input/newer-minor":
            found = judge.judge_declared_version(found, answer, judge.declared_version(stage.wholes[0]), NEWER)
    return _Played(id=case_id, about=odd.about, answers=[answer], findings=found)


def _require_ag_ui(answer: PostAnswer, url: str) -> None:
    """TargetError where the answer to a prompt shows that nothing can be learned here."""
    shown = without_credentials(url)
    if not answer.status:
        raise TargetError(answer.problem)
    said = shorten(" ".join(answer.said.split()), 200)
    if answer.status != 200:
        raise TargetError(f"{shown} answers a RunAgentInput with {answer.status}: {said}", hint=_hint_of(answer.status))
    if not answer.is_stream:
        raise TargetError(
            f"{shown} answers with {answer.content_type or 'no content type'}, not text/event-stream: {said}",
            hint="is this the address to which a page of AG-UI posts? It often ends in /agent, / or /agui",
        )
    if not is_ag_ui(answer.data):
        began = shorten(answer.data[:200].decode("utf-8", "backslashreplace"), 120)
        why = f" ({answer.problem})" if answer.problem else ""
        raise TargetError(
            f"{shown} answers with a stream that is not one of AG-UI: it begins with {began!r}{why}",
            hint="a stream of the AI SDK is judged by tpharness app URL, or tpharness run --server with the contract",
        )


def _hint_of(status: int) -> str:
    if status in (401, 403):
        return "give what it asks for: --header 'Authorization: Bearer TOKEN', or TPHARNESS_TOKEN"
    if status in (404, 405):
        return "is this the address to which a page of AG-UI posts? It often ends in /agent, / or /agui"
    if status in (400, 422):
        return "it may need more than a plain input: --forwarded-props FILE, --state FILE, --context FILE, --header"
    return "look at the server's own log"


_REFUSED_AS = {
    "input/no-lists": judge.ABSENT_REFUSED,
    "input/unknown-member": judge.UNKNOWN_REFUSED,
    "input/newer-minor": judge.MINOR_REFUSED,
    "input/unknown-interrupt": judge.INTERRUPT_REFUSED,
}
