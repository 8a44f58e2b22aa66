"""Campaigns: planted defects are found, shrunk and told once; time, count, seed and folder are kept to."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests.scenarios import load_builtin

from tpharness.errors import InputError, UsageError
from tpharness.explore.campaigns import judging
from tpharness.explore.campaigns.campaign import Campaign, CampaignOptions
from tpharness.explore.campaigns.cases import Judged, case_source
from tpharness.explore.campaigns.judging import CampaignJudge
from tpharness.explore.campaigns.state import CampaignState, FoundFailure
from tpharness.explore.campaigns.subject_files import load_subject
from tpharness.explore.generate.kinds import GENERATORS, FuzzKind
from tpharness.journal import keep
from tpharness.protocol.migrate import convert
from tpharness.readings import AnswerRule, Readings
from tpharness.run import RunOptions, play_one
from tpharness.run.session import Session
from tpharness.run.workers import THIS_PROCESS, Workers
from tpharness.scenario import AgentRun, Clock, Scenario, dump, load_scenario
from tpharness.targets import Reference
from tpharness.targets.remote import CannotPlayError
from tpharness.verdict import Outcome
from tpharness.verdict.causes import causes_of

DEFECTS = "tests.explore.defects"
LOSING = f"python:{DEFECTS}:line_splitting"
PROGRAMS = (FuzzKind.PROGRAMS,)
ARGS_DIFFER = "client: args of a part (tool-call) differs"
TEXT_DIFFERS = "client: content of a part (text) differs"


@dataclass(slots=True)
class AttemptClock:
    """A clock on which each look takes a hundredth of a second: as many attempts at shrinking on every machine."""

    seconds: float = 0.0

    def __call__(self) -> float:
        """Return the seconds, one look later."""
        self.seconds += 0.01
        return self.seconds


def campaign(folder: Path, *, client: str = "reference", **options) -> CampaignState:
    """Run a campaign of programs, or of what the options say, on a clock that counts attempts."""
    options = {"kinds": PROGRAMS, "cases": 250, "shrink_seconds": 3.0, "clock": AttemptClock(), **options}
    with Session(client=client) as session:
        return Campaign(session, CampaignOptions(db=folder, **options)).run()


def run_of(path: str) -> tuple[Scenario, AgentRun]:
    """Load what was saved; return the scenario and its last run."""
    scenario = load_scenario(path, root=Path(path).parent)
    return scenario, scenario.runs[-1][1]


def codes_when_played(path: str, client: str = "reference") -> frozenset[str]:
    """Play a saved file as `tpharness run` does."""
    scenario, _ = run_of(path)
    (result,) = play_one(scenario, RunOptions(client=client))
    assert result.outcome is Outcome.FAILED
    return result.failing_codes


def causes_when_judged(path: str, client: str = "reference") -> set[str]:
    """Judge a saved file as `tpharness fuzz --replay` does."""
    kind, subject = load_subject(Path(path))
    with Session(client=client) as session:
        return {str(cause) for cause in causes_of(CampaignJudge(session).findings(kind, subject))}


# ------------------------------------------------------------------------------------------------ planted defects


@pytest.fixture(scope="module")
def losing(tmp_path_factory) -> tuple[CampaignState, Path]:
    """Return a campaign against a client that loses U+2028, and its folder."""
    folder = tmp_path_factory.mktemp("losing")
    return campaign(folder, client=LOSING, cases=80), folder


def test_a_client_that_loses_a_character_is_shrunk_to_a_text_of_it(losing):
    """The defect needs one U+2028 on the wire and nothing else: one run, and no event that could go."""
    state, _ = losing
    target = LOSING
    failure = state.failures[TEXT_DIFFERS]
    assert failure.codes == ("identity-differs",)
    assert "identity-differs" in codes_when_played(failure.file, target)
    assert failure.cause in causes_when_judged(failure.file, target)
    scenario, run = run_of(failure.file)
    assert len(scenario.runs) == 1
    assert len(run.events or ()) <= 5  # request, part with a delta and its end, result
    assert "\u2028" in json.dumps(run.events, ensure_ascii=False)
    assert "at character 0: server" in scenario.description
    assert "the client is wrong" in scenario.description
    assert "R39" in scenario.description


def test_returns_in_the_wrong_order_are_shrunk_to_two_calls_with_their_returns(tmp_path):
    """Two returns in one request are the least that can stand the other way round (R11)."""
    target = f"python:{DEFECTS}:reordered_returns"
    state = campaign(tmp_path, client=target, cases=20, shrink_seconds=1.5)
    (failure,) = state.failures.values()
    assert failure.codes == ("returns-out-of-order",)
    assert {"identity-differs", "returns-out-of-order"} <= codes_when_played(failure.file, target)
    _, run = run_of(failure.file)
    results = [e for e in run.events or () if e["event_kind"].endswith("_tool_result")]
    starts = [e for e in run.events or () if e["event_kind"] == "part_start"]
    assert len(results) == 2
    assert len(starts) <= 2
    assert len(run.events or ()) <= 10  # request, parts with ends, response end, tools, result


def test_keeping_a_response_with_any_return_is_shrunk_to_a_call_without_one(tmp_path, monkeypatch):
    """R21 read as `any` on both sides: they agree, and still the history has a call that nobody answered."""
    surviving = keep.surviving_response

    def any_return(response, calls, answered, readings):
        return surviving(response, calls, answered, Readings(R20=readings.R20, R21=AnswerRule.ANY_RETURN))

    monkeypatch.setattr(keep, "surviving_response", any_return)
    state = campaign(tmp_path, cases=200, seed=1)
    failure = next(f for f in state.failures.values() if "cycle-incomplete" in f.codes)
    assert failure.rulings == ("R21",)
    assert failure.codes == ("cycle-incomplete",)
    assert "cycle-incomplete" in codes_when_played(failure.file)
    assert failure.cause in causes_when_judged(failure.file)
    _, run = run_of(failure.file)
    assert run.interrupt is not None
    kinds = [e["event_kind"] for e in run.events_before_cut]
    assert sum(kind.endswith("_tool_result") for kind in kinds) == 1
    assert kinds.count("part_start") == 2
    assert len(run.events or ()) <= 8


def test_a_crash_is_a_finding_and_its_place_is_the_cause(tmp_path):
    """An implementation that raises does not end the campaign."""
    state = campaign(tmp_path, client=f"python:{DEFECTS}:crashing", cases=60, shrink_seconds=0.5)
    (failure,) = state.failures.values()
    assert failure.codes == ("fuzz-crashed",)
    assert "KeyError from defects.py in feed" in failure.cause
    assert failure.count > 1


def test_a_hang_is_a_finding(tmp_path, monkeypatch):
    """An implementation that does not come back is given up, and the campaign goes on."""
    monkeypatch.setattr(judging, "HANG_SECONDS", 0.5)
    state = campaign(tmp_path, client=f"python:{DEFECTS}:hanging", cases=30, shrink_seconds=0.0)
    # On a machine that does much else another case may take half a second as well.
    (failure,) = [failure for failure in state.failures.values() if "at defects.py" in failure.cause]
    assert failure.codes == ("fuzz-hangs",)
    assert state.cases >= 30


def test_a_hang_that_first_shows_in_a_destructor_is_given_up(monkeypatch):
    """Python drops an exception there; the alarm rings again, and nothing is dropped."""
    monkeypatch.setattr(judging, "HANG_SECONDS", 0.05)

    class Slow:
        def __del__(self) -> None:
            count_for(0.2)

    def hang() -> None:
        Slow()
        count_for(5)

    with pytest.raises(judging.HangError), judging.time_limit():
        hang()


def count_for(seconds: float) -> None:
    """Compute for as long."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


