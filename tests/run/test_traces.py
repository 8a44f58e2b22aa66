"""A run leaves a trace of what was really played, and its verdicts are those of a run without one."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.targets.servers import ContractServer, RawServer, in_thread

from tpharness.clauses import load_rulings
from tpharness.journal import Interrupted
from tpharness.picture.traces import timeline_of_trace
from tpharness.protocol.versions import Version, newest_version
from tpharness.report.trace import TraceReport
from tpharness.report.trace_lines import case_lines
from tpharness.resources import scenarios_dir
from tpharness.run import RunOptions, run_suite
from tpharness.run.select import select_scenarios
from tpharness.targets import Reference
from tpharness.targets.contract import Script
from tpharness.targets.reference import ReferenceServer
from tpharness.trace.format import Traced
from tpharness.trace.read import Trace, TracedCase
from tpharness.trace.tape import Tape
from tpharness.verdict import Result, ResultReady

ALL_IDS = [one.id for one in select_scenarios((), (scenarios_dir(),))]
FAILING = (
    "basics/client-loses-the-end",
    "basics/tool-call-and-answer",
    "cycles/three-steps",
    "basics/parallel-returns-in-call-order",
)
BROKEN = f"python:{__name__}:Forgetful"


class _ForgetfulSession(ReferenceServer):
    """Loses the last message of a finished turn that has more than two."""

    def threads(self, cut: Interrupted | None = None) -> dict[Version, dict[str, Any]]:
        return {
            version: {**one, "turns": list(map(_shorter, one["turns"]))}
            for version, one in super().threads(cut).items()
        }


def _shorter(turn: dict[str, Any]) -> dict[str, Any]:
    messages = turn.get("messages", [])
    return {**turn, "messages": messages[:-1]} if len(messages) > 2 else turn


class Forgetful(Reference):
    """A server that is wrong in one way."""

    def server_session(self, script: Script) -> ReferenceServer:
        return _ForgetfulSession(script)


def play(ids: Sequence[str], traced: Traced, path: Path, **more: Any) -> list[Result]:
    """Play scenarios, write their trace, and return their results without the seconds."""
    options = RunOptions(ids=tuple(ids), trace=traced, **more)
    report = TraceReport(path, traced)
    results = []
    for event in run_suite(options):
        report.feed(event, server=options.server, client=options.client)
        if isinstance(event, ResultReady):
            results.append(replace(event.result, seconds=0.0))
    report.close()
    return results


@settings(max_examples=30)
@given(st.lists(st.sampled_from(ALL_IDS), min_size=1, max_size=2, unique=True), st.booleans())
def test_a_trace_changes_no_verdict(tmp_path_factory: pytest.TempPathFactory, ids: list[str], broken: bool) -> None:
    """Whatever is played and however it ends, results are equal with and without."""
    folder = tmp_path_factory.mktemp("traces")
    server = BROKEN if broken else "reference"
    results = [play(ids, traced, folder / f"{traced.value}.zip", server=server) for traced in Traced]
    assert results[0] == results[1] == results[2]
    assert all(result.record is None for result in results[2])


def test_nothing_is_left_of_a_run_that_passes(tmp_path: Path) -> None:
    """Only what is not green has a trace."""
    play(FAILING, Traced.FAILED, tmp_path / "t.zip")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_failed_is_in_the_trace(tmp_path: Path, jobs: int) -> None:
    """Each result that is not green has an entry: with its files, or with the case that fails alike."""
    results = play(FAILING, Traced.FAILED, tmp_path / "t.zip", server=BROKEN, jobs=jobs)
    trace = Trace.open(tmp_path / "t.zip")
    failed = {result.id: result for result in results if not result.outcome.green}
    assert {one.case for one in trace.entries} == set(failed)
    assert len(failed) >= 4
    for entry in trace.entries:
        if not entry.file:
            assert trace.find(entry.like).file, entry
            continue
        case = trace.case(entry)
        assert [one["code"] for one in case.findings] == [one.code for one in failed[entry.case].findings]


def test_an_expected_failure_has_no_trace(tmp_path: Path) -> None:
    """What the baseline expects is green."""
    results = play(FAILING[:1], Traced.FAILED, tmp_path / "t.zip", server=BROKEN)
    baseline = tmp_path / "known.yaml"
    lines = [f"- {{id: '{one.id}', findings: {sorted(one.failing_codes)}, reason: known}}" for one in results]
    baseline.write_text("\n".join(lines))
    (tmp_path / "t.zip").unlink()
    play(FAILING[:1], Traced.FAILED, tmp_path / "t.zip", server=BROKEN, baseline=baseline)
    assert not (tmp_path / "t.zip").exists()


def traced(tmp_path: Path, *ids: str, **more: Any) -> list[TracedCase]:
    """Play scenarios with a trace of everything, and read it back."""
    play(ids, Traced.ALL, tmp_path / "t.zip", **more)
    return list(Trace.open(tmp_path / "t.zip").cases())


def test_the_threads_of_each_step_are_those_of_a_run_that_is_cut_there(tmp_path: Path) -> None:
    """The steps of the trace are the places of the sweep: a server that stops there holds that thread.

    Each place is played afresh here, so that nothing is shared with how the trace was made.
    """
    (case,) = [one for one in traced(tmp_path, "cycles/three-steps") if one.about["id"] == "cycles/three-steps"]
    script = _script_of("cycles/three-steps")
    version = newest_version(script.versions)
    run = script.turns[-1]
    held = {step.event: step.held for step in case.steps_of("server")[:-1]}
    current = None
    for count in range(len(run.events)):
        current = held.get(count, current)
        session = ReferenceServer(script)
        for turn in script.turns[:-1]:
            session.user(turn)
        session.begin(run)
        at = run.started_at
        for event in run.events[:count]:
            session.feed(event)
            at = str(event.get("at", at))
        wanted = session.threads(Interrupted(reason="network_failure", at=at))[version]
        got = case.thread(current) if current is not None else {}
        assert _without_cut(got) == _without_cut(wanted), count


def _without_cut(thread: Any) -> Any:
    """A step stands for all places until the next one, so the time of its cut is the first of them."""
    turns = [{k: v for k, v in turn.items() if k != "interruption"} for turn in thread["turns"]]
    return {**thread, "turns": turns, "updated_at": None}


def _script_of(name: str) -> Any:
    from tpharness.run.plan import base_case, make_script
    from tpharness.scenario import load_scenario

    (one,) = select_scenarios((name,), (scenarios_dir(),))
    return make_script(base_case(load_scenario(one.path, root=one.root)))


def test_the_wire_is_whole_and_every_event_says_where_its_bytes_are(tmp_path: Path) -> None:
    """Chunks and packets cover the wire without gaps; an event's bytes hold what it puts there."""
    (case,) = [one for one in traced(tmp_path, "basics/tool-call-and-answer") if "@" not in one.about["id"]]
    for wire in case.wires.values():
        assert len(wire.data) == wire.size
        for pieces in (wire.packets, wire.chunks):
            ends = [piece.offset + piece.size for piece in pieces]
            assert [piece.offset for piece in pieces] == [0, *ends[:-1]]
            assert ends[-1] == wire.size
    server = case.wires["server", 0]
    for event in case.events:
        if event.event["event_kind"] == "function_tool_result" and event.offset is not None:
            assert b"tool-output-available" in server.data[event.offset : event.offset + event.size]


