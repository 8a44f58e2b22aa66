"""The strict parser: its fast way holds for sound bytes alone, and says what Python's own parser says."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tpharness.protocol.parse import MAX_DEPTH, parse_json

KEYS = st.sampled_from(["a", "b", "a:b", ":", "é", '"', "\\", '\\"', "\\u003a"])
NUMBERS = st.one_of(
    st.integers(-(10**25), 10**25).map(str),
    st.floats().map(json.dumps),
    st.sampled_from(["1e3", "-1E+16", "12345678901.5e6", "0.12345678901234567890", "9007199254740993.0", "-0", "1E-7"]),
)
TEXTS = st.one_of(
    KEYS.map(json.dumps),
    st.text(max_size=6).map(json.dumps),
    st.text(max_size=6).map(lambda text: json.dumps(text, ensure_ascii=False)),
    st.sampled_from(
        ['"\\u003a"', '"\\u003A:"', '"\\ud83d\\ude00"', '"\\ud800"', '"1e5"', '"1234567890123456789"', '"\\\\"']
    ),
)
SPACE = st.sampled_from(["", "", " ", "\n\t"])


def _list(items: list[str]) -> str:
    return "[" + ",".join(items) + "]"


def _object(members: list[tuple[str, str, str]]) -> str:
    return "{" + ",".join(f"{key}{space}:{space}{value}" for key, space, value in members) + "}"


DOCUMENTS = st.recursive(
    st.one_of(NUMBERS, TEXTS, st.sampled_from(["true", "null"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(_list),
        st.lists(st.tuples(KEYS.map(json.dumps), SPACE, inner), max_size=4).map(_object),
    ),
    max_leaves=12,
)


def _expected(text: str) -> tuple[Any, set[str]]:
    """Read JSON by Python's parser alone: the value, and the kinds of findings that it must have."""
    codes = set()

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(found)) < len(found):
            codes.add("json-duplicate-key")
        return dict(found)

    def unsafe(value: Any) -> bool:
        match value:
            case dict():
                return any(unsafe(key) or unsafe(item) for key, item in value.items())
            case list():
                return any(map(unsafe, value))
            case str():
                return any(0xD800 <= ord(character) <= 0xDFFF for character in value)
            case bool() | None:
                return False
            case int():
                return abs(value) >= 2**53
        return not (abs(value) < 2**53 or 1e21 <= abs(value) < float("inf"))

    value = json.loads(text, object_pairs_hook=pairs)
    if unsafe(value):
        codes.add("json-not-interoperable")
    return value, codes


@given(DOCUMENTS)
@example('{"a:":1,"a:":2}')
@example('{"a":1,"a":"\\u003a"}')
@example('["\\"",12345678901234567]')
@example("[0.0000000000000000001234]")
@example("[0.00000000000000001, 12345678901234567]")
def test_what_the_fast_way_accepts_has_no_finding(text: str) -> None:
    """R38: value and kinds of findings are those of a reader that looks at every member and number."""
    value, codes = _expected(text)
    parsed = parse_json(text.encode("utf-8", "surrogatepass"))
    assert {finding.code for finding in parsed.findings} == codes
    assert parsed.ok
    assert repr(parsed.value) == repr(value)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b'[{"a":1,"a":2}' + b',{"a":1,"a":2}' * 100 + b"]", "json-duplicate-key"),
        (b"[1e300" + b',"\\ud800"' * 100 + b"]", "json-not-interoperable"),
    ],
)
def test_the_first_twenty_places_are_reported(data: bytes, code: str) -> None:
    """A document that is wrong everywhere does not give a finding for each byte."""
    assert [finding.code for finding in parse_json(data).findings] == [code] * 20


@pytest.mark.parametrize("sign", [b"", b"-"])
def test_an_integer_that_python_does_not_convert_is_json(sign: bytes) -> None:
    """R38: it is JSON (RFC 8259, 6) that readers disagree about; digits of texts and fractions are not integers."""
    digits = b"7" * 5000
    others = (b'"%b"', b'"\\" %b"', b"0.%b", b"%b.5", b"1e0%b", b"%be-9999")
    before = b", ".join(other % digits for other in others)
    parsed = parse_json(b"[" + before + b",\n " + sign + digits + b"]", file="a.json")
    assert not parsed.ok
    (finding,) = parsed.findings
    assert finding.code == "json-not-interoperable"
    assert str(finding.place) == f"a.json:2:{2 + len(sign)}"
    assert finding.message == f"an integer has more than {sys.get_int_max_str_digits()} digits"


@pytest.mark.parametrize("before", range(1 << 16, (1 << 16) - 24, -1))
def test_a_number_is_seen_wherever_a_block_of_the_document_ends(before: int) -> None:
    """R38: texts are left out block by block, which may end inside of a text, a number or an escape."""
    filled = b'"' + b"x" * (before - 4) + b'"'
    for text in (b'"1234567890123456"', b'"\\""', b'"1234567890123456\\\\"'):
        found = parse_json(b"[" + filled + b"," + text + b",1234567890123456789]").findings
        assert [(finding.code, finding.place.pointer) for finding in found] == [("json-not-interoperable", "/2")]
        assert parse_json(b"[" + filled + b"," + text + b",123456789]").findings == ()


@pytest.mark.parametrize(("levels", "ok"), [(MAX_DEPTH, True), (MAX_DEPTH + 1, False), (1_000_000, False)])
@pytest.mark.parametrize("inside", [b"1", b'"\\ud800"'])
def test_the_limit_of_depth_is_exact(levels: int, ok: bool, inside: bytes) -> None:
    """What is too deep is refused at the limit, whatever is inside and however deep it is."""
    parsed = parse_json(b"[" * levels + inside + b"]" * levels)
    assert parsed.ok is ok
    assert ("json-too-deep" in {finding.code for finding in parsed.findings}) is not ok
