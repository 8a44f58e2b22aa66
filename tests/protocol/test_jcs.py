"""Canonical bytes against RFC 8785's own vectors and an independent implementation."""

from __future__ import annotations

import json
import math
import struct
import uuid
from datetime import UTC, datetime
from http import HTTPMethod
from typing import Any

import pytest
import rfc8785
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tpharness.protocol.jcs import CanonicalError, jcs, unsafe_places, write_safe
from tpharness.protocol.rfc8785 import es_number
from tpharness.protocol.rules import check_thread

# RFC 8785, appendix B: IEEE 754 bits and the text that ECMAScript writes for them.
NUMBERS = [
    ("0000000000000000", "0"),
    ("8000000000000000", "0"),
    ("0000000000000001", "5e-324"),
    ("8000000000000001", "-5e-324"),
    ("7fefffffffffffff", "1.7976931348623157e+308"),
    ("ffefffffffffffff", "-1.7976931348623157e+308"),
    ("4340000000000000", "9007199254740992"),
    ("c340000000000000", "-9007199254740992"),
    ("4430000000000000", "295147905179352830000"),
    ("44b52d02c7e14af5", "9.999999999999997e+22"),
    ("44b52d02c7e14af6", "1e+23"),
    ("44b52d02c7e14af7", "1.0000000000000001e+23"),
    ("444b1ae4d6e2ef4e", "999999999999999700000"),
    ("444b1ae4d6e2ef4f", "999999999999999900000"),
    ("444b1ae4d6e2ef50", "1e+21"),
    ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
    ("3eb0c6f7a0b5ed8d", "0.000001"),
    ("41b3de4355555553", "333333333.3333332"),
    ("41b3de4355555554", "333333333.33333325"),
    ("41b3de4355555555", "333333333.3333333"),
    ("41b3de4355555556", "333333333.3333334"),
    ("41b3de4355555557", "333333333.33333343"),
    ("becbf647612f3696", "-0.0000033333333333333333"),
    ("43143ff3c1cb0959", "1424953923781206.2"),
]


@pytest.mark.parametrize(("bits", "text"), NUMBERS)
def test_numbers_are_written_as_the_rfc_lists_them(bits: str, text: str) -> None:
    """Each double of appendix B has the text of appendix B."""
    number = struct.unpack(">d", bytes.fromhex(bits))[0]
    assert es_number(number) == text
    assert jcs([number]) == f"[{text}]".encode()


def test_the_sample_object_of_the_rfc_is_canonicalised() -> None:
    """RFC 8785, 3.2.2: numbers, strings and literals, with the keys sorted as in 3.2.3."""
    sample = json.loads(
        r"""{
        "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
        "literals": [null, true, false]
        }"""
    )
    expected = (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )
    assert jcs(sample) == expected.encode()


def test_keys_are_sorted_by_utf_16_units() -> None:
    """RFC 8785, 3.2.3: a surrogate pair sorts before U+FB33, which UTF-8 order gets wrong."""
    keys = ["€", "\r", "\ufb33", "1", "😀", "\x80", "ö"]
    ordered = ["\r", "1", "\x80", "ö", "€", "😀", "\ufb33"]
    assert list(json.loads(jcs(dict.fromkeys(keys, 0)))) == ordered


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=20,
)


@given(JSON)
def test_bytes_equal_those_of_the_rfc8785_package(value: Any) -> None:
    """Any JSON value gives the bytes that an independent implementation gives."""
    assert jcs(value) == rfc8785.dumps(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_read_back_as_themselves(number: float) -> None:
    """The canonical text of a double is that double."""
    assert float(es_number(number)) == number


@pytest.mark.parametrize(
    ("value", "pointer"),
    [
        ({"a": [1, 2**53]}, "/a/1"),
        ({"a": {"b/c": -(2**53)}}, "/a/b~1c"),
        ([math.nan], "/0"),
        ([math.inf], "/0"),
        ({"t": "a\ud83d"}, "/t"),
        ({"\udc00": 1}, ""),
        ({"x": {1: 2}}, "/x"),
    ],
)
def test_what_has_no_canonical_form_is_named_by_its_place(value: object, pointer: str) -> None:
    """R38: unsafe integers, NaN, infinities, lone surrogates and odd keys raise with the JSON pointer."""
    with pytest.raises(CanonicalError) as raised:
        jcs(value)
    assert raised.value.pointer == pointer


def test_deep_nesting_is_an_error_and_no_crash() -> None:
    """A value nested 100,000 deep is refused."""
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(CanonicalError):
        jcs(deep)


def test_unicode_is_not_normalised() -> None:
    """R38: a composed and a decomposed letter are different text."""
    assert jcs("\u00e9") != jcs("e\u0301")


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(), max_size=3) | st.integers(), inner),
    max_leaves=12,
)


