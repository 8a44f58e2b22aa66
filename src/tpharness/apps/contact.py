"""First contact: one harmless turn, to see which API the application uses, and which tools it offers its model.

In: a player. Out: what was seen, or what the application did instead of asking its model; the player knows whether the
application shows answers word for word, and whether its model thinks.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tpharness.apps.cases.basic import next_turn
from tpharness.apps.cases.case import AppCase
from tpharness.apps.checks.truth import is_part_of
from tpharness.apps.evidence import shown_text
from tpharness.apps.play import Player
from tpharness.apps.trouble import find_trouble, unread_answer
from tpharness.findings import Finding
from tpharness.model_apis.registry import ApiName, find_api

__all__ = ["CONTACT", "Contact", "asks_for_thoughts", "first_contact"]

CONTACT = "contact/first-message"
"""The id of the first message, under which an application is reported that cannot be judged."""

_HELLO = "Hello, who are you?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contact:
    """What a first turn showed: the model API, the tools by name with their JSON Schemas; or the `trouble` it had."""

    api: str = ""
    tools: Mapping[str, Any] = field(default_factory=dict)
    trouble: Finding | None = None
    seconds: float = 0.0


async def first_contact(player: Player, mark: str) -> Contact:
    """Ask the application something harmless; `trouble` says what it did where no request reached the model."""
    begun = time.monotonic()
    case = AppCase(id=CONTACT, title="A first message", turns=(next_turn(_HELLO),))
    evidence = await player.play(case, mark)
    trouble = find_trouble(evidence) or unread_answer(evidence.turns[0])
    seconds = time.monotonic() - begun
    if trouble is not None:
        return Contact(trouble=trouble.with_place(case=CONTACT), seconds=seconds)
    turn = evidence.turns[0]
    asked = turn.asked[0]
    player.shows_answers = any(one.said and is_part_of(one.said, shown_text(turn.screen)) for one in turn.asked)
    player.wants_thoughts = asks_for_thoughts(asked.api, asked.body)
    return Contact(api=asked.api, tools=asked.tools, seconds=seconds)


def asks_for_thoughts(api: ApiName, body: Any) -> bool:
    """Whether a request asks its model to think in a way that its API shows."""
    return find_api(api).served.asks_for_thoughts(body)
