"""The comparison counts what happened at each place, and its tables say what was counted."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from tests.distribution import Sample
from tests.histories.message_parts.build import inline, journal_of, scenario

from tpharness.errors import UsageError
from tpharness.histories.compare import DEFAULT_IDS, Cell, HistoryComparison, compare
from tpharness.histories.losses import LOSS_KINDS
from tpharness.histories.phases import Phase
from tpharness.histories.play import next_input, play_history
from tpharness.histories.registry import HISTORIES
from tpharness.histories.report import LEGEND, WORDS, compare_json, compare_markdown, lost_words, refused_words
from tpharness.resources import scenarios_dir, schema_path
from tpharness.run.select import select_scenarios

GUIDE = (Path(__file__).parents[2] / "docs" / "HISTORIES.md").read_text("utf-8")
NAMES = list(HISTORIES)


TELLING = (
    "basics/parallel-returns-in-call-order",
    "histories/k02-thinking-call-and-answer",
    "histories/l-08-one-of-two-tools-done",
    "histories/l-12-only-a-space",
    "interruptions/arguments-stay-open-on-the-wire",
    "interruptions/error-before-another-agent",
    "interruptions/error-then-finish-error",
    "interruptions/event-in-dropped-response",
    "interruptions/goes-on-without-a-return",
    "interruptions/mid-tool-args-looks-whole",
    "interruptions/reading-as-streamed-at-an-error",
    "interruptions/reading-as-streamed-without-text",
    "interruptions/reserved-event-keeps-its-turn",
    "interruptions/safety-halt-of-another-response",
    "interruptions/second-step-mid-args",
    "interruptions/thinking-before-an-answered-call",
    "interruptions/usage-of-dropped-response",
)
"""What gives the words of the tables that the tests below are about."""
LATER_TURNS = ("interruptions/one-of-two-tools-then-two-turns", "interruptions/two-of-three-tools-then-two-turns")
"""What gives the other words: two turns follow the cut. All other scenarios add places, and no words."""


def compared(*ids: str) -> HistoryComparison:
    """Compare scenarios."""
    return compare([scenario(name) for name in ids], list(HISTORIES.values()))


@cache
def suite() -> HistoryComparison:
    """Compare what stands for the scenarios that are compared when nothing is named."""
    return compared(*TELLING)


# ------------------------------------------------------------------------------------------------ counting


def test_a_cell_counts_the_places_of_its_phase() -> None:
    """L11: a call alone, its result, a text of several deltas; all places of the text are in one row."""
    cells = compared("histories/l-11-in-the-final-text").cells
    text = cells[Phase.SECOND_STEP_TEXT]["0.0.4"]
    assert text.cuts > 1
    assert text.lost["partial-text"] == text.possible["partial-text"] == text.cuts
    assert text.lost["finished-result"] == 0
    assert text.possible["finished-result"] == text.cuts
    older = cells[Phase.SECOND_STEP_TEXT]["0.0.3"]
    assert older.lost["finished-result"] == older.lost["interruption-fact"] == older.cuts == text.cuts


def test_only_the_turn_that_is_cut_counts() -> None:
    """What earlier turns lost is theirs; a cut behind a cut turn is in no row."""
    cut = "  - user: q\n  - steps: [{response: [{text: [a, b], label: t}]}]\n"
    twice = cut + "    interrupt: {reason: user_cancelled, after: t.mid}\n" + cut
    once = compare([inline(cut)], [HISTORIES["0.0.4"]]).cells[Phase.MID_TEXT]["0.0.4"]
    both = compare([inline(twice)], [HISTORIES["0.0.4"]]).cells[Phase.MID_TEXT]["0.0.4"]
    after_whole = compare([inline(cut + cut)], [HISTORIES["0.0.4"]]).cells[Phase.MID_TEXT]["0.0.4"]
    assert (both.cuts, after_whole.cuts) == (once.cuts, 2 * once.cuts)
    assert after_whole.lost == Counter({kind: 2 * count for kind, count in once.lost.items()})


def test_what_cannot_be_held_is_counted_apart() -> None:
    """GAP-6 of the documented design; the others hold it."""
    cells = compare([scenario("tools/interleaved-arguments")], list(HISTORIES.values())).cells
    assert sum(row["langchain/documented"].unsupported for row in cells.values()) > 0
    assert all(row["langchain/repaired"].unsupported == 0 for row in cells.values())


def test_the_suite_has_every_place() -> None:
    """No row of the tables is empty; what one history cannot hold was tried."""
    for phase, row in suite().cells.items():
        assert min(cell.cuts + cell.unsupported for cell in row.values()) > 0, phase
        assert [name for name, cell in row.items() if not cell.cuts] in ([], ["langgraph"], ["strands/cancel"]), phase


def test_a_file_that_an_api_takes_in_no_form_is_no_refusal() -> None:
    """Chat has no form for an audio by its URL; that API is left out, and the places are counted all the same."""
    played = scenario("parts/user-content-of-every-kind")
    history = HISTORIES["0.0.4"]
    document = history.store(journal_of(played))
    assert next_input(history, document, "openai-chat") is None
    with pytest.raises(UsageError, match="audio"):
        history.model_input(document, "openai-chat", next_user="Go on.")
    before = compare([played], [history]).cells[Phase.BEFORE_FIRST_DELTA]["0.0.4"]
    assert before.cuts > 0
    assert before.refusals == 0


def test_an_example_is_a_place_that_run_takes() -> None:
    """The first refused one is refused again."""
    cell = suite().cells[Phase.SOME_TOOLS_DONE]["langchain/documented"]
    name = cell.example_refused
    (result,) = play_history(scenario(name.partition("@")[0]), HISTORIES["langchain/documented"], name)
    assert "anthropic-call-unanswered" in result.failing_codes


# ------------------------------------------------------------------------------------------------ the picture


def cells_of(name: str, words: Any) -> dict[Phase, str]:
    """Return the words of a column."""
    return {phase: " ".join(words(row[name])) for phase, row in suite().cells.items()}


def test_the_headline_parallel_tools() -> None:
    """Documented LangChain, LangGraph's state and UI messages are refused by all APIs; what repairs is taken (L08)."""
    row = {name: refused_words(cell) for name, cell in suite().cells[Phase.SOME_TOOLS_DONE].items()}
    for name in ("langchain/documented", "langchain/js", "langgraph", "ai-sdk"):
        assert row.pop(name) == ["✗", "C1", "R1", "A1", "G1"], name
    assert row.pop("chimera/typescript") == ["✗", "C2", "R2", "A2", "G3"]  # the calls go, and the results stay
    assert row.pop("strands/cancel") == ["cannot be held"]  # it waits for the tools
    assert row.pop("agent-framework/call") == ["✗", "C1"]  # for the one API that it is written for
    assert set(map(tuple, row.values())) == {("✓",)}


