"""`tpharness view` through the real entry point."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.test_commands import RECORDED, tpharness, words

from tpharness.resources import scenarios_dir


def test_writes_one_page_for_several_files(tmp_path: Path) -> None:
    """A scenario, a stream, server events and a thread; the page is named after the first."""
    thread = tmp_path / "thread.json"
    thread.write_bytes(tpharness("fold", str(RECORDED / "parallel-tools.sse")).stdout)
    scenario = scenarios_dir() / "basics" / "tool-call-and-answer.yaml"
    stream, events = RECORDED / "parallel-tools.sse", RECORDED / "parallel-tools.events.jsonl"
    done = tpharness("view", *map(str, (scenario, stream, events, thread)), cwd=tmp_path)
    assert (done.returncode, words(done)) == (0, "written to tool-call-and-answer.html\n")
    page = (tmp_path / "tool-call-and-answer.html").read_text("utf-8")
    assert page.count('<script type="application/json"') == 5
    assert "<title>4 files</title>" in page


def test_writes_to_standard_output(tmp_path: Path) -> None:
    """`-o -` prints the page and nothing else."""
    done = tpharness("view", str(RECORDED / "parallel-tools.sse"), "-o", "-", cwd=tmp_path)
    assert done.stdout.startswith(b"<!doctype html>")
    assert done.stdout.endswith(b"</html>\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("odd.json", "[1]", "odd.json is not a thread: it has no list of turns"),
        ("odd.json", '{"turns":\n [,]}', "odd.json:2:3: Expecting value; got ,]}\n  correct the syntax"),
        ("odd.txt", "hello", "odd.txt:1:1: Expecting value; got hello\n  name streams .sse"),
        ("odd.jsonl", "{}\nx", "odd.jsonl:2: not JSON"),
        ("odd.jsonl", "{}\n\n[1]", "odd.jsonl:3: not a JSON object: [1]"),
        ("odd.jsonl", '{"at": "2025-01-20T10:00:00Z"}\n{"at": "noon"}', "odd.jsonl:2: `at` is not a time: "),
        ("odd.jsonl", '{"at": 5}', "odd.jsonl:1: `at` is not a time: "),
        ("odd.jsonl", '{"at": "9999-12-31T23:59:59.9999Z"}', "odd.jsonl:1: `at` is not a time: "),
        ("gone.sse", None, "gone.sse: No such file"),
    ],
)
def test_says_what_is_wrong_with_a_file(name: str, content: str | None, told: str, tmp_path: Path) -> None:
    """One line and a hint, exit code 2, and no page."""
    if content is not None:
        (tmp_path / name).write_text(content)
    done = tpharness("view", name, cwd=tmp_path)
    assert done.returncode == 2
    assert told in words(done)
    assert not list(tmp_path.glob("*.html"))


@pytest.mark.parametrize("updated", [{"": None}, [], [["x"]], float("nan")])
def test_shows_whatever_stands_where_a_time_belongs(updated: object, tmp_path: Path) -> None:
    """R38: what cannot be the key of a table, and numbers and texts that JSON cannot have, are shown all the same."""
    (tmp_path / "a.json").write_text(
        json.dumps({"version": "0.0.4", "title": "\ud800", "updated_at": updated, "turns": []})
    )
    done = tpharness("view", "a.json", cwd=tmp_path)
    assert (done.returncode, words(done)) == (0, "written to a.html\n")
    page = (tmp_path / "a.html").read_text("utf-8")
    for element in page.split('<script type="application/json"')[1:]:
        json.loads(element.partition(">")[2].partition("</script>")[0], parse_constant=pytest.fail)


def test_cuts_for_another_reason_in_another_version(tmp_path: Path) -> None:
    """A version without interrupted turns shows that the whole turn goes (R18); a misspelt reason is refused."""
    args = ("view", str(RECORDED / "parallel-tools.sse"), "-o", "-", "--reason")
    done = tpharness(*args, "timeout", "--version", "0.0.3", cwd=tmp_path)
    timeline = json.loads(done.stdout.decode().partition('id="data-0">')[2].partition("</script>")[0])
    assert (timeline["reason"], timeline["version"]) == ("timeout", "0.0.3")
    gone = [timeline["tables"]["values"][row["gone"]["client"]] for row in timeline["rows"] if "gone" in row]
    assert {one["why"] for each in gone for one in each} == {"R18"}
    refused = tpharness(*args, "user_canceled", cwd=tmp_path)
    assert (refused.returncode, "did you mean user_cancelled?" in words(refused)) == (2, True)


def test_shows_server_events_of_kinds_that_are_not_texts(tmp_path: Path) -> None:
    """They are malformed, and that is what is shown."""
    (tmp_path / "odd.jsonl").write_text('{"event_kind": ["agent_run_result"]}\n{"event_kind": {}}\n')
    done = tpharness("view", "odd.jsonl", "-o", "-", cwd=tmp_path)
    assert done.returncode == 0
    assert b"server-event-malformed" in done.stdout


def test_shows_a_stream_with_more_findings_of_a_kind_than_are_kept(tmp_path: Path) -> None:
    """What says how many more there are changes with each of them."""
    lines = "".join(f"line {number} of a log\n" for number in range(60))
    (tmp_path / "log.sse").write_text(f"{lines}\n{lines}", encoding="utf-8")
    done = tpharness("view", "log.sse", "-o", "-", cwd=tmp_path)
    assert done.returncode == 0
    assert b"line 0 of a log" in done.stdout
