"""What a campaign has done, as a file in its folder: `campaign.json`, written whole or not at all."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from tpharness.errors import InputError
from tpharness.output import write_atomically
from tpharness.printable import without_credentials

__all__ = ["CampaignState", "FoundFailure", "load_state", "save_state"]

_FILE = "campaign.json"


@dataclass(slots=True, kw_only=True)
class FoundFailure:
    """One cause: what decides it, the case that showed it first, how many did, and how to play the smallest one.

    `beside` has the keys of all causes that the smallest case shows, its own among them: what one mistake does at once.
    """

    cause: str
    codes: tuple[str, ...]
    clauses: tuple[str, ...]
    rulings: tuple[str, ...]
    kind: str
    case: int
    count: int
    file: str
    command: str
    message: str
    beside: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class CampaignState:
    """Where a campaign stands. `next` is the number of the next case; `cases` counts what was judged."""

    seed: int
    kinds: tuple[str, ...]
    sides: tuple[str, ...] = ()
    next: int = 0
    cases: int = 0
    seconds: float = 0.0
    failures: dict[str, FoundFailure] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Shape of `campaign.json` and of `tpharness fuzz --json`."""
        built: dict[str, Any] = msgspec.to_builtins(self)
        return built


def load_state(folder: Path) -> CampaignState | None:
    """Return the campaign of a folder, or None if there is none. InputError if the file is not a campaign."""
    path = folder / _FILE
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", hint="name another folder") from error
    try:
        state = msgspec.json.decode(data, type=CampaignState)
    except msgspec.MsgspecError as error:
        raise InputError(
            f"{path} is not a campaign: {error}", hint="name another folder, or remove the file"
        ) from error
    state.sides = tuple(map(without_credentials, state.sides))  # older ones were saved with their tokens
    return state


def save_state(folder: Path, state: CampaignState) -> None:
    """Write the campaign into its folder."""
    text = msgspec.json.format(msgspec.json.encode(state), indent=2).decode()
    write_atomically(str(folder / _FILE), text + "\n")
