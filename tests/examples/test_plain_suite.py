"""The plain examples pass every scenario in each role that they claim, as README.md and docs/CONTROL.md promise.

Over stdio all of it is played whenever the tests are; over HTTP and with faults a tenth, and all of it with --whole.
Node and Go are needed for two of the three.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.distribution import ChosenScenarios, Sample
from tests.golang import build
from tests.patience import SLOW

from tpharness.faults import FAULTS
from tpharness.resources import scenarios_dir
from tpharness.run import RunOptions, run_suite
from tpharness.scenario_files import find_files
from tpharness.targets.nodejs import find_node
from tpharness.verdict import Outcome, ResultReady, RunFinished, ScenarioFinished

EXAMPLES = Path(__file__).parents[2] / "examples"
NODE, GO = pytest.mark.node, pytest.mark.go
SOURCES = {"python": "plain_python.py", "node": "plain_node.mjs", "go": "plain_go.go"}
ROLES = [
    pytest.param("python", "server"),
    pytest.param("python", "client"),
    pytest.param("node", "server", marks=NODE),
    pytest.param("node", "client", marks=NODE),
    pytest.param("go", "server", marks=GO),
]
"""Which example claims which role."""

MISTAKES = [
    pytest.param("python", "server", "        if call in self.thread.calls:  # R36", "        if True:  #"),
    pytest.param("python", "client", 'if not chunk.get("preliminary"):', "if True:"),
    pytest.param("node", "server", "if (this.toolCall(toolCallId)) yield", "yield", marks=NODE),
    pytest.param("node", "client", "if (!chunk.preliminary) this.output(", "this.output(", marks=NODE),
    pytest.param("go", "server", '"output": event.Content, "preliminary": true', '"output": event.Content', marks=GO),
]
"""In each role of each example, what makes of progress of a tool something else; the suite has it in a place or two."""

PROGRESS = ("cycles/tool-of-an-earlier-answer-starts-while-one-streams", "stream/server-events-that-do-not-fit")


@dataclass(frozen=True, slots=True)
class Played:
    """What a run has shown: which scenarios were played, what was not green, what was not judged and why."""

    scenarios: frozenset[str]
    wrong: tuple[str, ...]
    reasons: Counter[str]
    finished: RunFinished


def play(**options: Any) -> Played:
    """Play built-in scenarios, all of them unless `ids` says which."""
    *events, finished = run_suite(RunOptions(patience=SLOW, **options))
    assert isinstance(finished, RunFinished)
    results = [event.result for event in events if isinstance(event, ResultReady)]
    unjudged = {Outcome.NOT_APPLICABLE, Outcome.NO_PART}
    return Played(
        scenarios=frozenset(event.id for event in events if isinstance(event, ScenarioFinished)),
        wrong=tuple(f"{one.id}: {one.reason} {one.failing_codes}" for one in results if not one.outcome.green),
        reasons=Counter(one.reason for one in results if one.outcome in unjudged),
        finished=finished,
    )


def spec(source: Path, folder: Path) -> str:
    """Return the target that an example is over stdio; what is compiled lies in the folder."""
    if source.suffix == ".go":
        build(source, folder / "plain_go")
        return f"stdio:{folder / 'plain_go'}"
    program = find_node().executable if source.suffix == ".mjs" else sys.executable
    return f"stdio:{shlex.join([str(program), str(source), '--stdio'])}"


@pytest.mark.long
@pytest.mark.parametrize(("name", "role"), ROLES)
def test_it_passes_every_scenario_over_stdio(name: str, role: str, tmp_path: Path) -> None:
    """Each author, in a language of their own, and the reference agree: the example is held to the reference's thread.

    What is not judged is what asks nothing of a server, and what is about another reading than the default one.
    """
    played = play(**{role: spec(EXAMPLES / SOURCES[name], tmp_path)})
    assert played.wrong == ()
    assert played.finished.passed, played.finished
    assert played.scenarios == set(find_files([scenarios_dir()]))
    nothing = "the scenario gives the stream itself, so the server is asked nothing"
    others = {reason for reason in played.reasons if reason != nothing}
    assert all(reason.startswith("the scenario reads R2") for reason in others), others
    assert sum(played.reasons[reason] for reason in others) == 10
    assert (nothing in played.reasons) == (role == "server")


@pytest.mark.long
@pytest.mark.node
@pytest.mark.parametrize("role", ["server", "client"])
def test_it_passes_every_scenario_over_ag_ui(role: str, tmp_path: Path) -> None:
    """The one that speaks it, each side with the reference, and the same thread as over the other wire."""
    played = play(**{role: spec(EXAMPLES / SOURCES["node"], tmp_path)}, wire="ag-ui")
    assert played.wrong == ()
    assert played.finished.passed, played.finished
    reasons = Counter({re.sub(" R2.*", "", reason): 0 for reason in played.reasons})
    for reason, count in played.reasons.items():
        reasons[re.sub(" R2.*", "", reason)] += count
    assert reasons.pop("the scenario reads") == 10
    nothing = "the scenario gives the stream itself, so the server is asked nothing"
    assert (reasons.pop(nothing, 0) > 0) == (role == "server")
    assert set(reasons) == {"it gives a stream of vsp itself, which cannot be sent over ag-ui"}


@pytest.mark.node
@pytest.mark.parametrize(
    ("role", "right", "mistake"),
    [
        ("server", "yield marked(end, CUT);", "yield end;"),
        ("client", "facts.json && isText(said)", "isText(said) && false"),
    ],
)
def test_a_mistake_in_one_line_is_found_over_ag_ui(role: str, right: str, mistake: str, tmp_path: Path) -> None:
    """Half arguments that look whole (G3), a result that is a text; the scenarios pass on the example as it is."""
    source = tmp_path / SOURCES["node"]
    text = (EXAMPLES / SOURCES["node"]).read_text("utf-8")
    assert text.count(right) == 1
    source.write_text(text.replace(right, mistake), "utf-8")
    ids = ("interruptions/arguments-stay-open-on-the-wire", "basics/tool-call-and-answer")
    assert not play(**{role: spec(source, tmp_path)}, ids=ids, wire="ag-ui").finished.passed
    assert play(**{role: spec(EXAMPLES / SOURCES["node"], tmp_path)}, ids=ids, wire="ag-ui").finished.passed


@pytest.mark.parametrize(("name", "role", "right", "mistake"), MISTAKES)
def test_a_mistake_in_one_line_is_found(name: str, role: str, right: str, mistake: str, tmp_path: Path) -> None:
    """So that the test above can fail: the scenarios that find it pass on the example as it is."""
    source = tmp_path / SOURCES[name]
    text = (EXAMPLES / SOURCES[name]).read_text("utf-8")
    assert text.count(right) == 1
    source.write_text(text.replace(right, mistake), "utf-8")
    played = play(**{role: spec(source, tmp_path)}, ids=PROGRESS)
    assert not played.finished.passed
    assert played.wrong
    assert play(**{role: spec(EXAMPLES / SOURCES[name], tmp_path)}, ids=PROGRESS).finished.passed


@pytest.fixture(scope="module", params=["python", pytest.param("node", marks=NODE)])
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    """Start an example as a server on a free port; return host and port."""
    program = str(find_node().executable) if request.param == "node" else sys.executable
    command = [program, str(EXAMPLES / SOURCES[request.param]), "--http", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split("http://")[1].strip()
        finally:
            process.kill()


@pytest.mark.sampled
def test_it_passes_the_suite_over_http(
    address: str, chosen_scenarios: ChosenScenarios, request: pytest.FixtureRequest
) -> None:
    """Both sides of every case, with interruptions that happen for real: a tenth with long ones for one of the two."""
    ids = chosen_scenarios(8 if "[python]" in request.node.name else 6)
    played = play(server=f"http://{address}", client=f"http://{address}", ids=ids)
    assert played.wrong == ()
    assert played.finished.passed, played.finished


@pytest.mark.sampled
@pytest.mark.parametrize("address", [pytest.param("node", marks=NODE)], indirect=True)
def test_it_passes_the_suite_over_http_and_ag_ui(address: str, chosen_scenarios: ChosenScenarios) -> None:
    """Both sides, with interruptions that happen for real and both wires compared."""
    played = play(server=f"http://{address}", client=f"http://{address}", ids=chosen_scenarios(6), wire="ag-ui")
    assert played.wrong == ()
    assert played.finished.passed, played.finished


@pytest.mark.sampled
@pytest.mark.parametrize("role", ["server", "client"])
def test_it_stands_faults_on_the_wire(role: str, address: str, sample: Sample[str]) -> None:
    """Those that lose something and those that do not, on scenarios with one run and with several."""
    ids = ("basics", "cycles/three-steps", "documents/2-0-0-example-thread", "threads/same-*", "threads/handoff-*")
    played = play(**{role: f"http://{address}"}, ids=ids, faults=sample(tuple(FAULTS)))
    assert played.wrong == ()
    assert played.finished.passed, played.finished
