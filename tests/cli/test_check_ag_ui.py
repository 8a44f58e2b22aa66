"""`tpharness check` on streams of AG-UI, through the real entry point."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.cli.conftest import Call
from tests.wires.ag_ui.streams import run_of
from tests.wires.ag_ui.test_ag_ui_servers import RECORDED

LATE = RECORDED / "tanstack-ai-0.58.0" / "one-tool.sse"
INPUT = LATE.with_suffix(".input.json")


def test_a_stream_is_known_by_its_content(call: Call, tmp_path: Path) -> None:
    """And held to AG-UI's rules, by any name that ends in .sse, and from standard input."""
    right = tmp_path / "right.sse"
    right.write_bytes(run_of())
    called = call("check", str(right))
    assert (called.code, called.out) == (0, "1 file checked, nothing wrong\n")
    called = call("check", str(LATE))
    assert called.code == 1
    assert "MUST ag-ui-after-end at" in called.out
    assert "one-tool.sse event 9: TOOL_CALL_RESULT came after the run had ended" in called.out
    assert "[agui.14]" in called.out


def test_the_input_is_that_beside_the_stream_or_the_one_that_is_named(call: Call, tmp_path: Path) -> None:
    """Without it, what only the input shows is not found."""
    alone = tmp_path / "one-tool.sse"
    shutil.copy(LATE, alone)
    assert "ag-ui-run-ids" not in call("check", str(alone)).out
    assert "ag-ui-run-ids" in call("check", str(alone), "--input", str(INPUT)).out
    shutil.copy(INPUT, tmp_path / "one-tool.input.json")
    assert "ag-ui-run-ids" in call("check", str(alone)).out
    (tmp_path / "one-tool.input.json").write_text("null")  # nothing was posted
    assert "ag-ui-run-ids" not in call("check", str(alone)).out
    assert "ag-ui-input-malformed" not in call("check", str(alone)).out


def test_an_input_that_is_not_one_is_a_finding(call: Call, tmp_path: Path) -> None:
    """Not a traceback; the stream is judged without it."""
    wrong = tmp_path / "input.json"
    for text in ("[]", "{", '{"threadId": 1}'):
        wrong.write_text(text)
        called = call("check", str(LATE), "--input", str(wrong))
        assert called.code == 1
        assert "ag-ui-input-malformed" in called.out
        assert "ag-ui-after-end" in called.out


def test_one_input_does_not_belong_to_two_streams(call: Call) -> None:
    """Wrong use, with what to do."""
    called = call("check", str(LATE), str(LATE), "--input", str(INPUT))
    assert called.code == 2
    assert "--input is the input of one stream" in called.err


def test_json_has_what_a_program_needs(call: Call) -> None:
    """Code, level, place and rules of each finding."""
    called = call("check", "--json", str(LATE))
    found = {one["code"]: one for one in json.loads(called.out)}
    assert found["ag-ui-after-end"]["clauses"] == ["agui.14"]
    assert found["ag-ui-after-end"]["place"] == {"file": str(LATE), "event": 9}
    assert found["ag-ui-after-end"]["level"] == "must"


def test_a_rule_is_explained(call: Call) -> None:
    """One that a stream shows, and one that it does not."""
    called = call("explain", "agui.43")
    assert called.code == 0
    assert "rule of AG-UI 1.0, MUST, binds the producer" in called.out
    assert "found as ag-ui-pending-wrong" in called.out
    assert "class of verdict: by the wire alone" in called.out
    of_model = call("explain", "agui.5").out
    assert "not judged: " in of_model
    assert "class of verdict: by the wire and what the model was given" in of_model
    assert "class of verdict" not in call("explain", "agui.15").out
    assert "agui.43: " in call("explain", "ag-ui-pending-wrong").out


def test_a_folder_of_streams_with_their_inputs_is_checked(call: Call, tmp_path: Path) -> None:
    """An input beside a stream is not taken for a thread."""
    for name in ("plain", "one-tool"):
        for suffix in (".sse", ".input.json"):
            shutil.copy(RECORDED / "pydantic-ai-2.68.0" / f"{name}{suffix}", tmp_path)
    called = call("check", str(tmp_path))
    assert (called.code, "4 " in called.out + called.err) == (0, True)
    (tmp_path / "plain.input.json").write_text('{"threadId": 1}')
    called = call("check", str(tmp_path))
    assert called.code == 1
    assert "plain.input.json threadId: " not in called.out
    assert called.out.count("ag-ui-input-malformed") == 2  # of the file, and of the stream that answers it


def test_a_stream_is_folded_into_a_thread(call: Call) -> None:
    """Whole, and cut where a person presses Stop."""
    stream = RECORDED / "pydantic-ai-2.68.0" / "one-tool.sse"
    called = call("fold", str(stream))
    (turn,) = json.loads(called.out)["turns"]
    assert (called.code, turn["completion_status"]) == (0, "complete")
    assert [message["message_type"] for message in turn["messages"]] == ["response", "request", "response"]
    called = call("fold", str(stream), "--after", "11", "--interrupt", "user_cancelled")
    (turn,) = json.loads(called.out)["turns"]
    assert turn["interruption"]["reason"] == "user_cancelled"
    assert [message["message_type"] for message in turn["messages"]] == ["response", "request"]
