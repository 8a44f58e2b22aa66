"""Which generator makes what: kind of subject → generator, and the subjects that one case of it stands for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tpharness.explore.campaigns.judging import FuzzKind, Subject
from tpharness.explore.generate.documents import document, thread
from tpharness.explore.generate.files import scenario_text
from tpharness.explore.generate.programs import Program, cut_scenarios, program
from tpharness.explore.generate.source import Source
from tpharness.explore.generate.streams import mutated, stream

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