@pytest.mark.parametrize("name", ["0.0.4", "0.0.3", "2.0.0", "langchain/repaired"])
def test_these_are_taken_wherever_they_are_cut(name: str) -> None:
    """Threads by R20 and R21, the repaired design by its name."""
    assert set(cells_of(name, refused_words).values()) == {"✓"}


def test_current_is_refused_only_for_a_late_result() -> None:
    """It repairs calls without a result when it reads; a result behind the model's next message is not moved."""
    refused = cells_of("message-parts/current", refused_words)
    assert refused.pop(Phase.SECOND_STEP_TEXT) == "(✗ C1 C2 A1 A2 G1 G3)"
    assert set(refused.values()) == {"✓"}
    example = suite().cells[Phase.SECOND_STEP_TEXT]["message-parts/current"].example_refused
    assert example.startswith("interruptions/goes-on-without-a-return@")


def test_langgraph_sends_calls_whose_tools_had_not_all_returned() -> None:
    """A step is kept when all of it has ended; the calls of one that had not are sent without results."""
    refused = cells_of("langgraph", refused_words)
    assert refused.pop(Phase.SOME_TOOLS_DONE) == "✗ C1 R1 A1 G1"
    assert refused.pop(Phase.TOOL_RUNNING) == "✗ C1 R1 A1 (G1)"
    assert refused.pop(Phase.MID_THINKING) == "cannot be held"
    assert set(refused.values()) == {"✓"}
    lost = cells_of("langgraph", lost_words)
    assert lost[Phase.SOME_TOOLS_DONE] == "result cut"
    assert all(words == "cannot be held" or "cut" in words.split() for words in lost.values())


