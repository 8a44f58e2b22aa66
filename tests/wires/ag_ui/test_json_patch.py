"""JSON Patch as RFC 6902 has it: its own examples (appendix A), and where libraries differ from it."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tpharness.wires.ag_ui.patch import PatchError, apply_patch, malformed_operation

APPLIES: list[tuple[str, Any, list[dict[str, Any]], Any]] = [
    ("A.1", {"foo": "bar"}, [{"op": "add", "path": "/baz", "value": "qux"}], {"baz": "qux", "foo": "bar"}),
    ("A.2", {"foo": ["bar", "baz"]}, [{"op": "add", "path": "/foo/1", "value": "q"}], {"foo": ["bar", "q", "baz"]}),
    ("A.3", {"baz": "qux", "foo": "bar"}, [{"op": "remove", "path": "/baz"}], {"foo": "bar"}),
    ("A.4", {"foo": ["bar", "qux", "baz"]}, [{"op": "remove", "path": "/foo/1"}], {"foo": ["bar", "baz"]}),
    ("A.5", {"baz": "qux"}, [{"op": "replace", "path": "/baz", "value": "boo"}], {"baz": "boo"}),
    ("A.6", {"f": {"w": 1}, "q": {}}, [{"op": "move", "from": "/f/w", "path": "/q/t"}], {"f": {}, "q": {"t": 1}}),
    ("A.7", {"f": [1, 2, 3, 4]}, [{"op": "move", "from": "/f/1", "path": "/f/3"}], {"f": [1, 3, 4, 2]}),
    ("A.8", {"foo": ["a", 2]}, [{"op": "test", "path": "/foo/1", "value": 2}], {"foo": ["a", 2]}),
    ("A.10", {"foo": "bar"}, [{"op": "add", "path": "/child", "value": {"g": {}}}], {"foo": "bar", "child": {"g": {}}}),
    ("A.11", {"foo": "bar"}, [{"op": "add", "path": "/baz", "value": "qux", "xyz": 123}], {"foo": "bar", "baz": "qux"}),
    ("A.14", {"/": 9, "~1": 10}, [{"op": "test", "path": "/~01", "value": 10}], {"/": 9, "~1": 10}),
    ("A.16", {"foo": ["bar"]}, [{"op": "add", "path": "/foo/-", "value": ["a"]}], {"foo": ["bar", ["a"]]}),
    ("root", {"foo": 1}, [{"op": "add", "path": "", "value": [1]}], [1]),
    ("root from inside", {"foo": [1]}, [{"op": "move", "from": "/foo", "path": ""}], [1]),
    ("empty name", {"": {"": 1}}, [{"op": "replace", "path": "//", "value": 2}], {"": {"": 2}}),
    ("no op of RFC 6902", {"a": 1}, [{"op": "later", "path": "/zz"}], {"a": 1}),
    ("all of it", {"a": 1}, [{"op": "remove", "path": ""}], None),  # as AG-UI's own client has it
    ("numbers by value", {"a": 1}, [{"op": "test", "path": "/a", "value": 1.0}], {"a": 1}),
]  # fmt: skip

FAILS: list[tuple[str, Any, list[dict[str, Any]], str]] = [
    ("A.9", {"baz": "qux"}, [{"op": "test", "path": "/baz", "value": "bar"}], "the value is another one"),
    ("A.12", {"foo": "bar"}, [{"op": "add", "path": "/baz/bat", "value": 1}], "there is no member 'baz'"),
    ("A.15", {"~1": 10}, [{"op": "test", "path": "/~01", "value": "10"}], "the value is another one"),
    ("true is not 1", {"a": 1}, [{"op": "test", "path": "/a", "value": True}], "the value is another one"),
    ("1 is not true", {"a": True}, [{"op": "test", "path": "/a", "value": 1}], "the value is another one"),
    ("nor inside", {"a": [1]}, [{"op": "test", "path": "/a", "value": [True]}], "the value is another one"),
    ("null is not absent", {}, [{"op": "test", "path": "/a", "value": None}], "there is no member 'a'"),
    ("behind the end", {"a": [1]}, [{"op": "add", "path": "/a/2", "value": 2}], "there is no element 2"),
    ("not an element", {"a": [1]}, [{"op": "replace", "path": "/a/1", "value": 2}], "there is no element 1"),
    ("nothing at -", {"a": [1]}, [{"op": "remove", "path": "/a/-"}], "'-' is not an index"),
    ("leading zero", {"a": [1, 2]}, [{"op": "remove", "path": "/a/01"}], "'01' is not an index"),
    ("huge", {"a": [1]}, [{"op": "remove", "path": "/a/" + "9" * 40}], "is not an index"),
    ("below a text", {"a": "x"}, [{"op": "remove", "path": "/a/0"}], "does not have members"),
    ("into itself", {"a": {"b": 1}}, [{"op": "move", "from": "/a", "path": "/a/b"}], "into itself"),
    ("replace what is not there", {}, [{"op": "replace", "path": "/a", "value": 1}], "there is no member 'a'"),
    (
        "the second",
        {},
        [{"op": "add", "path": "/a", "value": 1}, {"op": "remove", "path": "/b"}],
        "operation 1, remove",
    ),
]

MALFORMED: list[tuple[Any, str]] = [
    (7, "an operation is not an object"),
    ({"path": "/a"}, "an operation does not have op"),
    ({"op": 1}, "op is not a string"),
    ({"op": "add", "value": 1}, "add does not have path"),
    ({"op": "add", "path": 1, "value": 1}, "add: path is not a string"),
    ({"op": "add", "path": "a", "value": 1}, "add: path 'a' is not a JSON pointer"),
    ({"op": "add", "path": "/~2", "value": 1}, "add: path '/~2' is not a JSON pointer"),
    ({"op": "add", "path": "/a"}, "add does not have value"),
    ({"op": "move", "path": "/a"}, "move does not have from"),
    ({"op": "copy", "path": "/a", "from": None}, "copy: from is not a string"),
]


@pytest.mark.parametrize(("name", "document", "patch", "expected"), APPLIES, ids=[one[0] for one in APPLIES])
def test_a_patch_applies(name: str, document: Any, patch: list[dict[str, Any]], expected: Any) -> None:
    """And the document that it is applied to is as it was."""
    before = copy.deepcopy(document)
    assert apply_patch(document, patch) == expected, name
    assert document == before
    assert [malformed_operation(operation) for operation in patch] == [None] * len(patch)


@pytest.mark.parametrize(("name", "document", "patch", "why"), FAILS, ids=[one[0] for one in FAILS])
def test_a_patch_fails_whole(name: str, document: Any, patch: list[dict[str, Any]], why: str) -> None:
    """It names the operation and why, and nothing of it is kept."""
    before = copy.deepcopy(document)
    with pytest.raises(PatchError) as caught:
        apply_patch(document, patch)
    assert why in str(caught.value), name
    assert document == before


@pytest.mark.parametrize(("operation", "why"), MALFORMED)
def test_an_operation_is_malformed(operation: Any, why: str) -> None:
    """By its form, whatever it is applied to."""
    assert malformed_operation(operation) == why