def test_failures_of_one_cause_are_told_once(losing):
    """Many cases with the defect, one file for each place of a thread that it shows in."""
    state, folder = losing
    assert state.failures[TEXT_DIFFERS].count > 2
    names = sorted(path.name for path in (folder / "failures").iterdir())
    assert names == sorted(Path(failure.file).name for failure in state.failures.values())


def kinds_of_events(failure: FoundFailure) -> set[str]:
    """Return the kinds of the parts that the model sends in a saved failure."""
    _, run = run_of(failure.file)
    return {event["part"]["part_kind"] for event in run.events or () if event["event_kind"] == "part_start"}


def test_two_mistakes_are_two_causes_each_with_its_own_example(tmp_path):
    """The client of one campaign has both, and many programs show both; each example shows one of them."""
    state = campaign(tmp_path, client=f"python:{DEFECTS}:arguments_as_text_and_trimmed", cases=30, shrink_seconds=1.0)
    assert set(state.failures) == {ARGS_DIFFER, TEXT_DIFFERS}
    args, text = state.failures[ARGS_DIFFER], state.failures[TEXT_DIFFERS]
    assert (kinds_of_events(args), kinds_of_events(text)) == ({"tool-call"}, {"text"})
    assert "R12" in args.rulings
    assert "R12" not in text.rulings
    assert (args.beside, text.beside) == ((ARGS_DIFFER,), (TEXT_DIFFERS,))
    assert "args differs" in args.message
    assert "content differs" in text.message