def test_pydantic_ai_loses_nothing_of_an_answer_that_is_cut() -> None:
    """What was streamed is kept with its state; white space alone is what an API refuses of it.

    A cut after an answer leaves no trace, also where another agent had taken over and had not answered yet.
    """
    lost = cells_of("pydantic-ai", lost_words)
    assert lost.pop(Phase.BEFORE_FIRST_DELTA) == "(cut)"
    assert set(lost.values()) == {"–"}
    refused = cells_of("pydantic-ai", refused_words)
    assert refused.pop(Phase.MID_TEXT) == "(✗ A4)"
    assert set(refused.values()) == {"✓"}


def test_ui_messages_say_that_a_turn_was_cut_only_of_what_was_streaming() -> None:
    """What had come is kept; the calls of a cut turn are told without results."""
    lost = cells_of("ai-sdk", lost_words)
    assert {word for words in lost.values() for word in words.split()} <= {"cut", "(cut)", "usage", "–"}
    assert lost[Phase.SOME_TOOLS_DONE] == "cut"
    assert lost[Phase.MID_TEXT] == lost[Phase.MID_THINKING] == lost[Phase.MID_ARGUMENTS] == "–"
    refused = cells_of("ai-sdk", refused_words)
    assert refused.pop(Phase.MID_TEXT) == "(✗ A4)"
    assert refused.pop(Phase.MID_ARGUMENTS) == "(✗ C1 R1 A1 G1)"
    assert refused.pop(Phase.TOOL_RUNNING) == refused.pop(Phase.SOME_TOOLS_DONE) == "✗ C1 R1 A1 G1"
    assert set(refused.values()) == {"✓"}


def test_the_clients_of_chimera_keep_different_things_of_one_stream() -> None:
    """The command line keeps what is whole, and the missing end of the turn; the web client all, as if whole."""
    lost = cells_of("chimera/python", lost_words)
    assert lost[Phase.MID_TEXT].startswith("text ")
    assert lost[Phase.SOME_TOOLS_DONE] == "–"
    assert not any("cut" in words for words in lost.values())
    assert set(cells_of("chimera/python", refused_words).values()) == {"✓"}
    web = cells_of("chimera/typescript", lost_words)
    assert not any(word in words.split() for words in web.values() for word in ("text", "result", "tool"))
    assert web[Phase.BETWEEN_STEPS] == "sig usage"
    assert cells_of("chimera/typescript", refused_words)[Phase.BETWEEN_STEPS].startswith("✗ C2 R2 A2")


def test_the_session_of_the_agents_sdk_has_whole_steps_and_nothing_else() -> None:
    """Nothing of it is refused, nothing says that a run was cut, and a result waits for those beside it."""
    lost = cells_of("openai-agents", lost_words)
    assert all("cut" in words.split() for words in lost.values())
    assert lost[Phase.SOME_TOOLS_DONE] == "text args tool result cut"
    assert lost[Phase.BETWEEN_STEPS] == "usage cut"
    assert set(cells_of("openai-agents", refused_words).values()) == {"✓"}


def test_strands_answers_the_calls_that_a_stopped_run_has_left() -> None:
    """So no history of it is refused; `cancel()` leaves words of the model's in place of what was cut."""
    left, cancelled = cells_of("strands/left", lost_words), cells_of("strands/cancel", lost_words)
    assert left[Phase.TOOL_RUNNING] == "–"
    assert left[Phase.SOME_TOOLS_DONE] == "result"
    assert left[Phase.BETWEEN_STEPS] == "cut"
    assert cancelled[Phase.BETWEEN_STEPS] == "–"
    assert cancelled[Phase.TOOL_RUNNING] == cancelled[Phase.SOME_TOOLS_DONE] == "cannot be held"
    assert left[Phase.MID_TEXT] == "text thought sig cut"
    assert cancelled[Phase.MID_TEXT] == "text thought sig"
    refused = cells_of("strands/left", refused_words)
    assert refused.pop(Phase.TOOL_RUNNING) == "(✗ A11)"  # arguments that are JSON, but not an object, are stored so
    assert set(refused.values()) == {"✓"}
    assert set(cells_of("strands/cancel", refused_words).values()) == {"✓", "cannot be held"}


