"""A target that keeps a history of another system: what it stores and sends is judged, and nothing is done for it."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.distribution import ChosenScenarios
from tests.examples.stdio import asked
from tests.histories.message_parts.build import conversation
from tests.patience import SLOW

from tpharness.errors import UsageError
from tpharness.histories.kept import KEPT_BY_TARGETS, compare_documents
from tpharness.histories.registry import HISTORIES
from tpharness.histories.suite import run_history
from tpharness.run import RunOptions
from tpharness.run.pairs import plan_runs
from tpharness.verdict import Outcome, Result, ResultReady, RunFinished
from tpharness.verdict.events import RunStarted
from tpharness.verdict.result import CheckState

HERE = Path(__file__).parents[2]
EXAMPLE = HERE / "examples" / "plain_history.py"
PLAN, LANGCHAIN = "message-parts/plan", "langchain/repaired"
CUT = "histories/k08-tool-runs"
HALF = "histories/l-04-in-a-text"


def played(server: str, name: str, *ids: str, **options: Any) -> list[Result]:
    """Play scenarios on a target that keeps a history; return the results."""
    asked_for = RunOptions(server=server, history=name, ids=ids, patience=SLOW, **options)
    return [event.result for event in run_history(asked_for) if isinstance(event, ResultReady)]


def changed(right: str, mistake: str, folder: Path) -> str:
    """Return the example with one line in another way, as a target."""
    text = EXAMPLE.read_text("utf-8")
    assert text.count(right) == 1
    other = folder / "history.py"
    other.write_text(
        f"import sys\nsys.path.insert(0, {str(EXAMPLE.parent)!r})\n" + _behind_future(text, right, mistake)
    )
    return spec(other)


def _behind_future(text: str, right: str, mistake: str) -> str:
    return text.replace(right, mistake).replace("from __future__ import annotations\n", "")


def spec(program: Path) -> str:
    """Return a program as a target."""
    return f"stdio:{sys.executable} {program}"


# ------------------------------------------------------------------------------------------------ the example


@pytest.mark.sampled
@pytest.mark.parametrize("name", [PLAN, LANGCHAIN])
def test_the_example_passes_every_scenario(name: str, chosen_scenarios: ChosenScenarios) -> None:
    """It is written from the documents; what the design itself is refused for is expected, as on the reference."""
    results = played(spec(EXAMPLE), name, *chosen_scenarios(9))
    assert [f"{one.id}: {one.reason} {one.failing_codes}" for one in results if not one.outcome.green] == []
    judged = [one for one in results if one.outcome in (Outcome.PASSED, Outcome.EXPECTED)]
    assert len(judged) > len(results) / 2
    assert {one.checks["kept"] for one in judged} == {CheckState.PASSED}
    written = CheckState.PASSED if name == LANGCHAIN else CheckState.NOT_APPLICABLE
    assert written in {one.checks["accepted-openai-chat"] for one in judged}
    assert {one.checks["accepted-gemini"] for one in judged} == {CheckState.NOT_APPLICABLE}  # it writes none


def test_what_it_stores_is_what_the_plan_shows() -> None:
    """By hand, from document 002: the text as it was, and an aborted result for the tool that ran."""
    turns = [
        {"turn_type": "user", "submitted_at": "2025-01-20T10:00:00Z", "parts": [_prompt("q")]},
        {
            "turn_type": "agent",
            "agent_id": "a",
            "started_at": "2025-01-20T10:00:00Z",
            "events": [
                _event("part_start", index=0, part={"part_kind": "text", "content": " ok "}),
                _event("part_end", index=0, part={"part_kind": "text"}),
                _event(
                    "part_start",
                    index=1,
                    part={"part_kind": "tool-call", "tool_name": "slow", "tool_call_id": "c", "args": '{"n": 1}'},
                ),
                _event("model_response_end", finish_reason="tool_call"),
            ],
            "interruption": {"reason": "user_cancelled", "at": "2025-01-20T10:00:09Z", "tell": "abort"},
        },
    ]
    request = {"op": "keep", "id": 1, "history": PLAN, "agents": {}, "turns": turns, "apis": [], "next_user": "Go on."}
    with asked(sys.executable, EXAMPLE) as ask:
        document = ask(request)["kept"]["document"]
    assert [line["type"] for line in document] == ["UserMessage", "AssistantMessage", "ToolResultMessage"]
    said, stopped = document[1]["data"], document[2]["data"]
    assert [part.get("text", part.get("arguments_json")) for part in said["parts"]] == [" ok ", '{"n": 1}']
    assert said["stop_reason"] == "tool_use"
    assert (stopped["status"], stopped["output_text"]) == ("aborted", "[Request interrupted by user for tool use]")


def _prompt(text: str) -> dict[str, Any]:
    return {"part_kind": "user-prompt", "content": text}


def _event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"event_kind": kind, "at": "2025-01-20T10:00:01Z", **fields}


# ------------------------------------------------------------------------------------------------ mistakes


@pytest.mark.parametrize(
    ("name", "scenario", "right", "mistake"),
    [
        pytest.param(PLAN, CUT, '("aborted", CUT) if', '("error", CUT) if', id="an aborted result is an error"),
        pytest.param(PLAN, CUT, "for call in open_calls if", "for call in open_calls[:0] if", id="no results"),
        pytest.param(
            PLAN,
            "histories/k14-between-result-and-answer",
            '"parts": half, "stop_reason": "aborted"}',
            '"parts": half, "stop_reason": "stop"}',
            id="a cut answer looks whole",
        ),
        pytest.param(
            LANGCHAIN,
            "histories/l-07-while-one-tool-runs",
            'message["data"]["content"] += INTERRUPTED',
            "pass",
            id="a call that was stopped is not marked",
        ),
        pytest.param(
            LANGCHAIN,
            HALF,
            "if whole or said.strip() or not response.open",
            "if whole or not response.open",
            id="a half text is lost",
        ),
        pytest.param(
            LANGCHAIN, "histories/l-05-in-arguments", "HALF_CALL + half", "half", id="a half call looks like a text"
        ),
    ],
)
def test_a_mistake_is_found(name: str, scenario: str, right: str, mistake: str, tmp_path: Path) -> None:
    """Each in the scenario that is about it, which the example passes as it is."""
    (result,) = played(changed(right, mistake, tmp_path), name, scenario)
    assert result.outcome is Outcome.FAILED
    assert "history-kept-otherwise" in result.failing_codes
    assert result.checks["kept"] is CheckState.FAILED
    (before,) = played(spec(EXAMPLE), name, scenario)
    assert before.outcome.green


def test_a_request_that_an_api_refuses_is_found(tmp_path: Path) -> None:
    """It is the target's own, whatever document it stores: here it forgets the result of a tool."""
    server = changed(
        '        if kind == "tool":\n            sent',
        '        if kind == "tool":\n            continue\n            sent',
        tmp_path,
    )
    (result,) = played(server, LANGCHAIN, "histories/k02-thinking-call-and-answer")
    assert result.failing_codes == {"chat-call-unanswered"}
    assert (result.checks["kept"], result.checks["accepted-openai-chat"]) == (CheckState.PASSED, CheckState.FAILED)


