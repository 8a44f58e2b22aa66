"""The kinds of cases that a campaign generates: kind → generator, and the subjects that one generated thing stands for.

A subject is what is judged by itself: a scenario (programs, streams, bytes), the text of a scenario file, or a thread
document.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, TypeAlias

from tpharness.explore.generate.documents import document, thread
from tpharness.explore.generate.files import scenario_text
from tpharness.explore.generate.programs import GeneratedProgram, cut_scenarios, program
from tpharness.explore.generate.source import Source
from tpharness.explore.generate.streams import mutated, stream
from tpharness.scenario import Scenario

__all__ = ["GENERATORS", "FuzzKind", "Subject", "subjects"]

Subject: TypeAlias = Scenario | str | dict[str, Any]


class FuzzKind(Enum):
    """What is generated."""

    PROGRAMS = "programs"
    STREAMS = "streams"
    BYTES = "bytes"
    SCENARIOS = "scenarios"
    THREADS = "threads"
    DOCUMENTS = "documents"


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
    return list(cut_scenarios(made)) if isinstance(made, GeneratedProgram) else [made]
