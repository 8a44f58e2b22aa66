"""A run over another wire: the same scenarios, and the same threads."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Call, call  # noqa: F401  # a fixture
from tests.scenarios import load_all, load_builtin

from tpharness.errors import UsageError
from tpharness.run import Outcome, run_suite
from tpharness.run.options import RunOptions
from tpharness.run.pairs import plan_runs
from tpharness.run.play import PlayedCase
from tpharness.run.session import Session
from tpharness.targets.contract import Script, TargetOutput
from tpharness.targets.reference import Reference
from tpharness.testing import play
from tpharness.verdict import Result, ResultReady
from tpharness.wires.ag_ui.encode import AgUiEncoder
from tpharness.wires.ag_ui.fold import AgUiAssembler
from tpharness.wires.ag_ui.records import ToolCallResult
from tpharness.wires.registry import name_wire


def outcomes(*ids: str) -> Counter[Outcome]:
    """Return how the results of a run over AG-UI ended."""
    events = run_suite(RunOptions(wire="ag-ui", ids=ids))
    return Counter(result.outcome for event in events if (result := getattr(event, "result", None)) is not None)


def test_scenarios_pass_over_ag_ui() -> None:
    """Whole and swept; a stream of the other wire does not apply, and neither do findings of its order."""
    assert outcomes("basics", "approvals")[Outcome.FAILED] == 0
    assert outcomes("basics")[Outcome.PASSED] > 3
    assert outcomes("cycles/open-part-at-finish") == {Outcome.PASSED: 1}
    assert outcomes("recorded/ai-sdk/*") == {Outcome.NOT_APPLICABLE: outcomes("recorded/ai-sdk/*").total()}


def test_a_wire_that_loses_something_fails_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the wire of the run that is played."""
    monkeypatch.setitem(AgUiEncoder.HANDLERS, "text-end", lambda _self, _chunk: [])
    assert outcomes("basics")[Outcome.FAILED] > 0


class ForgetsOneWire(Reference):
    """A target that does not keep the last turn of what came over one wire; a side in a process of its own."""

    wire = "vsp"

    def _forget(self, script: Script, output: TargetOutput) -> TargetOutput:
        if script.wire != self.wire:
            return output
        return replace(output, threads={v: {**t, "turns": t["turns"][:-1]} for v, t in output.threads.items()})


class ClientThatForgets(ForgetsOneWire):
    """As a client."""

    async def receive(self, script: Script, turns: Any) -> TargetOutput:
        """Fold the streams, and forget."""
        return self._forget(script, await super().receive(script, turns))


class ServerThatForgets(ForgetsOneWire):
    """As a server."""

    async def serve(self, script: Script) -> TargetOutput:
        """Play the script, and forget."""
        return self._forget(script, await super().serve(script))


@pytest.mark.parametrize("side", ["server", "client"])
def test_a_target_that_is_right_over_the_wire_of_the_run_alone_is_found(side: str) -> None:
    """The run over AG-UI compares with what it holds over the other wire, and finds nothing else."""
    target = {"server": "ServerThatForgets", "client": "ClientThatForgets"}[side]
    found = results_over_ag_ui(
        **{side: f"python:{__name__}:{target}"}, ids=("interruptions/complete-text-then-call-cut",)
    )
    findings = [finding for result in found for finding in result.findings]
    assert {(finding.code, finding.place.side) for finding in findings} == {("wire-matters", side)}, findings
    assert "the first turn (user) is only on the ag-ui side" in findings[0].line()


