"""A mutant: one small change of a source file. Pure.

In: a source file and the edits that the operators of its language propose. Out: mutants, each with a name that stays
the same when lines move.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Edit", "Mutant", "name_mutants", "take_sample"]

_SHOWN = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One proposed change: the bytes `start` to `end` of the source become `new`.

    `function` is the dotted name of what it lies in ("" for the module itself), `block` the first line of the innermost
    list of statements around it, 0 where that runs when the file is loaded.
    """

    operator: str
    function: str
    block: int
    start: int
    end: int
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A change of the file `file` (relative to the repository), and the name by which lists of mutants know it."""

    name: str
    file: str
    edit: Edit

    def source(self, original: bytes) -> bytes:
        """Return the file with the change."""
        return original[: self.edit.start] + self.edit.new.encode() + original[self.edit.end :]


def name_mutants(file: str, source: bytes, edits: Iterable[Edit]) -> list[Mutant]:
    """Return the edits as mutants, without those that say the same as another one.

    A name has the file, the function, the operator and the text before and after; equal ones are numbered in order.
    """
    seen: Counter[str] = Counter()
    texts: set[bytes] = set()
    mutants = []
    for edit in sorted(edits, key=lambda one: (one.start, one.end, one.operator, one.new)):
        old = source[edit.start : edit.end].decode()
        name = f"{file}::{edit.function or '<module>'} {edit.operator}: {_shown(old)} → {_shown(edit.new)}"
        seen[name] += 1
        mutant = Mutant(name=name if seen[name] == 1 else f"{name} #{seen[name]}", file=file, edit=edit)
        digest = hashlib.sha256(mutant.source(source)).digest()
        if digest not in texts:
            texts.add(digest)
            mutants.append(mutant)
    return mutants


_DRAWN_AS = {
    "src/tpharness/wires/sse/parser.py": "src/tpharness/vsp/sse.py",
    "src/tpharness/wires/sse/frames.py": "src/tpharness/vsp/frames.py",
    "src/tpharness/wires/sse/writer.py": "src/tpharness/vsp/encode.py",
    "src/tpharness/wires/vsp/server.py": "src/tpharness/server_events/encoder.py",
    "src/tpharness/wires/vsp/server_parts.py": "src/tpharness/server_events/wire_parts.py",
    "src/tpharness/wires/vsp/": "src/tpharness/vsp/",
}
"""Where files stood when the sample was drawn: a file that moves keeps the mutants that were played before."""


def take_sample(mutants: Iterable[Mutant], one_in: int) -> list[Mutant]:
    """Return one in so many, chosen by their names: the same ones wherever and whenever they are chosen."""
    return [mutant for mutant in mutants if _lot_of(mutant.name) % one_in == 0]


def _lot_of(name: str) -> int:
    for now, then in _DRAWN_AS.items():
        if name.startswith(now):
            name = then + name.removeprefix(now)
            break
    return int(hashlib.sha256(name.encode()).hexdigest()[:8], 16)


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}… {hashlib.sha256(line.encode()).hexdigest()[:6]}"
