"""Ten commands on 10,000 mutants of real documents, streams and logs: a verdict or a sentence, and never a traceback.

The seeds are fixed. A failure names the mutant, `make_mutant("view", 17)`, which gives its input again.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.mutants import mutate_lines, mutate_value

from tpharness.histories.exchange.model_calls import FORMS, model_call
from tpharness.model_apis.registry import API_NAMES
from tpharness.protocol.rules import check_thread
from tpharness.protocol.versions import Version
from tpharness.resources import conformance_dir, scenarios_dir
from tpharness.suite_yaml import load_suite_yaml

_MOST = 4000
"""Bytes of a document that is mutated: what is larger has the same kinds of places, only more of them."""

_BATCH, _BATCHES = 250, 4
_LINE = tuple(f"l.jsonl:{number}: " for number in range(1, 60))
"""What is said of a log that is not known for one any more is said of each of its lines."""
_T = "2025-01-20T09:00:00Z"
_TESTS = Path(__file__).parents[1]
_REPORTS = _TESTS / "model_apis" / "public_reports.yaml"


@cache
def threads() -> tuple[dict[str, Any], ...]:
    """Return the valid ones of the goldens, each with the header that goldens leave out."""
    found = []
    for path in sorted((conformance_dir() / "golden").rglob("*.json")):
        golden = json.loads(path.read_bytes()) if path.stat().st_size <= _MOST else None
        if isinstance(golden, dict) and "turns" in golden:
            agents = {one: {"agent_id": one, "agent_name": one, "created_at": _T} for one in sorted(_agents(golden))}
            thread = {"thread_id": "t", "created_at": _T, "updated_at": "2031-01-01T00:00:00Z", "agents": agents}
            found.append({**thread, **golden})
    return tuple(thread for thread in found if not any(one.level.value == "must" for one in check_thread(thread)))


def _agents(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("agent_id"), str):
            yield value["agent_id"]
        for item in value.values():
            yield from _agents(item)
    elif isinstance(value, list):
        for item in value:
            yield from _agents(item)


@cache
def recordings(suffix: str) -> tuple[tuple[bytes, ...], ...]:
    """Return the lines of the recorded streams, or server events, of the suite."""
    files = (path.read_bytes() for path in sorted(scenarios_dir().rglob(f"*{suffix}")))
    return tuple(tuple(data.split(b"\n")) for data in files if len(data) <= _MOST)


@cache
def ag_ui_streams() -> tuple[tuple[bytes, ...], ...]:
    """Return the lines of what servers of AG-UI have sent."""
    files = (path.read_bytes() for path in sorted((_TESTS / "wires" / "ag_ui" / "recorded").rglob("*.sse")))
    return tuple(tuple(data.split(b"\n")) for data in files if len(data) <= _MOST)


@cache
def logs() -> tuple[tuple[bytes, ...], ...]:
    """Return the lines of the thread logs that chimera's clients have stored."""
    files = (json.loads(path.read_bytes()) for path in sorted(_TESTS.glob("histories/thread_log/recorded/*.json")))
    stored = (log for file in files for client in file.values() if isinstance(client, dict) for log in client.values())
    return tuple(tuple(json.dumps(line).encode() for line in log) for log in stored if isinstance(log, list))


@cache
def messages(form: str) -> tuple[Any, ...]:
    """Return what the next model call gets of some threads, in the form of a program."""
    return tuple(model_call(thread, form, resolve=lambda _: "x").messages for thread in threads()[::9])


@cache
def requests() -> tuple[Any, ...]:
    """Return the requests to models' APIs that people have reported."""
    reports = load_suite_yaml(_REPORTS)
    return tuple(report["payload"] for api in API_NAMES for report in reports[api])


def _thread(chance: random.Random) -> tuple[str, bytes]:
    return "t.json", mutate_value(chance.choice(threads()), chance)


def _stream(chance: random.Random) -> tuple[str, bytes]:
    return "s.sse", mutate_lines(chance.choice(recordings(".sse")), chance, prefix=b"data: ")


def _events(chance: random.Random) -> tuple[str, bytes]:
    return "e.jsonl", mutate_lines(chance.choice(recordings(".jsonl")), chance)


def _ag_ui(chance: random.Random) -> tuple[str, bytes]:
    return "a.sse", mutate_lines(chance.choice(ag_ui_streams()), chance, prefix=b"data: ")


def _log(chance: random.Random) -> tuple[str, bytes]:
    return "l.jsonl", mutate_lines(chance.choice(logs()), chance)


def _request(chance: random.Random) -> tuple[str, bytes]:
    return "r.json", mutate_value(chance.choice(requests()), chance)


