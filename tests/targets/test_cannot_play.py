"""A target that says what it cannot make happen: over HTTP with 501, over stdio with a word. It does not apply then."""

from __future__ import annotations

import shlex
import sys
import textwrap
from typing import Any

import pytest
from tests.targets.servers import Connection, ContractServer, RawServer, in_thread

from tpharness.resources import scenarios_dir
from tpharness.run import RunOptions, run_suite
from tpharness.run.select import select_scenarios
from tpharness.run.session import Session
from tpharness.run.sweeps.scenarios import SweepOptions, sweep_scenarios
from tpharness.verdict import Outcome, ResultReady, RunFinished
from tpharness.verdict.grouping import group_failures
from tpharness.verdict.result import Result

WHY = "a hand-off to another agent inside one stream"


class Narrow(ContractServer):
    """A contract server that has no hand-off inside a stream."""

    async def run(self, name: str, asked: dict[str, Any], connection: Connection) -> None:
        """Refuse what it cannot play before anything of the run has happened."""
        if any(event["event_kind"] == "agent_start" for event in asked["run"]["events"]):
            await connection.json({"error": {"message": WHY}}, "501 Not Implemented")
        else:
            await super().run(name, asked, connection)


def played(server: str, *ids: str, faults: tuple[str, ...] = ()) -> tuple[RunFinished, list[Result]]:
    """Play on a server; return the verdict and the results."""
    events = list(run_suite(RunOptions(server=server, ids=ids, faults=faults)))
    finished = events[-1]
    assert isinstance(finished, RunFinished)
    return finished, [event.result for event in events if isinstance(event, ResultReady)]


def test_501_makes_a_case_not_applicable_with_the_servers_own_reason() -> None:
    """The other case of the run passes, and so does the run."""
    with in_thread(RawServer(Narrow())) as server:
        finished, results = played(server.url, "threads/handoff-in-one-stream", "tools/metadata")
    assert {result.id: (result.outcome, result.reason) for result in results} == {
        "threads/handoff-in-one-stream": (Outcome.NOT_APPLICABLE, WHY),
        "tools/metadata": (Outcome.PASSED, ""),
    }
    assert finished.passed


def test_a_server_that_can_play_nothing_does_not_pass() -> None:
    """Not applicable everywhere is no verdict at all."""
    with in_thread(RawServer(Narrow())) as server:
        finished, _ = played(server.url, "threads/handoff-in-one-stream")
    assert not finished.passed


def test_what_cannot_be_played_is_not_played_with_faults_either() -> None:
    """The unharmed run is refused: each of the faults has that result, beside that of the scenario by itself."""
    with in_thread(RawServer(Narrow())) as server:
        _, results = played(server.url, "threads/handoff-in-one-stream", faults=("fin-in-middle", "reset"))
    assert [(result.id, result.outcome) for result in results] == [
        ("threads/handoff-in-one-stream@fault-fin-in-middle", Outcome.NOT_APPLICABLE),
        ("threads/handoff-in-one-stream@fault-reset", Outcome.NOT_APPLICABLE),
    ]


class Paged(ContractServer):
    """A contract server that answers runs with a page, in which the thread is named."""

    async def run(self, name: str, asked: dict[str, Any], connection: Connection) -> None:
        """Answer with the page."""
        del asked
        await connection.answer("200 OK", f"<h1>{name}</h1>".encode(), kind="text/html")


def test_a_page_for_each_run_is_one_cause() -> None:
    """Whatever is on the page is of the case; each result has the beginning of its own."""
    with in_thread(RawServer(Paged())) as server:
        _, results = played(server.url, "threads/handoff-in-one-stream", "tools/metadata")
    assert len({result.reason for result in results}) == len(results) > 1
    (group,) = group_failures(results)
    assert "not text/event-stream" in str(group.cause)


def test_a_sweep_says_which_places_cannot_be_played_and_why() -> None:
    """They are not a sample that left them out."""
    with in_thread(RawServer(Narrow())) as server, Session(server=server.url) as session:
        chosen = select_scenarios(("threads/handoff-in-one-stream", "tools/metadata"), (scenarios_dir(),))
        handoff, metadata = sweep_scenarios(chosen, session, SweepOptions())
    assert handoff.note.endswith(f"cannot be played: {WHY}")
    assert handoff.refused > 0
    assert (handoff.places, handoff.failures) == (handoff.tried + handoff.refused, ())
    assert (metadata.note, metadata.places) == ("", metadata.tried)


STDIO = """
import json, sys
for line in sys.stdin:
    q = json.loads(line)
    if q["op"] == "start":
        answer = {"capabilities": {"contract": "1.1", "name": "narrow", "roles": ["server"]}}
    elif q["op"] == "serve":
        answer = {"error": {"message": "WHY", "cannot_play": True}}
    else:
        answer = {"stopped": True}
    print(json.dumps({"id": q["id"], **answer}), flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="process groups are POSIX")
def test_a_program_says_so_with_a_word() -> None:
    """An error without the word is an error."""
    code = textwrap.dedent(STDIO).replace("WHY", WHY)
    _, results = played("stdio:" + shlex.join([sys.executable, "-I", "-c", code]), "tools/metadata")
    assert [(result.outcome, result.reason) for result in results] == [(Outcome.NOT_APPLICABLE, WHY)]
    plain = code.replace(', "cannot_play": True', "")
    _, results = played("stdio:" + shlex.join([sys.executable, "-I", "-c", plain]), "tools/metadata")
    assert [result.outcome for result in results] == [Outcome.ERRORED]