def test_a_client_that_loses_what_no_comparison_of_sides_shows_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes were lost, so that the client owes a prefix only: that it holds less over AG-UI is seen all the same."""
    handlers: Any = AgUiAssembler.HANDLERS
    monkeypatch.setitem(handlers, ToolCallResult, lambda _self, _event: [])
    found = results_over_ag_ui(ids=("interruptions/client-saw-less",))
    codes = {finding.code for result in found for finding in result.findings}
    assert "wire-matters" in codes
    assert "identity-differs" not in codes


def test_a_failure_is_played_again_over_its_wire(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """The command that the report gives names it; the other run of `--wire all` does not."""
    monkeypatch.setitem(AgUiEncoder.HANDLERS, "text-end", lambda _self, _chunk: [])
    called = call("run", IDS[0], "--wire", "all", "--no-config")
    assert called.code == 1
    assert f"tpharness replay {IDS[0]} --wire ag-ui" in called.out, called.out


def test_a_run_over_the_default_wire_plays_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does one with a target that speaks one of the two only."""
    played: list[str] = []
    right = Reference.serve

    async def watched(self: Reference, script: Script) -> TargetOutput:
        played.append(script.wire)
        return await right(self, script)

    monkeypatch.setattr(Reference, "serve", watched)
    list(run_suite(RunOptions(ids=IDS[:1])))
    assert set(played) == {"vsp"}
    played.clear()
    results_over_ag_ui(ids=IDS[:1])
    assert played.count("vsp") == 1


def test_what_does_not_go_over_another_wire_is_refused() -> None:
    """Histories, and a name that is not that of a wire."""
    for wire in ("ag-ui", "all"):
        with pytest.raises(UsageError, match="over ag-ui the reference plays both sides"):
            plan_runs(RunOptions(wire=wire), servers=[], clients=[], dialects=["langchain"])
    with pytest.raises(UsageError, match="'agui' is not the name of a wire"):
        plan_runs(RunOptions(wire="agui"), servers=[], clients=[], dialects=[])


def test_the_command_names_the_wire(call: Call) -> None:  # noqa: F811  # the fixture
    """And plays over it."""
    called = call("run", "basics/tool-call-and-answer", "--wire", "ag-ui", "--no-config")
    assert (called.code, "PASSED" in called.out) == (0, True)


