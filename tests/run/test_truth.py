"""Each side is held to the thread that it should have, and not to the other side's (R51)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.report.test_reports import events, report_of
from tests.scenarios import load_builtin

from tpharness.journal import UserTurn
from tpharness.protocol.versions import Version
from tpharness.readings import AnswerRule, Readings, UnfinishedRule
from tpharness.report.html import render_html
from tpharness.run import RunOptions, play_one
from tpharness.run.session import Session
from tpharness.targets import Capabilities, Packet, Reference, Script, Stream, TargetOutput
from tpharness.verdict import Outcome, Result
from tpharness.verdict.tally import count_departing

SCENARIO = "threads/right-and-not-only-the-same"
STREAM_ONLY = "stream/approval-for-an-unknown-call"
Change = Callable[[dict[str, Any]], dict[str, Any]]


def without_thinking(thread: dict[str, Any]) -> dict[str, Any]:
    """Return the thread as both sides of an implementation have it that knows no thinking."""
    return _with_parts(thread, lambda parts: [p for p in parts if p["part_kind"] != "thinking"])


def _with_parts(thread: dict[str, Any], change: Callable[[list[Any]], list[Any]]) -> dict[str, Any]:
    turns = []
    for turn in thread["turns"]:
        messages = [
            {**message, "parts": change(message["parts"])} if "parts" in message else message
            for message in turn.get("messages", ())
        ]
        turns.append({**turn, "messages": messages} if messages else turn)
    return {**thread, "turns": turns}


class Changed:
    """Server and client of one author: both give the threads of the reference, changed in the same way."""

    capabilities = Capabilities(name="alike")

    def __init__(self, change: Change = without_thinking, readings: Readings | None = None) -> None:
        self.capabilities = Capabilities(name="alike", readings=readings or Readings())
        self._inner = Reference(readings=readings)
        self._change = change

    def _changed(self, output: TargetOutput) -> TargetOutput:
        return replace(output, threads={version: self._change(thread) for version, thread in output.threads.items()})

    async def serve(self, script: Script) -> TargetOutput:
        """Play the script."""
        return self._changed(await self._inner.serve(script))

    async def receive(self, script: Script, turns: Sequence[UserTurn | Stream]) -> TargetOutput:
        """Receive the streams."""
        return self._changed(await self._inner.receive(script, turns))

    async def adopt(self, threads: Mapping[Version, dict[str, Any]]) -> Mapping[Version, dict[str, Any]]:
        """Hold what was fetched."""
        return threads


class Mute(Changed):
    """A server whose thread is right and whose stream lacks the thinking."""

    def __init__(self) -> None:
        super().__init__(lambda thread: thread)

    async def serve(self, script: Script) -> TargetOutput:
        """Leave the thinking out of the stream."""
        served = await super().serve(script)
        streams = tuple(
            tuple(p if b'"reasoning-' not in p.data else Packet(data=b"", at=p.at, event=p.event) for p in stream)
            for stream in served.streams
        )
        return replace(served, streams=streams)


class Oldest(Changed):
    """A server that writes the first version only."""

    def __init__(self) -> None:
        super().__init__()
        self.capabilities = Capabilities(name="oldest", versions=(Version.V2_0_0,))


def play(scenario: str, *, server: str = "reference", client: str = "reference") -> Result:
    """Play a built-in scenario on targets of this module; return the first result."""
    named = [s if s == "reference" else f"python:tests.run.test_truth:{s}" for s in (server, client)]
    return play_one(load_builtin(scenario), RunOptions(server=named[0], client=named[1]))[0]


def departing_sides(result: Result) -> set[str | None]:
    """Return the sides that the findings name."""
    return {finding.place.side for finding in result.findings}


def test_two_that_are_wrong_alike_fail_and_both_are_told() -> None:
    """They hold the same thread, and it is not the one that the script gives."""
    result = play(SCENARIO, server="Changed", client="Changed")
    assert result.outcome is Outcome.FAILED
    assert result.failing_codes == {"thread-departs"}
    assert departing_sides(result) == {"server", "client"}
    assert count_departing([result]) == {"server": 1, "client": 1}
    assert count_departing([replace(result, outcome=Outcome.EXPECTED)]) == {"server": 0, "client": 0}
    assert all(f.kind.clauses == ("sync.truth",) and f.kind.rulings[0] == "R51" for f in result.findings)
    assert any("thinking" in finding.message for finding in result.findings)


@pytest.mark.parametrize("version", Version)
def test_each_version_is_held_to_the_truth(version: Version) -> None:
    """A thread that is wrong in one version only is found in it."""

    def only_there(thread: dict[str, Any]) -> dict[str, Any]:
        return without_thinking(thread) if thread["version"] == version.value else thread

    with Session() as session:
        target = Changed(only_there)
        session.players = replace(session.players, server=target, client=target)
        (result,) = session.run(session.play(load_builtin(SCENARIO)))
    assert result.failing_codes == {"thread-departs"}


def test_a_client_that_is_wrong_about_a_stream_is_found_without_a_server() -> None:
    """A scenario that gives the stream itself has one side only, and this one pins nothing of the thread."""
    assert play(STREAM_ONLY, client="Changed").outcome is Outcome.PASSED

    with Session() as session:
        target = Changed(lambda thread: {**thread, "turns": thread["turns"][:1]})
        session.players = replace(session.players, client=target)
        (result,) = session.run(session.play(load_builtin(STREAM_ONLY)))
    assert result.failing_codes == {"thread-departs"}
    assert departing_sides(result) == {"client"}


@pytest.mark.parametrize("side", ["server", "client"])
def test_a_difference_says_whose_it_is(side: str) -> None:
    """One wrong side against the reference: the finding that they differ names the wrong one."""
    result = play(SCENARIO, **{side: "Changed"})
    assert result.failing_codes == {"identity-differs"}
    assert departing_sides(result) == {side}
    assert all(f"the {side} is wrong" in finding.message for finding in result.findings)


def test_two_that_differ_and_are_both_wrong_are_both_named() -> None:
    """The one loses the thinking, the other shouts: neither is what the other should have been."""
    result = play(SCENARIO, server="Changed", client="Stepped")
    assert result.failing_codes == {"identity-differs"}
    assert departing_sides(result) == {"server and client"}
    assert count_departing([result]) == {"server": 1, "client": 1}


def test_a_stream_that_says_less_than_its_thread_is_the_servers_departure() -> None:
    """Its thread is right, and so is what the client makes of the stream."""
    result = play(SCENARIO, server="Mute")
    assert result.failing_codes == {"identity-differs"}
    assert departing_sides(result) == {"server"}
    assert all("stream does not say what its thread does" in finding.message for finding in result.findings)
    first, *others = (finding.remedy for finding in result.findings)
    assert 'of the first run (part_start) send {"type": "reasoning-start"' in first, "its thread stays as it is"
    assert set(others) <= {"the change of the first difference corrects this one, too"}
    assert "the server&#x27;s stream is wrong" in render_html(report_of(events(result)))


class Stepped(Reference):
    """Shouts every text, on both sides alike."""

    def server_session(self, script: Script) -> Any:
        """Open a session that shouts."""
        return _shouting(super().server_session(script))

    def client_session(self, script: Script) -> Any:
        """Open a session that shouts."""
        return _shouting(super().client_session(script))


def _shouting(session: Any) -> Any:
    whole = session.threads

    def shouted(part: dict[str, Any]) -> dict[str, Any]:
        return {**part, "content": part["content"].upper()} if part["part_kind"] == "text" else part

    def threads(*args: Any) -> dict[Version, dict[str, Any]]:
        return {v: _with_parts(thread, lambda parts: list(map(shouted, parts))) for v, thread in whole(*args).items()}

    session.threads = threads
    return session


@pytest.mark.parametrize("sides", [("server", "client"), ("server",), ("client",)])
def test_a_sweep_that_is_stepped_holds_both_sides_to_the_truth(sides: tuple[str, ...]) -> None:
    """A target that can be stepped is swept with one fold, and is compared with the reference's at each place."""
    stepped = "python:tests.run.test_truth:Stepped"
    server, client = (stepped if side in sides else "reference" for side in ("server", "client"))
    options = RunOptions(server=server, client=client)
    _, *swept = play_one(load_builtin("cycles/three-steps"), options)
    wrong = [one for one in swept if one.outcome is Outcome.FAILED]
    code = "thread-departs" if len(sides) == 2 else "identity-differs"
    assert {one.failing_codes for one in wrong} == {frozenset({code})}
    assert all(departing_sides(one) == set(sides) for one in wrong)
    assert [one.outcome for one in swept if one not in wrong] == [Outcome.PASSED], "before the first text ends"


