"""What `repair` calls valid the AI SDK takes: `validateUIMessages` and `convertToModelMessages` of the real package.

One process of Node judges all of them. The pages are broken by functions that know nothing of what mends them.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.cli.test_one_judgement import MAKE, PLANTS
from tests.histories.stored.version_4 import chats_of_version_4
from tests.histories.test_exchange_ai_sdk import Convert, convert
from tests.places import places, replace_at

from tpharness.histories.stored.formats import Repaired, check_stored, repair_stored

__all__ = ["convert"]  # the fixture

PLANTED = PLANTS["ai-sdk"]
ODD = [None, "", "x", 5, True, [], {}, [1], {"a": 1}, "streaming", "2025-01-20T12:00:00Z", "c1-0"]
PAGES = 600


def broken_pages() -> list[Any]:
    """Return pages with up to three mistakes and any value in up to two places, and those of another version."""
    drawn = random.Random(20261128)  # noqa: S311  # the same at each run
    made: list[Any] = []
    while len(made) < PAGES:
        page = MAKE["ai-sdk"](drawn.randrange(4))
        for name in drawn.sample(sorted(PLANTED), drawn.randrange(4)):
            try:
                PLANTED[name][0](page)
            except (KeyError, IndexError, StopIteration, AttributeError, TypeError):
                continue  # another mistake has taken away what this one changes
        for _ in range(drawn.randrange(3)):
            page = replace_at(page, drawn.choice(places(page)), drawn.choice(ODD))
        made.append(page)
    return [*made, *chats_of_version_4()]


def is_whole(repaired: Repaired) -> bool:
    """Whether nothing is left; a page without messages is one that the AI SDK does not take at all."""
    return not repaired.left and not repaired.doubtful and isinstance(repaired.value, list) and repaired.value != []


@pytest.fixture(scope="module")
def judged(convert: Convert) -> list[tuple[Repaired, Any]]:
    """Return what `repair` calls valid, and what the real package makes of each, or its error."""
    made = [repair_stored(page, "ai-sdk") for page in broken_pages()]
    whole = [one for one in made if is_whole(one)]
    return list(zip(whole, convert([one.value for one in whole]), strict=True))


@pytest.mark.node
def test_what_is_valid_after_a_repair_the_real_package_takes(judged: list[tuple[Repaired, Any]]) -> None:
    """And what was valid before; among them are pages that were mended, in many ways."""
    changed = [one for one, _ in judged if one.changes]
    assert len(changed) > PAGES // 10
    assert len({change.kind.code for one in changed for change in one.changes}) > 8
    assert [(answer, one.value) for one, answer in judged if isinstance(answer, str)] == []


@pytest.mark.node
def test_no_call_is_left_open_before_the_conversation_goes_on(judged: list[tuple[Repaired, Any]]) -> None:
    """In the messages that the real package makes: each call of them has its result before anybody else speaks."""
    for _, messages in judged:
        waiting: set[str] = set()
        for message in messages:
            if message["role"] == "user":
                assert not waiting, messages
            content = message["content"] if isinstance(message["content"], list) else []
            waiting |= {part["toolCallId"] for part in content if part["type"] == "tool-call"}
            waiting -= {part["toolCallId"] for part in content if part["type"] == "tool-result"}


@pytest.mark.node
def test_messages_of_version_4_are_refused_until_they_are_repaired(convert: Convert) -> None:
    """So the finding is right, and the repair is worth it."""
    chats = chats_of_version_4()
    assert all("stored-by-older-version" in {found.code for found in check_stored(chat, "ai-sdk")} for chat in chats)
    before = convert(chats)
    assert all(isinstance(answer, str) for answer in before), before
    made = [repair_stored(chat, "ai-sdk") for chat in chats]
    assert all(not one.left for one in made)
    assert [type(answer) for answer in convert([one.value for one in made])] == [list] * len(chats)