@pytest.mark.parametrize("defect", ["arguments_as_text", "reordered_returns", "trimmed_and_renamed"])
def test_one_mistake_is_one_cause_in_whatever_it_shows(tmp_path, defect):
    """In whole runs and in cut ones, in every version, in several places of a thread at once."""
    state = campaign(tmp_path, client=f"python:{DEFECTS}:{defect}", cases=60, shrink_seconds=0.5)
    (failure,) = state.failures.values()
    assert failure.count > 5
    assert len(failure.beside) == (2 if defect == "trimmed_and_renamed" else 1)


def test_what_two_get_wrong_alike_fails_when_it_is_played_as_a_scenario(tmp_path):
    """What is saved needs no pin: `tpharness run` on the same targets finds what the campaign found (R51)."""
    alike = "python:tests.run.test_truth:Changed"
    with Session(server=alike, client=alike) as session:
        options = CampaignOptions(db=tmp_path, kinds=PROGRAMS, cases=150, shrink_seconds=0.5)
        state = Campaign(session, options).run()
    assert state.failures
    for failure in state.failures.values():
        scenario, _ = run_of(failure.file)
        (result,) = play_one(scenario, RunOptions(server=alike, client=alike))
        assert {"thread-departs", *failure.codes} <= result.failing_codes
        assert play_one(scenario, RunOptions())[0].outcome is Outcome.PASSED


def test_a_saved_failure_is_judged_again(losing):
    """What was saved is read back, and fails for its cause on the target and for none on the reference."""
    state, _ = losing
    failure = state.failures[TEXT_DIFFERS]
    kind, subject = load_subject(Path(failure.file))
    assert kind is FuzzKind.PROGRAMS
    assert failure.cause in causes_when_judged(failure.file, LOSING)
    with Session() as session:
        assert CampaignJudge(session).findings(kind, subject) == ()


class Unable(Reference):
    """A server that can play nothing."""

    async def serve(self, _):
        """Say so."""
        raise CannotPlayError("no runs here")


def test_what_a_target_cannot_play_is_no_failure():
    """It is not applicable in a run, and nothing to be reported in a campaign."""
    scenario = load_builtin("basics/tool-call-and-answer")
    with Session(server="python:tests.explore.test_campaign:Unable") as session:
        assert CampaignJudge(session).findings(FuzzKind.PROGRAMS, scenario) == ()


def test_a_document_that_loses_a_field_is_saved_as_a_document(tmp_path, monkeypatch):
    """A conversion that forgets a field at the top: the smallest thread is one with this field (R7)."""

    def forgetting(thread, to):
        there = convert(thread, to)
        return replace(there, thread={k: v for k, v in there.thread.items() if k != "x"})

    monkeypatch.setattr("tpharness.explore.campaigns.judging.convert", forgetting)
    state = campaign(tmp_path, kinds=(FuzzKind.DOCUMENTS,), cases=25, shrink_seconds=0.5)
    (failure,) = state.failures.values()
    assert failure.codes == ("round-trip-differs",)
    assert "R7" in failure.rulings
    kind, document = load_subject(Path(failure.file))
    assert kind is FuzzKind.DOCUMENTS
    assert isinstance(document, dict)
    assert "x" in document
    assert failure.cause in causes_when_judged(failure.file)
    monkeypatch.undo()
    assert causes_when_judged(failure.file) == set()


def test_a_scenario_file_that_is_not_written_as_it_was_is_saved_as_it_is(tmp_path, monkeypatch):
    """A writer that forgets the clock: one line of the smallest file sets it."""

    def forgetting(scenario):
        return dump(replace(scenario, clock=Clock()))

    monkeypatch.setattr("tpharness.explore.campaigns.judging.dump", forgetting)
    state = campaign(tmp_path, kinds=(FuzzKind.SCENARIOS,), cases=20, shrink_seconds=0.5)
    (failure,) = state.failures.values()
    assert failure.codes == ("round-trip-differs",)
    assert "clock:" in Path(failure.file).read_text("utf-8")
    assert failure.cause in causes_when_judged(failure.file)


# ------------------------------------------------------------------------------------------------ going on, stopping


def test_the_same_seed_gives_the_same_cases():
    """Case N of a seed is one thing; another seed or number gives another."""
    made = [GENERATORS[FuzzKind.PROGRAMS](case_source(*one)) for one in ((1, 5), (1, 5), (1, 6), (2, 5))]
    assert made[0] == made[1]
    assert made[0] != made[2]
    assert made[0] != made[3]