def test_a_declared_reading_is_no_departure() -> None:
    """A target that reads R20 and R21 otherwise is held to the reference's thread by its own readings."""
    readings = Readings(R20=UnfinishedRule.AS_STREAMED, R21=AnswerRule.ANY_RETURN)
    for scenario in ("interruptions/mid-text", "interruptions/one-of-two-tools-done"):
        with Session() as session:
            target = Changed(lambda thread: thread, readings)
            session.players = replace(session.players, server=target, client=target)
            (result,) = session.run(session.play(load_builtin(scenario)))
        assert result.outcome is Outcome.PASSED, result.findings


def test_what_no_carrier_says_is_no_departure() -> None:
    """Without carriers the two owe each other the content, and neither owes the reference more than that (R39)."""

    def own_times(thread: dict[str, Any]) -> dict[str, Any]:
        turns = [{k: v for k, v in turn.items() if k != "total_usage"} for turn in thread["turns"]]
        return {**thread, "turns": turns}

    with Session() as session:
        target = Changed(own_times)
        session.players = replace(session.players, server=target, client=target)
        (exact,) = session.run(session.play(load_builtin("threads/usage-sums")))
        target.capabilities = Capabilities(name="alike", carriers=False)
        (content,) = session.run(session.play(load_builtin("threads/usage-sums")))
    assert "thread-departs" in exact.failing_codes
    assert "thread-departs" not in content.failing_codes


class Bare(Changed):
    """A server whose stream has no carriers."""

    def __init__(self) -> None:
        super().__init__(lambda thread: thread)
        self.capabilities = Capabilities(name="bare", carriers=False)

    async def serve(self, script: Script) -> TargetOutput:
        """Play the script, whatever it asks for."""
        return await super().serve(replace(script, carriers=False))


def test_a_failure_that_is_not_text_is_expected_of_the_server_alone() -> None:
    """On the stream it is an errorText; only a carrier tells the client what it was (R39)."""
    result = play("tools/failed-with-structured-contents", server="Bare")
    assert result.outcome is Outcome.PASSED, result.findings