@given(ANY)
def test_what_is_written_as_safe_has_no_unsafe_place(value: Any) -> None:
    """R38: the native look may doubt a safe value, and is never sure of an unsafe one."""
    written = write_safe(value)
    assert written is None or (not list(unsafe_places(value)) and json.loads(written) == value)


@given(ANY)
@example([{"a": 1.0}, 2.5, 1e-7, 1e16, -0.0, 1e21, 0.00001, 0.000009, "x\\.0,", "1e5,", {"\ue000": 1, "\U0001f600": 2}])
@example(1.0)
@example(1e30)
def test_the_canonical_bytes_of_a_safe_value_are_the_same(value: Any) -> None:
    """R38: with `safe`, where orjson writes them, as without; else as the walk writes them."""
    assume(not list(unsafe_places(value)))
    assert jcs(value, safe=True) == jcs(value)


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53) + 1, 2**53 - 1).map(float))
def test_the_canonical_bytes_of_a_number_are_those_of_javascript(number: float) -> None:
    """However orjson writes it, at the end and inside of a value."""
    assert jcs([number], safe=True).decode() == f"[{es_number(number)}]"
    assert jcs(number, safe=True).decode() == es_number(number)


@pytest.mark.parametrize(
    ("value", "safe"),
    [
        ([2**53 - 1, -(2**53) + 1, 1.5, -0.0, 2.0**53 - 1, 5e-324, 1e21, -1.7e308, None, True, "é\ue000"], True),
        ({"\ue000": {"a": [[], {}]}}, True),
        *((value, False) for value in (2**53, -(2**53), 2.0**53, 9.9e20, math.nan, math.inf, -math.inf, (1, 2))),
        *((value, False) for value in ("a\ud83d", {1: 2}, uuid.UUID(int=1), datetime(2026, 1, 1, tzinfo=UTC))),
        (HTTPMethod.GET, False),
    ],
    ids=repr,
)
def test_a_value_is_surely_safe_or_looked_at_place_by_place(value: object, safe: bool) -> None:
    """R38: also objects that native code would write as texts, and numbers that it would write as null."""
    assert (write_safe([{"x": value}]) is not None) is safe


def test_numbers_with_an_exponent_are_safe_up_to_a_given_size() -> None:
    """A reader that makes floats of large integers cannot tell them from numbers with an exponent."""
    assert write_safe([1e21], largest=0) is None
    assert write_safe([1e21, 1e22], largest=1e22) is None
    assert write_safe([1e21], largest=1e22) is not None


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (2**53, "the integer 9007199254740992 is"),
        (-12345678901234567890, "the integer -12345678901234567890 is"),
        (10**5000, "the integer of more than 40 digits is"),
        (1e20, "the number 1e+20 is an integer"),
    ],
    ids=["just-too-large", "negative", "endless", "float"],
)
def test_an_unsafe_number_is_named_as_it_is(number: float, words: str) -> None:
    """R38: whoever reads the finding can look for the number in the document."""
    assert [reason for _, reason in unsafe_places([number]) if words in reason]


def test_a_float_that_would_be_read_back_as_an_unsafe_integer_is_found_in_a_thread() -> None:
    """RFC 8785 writes 1e20 as an integer, which no reader of I-JSON may trust (R38)."""
    thread = {"version": "0.0.4", "thread_id": "t", "created_at": "2025-01-20T10:00:00Z"}
    turn = {
        "turn_type": "user",
        "submitted_at": "2025-01-20T10:00:00Z",
        "parts": [{"part_kind": "custom:n", "n": 1e20}],
    }
    document = {**thread, "updated_at": thread["created_at"], "agents": {}, "turns": [turn]}
    assert [f.place.pointer for f in check_thread(document) if f.code == "value-not-interoperable"] == [
        "/turns/0/parts/0/n"
    ]