def test_two_sittings_do_what_one_does(tmp_path):
    """A campaign that goes on where it was finds what one without a pause finds, and counts as much."""
    target = LOSING
    first = campaign(tmp_path / "two", client=target, cases=20, seed=3, shrink_seconds=0.1)
    both = campaign(tmp_path / "two", client=target, cases=20, shrink_seconds=0.1)
    assert both.seed == 3
    assert both.next > first.next
    assert len(both.failures) > 1
    whole = campaign(tmp_path / "one", client=target, cases=both.cases, seed=3, shrink_seconds=0.1)
    assert (whole.next, whole.cases) == (both.next, both.cases)
    assert {(f.cause, f.count, f.case) for f in whole.failures.values()} == {
        (f.cause, f.count, f.case) for f in both.failures.values()
    }


def test_a_campaign_that_is_interrupted_keeps_what_it_did(tmp_path, monkeypatch):
    """Whatever ends it, the folder holds the number of the next case."""
    with Session() as session:
        running = Campaign(session, CampaignOptions(kinds=PROGRAMS, cases=1000, db=tmp_path))
        once = Campaign._take

        def stopping(self, one):
            if self.state.next == 40:
                raise KeyboardInterrupt
            once(self, one)

        monkeypatch.setattr(Campaign, "_take", stopping)
        with pytest.raises(KeyboardInterrupt):
            running.run()
        monkeypatch.undo()
        assert Campaign(session, CampaignOptions(kinds=PROGRAMS, db=tmp_path)).state.next == 40


def test_workers_find_what_one_process_finds(tmp_path):
    """Counts, causes, the case that showed each first, and where the next sitting begins."""
    told = []
    for name, workers in (("one", THIS_PROCESS), ("two", Workers(jobs=2))):
        state = campaign(tmp_path / name, client=LOSING, workers=workers, cases=40, shrink_seconds=0.0)
        causes = [(f.cause, f.kind, f.case, f.count, Path(f.file).name) for f in state.failures.values()]
        told.append((state.next, state.cases, causes))
        assert causes
    assert told[0] == told[1]


def test_a_campaign_takes_no_case_out_of_order(tmp_path):
    """A gap would be cases that were never judged and count as done."""
    with Session() as session:
        running = Campaign(session, CampaignOptions(kinds=PROGRAMS, db=tmp_path))
        running._take(Judged(number=0, cases=1))
        with pytest.raises(RuntimeError, match="case 2 was judged, and 1 is the next one"):
            running._take(Judged(number=2, cases=1))


def test_a_campaign_stops_on_time(tmp_path):
    """Half a second is half a second and one case."""
    clock = AttemptClock()
    state = campaign(tmp_path, seconds=0.5, cases=None, clock=clock)
    assert 0.5 <= clock.seconds < 0.6
    assert state.cases > 0
    assert not state.failures


@pytest.mark.sampled
def test_every_kind_passes_on_the_reference_for_a_while(tmp_path, sample):
    """The reference holds for legal programs, threads, documents and files, and never crashes on bytes."""
    state = campaign(tmp_path, kinds=tuple(FuzzKind), cases=len(sample(range(600))))
    assert state.failures == {}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"seed": 9}, "has the seed 0, not 9"),
        ({"kinds": (FuzzKind.BYTES,)}, "is one of programs"),
        ({"sides": ("--client", "x")}, "plays the reference"),
    ],
    ids=["seed", "kinds", "targets"],
)
def test_a_folder_holds_one_campaign(tmp_path, options, said):
    """Going on with another seed, other kinds or other targets would be a campaign of its own."""
    campaign(tmp_path, cases=5)
    with pytest.raises(UsageError, match=said):
        campaign(tmp_path, cases=5, **options)


@pytest.mark.parametrize("meanwhile", ["begins", "has-ended"])
def test_two_at_once_are_refused(tmp_path, monkeypatch, meanwhile):
    """Each would write its own count over the other's."""
    with Session() as session:
        options = CampaignOptions(kinds=PROGRAMS, cases=5, db=tmp_path)
        one, other = Campaign(session, options), Campaign(session, options)
        if meanwhile == "has-ended":
            one.run()
            with pytest.raises(UsageError, match="another process continues"):
                other.run()
        else:
            once = Campaign._take

            def meeting(self, judged):
                with pytest.raises(UsageError, match="another process continues"):
                    other.run()
                once(self, judged)

            monkeypatch.setattr(Campaign, "_take", meeting)
            one.run()
        assert Campaign(session, options).state == one.state


def test_a_file_that_is_no_campaign_is_refused(tmp_path):
    """Nothing is overwritten that a campaign did not write."""
    (tmp_path / "campaign.json").write_text("[]")
    with pytest.raises(InputError, match="is not a campaign"):
        campaign(tmp_path, cases=5)