def test_where_a_document_differs_is_said() -> None:
    """The entry and the field in it, what it is and what it should be; a line that no reader reads; what is missing."""
    history: Any = HISTORIES[PLAN]
    right = [_line("UserMessage", role="user", parts=[{"type": "text", "text": "q"}])]
    late = [{**right[0], "data": {**right[0]["data"], "created_at": "2031-01-01T00:00:00Z", "id": "own"}}]
    assert list(compare_documents(late, right, history)) == []
    metadata = {"type": "TaskMetadataItem", "data": {"main_agent": {}}}
    assert list(compare_documents([metadata, *right], right, history)) == []
    (other,) = compare_documents([_line("UserMessage", role="user", parts=[])], right, history)
    assert (other.place.pointer, other.expected) == ("/0/data/parts/0", {"type": "text", "text": "q"})
    (missing,) = compare_documents([], right, history)
    assert "missing behind 0" in missing.message
    (more,) = compare_documents([*right, *right], right, history)
    assert (more.place.pointer, more.message) == ("/1", "an entry too many")
    (unread,) = compare_documents([_line("Nothing")], right, history)
    assert "'Nothing' is not the name of an event" in unread.message
    (none,) = compare_documents("text", right, history)
    assert "is not a list" in none.message


def _line(kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data}


def test_arguments_that_have_no_text_have_no_order() -> None:
    """Of an object that was written compactly; a text that was streamed with white space is kept to the letter."""
    history: Any = HISTORIES[PLAN]

    def with_arguments(raw: str) -> list[dict[str, Any]]:
        call = {"type": "tool_call", "call_id": "c", "tool_name": "t", "arguments_json": raw}
        return [_line("AssistantMessage", role="assistant", parts=[call])]

    assert not list(compare_documents(with_arguments('{"b":1,"a":2}'), with_arguments('{"a":2,"b":1}'), history))
    assert list(compare_documents(with_arguments('{"a":2}'), with_arguments('{"a": 2}'), history))
    assert list(compare_documents(with_arguments('{"b": 1, "a": 2}'), with_arguments('{"a": 2, "b": 1}'), history))


# ------------------------------------------------------------------------------------------------ how it is asked