def test_a_place_of_a_sweep_holds_what_the_sessions_held_there(tmp_path: Path) -> None:
    """The bytes end where the sweep cuts, and the threads are those that were judged."""
    play(("cycles/three-steps",), Traced.FAILED, tmp_path / "t.zip", server=BROKEN)
    trace = Trace.open(tmp_path / "t.zip")
    places = [one for one in trace.entries if "@event-" in one.case and one.file]
    assert places
    for entry in places:
        case = trace.case(entry)
        count = int(entry.case.rpartition("-")[2])
        assert len(case.events) == count
        final = next(one for one in case.finals if one.side == "server" and one.version == case.about["version"])
        assert final.held != final.right
        assert final.held is not None
        status = case.thread(final.held)["turns"][-1]["completion_status"]
        assert status == ("complete" if case.events[-1].event["event_kind"] == "agent_run_result" else "interrupted")


def test_a_target_over_http_leaves_requests_answers_and_reads_with_their_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was asked, what was answered, when bytes came; of the token nothing, and of its header only the name."""
    monkeypatch.setenv("TPHARNESS_TOKEN", "a-token-that-nobody-sees")
    (case,) = traced(tmp_path, "basics/client-loses-the-end", server="peer:serve", client="peer:serve")
    times = [moment.t for moment in case.moments]
    assert times == sorted(times)
    asked = [moment for moment in case.moments if moment.kind == "asked"]
    assert ["authorization", "(left out)"] in asked[0].line["headers"]
    assert any(moment.what.endswith("/runs") and "run" in moment.line["body"] for moment in asked)
    assert any(moment.kind == "answered" and moment.line["status"] == 200 for moment in case.moments)
    assert {moment.line["way"] for moment in case.moments if moment.kind == "moved"} == {"read", "sent"}
    read = [one.line for one in case.moments if one.kind == "moved" and one.line["way"] == "read"]
    assert [one["offset"] for one in read[1:]] == [one["offset"] + one["size"] for one in read[:-1]]
    for file in _unpacked(tmp_path / "t.zip"):
        assert b"a-token-that-nobody-sees" not in file


def test_what_arrived_is_in_the_trace_of_a_case_that_did_not_come_to_its_end(tmp_path: Path) -> None:
    """The server is wrong in the middle of its run: what it had sent by then shows how far it came."""
    with in_thread(RawServer(ContractServer(breaks=frozenset({"cancel"})))) as server:
        play(("interruptions/mid-text",), Traced.FAILED, tmp_path / "t.zip", server=server.url)
    (case,) = Trace.open(tmp_path / "t.zip").cases()
    assert not case.finals, "it was not played to its end"
    sizes = [one.line["size"] for one in case.moments if one.kind == "moved"]
    wire = case.wires["server", 0]
    assert len(wire.data) == wire.size == sum(sizes)
    arrived = [text for _, text in case_lines(case) if text.strip().startswith("<-")]
    assert any('"delta":"upon "}' in text for text in arrived)


def test_a_tape_keeps_no_more_bytes_than_a_trace_has_room_for() -> None:
    """A server that sends for ever would fill the memory; how much it sent is noted."""
    tape = Tape()
    for _ in range(3):
        tape.note_bytes("read", "a stream", run=0, data=bytes(3_000_000))
    assert [(note.size, len(note.body)) for note in tape.notes] == [
        (3_000_000, 3_000_000),
        (3_000_000, 1_000_000),
        (3_000_000, 0),
    ]


def _unpacked(path: Path) -> list[bytes]:
    with zipfile.ZipFile(path) as archive:
        return [archive.read(name) for name in archive.namelist()]


def test_a_trace_says_what_a_cut_takes_away_and_why(tmp_path: Path) -> None:
    """R20: half a call was streaming. R21: one of two calls has no return, whose return goes with it (R23)."""
    ids = ("interruptions/mid-tool-args", "interruptions/one-of-two-tools-done", "basics/tool-call-and-answer")
    play(ids, Traced.ALL, tmp_path / "t.zip")
    trace = Trace.open(tmp_path / "t.zip")
    dropped = {name: [(one["side"], one["what"], one["why"]) for one in trace.case(name).dropped] for name in ids}
    half = "response(text tool-call:c1)"
    assert dropped[ids[0]] == [("client", half, "R20"), ("server", half, "R20")]
    assert [why for side, _, why in dropped[ids[1]] if side == "server"] == ["R21", "R23"]
    assert dropped[ids[2]] == []  # it came to its end


class _KeepingSession(ReferenceServer):
    """Keeps a turn of the agent of which nothing should be kept."""

    def threads(self, cut: Interrupted | None = None) -> dict[Version, dict[str, Any]]:
        threads = super().threads(cut)
        for thread in threads.values():
            if thread["turns"] and thread["turns"][-1]["turn_type"] == "user":
                agent = {
                    "turn_type": "agent",
                    "agent_id": "assistant",
                    "completion_status": "completed",
                    "messages": [],
                }
                thread["turns"] = [*thread["turns"], agent]
        return threads


class Keeping(Reference):
    """A server that is wrong in one way."""

    def server_session(self, script: Script) -> ReferenceServer:
        return _KeepingSession(script)


def test_who_looks_at_a_departure_is_told_what_the_cut_takes_away(tmp_path: Path) -> None:
    """In the terminal below the threads, on a page with the differences."""
    play(["interruptions/mid-tool-args"], Traced.FAILED, tmp_path / "t.zip", server=f"python:{__name__}:Keeping")
    case = Trace.open(tmp_path / "t.zip").case("interruptions/mid-tool-args")
    lines = [line for _, line in case_lines(case)]
    half = "response(text tool-call:c1)"
    assert f"    the cut takes {half} away (R20: {load_rulings()['R20'].title})" in lines
    last = timeline_of_trace(case)["rows"][-1]["departs"]["server"][-1]
    assert last == {"at": "", "text": f"The cut takes {half} away.", "cites": "R20"}