def test_other_commands_play_over_the_wire(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """The one that shows a case, the one that cuts, and the one that generates."""
    monkeypatch.chdir(tmp_path)
    shown = call("replay", f"{IDS[0]}@event-9:user_cancelled", "--wire", "ag-ui")
    assert (shown.code, '"type":"RUN_STARTED"' in shown.out, '"type":"start"' in shown.out) == (0, True, False)
    for more in ([], ["--cuts", "bytes", "--side", "client"], ["--orders", "--bound", "3"], ["--jobs", "2"]):
        swept = call("sweep", "basics/client-loses-the-end", "--wire", "ag-ui", *more)
        assert (swept.code, "PASSED 1 scenario over ag-ui" in swept.out) == (0, True), swept.out + swept.err
    for jobs in ("1", "2"):
        found = call("fuzz", "--cases", "20", "--wire", "ag-ui", "--db", jobs, "--jobs", jobs)
        assert (found.code, "programs over ag-ui, kept in" in found.out) == (0, True), found.out + found.err


def test_they_find_what_is_wrong_over_it_alone(
    call: Call,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is suggested names the wire, and fails again; a folder of `fuzz` knows its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(AgUiEncoder.HANDLERS, "text-end", lambda _self, _chunk: [])
    assert call("replay", IDS[0]).code == 0
    assert call("replay", IDS[0], "--wire", "ag-ui").code == 1
    swept = call("sweep", IDS[0], "--wire", "ag-ui")
    assert swept.code == 1
    command = next(line.split("play it", 1)[1].split() for line in swept.out.splitlines() if "play it" in line)
    assert command[-2:] == ["--wire", "ag-ui"]
    assert call(*command[1:]).code == 1
    assert call("sweep", IDS[0]).code == 0
    assert call("fuzz", "--cases", "40", "--wire", "ag-ui", "--shrink", "0").code == 1
    again = call("fuzz", "--cases", "5")
    assert "identity-differs" in again.out, "the folder says which wire its campaign plays over"
    assert "plays --wire ag-ui" in call("fuzz", "--cases", "5", "--wire", "vsp", "--kind", "programs").err


def test_what_cannot_be_played_over_a_wire_says_what_can(
    call: Call,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A name, a target of another wire, and generated streams."""
    monkeypatch.chdir(tmp_path)
    for command in (["replay", IDS[0]], ["sweep", IDS[0]], ["fuzz"]):
        assert "did you mean ag-ui?" in call(*command, "--wire", "agui").err
    for command in (["replay", IDS[0]], ["sweep", IDS[0]], ["fuzz", "--cases", "1"]):
        assert "add --wire ag-ui" in call(*command, "--client", "peer:ag-ui-client").err
    assert "programs alone" in call("fuzz", "--wire", "ag-ui", "--kind", "bytes").err


def test_a_run_accounts_for_what_it_played_over_its_wire(
    call: Call,  # noqa: F811  # the fixture
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Over which wire, how much of what was asked for, and why the rest was not, counted; the report says it too."""
    monkeypatch.chdir(tmp_path)
    given = [name for name in load_all() if name.startswith("recorded/ai-sdk/")][:2]
    reports = ("--report", "console", "--report", "json:run.json")
    called = call("run", IDS[0], *given, "--wire", "ag-ui", "--no-config", *reports)
    assert called.code == 0, called.out
    assert called.out.startswith("3 scenarios over ag-ui, server reference"), called.out
    account = re.search(
        r"^played 1 of 3 scenarios over ag-ui, (\d+) of (\d+) cases; why the others were not:\n"
        r"2 not applicable, by reason:\n"
        r"      2  it gives a stream of vsp itself, which cannot be sent over ag-ui$",
        called.out,
        re.MULTILINE,
    )
    assert account, called.out
    assert int(account[1]) + 2 == int(account[2])
    assert f"PASSED 3 scenarios over ag-ui, {account[2]} cases (" in called.out
    assert json.loads(Path("run.json").read_text("utf-8"))["wire"] == "ag-ui"
    assert "over this wire" in call("explain", "not-applicable").out
    assert "over" not in call("run", IDS[0], "--no-config").out


def test_a_whole_case_is_about_wire_independence() -> None:
    """Where both sides speak both wires: no place of a sweep, which is played over one, and no run over the default."""
    found = results_over_ag_ui(ids=("cycles/three-steps",))
    assert {"@" in result.id: "sync.any-wire" in result.clauses for result in found} == {False: True, True: False}
    for other in (results_over_ag_ui(wire="vsp"), results_over_ag_ui(ids=("recorded/ai-sdk/*",))):
        assert [result.id for result in other if "sync.any-wire" in result.clauses] == []


def test_what_failed_last_is_that_of_a_wire(call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:  # noqa: F811
    """`--lf` plays what failed over the wire that it is given, and says where nothing has."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))  # what failed in another test of this process is not there
    monkeypatch.setitem(AgUiEncoder.HANDLERS, "text-end", lambda _self, _chunk: [])
    assert call("run", *IDS[:2], "--wire", "ag-ui", "--no-config").code == 1
    again = call("run", "--wire", "ag-ui", "--lf", "--no-config")
    assert again.out.startswith("1 scenario over ag-ui"), again.out
    other = call("run", IDS[0], "--lf", "--no-config")
    assert "nothing failed last on these targets, so everything is played" in other.err
    assert other.out.startswith("1 scenario, server"), other.out


def test_all_wires_are_a_run_each(call: Call) -> None:  # noqa: F811  # the fixture
    """With a verdict on each; what was found over one of them fails the whole."""
    called = call("run", "basics/tool-call-and-answer", "--wire", "all", "--no-config")
    assert (called.code, "PASSED 2 of 2 pairs" in called.out) == (0, True), called.out
    assert "over ag-ui" in called.out


# ------------------------------------------------------------ targets (contract 1.2)

BOTH = f"stdio:{sys.executable} {Path(__file__).parent / 'reference_over_stdio.py'}"
OLD = f"{BOTH} --old"
IDS = ("basics/tool-call-and-answer", "interruptions/complete-text-then-call-cut", "approvals/denied-in-a-later-turn")


def results_over_ag_ui(**options: Any) -> list[Result]:
    """Return the results of scenarios over AG-UI on these targets."""
    events = run_suite(RunOptions(**{"wire": "ag-ui", "ids": IDS, **options}))
    return [result for event in events if (result := getattr(event, "result", None)) is not None]


@pytest.mark.parametrize("target", ["peer:serve", BOTH])
def test_a_target_that_declares_a_wire_is_played_over_it(target: str) -> None:
    """As a server, as a client and as both; over HTTP with live cancels and marks, and over stdio."""
    for sides in ({"server": target}, {"client": target}, {"server": target, "client": target}):
        found = results_over_ag_ui(**sides)
        assert {result.outcome for result in found} == {Outcome.PASSED}, found


@pytest.mark.parametrize("target", ["peer:serve", BOTH])
def test_its_streams_are_those_of_the_wire(target: str) -> None:
    """And not of the default one, which would pass as well."""
    scenario = load_builtin(IDS[0])
    seen: list[PlayedCase] = []
    with Session(server=target, wire="ag-ui") as session:
        case, reason = session.run(session.adapt(scenario))
        assert reason == ""
        session.run(session.play_case(case, observe=seen.append))
    assert seen[0].served is not None
    data = b"".join(packet.data for packet in seen[0].served.streams[0])
    assert name_wire(data) == "ag-ui"
    assert b"RUN_FINISHED" in data


FAULTED = "basics/parallel-returns-in-call-order"


def faulted(*faults: str, **options: Any) -> dict[str, Result]:
    """Return the result of each fault, made on the streams of AG-UI of one scenario."""
    found = results_over_ag_ui(ids=(FAULTED,), faults=faults, **{"server": "peer:serve", **options})
    return {result.id.partition("@fault-")[2]: result for result in found}


def test_faults_are_made_on_its_streams() -> None:
    """At places that are found in them; what the wire cannot do is not asked of it."""
    names = ("fin-in-string", "end-between-newlines", "rechunk", "reorder", "resume", "cancel-race")
    for side in ("server", "client"):
        found = faulted(*names[: 5 if side == "client" else 6], **{"server": "reference", side: "peer:serve"})
        resumed = found.pop("resume")
        assert {result.outcome for result in found.values()} == {Outcome.PASSED}, found
        assert resumed.reason == "a stream of ag-ui cannot be continued after one of its frames"


def test_a_client_that_keeps_truncation_as_success_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """As AG-UI's own client does: the whole stream passes, and the one that breaks off does not."""
    close = AgUiAssembler.close

    def keep(self: AgUiAssembler, reason: str | None, at: str) -> None:
        if reason is not None and not self.turn_ended:
            self.feed(b'data: {"type":"RUN_FINISHED","threadId":"thread","runId":"run"}\n\n', at)
        close(self, None, at)

    monkeypatch.setattr(AgUiAssembler, "close", keep)
    found = faulted("rechunk", "fin-in-string")
    assert found["rechunk"].outcome is Outcome.PASSED, found
    assert {"identity-differs", "prefix-broken"} & {finding.code for finding in found["fin-in-string"].findings}, found


def test_tests_in_python_name_the_wire(pytester: pytest.Pytester) -> None:
    """`play(wire=)`, and the option of the plugin; what fails names it."""
    with pytest.raises(UsageError, match="did you mean ag-ui"):
        play(IDS[0], wire="agui")
    wrong = "from tpharness.wires.ag_ui.encode import AgUiEncoder\nAgUiEncoder.HANDLERS['text-end'] = lambda *_: []\n"
    pytester.makeconftest(wrong)
    pytester.makepyfile(
        f"""
        import pytest
        from tpharness.testing import assert_passed, play
        def test_vsp():
            assert_passed(play("{IDS[0]}"))
        def test_ag_ui():
            assert_passed(play("{IDS[0]}", wire="ag-ui"))
        """
    )
    told = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    told.assert_outcomes(passed=1, failed=1)
    told.stdout.fnmatch_lines([f"*tpharness replay {IDS[0]}* --wire ag-ui*"])
    told = pytester.runpytest_subprocess(
        *("-p", "no:cacheprovider", "--tpharness-builtin", IDS[0], "--tpharness-wire", "ag-ui", "-k", "tool-call")
    )
    told.assert_outcomes(failed=1, deselected=2)


def test_a_target_of_an_older_contract_is_played_over_the_default_wire_alone() -> None:
    """It declares no wires, and gets no member that it does not know."""
    found = results_over_ag_ui(server=OLD)
    assert {(result.outcome, result.reason) for result in found} == {
        (Outcome.NOT_APPLICABLE, "the server does not declare the wire ag-ui")
    }
    events = run_suite(RunOptions(server=OLD, ids=IDS))
    assert {event.result.outcome for event in events if isinstance(event, ResultReady)} == {Outcome.PASSED}