def _messages_of(form: str) -> Callable[[random.Random], tuple[str, bytes]]:
    return lambda chance: ("m.json", mutate_value(chance.choice(messages(form)), chance))


_VERSIONS = tuple(version.value for version in Version)
WAYS: dict[str, tuple[tuple[Callable[[random.Random], tuple[str, bytes]], tuple[tuple[str, ...], ...]], ...]] = {
    "check": (
        (_thread, ((), ("--json",))),
        (_stream, ((), ("--major", "6"))),
        (_events, ((),)),
        (_ag_ui, ((), ("--json",))),
        (_log, ((),)),
    ),
    "accept": ((_request, ((), ("--json",))),),
    "import": (
        (_messages_of("pydantic-ai"), (("--from", "pydantic-ai"),)),
        (_messages_of("ai-sdk"), (("--from", "ai-sdk"),)),
        (_log, (("--from", "thread-log"),)),
    ),
    "repair": (
        (_messages_of("pydantic-ai"), ((), ("--from", "pydantic-ai"))),
        (_messages_of("ai-sdk"), ((), ("--from", "ai-sdk"), ("--json",))),
        (_thread, ((),)),
    ),
    "history": ((_thread, tuple(("--for", form) for form in FORMS)),),
    "convert": ((_thread, tuple(("--to", version) for version in _VERSIONS)),),
    "diff": ((_thread, (("other.json",),)),),
    "hash": ((_thread, ((),)),),
    "view": (
        (_thread, (("-o", "page.html"),)),
        (_stream, (("-o", "page.html"),)),
        (_events, (("-o", "page.html"),)),
        (_ag_ui, (("-o", "page.html"),)),
    ),
    "fold": ((_stream, ((), ("--after", "3"))), (_events, ((),)), (_ag_ui, ((), ("--after", "3")))),
}
"""For each command: what its mutants are made of, and the options that it is given."""


def make_mutant(command: str, number: int) -> tuple[list[str], str, bytes]:
    """Return the words of the command, and the name and the bytes of its input."""
    chance = random.Random(f"{command} {number}")  # noqa: S311  # made again from its name
    make, options = WAYS[command][number % len(WAYS[command])]
    name, data = make(chance)
    return [command, name, *chance.choice(options)], name, data


@pytest.mark.parametrize("batch", range(_BATCHES))
@pytest.mark.parametrize("command", WAYS)
def test_no_mutant_of_a_document_gives_a_traceback(
    command: str, batch: int, call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 0, 1 or 2 and a sentence for 2; what is printed as JSON is JSON, the page of `view` too."""
    monkeypatch.chdir(tmp_path)
    Path("other.json").write_text(json.dumps(threads()[0]), "utf-8")
    codes: Counter[int] = Counter()
    for number in range(batch * _BATCH, (batch + 1) * _BATCH):
        words, name, data = make_mutant(command, number)
        Path(name).write_bytes(data)
        mutant = f"make_mutant({command!r}, {number})"
        try:
            called = call(*words)
        except Exception as error:  # noqa: BLE001  # whatever it is, which mutant it was has to be known
            pytest.fail(f"{mutant}: {' '.join(words)}: {type(error).__name__}: {error}")
        assert called.code in (0, 1, 2), mutant
        assert "Traceback" not in called.err, mutant
        assert "tpharness itself failed" not in called.out + called.err, mutant
        if called.code == 2:
            assert called.err.startswith(("tpharness: ", "MUST ", "SHOULD ", "MAY ", *_LINE)), mutant
        elif "--json" in words:
            json.loads(called.out, parse_constant=_refuse)
        elif command == "view":
            _read_page(Path("page.html").read_text("utf-8"))
        codes[called.code] += 1
    assert min(codes) < 2, "no mutant was taken: they are not like what is real any more"
    assert len(codes) > 1, "all mutants came to the same"


def _read_page(page: str) -> None:
    for element in page.split('<script type="application/json"')[1:]:
        text = element.partition(">")[2].partition("</script>")[0]
        json.loads(text, parse_constant=_refuse)


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")


@pytest.mark.parametrize("command", WAYS)
def test_what_is_mutated_is_taken_before(command: str) -> None:
    """A mutant of something that is wrong already would be refused for that."""
    assert len(threads()) > 100
    assert (
        min(map(len, (recordings(".sse"), recordings(".jsonl"), messages("ai-sdk"), requests(), ag_ui_streams()))) > 30
    )
    assert len(logs()) > 5
    assert make_mutant(command, 5) == make_mutant(command, 5)
