"""What judges the reference besides scenarios: documents, and over AG-UI streams, recordings and tests of its files.

In: nothing. Out: the name of each, which begins with one of `PREFIX`, and how tpharness differs from what a person has
read in it. A name that is that of a test stands for all its parameters.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import cache, partial
from types import ModuleType
from typing import Any

import pytest
from conformance.bad_documents import find_difference, judge, load_bad_documents, load_good_threads
from conformance.vectors import load_vectors, run_vector
from tests.examples import test_plain_documents, test_plain_node_ag_ui
from tests.examples.stdio import Ask
from tests.wires.ag_ui import (
    test_ag_ui_folds,
    test_ag_ui_reads,
    test_ag_ui_servers,
    test_ag_ui_shapes,
    test_ag_ui_streams,
    test_ag_ui_writer,
    test_json_patch,
)
from tests.wires.ag_ui.streams import FOLDS, STREAMS, differing_findings, differing_fold

from tpharness.protocol.rules import check
from tpharness.wires.registry import DEFAULT_WIRE, WIRES

__all__ = ["PREFIX", "PROGRAM_JUDGES", "document_names", "judge_document", "judge_program", "judges_of"]

PREFIX = ("conformance/", "tests/")
_STREAMS = "tests/examples/test_plain_node_ag_ui.py"
_QUESTIONS = "tests/examples/test_plain_documents.py"
PROGRAM_JUDGES = (_STREAMS, _QUESTIONS)
"""The names of what judges a program: what no server of ours sends over AG-UI, and threads that it is asked about."""

check.ONE_IN = 1  # as in the conftest of the tests: every rule judges each document

_DOCUMENTS = "conformance/documents/"
_TESTS: dict[ModuleType, tuple[str, ...]] = {
    test_json_patch: ("test_a_patch_applies", "test_a_patch_fails_whole", "test_an_operation_is_malformed"),
    test_ag_ui_servers: ("test_what_a_real_server_breaks_is_found_where_it_does",),
    test_ag_ui_streams: (
        "test_how_a_body_is_split_into_reads_changes_nothing",
        "test_every_stream_is_known_as_ag_ui",
        "test_a_finding_says_where_it_is_and_what_to_do",
        "test_a_finding_says_what_is_wrong",
        "test_a_finding_shows_what_came_and_what_is_right",
        "test_who_takes_events_gets_each_piece",
        "test_a_read_of_one_event_counts_it",
        "test_one_mistake_is_one_finding",
        "test_state_and_activities_are_what_a_client_holds",
        "test_a_malformed_patch_changes_nothing",
        "test_the_end_of_a_stream_is_told_apart",
        "test_an_input_that_is_echoed_is_where_a_run_begins",
    ),
    test_ag_ui_shapes: (
        "test_the_records_take_what_the_schema_takes",
        "test_what_is_read_in_one_step_is_what_is_read_with_care",
        "test_data_that_is_not_an_event_is_a_finding",
        "test_lone_surrogates_stay",
        "test_a_note_points_at_what_is_wrong",
    ),
    test_ag_ui_reads: (
        "test_a_reader_says_where_its_stream_stands",
        "test_what_comes_behind_a_rejection_is_not_read_into_the_text_that_is_open",
        "test_a_finding_is_known_before_its_stream_has_ended",
        "test_the_calls_that_a_stream_has_ended_are_known",
        "test_a_run_that_is_reported_to_have_failed_in_a_text_goes_on_only_if_it_ends_in_order",
    ),
    test_ag_ui_writer: (
        "test_a_run_that_asks_ends_with_an_interrupt",
        "test_a_run_that_asks_about_a_call_of_an_earlier_run_names_it",
        "test_a_call_of_an_earlier_run_is_answered_and_not_streamed_again",
        "test_the_next_run_of_a_thread_knows_which_calls_wait",
        "test_a_call_beside_a_text_without_a_word_says_so",
        "test_facts_are_sent_to_who_asks_for_them",
        "test_what_a_stream_says_beside_its_thread_is_how_it_ends",
        "test_deltas_are_split_into_the_smallest_that_there_are",
        "test_an_error_before_another_agent_takes_over_does_not_fail_the_run",
        "test_an_error_with_another_word_for_the_end_of_the_run_keeps_the_word",
    ),
    test_ag_ui_folds: (
        "test_what_generated_cases_have_found_does_not_depend_on_the_wire",
        "test_what_the_reference_sends_keeps_the_rules_of_ag_ui",
    ),
}
"""Tests of AG-UI's files that need nothing but these files."""


