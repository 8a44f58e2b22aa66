"""What a thread loses when it is converted, sent to a model, or made of another program's messages."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Loss"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """Something that the result does not have, or not in this form: its place in what was given, what it was, and why.

    `pointer` is a JSON pointer.
    """

    pointer: str
    what: str
    why: str

    def as_json(self) -> dict[str, str]:
        """Shape of a loss in what `--json` prints."""
        return {"pointer": self.pointer, "what": self.what, "why": self.why}
