"""Every peer plays the suite: what it does otherwise is in its baseline, and nothing else fails.

Slow for a test, and what the project is for: a minute a peer. So each plays another tenth, and all with --whole: only
then an entry of a baseline can be found to be stale, or a number of docs/INTEROP.md.
"""

from __future__ import annotations

import collections
import json
from collections.abc import Iterator

import pytest
from tests.distribution import ChosenScenarios, Sample
from tests.patience import SLOW

from tpharness.resources import conformance_dir
from tpharness.run import RunOptions, run_suite
from tpharness.verdict import Outcome, ResultReady, RunFinished
from tpharness.verdict.result import Result

SERVERS = ("pydantic-ai", pytest.param("ai-sdk-server", marks=pytest.mark.node), "langgraph")
CLIENT = "ai-sdk-client"
PARTS = {"pydantic-ai": 0, "langgraph": 1, "ai-sdk-server": 2, CLIENT: 3}
"""Which tenth of the suite each of them plays: together all ten, with the examples and the reference over HTTP.

The third has twice as many cases as the second, and LangGraph takes twice as long for one as the AI SDK.
"""


def played(server: str, client: str, *ids: str) -> tuple[RunFinished, list[Result]]:
    """Play on a pair; return the verdict and the results."""
    events = list(run_suite(RunOptions(server=server, client=client, ids=ids, patience=SLOW)))
    finished = events[-1]
    assert isinstance(finished, RunFinished)
    return finished, [event.result for event in events if isinstance(event, ResultReady)]


def told(server: str, client: str) -> dict[str, int]:
    """Return how many cases a pair has with each outcome, as docs/INTEROP.md says."""
    data = json.loads((conformance_dir() / "interop.json").read_text("utf-8"))
    (pair,) = [pair for pair in data["pairs"] if (pair["server"], pair["client"]) == (server, client)]
    counts: dict[str, int] = pair["counts"]
    return counts


def counted(results: list[Result]) -> dict[str, int]:
    """Count cases by their outcome."""
    counts: collections.Counter[str] = collections.Counter()
    for result in results:
        counts[result.outcome.value] += result.cases
    return dict(counts)


def wrong(results: list[Result]) -> Iterator[str]:
    """Yield what is not as expected, readable in a failure."""
    for result in results:
        if not result.outcome.green:
            codes = ", ".join(sorted({finding.code for finding in result.findings}))
            yield f"{result.id}: {result.outcome.value} {codes} {result.reason}"


@pytest.mark.sampled
@pytest.mark.parametrize("name", SERVERS)
def test_a_server_departs_only_as_its_baseline_says(name: str, chosen_scenarios: ChosenScenarios) -> None:
    """And docs/INTEROP.md says how many cases passed, depart and do not apply."""
    ids = chosen_scenarios(PARTS[name])
    finished, results = played(f"peer:{name}", "reference", *ids)
    assert list(wrong(results)) == []
    assert finished.passed
    assert ids or counted(results) == told(f"peer:{name}", "reference")


@pytest.mark.sampled
@pytest.mark.node
def test_a_client_departs_only_as_its_baseline_says(chosen_scenarios: ChosenScenarios) -> None:
    """A client has to take every stream, so almost all applies; docs/INTEROP.md has the numbers."""
    ids = chosen_scenarios(PARTS[CLIENT])
    finished, results = played("reference", f"peer:{CLIENT}", *ids)
    assert list(wrong(results)) == []
    assert finished.passed
    assert ids or counted(results) == told("reference", f"peer:{CLIENT}")


@pytest.mark.sampled
@pytest.mark.node
def test_two_peers_together_depart_only_where_one_does_alone(
    sample: Sample[str], chosen_scenarios: ChosenScenarios
) -> None:
    """What neither departs from alone holds for the pair."""
    for name in sample([server for server in PARTS if server != CLIENT]):
        ids = chosen_scenarios(PARTS[name] + 4, "basics", "interruptions", "cycles")
        _, results = played(f"peer:{name}", f"peer:{CLIENT}", *ids)
        assert [f"{name}: {one}" for one in wrong(results)] == []
        assert any(result.outcome is Outcome.PASSED for result in results), name
