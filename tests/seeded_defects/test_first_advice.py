"""What somebody reads first of a mistake says what to change: sixty defects, drawn with three fixed seeds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.seeded_defects import DEFECTS

from tpharness.cli import app

KILLERS = json.loads((Path(__file__).parent / "killers.json").read_text("utf-8"))
BY_NAME = {defect.name: defect for defect in DEFECTS}

CHANGES = {
    # drawn with seed 39
    "numbers-to-seventeen-places-in-event": "keep the number at `2` in `event_data` as it came: 5e-324, not 0.0",
    "fetched-thread-taken-in-part": "replace the client's thread with the fetched one; do not merge the two",
    "server-forgets-open-calls": "keep request(tool-return:c1) as message 0: the returns of a response are kept",
    "chunks-after-finish-read": "a chunk came after the end of the stream; it changes nothing",
    "sources-once-by-their-id": "keep message 2 (source.url) of the second turn: an event that happened",
    "timeout-called-network-failure": "interrupted timeout, not interrupted network_failure",
    "no-end-marker-after-an-abort": "end the stream with `data: [DONE]`",
    "calls-found-by-their-ids-composed": "the ids of calls are compared whole, character by character",
    "agents-alike-cut-to-36": "begin another turn with message 2 of the 11th turn",
    "content-beside-its-reference": "keep either content or content_ref",
    "emoji-become-question-marks-in-result": "differs from character 45 on (a character beyond U+FFFF)",
    "second-answer-in-a-later-turn-counts": "a call received a second final output; the first one is kept",
    "older-versions-without-response-ids": 'write `provider_response_id` of message 1 of the second turn: "r-1"',
    "every-thread-says-0-0-4": 'the thread was asked for in 2.0.0: write `version`: "2.0.0", not "0.0.4"',
    "null-output-is-no-return": "since each call has a return, whatever its status or its content (R22)",
    "keys-of-prototypes-lost-in-event": 'keep `__proto__` in `event_data`, {"a": 1}',
    "status-of-turns-in-0-0-3": "in the answer to `migrate`, leave complete at /thread/turns/0/completion_status out",
    "provider-stays-with-its-id": "keep message 11 of the second turn: the returns of a response are kept with it",
    "agents-of-an-event-that-is-not-kept": "leave `source_agent` assistant out: it is the agent that this event names",
    "calls-found-by-their-ids-before-a-bar": "the ids of calls are compared whole, character by character",
    # drawn with seed 2028
    "everything-kept-at-the-cut": "a response with calls has finished once each of them has a return (R21)",
    "second-interruption-overwrites-the-first": "interrupted error, not interrupted network_failure",
    "line-ends-in-text-made-uniform": "keep the text at `content` as it came: its line ends are those that were sent",
    "status-before-the-outcome": 'a return has the status that its tool reported: "success", not "error"',
    "normative-events-not-recorded": "keep event(thread.spawn) as message 2: an event that happened in a turn stays",
    "event-data-always-an-object": 'keep `event_data` as it came: null, not {"value": null}',
    "carried-facts-used-once": 'write `model_name` of message 0 of the second turn: "m1"',
    "done-taken-as-json": "the end marker exactly as [DONE]",
    "empty-return-stored-as-null": 'keep `content` as it came: "", not null',
    "empty-arguments-stored-as-null": "keep `args` as it came: {}, not null",
    "words-of-a-failure-lost": 'keep the text at `content` as it came: "boom", not "failed"',
    "invisible-characters-stripped": "the text at `content` differs from character 4 on",
    "fences-removed": "keep the text at `code` in `args` as it came",
    "keys-of-prototypes-lost-in-args": "keep `toString` in `args`, 3",
    "keys-trimmed-in-args": "keep `k\\n` in `args`",
    "numbers-to-fifteen-digits-in-result": "-9007199254740991, not -9007199254740990.0, which lost digits",
    "numbers-of-32-bits-in-event": "3000000000, not -1294967296, which is what 32 bits hold of it",
    "results-unwrapped": 'keep `content` as it came: {"result": 1}, not 1',
    "ids-of-blocks-cut-to-40": "a delta belongs to the part whose id it has, and ids are compared whole",
    "blank-deltas-lost": "append each delta as it came to the text that its id has so far",
    # drawn with seed 2026
    "abort-ignored": "interrupted user_cancelled, not interrupted network_failure",
    "finish-reason-left-out": 'write `finish_reason` of message 0 of the second turn: "tool_call"',
    "ids-of-agents-stored-after-a-slash": 'write `target_agents`: "team/weather", not "weather"',
    "items-of-the-user-once": 'keep item 2 of `content` of part 0 of the third turn: "One"; items that are equal',
    "keys-without-dots-in-metadata-of-returns": "keep `a.b` in `metadata`",
    "lists-as-sets-in-result": "13, not 12, and the one at 4 is 1; items that are equal are all kept",
    "malformed-chunk-read-in-part": "has `open-part-discarded` in its place",
    "messages-in-order-of-arrival": "an event stands where it happened",
    "names-of-files-not-sent": '"f_1"; if the stream does not say so, correct what the server sends: its own thread',
    "numbers-smallest-become-nought-in-event": "keep the number at `2` in `event_data` as it came: 5e-324, not 0",
    "numbers-to-seventeen-places-in-result": "keep the number at `2` in `content` as it came: 5e-324, not 0.0",
    "refused-arguments-not-stored": 'keep `args` as it came: "{"q"", not {}',
    "registry-not-asked-for-the-provider": 'write `provider_name`: "from-registry", not "unknown"',
    "request-stamped-with-its-first-return": "a request of returns stands at the last of them",
    "same-calls-once": "in message 0 (response) keep tool-call:c12 as part 2",
    "success-that-tells-of-an-error-is-a-failure": 'the status that its tool reported: "success", not "error"',
    "thinking-provider-always-unknown": "it is that of the part's event, else of the carrier, else of the agent",
    "tiers-of-events-in-capitals": 'write `event_type`: "data-SYS-load", not "data-sys-load"',
    # drawn with seed 1129
    "keys-trimmed-in-event": "11, not 12, which is that of ` a `: keys are kept whole",
    "agents-alike-composed": r'an agent with another id begins another (R45) ("caf\xe9" and "cafe\u0301" are two)',
    "approval-stays-with-the-id-of-its-call": "a denial has the reason of the answer to its request",
    "carrier-recorded": "a carrier (`data-sys-tp`) says facts about messages, and is not a message of the thread (R37)",
    "usage-counted-twice": "write `input_tokens`: 230, not 460: a total counts every response of the turn once",
    "server-starts-a-call-again-before-its-return": "client event 10 has `part-started-twice` in its place",
    "second-start-begins-a-turn": "report `second-start`: a start chunk came while a turn was running; it changes",
    "approval-not-asked": "before the run ends ask for each call that waits, and for no other",
    "usage-of-an-interrupted-result-lost": "write `total_usage` of the second turn",
    "bom-not-stripped": "skip the byte order mark (EF BB BF) at the beginning of the stream",
    "steering-message-not-seen": "what the user says in a run is a request of its own",
}
"""What each defect does wrong, turned round by a person who read its sentence: the words that the change has to have.

The names are those that `random.Random(SEED).shuffle` puts first of the sorted names of killers.json.
"""


@pytest.mark.parametrize("name", CHANGES)
def test_the_first_advice_of_a_drawn_defect_is_its_change(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first `to do` of the first failure, as the console has it and the page shows it without a click."""
    monkeypatch.chdir(tmp_path)  # a run that fails leaves its trace
    with BY_NAME[name].seed():
        done = CliRunner().invoke(app, ["run", "--no-config", KILLERS[name][0]])
    failure = done.output.partition("\nFAILED ")[2]
    first = next((line for line in failure.splitlines() if line.strip().startswith("to do")), done.output)
    assert CHANGES[name] in first
