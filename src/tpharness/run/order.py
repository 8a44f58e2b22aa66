"""The order in which scenarios are played: by id, or shuffled to find what a target carries from one case to the next.

In: `random`, `random:SEED`, or the JSON report of an earlier run. Out: the selected scenarios in that order. The same
seed gives the same order of the same scenarios, on every machine.
"""

from __future__ import annotations

import json
import random
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tpharness.errors import InputError, UsageError
from tpharness.run.select import SelectedScenario

__all__ = ["Order"]

_RANDOM = re.compile(r"random(?::([0-9]{1,18}))?")
_SEEDS = 2**32


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A shuffled order with its seed, or the order of the scenarios `ids` that the report `file` has."""

    seed: int = 0
    file: str = ""
    ids: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the value of `--order`; `random` chooses a seed. UsageError, or InputError for a file."""
        match = _RANDOM.fullmatch(text)
        if match is not None:
            return cls(seed=secrets.randbelow(_SEEDS) if match[1] is None else int(match[1]))
        if text.startswith("random"):
            raise UsageError(f"{text!r} is not an order", hint="write --order random, or random:SEED with a number")
        return cls(file=text, ids=_read_ids(Path(text)))

    def arrange(self, selected: Sequence[SelectedScenario]) -> list[SelectedScenario]:
        """Return the selected scenarios in this order. UsageError if a report has others than these."""
        shuffled = sorted(selected, key=lambda one: (one.id, str(one)))
        if not self.file:
            random.Random(self.seed).shuffle(shuffled)  # noqa: S311  # an order, and no secret
            return shuffled
        known = {one.id for one in selected}
        other = sorted(known ^ set(self.ids))
        if other:
            where = "selected only" if other[0] in known else f"in {self.file} only"
            raise UsageError(
                f"{self.file} is the report of other scenarios: {other[0]} is {where}",
                hint="name the same scenarios as for the run that wrote it",
            )
        return sorted(shuffled, key=lambda one: self.ids.index(one.id))

    def __str__(self) -> str:
        return self.file or f"random:{self.seed}"


def _read_ids(path: Path) -> tuple[str, ...]:
    hint = "give random, random:SEED, or a report that --report json:PATH has written"
    try:
        report = json.loads(path.read_bytes())
        ids = [str(result["id"]).partition("@")[0] for result in report["results"]]
    except OSError as error:
        raise InputError(f"cannot read the order {path}: {error.strerror}", hint=hint) from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{path} is not the JSON report of a run", hint=hint) from error
    return tuple(dict.fromkeys(ids))