@contextmanager
def served(answer: Callable[[str, dict[str, Any]], tuple[int, Any]]) -> Iterator[str]:
    """Serve a keeper over HTTP; yield its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer({})

        def do_POST(self) -> None:
            self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def _answer(self, body: dict[str, Any]) -> None:
            status, value = answer(self.path, body)
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


DECLARED = {"contract": "1.2", "name": "kept", "roles": ["server"], "histories": [PLAN]}


def test_over_http_it_is_asked_the_same() -> None:
    """POST /keep; what it answers is judged, 501 does not apply, and another refusal is an error."""
    with asked(sys.executable, EXAMPLE) as ask:

        def answer(path: str, body: Mapping[str, Any]) -> tuple[int, Any]:
            if path == "/capabilities":
                return 200, DECLARED
            assert path == "/keep"
            texts = json.dumps(body["turns"])
            if "agent_start" in texts:
                return 501, {"error": {"message": "one agent alone"}}
            if "denied" in texts:
                return 500, {"error": {"message": "the store is not there"}}
            return 200, ask({"op": "keep", "id": 1, **body})["kept"]

        with served(answer) as address:
            ids = (CUT, "threads/handoff-in-one-stream", "approvals/denied-without-a-word")
            right, other, broken = sorted(played(address, PLAN, *ids), key=lambda one: ids.index(one.id))
    assert right.outcome is Outcome.PASSED
    assert (other.outcome, other.reason) == (Outcome.NOT_APPLICABLE, "one agent alone")
    assert broken.outcome is Outcome.ERRORED
    assert "the store is not there" in broken.reason


def test_an_answer_of_another_shape_is_an_error() -> None:
    """The contract names what is missing."""
    with served(lambda path, _: (200, DECLARED if path == "/capabilities" else {"documents": []})) as address:
        (result,) = played(address, PLAN, CUT)
    assert result.outcome is Outcome.ERRORED
    assert "document" in result.reason


def test_places_are_named_as_they_are_without_a_target() -> None:
    """Any event of any run, as reports of `run --dialect` name it; one that there is not does not apply."""
    right, beyond = (f"{CUT}@cancelled-turn-1-event-{count}" for count in (5, 99))
    (result,) = played(spec(EXAMPLE), PLAN, right)
    assert (result.id, result.outcome) == (right, Outcome.PASSED)
    (result,) = played(spec(EXAMPLE), PLAN, beyond)
    assert (result.id, result.outcome) == (beyond, Outcome.NOT_APPLICABLE)


def test_a_scenario_that_gives_a_stream_asks_nothing() -> None:
    """A history is kept from events."""
    (result,) = played(spec(EXAMPLE), PLAN, "stream/approval-for-an-unknown-call")
    assert result.outcome is Outcome.NO_PART


def test_the_run_says_who_has_kept_what() -> None:
    """Its start names the target and the history; its end counts what was judged."""
    options = RunOptions(server=spec(EXAMPLE), history=PLAN, ids=(CUT,), patience=SLOW)
    started, *_, finished = run_history(options)
    assert isinstance(started, RunStarted)
    assert (started.server, started.client, started.history) == ("plain-history", f"history {PLAN}", PLAN)
    assert isinstance(finished, RunFinished)
    assert finished.passed


# ------------------------------------------------------------------------------------------------ who is asked


def test_which_histories_a_target_can_keep() -> None:
    """Those of documents 002 and 004: the others are the state of one library, which has its own ids."""
    assert {name.partition("/")[0] for name in KEPT_BY_TARGETS} == {"message-parts", "langchain"}
    assert len(KEPT_BY_TARGETS) == 6


@pytest.mark.parametrize(
    ("server", "name", "message"),
    [
        (spec(EXAMPLE), "message-parts/current", "plain-history does not keep the history message-parts/current"),
        (spec(HERE / "examples" / "plain_python.py --stdio"), PLAN, f"plain-python does not keep the history {PLAN}"),
        (spec(EXAMPLE), "langgraph", "langgraph is not a history that a target can keep"),
    ],
)
def test_a_target_that_does_not_keep_it_is_wrong_usage(server: str, name: str, message: str) -> None:
    """Before anything is played, with what the target declares, or what can be asked for."""
    with pytest.raises(UsageError, match=re.escape(message)) as raised:
        played(server, name, CUT)
    assert "message-parts/plan" in raised.value.hint or "declares no histories" in raised.value.hint


def test_each_server_is_played_with_each_history() -> None:
    """A client has no part in it; the reference keeps a history where no server is named."""
    runs = plan_runs(RunOptions(), servers=["reference", "stdio:x"], clients=[], dialects=["langchain"])
    assert [(pair.server, pair.client) for pair in runs] == [
        (server, f"history langchain/{variant}")
        for server in ("reference", "stdio:x")
        for variant in ("documented", "repaired", "js")
    ]
    assert {options.server for options in runs.values()} == {"reference", "stdio:x"}
    with pytest.raises(UsageError, match="kept by a server, without a client"):
        plan_runs(RunOptions(), servers=[], clients=["stdio:x"], dialects=["langchain"])


def test_the_document_that_is_expected_can_be_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """The five lines of docs/HISTORIES.md, run."""
    guide = (HERE / "docs" / "HISTORIES.md").read_text("utf-8")
    (code,) = re.findall(r"```py\n(.*?)```", guide, re.DOTALL)
    exec(compile(code, "HISTORIES.md", "exec"), {})  # noqa: S102  # our own page
    document = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line]
    assert conversation(document)
    assert document[0]["type"] == "UserMessage"
