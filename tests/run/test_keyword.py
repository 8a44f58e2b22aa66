"""`-k` selects ids by pytest's expressions."""

from __future__ import annotations

import pytest

from tpharness.errors import UsageError
from tpharness.run.keyword import Keyword

IDS = ("cycles/three-steps", "cycles/reset-step", "sse/every-byte", "tools/null-output", "tools/order")


@pytest.mark.parametrize(
    ("text", "fitting"),
    [
        ("cycles", {0, 1}),
        ("CYCLES and not Reset", {0}),
        ("not cycles", {2, 3, 4}),
        ("not (cycles or tools)", {2}),
        ("cycles and step or byte", {0, 1, 2}),
        ("byte or cycles and reset", {1, 2}),
        ("not not sse/", {2}),
        ("tools/order", {4}),
        ("(((null-output)))", {3}),
        ("nothing-like-it", set()),
    ],
)
def test_words_joined_by_and_or_and_not_select_ids(text: str, fitting: set[int]) -> None:
    """A word fits where it occurs; `and` binds more than `or`, `not` more than both; words may contain `or`."""
    keyword = Keyword.parse(text)
    assert {index for index, name in enumerate(IDS) if keyword.fits(name)} == fitting


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "column 1 a word"),
        ("a and", "column 6 a word"),
        ("and a", "column 1 a word"),
        ("a b", "column 3 and, or, or the end was expected, not b"),
        ("(a", "column 3 a closing parenthesis was expected, not the end"),
        ("a)", "column 2 and, or, or the end"),
        ("()", "column 2 a word"),
        ("not", "column 4 a word"),
        ("(" * 60 + "a" + ")" * 60, "nested more than 50 deep"),
        ("not " * 60 + "a", "nested more than 50 deep"),
    ],
)
def test_what_is_no_expression_is_refused_with_the_column(text: str, said: str) -> None:
    """Before anything is played, and without a traceback however deep it is."""
    with pytest.raises(UsageError) as raised:
        Keyword.parse(text)
    assert said in str(raised.value)