def test_the_session_of_the_agents_sdk_for_javascript_has_whole_runs() -> None:
    """And its list whole steps, as the session of Python's has."""
    session, listed = cells_of("openai-agents-js/session", lost_words), cells_of("openai-agents-js/list", lost_words)
    assert session[Phase.BETWEEN_STEPS].startswith("text args tool result usage cut")
    assert session[Phase.SECOND_STEP_TEXT].startswith("text args tool result")
    assert listed == cells_of("openai-agents", lost_words)
    for name in ("openai-agents-js/session", "openai-agents-js/list"):
        assert set(cells_of(name, refused_words).values()) == {"✓"}


def test_the_session_of_googles_adk_has_whole_responses_and_all_results_together() -> None:
    """Of its two ways to stop a run the signal leaves an answer to each call, and an event; the other one nothing."""
    left, aborted = cells_of("google-adk/left", lost_words), cells_of("google-adk/aborted", lost_words)
    assert left[Phase.SOME_TOOLS_DONE] == "result cut"
    assert aborted[Phase.SOME_TOOLS_DONE] == "result"
    assert left[Phase.SECOND_STEP_ARGUMENTS] == "text args tool cut"
    assert not any("cut" in words for words in aborted.values())
    assert aborted[Phase.TOOL_RUNNING] == aborted[Phase.BETWEEN_STEPS] == "–"
    for name in ("google-adk/left", "google-adk/aborted"):
        assert set(cells_of(name, refused_words).values()) == {"✓"}


def test_the_agent_framework_forgets_a_run_or_the_results_of_its_tools() -> None:
    """Stored when a run has ended all of a cut one is lost; stored after each response its calls have no results."""
    run, each = cells_of("agent-framework/run", lost_words), cells_of("agent-framework/call", lost_words)
    assert run[Phase.BETWEEN_STEPS] == "text args tool result usage cut"
    assert set(cells_of("agent-framework/run", refused_words).values()) <= {"✓", "cannot be held"}
    assert each[Phase.TOOL_RUNNING] == "usage cut"
    assert each[Phase.BETWEEN_STEPS] == "result usage cut"
    refused = cells_of("agent-framework/call", refused_words)
    assert {phase for phase, words in refused.items() if words == "✗ C1"} >= {
        *(Phase.TOOL_RUNNING, Phase.SOME_TOOLS_DONE, Phase.BETWEEN_STEPS),
        *(Phase.SECOND_STEP_TEXT, Phase.SECOND_STEP_ARGUMENTS),
    }


def test_agno_keeps_a_run_that_was_cut_and_sends_nothing_of_it() -> None:
    """So nothing is refused; each cut shows in the state of the run."""
    lost = cells_of("agno", lost_words)
    assert not any("cut" in words for words in lost.values())
    assert lost[Phase.SOME_TOOLS_DONE] == "result"
    assert set(cells_of("agno", refused_words).values()) <= {"✓", "cannot be held"}
    history = HISTORIES["agno"]
    document = history.store(journal_of(scenario("histories/l-08-one-of-two-tools-done")))
    assert [run["status"] for run in document] == ["cancelled"]
    assert history.model_input(document, "openai-chat", next_user="Is it?") == [{"role": "user", "content": "Is it?"}]


def test_threads_lose_by_their_rules() -> None:
    """0.0.4 keeps complete cycles and drops what streams (R20); 0.0.3 drops each turn that was cut (R18)."""
    lost = cells_of("0.0.4", lost_words)
    assert lost[Phase.BETWEEN_STEPS] == "–"
    text, *rest = lost[Phase.SECOND_STEP_TEXT].split()
    assert text == "text"  # what else is lost, in brackets, is of a first step whose call has no return
    assert set(rest) <= {"(args)", "(tool)", "(result)", "(cut)"}
    assert lost[Phase.MID_THINKING] == "thought cut"
    older = cells_of("0.0.3", lost_words)
    assert all("cut" in words.split() for words in older.values())
    assert older == cells_of("2.0.0", lost_words)


def test_current_always_tells_the_interruption() -> None:
    """One entry or one aborted message each time; half calls are what it gives up, and thinking beside them."""
    lost = cells_of("message-parts/current", lost_words)
    assert not any("cut" in words for words in lost.values())
    assert lost[Phase.MID_ARGUMENTS].startswith("args tool")
    assert lost[Phase.TOOL_RUNNING] == lost[Phase.SOME_TOOLS_DONE] == lost[Phase.BETWEEN_STEPS] == "–"


