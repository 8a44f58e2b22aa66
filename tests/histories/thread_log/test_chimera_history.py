"""The histories `chimera/*` are what the real clients had stored of recorded runs, and what its next run sent of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.histories.message_parts.build import inline, journal_of, scenario

from tpharness.histories.langchain import UnsupportedError
from tpharness.histories.thread_log.dialect import CHIMERA
from tpharness.histories.thread_log.rules import check_log
from tpharness.histories.thread_log.transform import messages_of_log
from tpharness.journal import Journal
from tpharness.model_apis.payloads import payload_of

RECORDED = Path(__file__).parent / "recorded"
SAID = re.compile(r"<user_input>\n(.*)\n</user_input>", re.DOTALL)
TOOL = """
  - user: Print hello
  - steps:
      - response: [{text: [I will print it.]}, {call: print_console, id: call_1, args: {message: hello}}]
        USAGE
      - returns: {call_1: "Printed to console: hello"}
      - response: [{text: ["Printed ", it.], label: answer}]
        USAGE
"""
BASH = TOOL.replace("print_console", "bash").replace("message: hello", 'command: "sleep 2; echo done"')
RUNS: dict[str, tuple[str, str]] = {
    "plain": (
        "  - user: Print hello\n  - steps: [{response: [{text: ['Hello ', world.]}], USAGE}]\n",
        "",
    ),
    "tool": (TOOL, ""),
    "halt-text": (
        "  - user: Print hello\n  - steps: [{response: [{text: ['Hello ', world.], label: answer}], USAGE}]\n",
        "user_cancelled, after: {event: 2}",
    ),
    "halt-tool": (
        BASH.replace("      - returns", "      - {start_tools: true, label: runs}\n      - returns"),
        "user_cancelled, after: runs",
    ),
    "drop-answer": (TOOL, "network_failure, after: answer.mid"),
}
"""What was recorded, as scenarios; the second is where and why the run was cut."""
NEXT = "  - user: And now?\n  - steps: [{response: [{text: [Second answer.]}], USAGE}]\n"


def played(run: str, *, then: str = "") -> Journal:
    """Return the journal of a run, and of what comes then."""
    turns, cut = RUNS[run]
    ended = turns + (f"    interrupt: {{reason: {cut}}}\n" if cut else "")
    return journal_of(inline((ended + then).replace("USAGE", "usage: {input_tokens: 11, output_tokens: 7}")))


def recorded(run: str, client: str) -> dict[str, Any]:
    """Return what was recorded of a run with a client."""
    kept: dict[str, Any] = json.loads((RECORDED / f"{run}.json").read_text("utf-8"))[client]
    return kept


def kept_of(lines: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return what counts of lines: kinds, words, calls and outputs. Ids and times differ from run to run."""
    names = ("content", "toolCallId", "toolName", "output", "errorText", "inputTokens", "totalTokens")
    return [
        (line["type"], *(line.get(name) for name in names), (line.get("data") or {}).get("content"), _input(line))
        for line in lines[1:]
    ]


def _input(line: dict[str, Any]) -> Any:
    """Return the arguments of a call; of a text the value, since the spaces in it are the model's."""
    given = line.get("input")
    return ["text", json.loads(given)] if isinstance(given, str) else given


@pytest.mark.parametrize("client", ["python", "typescript"])
@pytest.mark.parametrize("run", RUNS)
def test_a_client_stores_what_the_real_one_had_stored(run: str, client: str) -> None:
    """After the run, and after the next message."""
    history = CHIMERA[f"chimera/{client}"]
    real = recorded(run, client)
    for name, journal in (("thread", played(run)), ("turn2", played(run, then=NEXT))):
        assert kept_of(history.store(journal)) == kept_of(real[name]), name


def sent(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return messages of Chat Completions without the system prompt and what is put around the user's words."""
    return [_plain(message) for message in messages if message["role"] != "system"]


def _plain(message: dict[str, Any]) -> dict[str, Any]:
    kept = dict(message)
    if message["role"] == "user" and (found := SAID.search(message["content"])):
        kept["content"] = found.group(1)
    if kept.get("content") is None:
        kept.pop("content", None)
    if calls := message.get("tool_calls"):
        kept["tool_calls"] = [
            (call["id"], call["function"]["name"], json.loads(call["function"]["arguments"])) for call in calls
        ]
    return kept


@pytest.mark.parametrize("client", ["python", "typescript"])
@pytest.mark.parametrize("run", RUNS)
def test_the_next_run_sends_what_the_real_one_sent(run: str, client: str) -> None:
    """Of the lines that the real client had stored, and of those that we store for it."""
    real = recorded(run, client)
    said = {"sent_turn2": ("thread", "And now?"), "sent_turn3": ("turn2", "And then?")}
    for name, (stored, words) in said.items():
        if name not in real:  # of the web client the second turn was recorded
            continue
        theirs = sent(real[name])
        assert sent(payload_of("openai-chat", messages_of_log(real[stored]), next_user=words)) == theirs
        ours = CHIMERA[f"chimera/{client}"].store(played(run, then=NEXT if stored == "turn2" else ""))
        assert sent(CHIMERA[f"chimera/{client}"].model_input(ours, "openai-chat", next_user=words)) == theirs


@pytest.mark.parametrize("run", RUNS)
def test_a_page_shows_what_the_real_one_showed(run: str) -> None:
    """Turns that have finished, and of their texts only that there are some."""
    shown = CHIMERA["chimera/typescript"].replay(CHIMERA["chimera/typescript"].store(played(run)))
    real = recorded(run, "typescript")["shown"]
    kinds = [[(part["type"], part.get("state"), part.get("text")) for part in one["parts"]] for one in shown]
    assert kinds == [[(part["type"], part.get("state"), part.get("text")) for part in one["parts"]] for one in real]


def test_a_call_that_was_stopped_is_sent_once_and_then_locks_the_chat() -> None:
    """The next run has it in its place; the one after that has what is said of it alone."""
    after = CHIMERA["chimera/python"].store(played("halt-tool"))
    assert [one.code for one in check_log(after)] == ["thread-log-call-open"]
    assert [one.code for one in check_log(CHIMERA["chimera/python"].store(played("halt-tool", then=NEXT)))] == [
        "thread-log-call-locked"
    ]


def test_what_was_open_is_stored_as_if_it_were_whole() -> None:
    """By the web client, when the user stops: half a text, and a call with no arguments, twice."""
    history = CHIMERA["chimera/typescript"]
    cut = scenario("histories/k06-mid-arguments")
    kinds = [line["type"] for line in history.store(journal_of(cut))]
    assert kinds[-2:] == ["tool-input-available"] * 2
    assert [line["type"] for line in CHIMERA["chimera/python"].store(journal_of(cut))][-1] == "data-agent-start"


def test_what_the_program_never_does_is_not_supported() -> None:
    """A result without its call in this run; a model asked again; several agents; a provider's tools."""
    for name in (
        "cycles/late-return",
        "interruptions/goes-on-without-a-return",
        "interruptions/error-before-another-agent",
    ):
        for history in CHIMERA.values():
            with pytest.raises(UnsupportedError, match="chimera: "):
                history.store(journal_of(scenario(name)))


def test_the_lines_of_a_run_that_goes_on_are_those_that_were_written() -> None:
    """The command line has what is whole; the web client has the calls."""
    journal = played("tool")
    going = Journal(ended=type(journal.ended)(list(journal.ended)[:1]), last=None)
    for history in CHIMERA.values():
        lines = history.store(going)
        assert history.loads(history.dumps(lines)) == lines
