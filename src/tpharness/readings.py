"""Readings: for each ruling that has declared alternatives, which one is followed.

The default of every field certifies. A target that declares another reading is shown the result beside it, and does
not certify. One frozen value, passed in; no global switch.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum

__all__ = ["AnswerRule", "EmptyTurnRule", "Readings", "UnfinishedRule"]


class UnfinishedRule(Enum):
    """R20: what is kept of a response that was still streaming when its turn was cut."""

    DROP = "drop"
    COMPLETE_PARTS = "complete-parts"
    AS_STREAMED = "as-streamed"


class AnswerRule(Enum):
    """R21: how many returns a response with tool calls needs to be kept in an interrupted turn."""

    ALL_RETURNS = "all-returns"
    ANY_RETURN = "any-return"


class EmptyTurnRule(Enum):
    """R24: whether an interrupted turn of which nothing was kept is shown."""

    DROP = "drop"
    KEEP_EMPTY = "keep-empty"


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings:
    """One choice for each ruling with alternatives; `Readings()` is the certifying reading."""

    R20: UnfinishedRule = UnfinishedRule.DROP
    R21: AnswerRule = AnswerRule.ALL_RETURNS
    R24: EmptyTurnRule = EmptyTurnRule.DROP

    @property
    def certifies(self) -> bool:
        """Whether every ruling is read in the default way."""
        return self == _CERTIFYING

    @classmethod
    def parse(cls, choices: dict[str, str]) -> Readings:
        """Read `{"R20": "complete-parts", …}`; ValueError names an unknown ruling or reading and what is allowed."""
        types: dict[str, type[Enum]] = {"R20": UnfinishedRule, "R21": AnswerRule, "R24": EmptyTurnRule}
        chosen: dict[str, Enum] = {}
        for ruling, name in choices.items():
            if ruling not in types:
                raise ValueError(f"ruling {ruling!r} has no alternatives; those that do: {', '.join(types)}")
            try:
                chosen[ruling] = types[ruling](name)
            except ValueError:
                allowed = ", ".join(str(m.value) for m in types[ruling])
                raise ValueError(f"{ruling} has no reading {name!r}; allowed: {allowed}") from None
        return cls(**chosen)  # type: ignore[arg-type]  # keys and values were matched just above

    def as_json(self) -> dict[str, str]:
        """Return `{"R20": "drop", …}`."""
        return {f.name: str(getattr(self, f.name).value) for f in fields(self)}


_CERTIFYING = Readings()
