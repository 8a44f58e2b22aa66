"""Which generator makes what: kind of subject → generator, and the subjects that one case of it stands for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tpharness.fuzz.documents import document, thread
from tpharness.fuzz.files import scenario_text
from tpharness.fuzz.judging import FuzzKind, Subject
from tpharness.fuzz.programs import Program, cut_scenarios, program
from tpharness.fuzz.source import Source
from tpharness.fuzz.streams import mutated, stream

__all__ = ["GENERATORS", "subjects"]

GENERATORS: Mapping[FuzzKind, Callable[[Source], Any]] = {
    FuzzKind.PROGRAMS: program,
    FuzzKind.STREAMS: stream,
    FuzzKind.BYTES: mutated,
    FuzzKind.SCENARIOS: scenario_text,
    FuzzKind.THREADS: thread,
    FuzzKind.DOCUMENTS: document,
}


def subjects(made: Any) -> list[Subject]:
    """Return what is judged of one thing generated: a program is judged as it is and at each of its places."""
    return list(cut_scenarios(made)) if isinstance(made, Program) else [made]
