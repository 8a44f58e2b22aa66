"""What was sent before is the beginning of what is sent later (A10)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.model_apis.cases import assistant, content, result, text, use, user

from tpharness.model_apis.append_only import check_append_only

ASKED = [user([text("Hi")]), assistant([text("Let me look."), use()])]


def told(before: Any, after: Any) -> list[tuple[str, str | None]]:
    """Return code and pointer of what is found."""
    return [(f.code, f.place.pointer) for f in check_append_only(before, after)]


@pytest.mark.parametrize(
    "more",
    [
        [],
        [user([result()])],
        [user([result(), text("Stop.")]), assistant(), user()],
    ],
)
def test_appending_keeps_to_it(more: list[Any]) -> None:
    """The result of an aborted call comes behind it, and the call stays."""
    assert told(ASKED, [*ASKED, *more]) == []


REWRITTEN: list[tuple[str, Any, Any, str]] = [
    (
        "the call is replaced by words",
        ASKED,
        [ASKED[0], assistant([text("Let me look."), text("[interrupted]")]), user()],
        "/1/content/1/type",
    ),
    ("a text grows", [user(), assistant("ok"), user()], [user(), assistant("ok[interrupted]"), user()], "/1/content"),
    ("the calls go", ASKED, [ASKED[0], assistant([text("Let me look.")]), user()], "/1/content/1"),
    ("a message goes", ASKED, [ASKED[0]], "/1"),
    ("a message comes between", ASKED, [ASKED[0], user("x"), ASKED[1]], "/1/role"),
    ("true is not one", [user([{"n": True}]), user()], [user([{"n": 1}]), user()], "/0/content/0/n"),
    ("a field comes", [user(), user()], [{**user(), "name": "Ann"}, user()], "/0/name"),
    ("an assistant message gets more", [assistant([text("a")])], [assistant([text("a"), use()])], "/0/content/1"),
    ("the system prompt changes", {"system": "a", "messages": []}, {"system": "b", "messages": []}, "/system"),
    ("the tools go", {"tools": [1], "messages": []}, {"messages": []}, "/tools"),
    ("another kind of payload", [user()], {"messages": [user()]}, ""),
    ("another API's payload", {"messages": [user()]}, {"contents": [user()]}, ""),
    ("a text becomes a block", [user("Hi")], [user([text("Hi")])], "/0/content"),
    (
        "in an object",
        {"contents": [content("user", {"text": "a"}), content("model", {"text": "b"})]},
        {"contents": [content("user", {"text": "a"}), content("model", {"text": "c"})]},
        "/contents/1/parts/0/text",
    ),
]


@pytest.mark.parametrize(("what", "before", "after", "pointer"), REWRITTEN, ids=[row[0] for row in REWRITTEN])
def test_the_first_place_where_they_part_is_named(what: str, before: Any, after: Any, pointer: str) -> None:
    """One finding, in the order of what was sent before."""
    assert told(before, after) == [("model-view-rewritten", pointer)], what


def test_the_finding_shows_what_stood_there() -> None:
    """Got is what is sent now, expected what was sent before."""
    (found,) = check_append_only([user("Hi"), user()], [user("Ho"), user()])
    assert (found.got, found.expected) == ("Ho", "Hi")
    assert "1. of 2 entries is not as it was sent before" in found.message
    (missing,) = check_append_only([user("Hi"), user()], [user("Hi")])
    assert "2. of 2 entries is missing" in missing.message


def test_the_last_message_of_the_user_may_get_more_blocks() -> None:
    """A7: to the API that is one more message of the user; what stood there has to stay."""
    before = [user(), assistant([use()]), user([result()])]
    assert told(before, [*before[:2], user([result(), text("Stop.")])]) == []
    assert told(before, [*before[:2], user([text("Stop."), result()])]) == [
        ("model-view-rewritten", "/2/content/0/type")
    ]
    contents = [content("user", {"text": "Hi"})]
    assert told(contents, [content("user", {"text": "Hi"}, {"text": "Stop."})]) == []
    assert told([user("Hi")], [user("Hi. Stop.")]) == [("model-view-rewritten", "/0/content")]


def test_numbers_are_compared_as_json_numbers() -> None:
    """1 and 1.0 are the same."""
    assert told([user([{"n": 1}])], [user([{"n": 1.0}])]) == []


def test_depth_is_no_matter() -> None:
    """Values are walked without recursion."""

    def nested(leaf: Any) -> Any:
        for _ in range(5000):
            leaf = [leaf]
        return leaf

    assert told([nested(1)], [nested(1)]) == []
    ((_, pointer),) = told([nested(1)], [nested(2)])
    assert pointer is not None
    assert pointer.count("/0") == 5001
