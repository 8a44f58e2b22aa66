"""Wrong implementations on purpose. `tpharness mutate tests.seeded_defects` plays the suite on each."""

from __future__ import annotations

from tests.seeded_defects import (
    answers,
    approvals,
    calls,
    cycles,
    documents,
    each_version,
    edges,
    events,
    facts,
    files,
    frames,
    ids,
    interrupts,
    later_turns,
    leaks,
    libraries,
    looks,
    messages,
    moments,
    odd_names,
    odd_streams,
    parts,
    planted,
    repeats,
    responses,
    servers,
    spellings,
    streams,
    threads,
    tools,
    turns,
    unnoticed,
    values,
    wire_words,
)
from tests.seeded_defects.harmless import HARMLESS

__all__ = ["DEFECTS", "DOCUMENT_DEFECTS", "ELSEWHERE", "HARMLESS"]

DEFECTS = (
    *cycles.DEFECTS,
    *responses.DEFECTS,
    *interrupts.DEFECTS,
    *turns.DEFECTS,
    *parts.DEFECTS,
    *messages.DEFECTS,
    *tools.DEFECTS,
    *calls.DEFECTS,
    *events.DEFECTS,
    *facts.DEFECTS,
    *files.DEFECTS,
    *frames.DEFECTS,
    *streams.DEFECTS,
    *threads.DEFECTS,
    *values.DEFECTS,
    *libraries.DEFECTS,
    *later_turns.DEFECTS,
    *looks.DEFECTS,
    *ids.DEFECTS,
    *repeats.DEFECTS,
    *leaks.DEFECTS,
    *spellings.DEFECTS,
    *moments.DEFECTS,
    *approvals.DEFECTS,
    *odd_names.DEFECTS,
    *odd_streams.DEFECTS,
    *edges.DEFECTS,
    *each_version.DEFECTS,
    *servers.DEFECTS,
    *unnoticed.DEFECTS,
    *wire_words.DEFECTS,
    *answers.DEFECTS,
    *planted.DEFECTS,
)
DOCUMENT_DEFECTS = documents.DEFECTS
"""Those that no scenario shows, and the vectors of `conformance/documents/` do."""

_IN_DOCUMENTS = (
    "thread.agent-fields",
    "thread.no-streaming-state",
    "turn.fields",
    "turn.no-event-after-end",
    "message.fields",
    "part.place",
    "part.base64",
    "usage.counts",
    "event.spawn-names-thread",
)
"""What bad documents break, and no implementation here writes."""
ELSEWHERE = {
    **dict.fromkeys(
        _IN_DOCUMENTS, "a document breaks it; conformance/test_bad_documents.py::test_a_bad_document_is_found_out"
    ),
    "canon.telemetry-renamed": "no target writes telemetry under its new name; "
    "tests/seeded_defects/test_seeded_defects.py::test_a_wrong_reader_of_documents_fails_for_the_clauses_that_it_breaks",
    "sync.plain-stream": "only a target that is not the reference is read without its carriers; "
    "tests/run/test_plain_streams.py::test_what_plain_chunks_lack_is_named",
    **dict.fromkeys(
        ("stream.answers-by-their-chunks", "event.transient-sent"),
        "the streams of a target are held to those of the reference, and a changed reference to itself; "
        "tests/run/test_plain_streams.py::test_what_plain_chunks_lack_is_named",
    ),
    "sync.truth": "a target is held to the reference, and a changed reference to itself; "
    "tests/run/test_truth.py::test_two_that_are_wrong_alike_fail_and_both_are_told",
}
"""MUST clauses that no change of the reference breaks before the eyes of a scenario: why, and the test that bites."""