def document_names() -> list[str]:
    """Return the names of all, of every wire."""
    return [*PROGRAM_JUDGES, *(name for wire in WIRES for name in judges_of(wire))]


def judge_program(name: str, ask: Ask) -> str:
    """Return how a program, asked as over stdio, fails the tests of this name, "" if it does not."""
    try:
        (_ask_streams if name == _STREAMS else _ask_documents)(ask)
    except (AssertionError, LookupError) as error:
        return f"fails: {error!r}"[:200]
    return ""


def _ask_streams(ask: Ask) -> None:
    for vector in FOLDS:
        test_plain_node_ag_ui.test_a_stream_makes_the_thread_that_a_person_has_read_in_it(ask, vector)
    for stream in STREAMS:
        test_plain_node_ag_ui.test_it_rejects_what_a_client_has_to_reject_and_nothing_else(ask, stream)
    test_plain_node_ag_ui.test_a_run_that_fails_ends_as_a_failure(ask)
    test_plain_node_ag_ui.test_a_call_says_no_more_than_is_needed(ask)
    for event in test_plain_node_ag_ui.ODD_EVENTS:
        test_plain_node_ag_ui.test_an_event_of_the_model_that_does_not_fit_changes_nothing(ask, event)


def _ask_documents(ask: Ask) -> None:
    for name in test_plain_documents.ASKED:
        test_plain_documents.test_what_it_says_of_a_thread_is_what_a_person_has_read_in_it(ask, name)
    test_plain_documents.test_a_message_without_parts_says_nothing_to_a_model(ask)
    for values in _parameters(test_plain_documents.test_what_is_no_thread_is_refused):
        test_plain_documents.test_what_is_no_thread_is_refused(ask, **values)


def judges_of(wire: str) -> list[str]:
    """Return the names of what judges the files of a wire; documents are of the first."""
    if wire != DEFAULT_WIRE:
        return list(_of_ag_ui())
    bad = [f"bad/{entry['name']}" for entry in load_bad_documents()]
    good = [f"good/{name}" for name in load_good_threads()]
    return [f"{_DOCUMENTS}{name}" for name in (*bad, *good, *load_vectors())]


def judge_document(name: str) -> str:
    """Return how tpharness differs from what a document or a stream says, "" if it does not."""
    if name in _of_ag_ui():
        return _of_ag_ui()[name]()
    name = name.removeprefix(_DOCUMENTS)
    kind, _, rest = name.partition("/")
    if kind == "good":
        return "something is found in a good thread" if judge(load_good_threads()[rest]) else ""
    if kind != "bad":
        return run_vector(name)
    return find_difference(next(one for one in load_bad_documents() if one["name"] == rest))


@cache
def _of_ag_ui() -> dict[str, Callable[[], str]]:
    """Return what judges files of AG-UI, by name."""
    found: dict[str, Callable[[], str]] = {}
    for kind, find, all_ in (("streams", differing_findings, STREAMS), ("folds", differing_fold, FOLDS)):
        found |= {f"conformance/statements/ag-ui-{kind}/{one['name']}": partial(find, one) for one in all_}
    for module, names in _TESTS.items():
        file = module.__name__.replace(".", "/")
        found |= {f"{file}.py::{name}": partial(_run_test, getattr(module, name)) for name in names}
    return found


def _run_test(test: Any) -> str:
    """Return why a test fails, with the first of its parameters that does; "" if it passes."""
    for values in _parameters(test):
        try:
            test(**values)
        except (AssertionError, pytest.fail.Exception) as error:
            return f"fails: {error}"[:200] or "fails"
    return ""


def _parameters(test: Any) -> Iterator[dict[str, Any]]:
    """Yield the arguments of a test; one that takes a sample takes everything."""
    if "sample" in inspect.signature(test).parameters:
        yield {"sample": list}
        return
    marks = [mark for mark in getattr(test, "pytestmark", ()) if mark.name == "parametrize"]
    if not marks:
        yield {}
        return
    (mark,) = marks
    names = [mark.args[0]] if isinstance(mark.args[0], str) else list(mark.args[0])
    for values in mark.args[1]:
        yield dict(zip(names, [values] if len(names) == 1 else values, strict=True))