def test_langchain_keeps_texts_and_forgets_tools() -> None:
    """GAP-7: a half call keeps its text and loses its tool; nothing tells that a text was cut."""
    for name in ("langchain/documented", "langchain/repaired", "langchain/js"):
        lost = cells_of(name, lost_words)
        assert lost[Phase.BEFORE_FIRST_DELTA] == lost[Phase.MODEL_ERROR] == "cut"
        assert "text" not in " ".join(lost.values()).split()
        assert lost[Phase.MID_ARGUMENTS].startswith("tool")


# ------------------------------------------------------------------------------------------------ words, tables, JSON


def test_the_words_of_a_cell() -> None:
    """Plain when always lost, in brackets when sometimes; a place that nobody had says so."""
    cell = Cell(cuts=3)
    cell.possible.update({"usage": 3, "thinking": 2, "partial-text": 1})
    cell.lost.update({"usage": 1, "thinking": 2})
    assert lost_words(cell) == ["thought", "(usage)"]
    assert refused_words(cell) == ["✓"]
    assert lost_words(Cell(cuts=1)) == ["–"]
    assert lost_words(Cell()) == refused_words(Cell()) == ["never occurs"]
    assert lost_words(Cell(unsupported=2)) == refused_words(Cell(unsupported=2)) == ["cannot be held"]
    some = Cell(cuts=3, refusals=2, refused=Counter({"A1": 2, "C1": 1, "payload-malformed": 2}))
    assert refused_words(some) == ["(✗ (C1) A1 payload-malformed)"]
    always = Cell(cuts=2, refusals=2, refused=Counter({"G1": 2, "R1": 2}))
    assert refused_words(always) == ["✗", "R1", "G1"]


def test_every_kind_has_a_word_and_a_meaning() -> None:
    """Short ones: the widest fits into a column of 9, brackets included."""
    assert set(WORDS) == set(LEGEND) == set(LOSS_KINDS)
    assert max(map(len, WORDS.values())) <= 7


@pytest.mark.sampled
def test_the_tables_of_the_guide_are_those_of_the_suite(sample: Sample[str]) -> None:
    """What `tpharness compare --markdown` prints stands between the two marks."""
    every = [one.id for one in select_scenarios(DEFAULT_IDS, (scenarios_dir(),))]
    assert set(TELLING) < set(every)
    telling = {*TELLING, *LATER_TURNS}
    chosen = {*telling, *sample([one for one in every if one not in telling])}
    _, _, rest = GUIDE.partition("<!-- tables: generated -->\n")
    tables, _, _ = rest.partition("<!-- end -->")
    assert tables.strip() == compare_markdown(compared(*sorted(chosen))).strip()


def test_the_guide_names_every_history_and_check() -> None:
    """With its own row."""
    for name in NAMES:
        assert re.search(rf"^\|.*`{re.escape(name)}`", GUIDE, re.MULTILINE), name
    for check in ("read-back", "interruption-shown", "accepted-…", "append-only"):
        assert f"| `{check}` |" in GUIDE


def test_the_example_of_the_guide_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """On K06: a half call is lost, arguments and tool."""
    (example,) = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    (_, run) = scenario("histories/k06-mid-arguments").runs[0]
    names: dict[str, Any] = {"events": run.events_before_cut}
    exec(example, names)  # noqa: S102 -- our own documentation
    assert [line.split()[:2] for line in capsys.readouterr().out.splitlines()] == [
        ["partial-arguments", "0"],
        ["tool-name", "0"],
    ]
    assert names["payload"]["messages"][-1]["role"] == "user"


def test_the_json_fits_its_schema() -> None:
    """Every place and history, counted as in the tables."""
    told = json.loads(json.dumps(compare_json(suite())))
    schema = json.loads(schema_path("compare").read_text("utf-8"))
    jsonschema_rs.Draft202012Validator(schema).validate(told)
    assert [place["place"] for place in told["places"]] == [phase.value for phase in Phase]
    assert told["dialects"] == NAMES
    cell = next(p for p in told["places"] if p["place"] == "some-tools-done")["dialects"]["langchain/documented"]
    assert cell["tried"] == cell["refused"] == cell["rules"]["C1"] == cell["lost"]["interruption-fact"]["lost"]
    assert cell["lost"]["finished-result"]["lost"] == 0 < cell["lost"]["finished-result"]["of"]
