"""YAML text becomes JSON data with positions, and nothing in a file can hurt the process that reads it."""

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from yaml.scanner import ScannerError

from tpharness.findings import Finding
from tpharness.scenario.problems import Problems
from tpharness.scenario.yaml_nodes import MAX_DEPTH, ListNode, MapNode, plain, read_yaml


def read(text: str | bytes) -> tuple[Any, tuple[Finding, ...]]:
    """Return the value and the findings of a text."""
    problems = Problems("s.yaml")
    node = read_yaml(text.encode() if isinstance(text, str) else text, problems)
    return (None if node is None else plain(node)), problems.sorted_findings()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", "yes"),
        ("No", "No"),
        ("on", "on"),
        ("1:30", "1:30"),
        ("2025-01-20", "2025-01-20"),
        ("2025-01-20T10:00:00Z", "2025-01-20T10:00:00Z"),
        ("0.0.4", "0.0.4"),
        ("2.0.0", "2.0.0"),
        ("010", "010"),
        ("0x1F", "0x1F"),
        ("1_000", "1_000"),
        ("+1", "+1"),
        (".5", ".5"),
        (".inf", ".inf"),
        ("1e999", "1e999"),
        ("True", "True"),
        ("NULL", "NULL"),
        ("true", True),
        ("false", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("12", 12),
        ("-0", 0),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("-2.5E-1", -0.25),
        ("'12'", "12"),
        ('"true"', "true"),
        ("!!str 12", "12"),
        ("''", ""),
    ],
)
def test_scalars_follow_the_json_subset_of_yaml_1_2(text, value):
    """A scalar is a JSON literal or a string; the surprises of YAML 1.1 stay strings."""
    got, findings = read(f"k: {text}\n")
    assert findings == ()
    assert got == {"k": value}
    assert type(got["k"]) is type(value)


def test_keys_are_strings_as_written():
    """Keys are never read as numbers, truth values or merges."""
    assert read("1: a\ntrue: b\n0.0.4: c\n<<: d\n")[0] == {"1": "a", "true": "b", "0.0.4": "c", "<<": "d"}


def test_every_node_and_key_knows_its_line_and_column():
    """Positions count from 1 and point at the first character."""
    root = read_yaml(b"a: 1\nb:\n  - x\n  - {c: d}\n", Problems(None))
    assert isinstance(root, MapNode)
    assert (root.keys["b"].line, root.keys["b"].column) == (2, 1)
    listed = root.items["b"]
    assert isinstance(listed, ListNode)
    items = listed.items
    assert isinstance(items[1], MapNode)
    assert [(item.position.line, item.position.column) for item in items] == [(3, 5), (4, 5)]
    assert (items[1].keys["c"].line, items[1].keys["c"].column) == (4, 6)


@pytest.mark.parametrize("text", ["", "# nothing\n"])
def test_an_empty_text_has_no_node_and_is_right(text):
    """Whether that is enough is for who reads it."""
    assert read(text) == (None, ())


@pytest.mark.parametrize(
    ("text", "code", "line", "column", "words"),
    [
        ("a: 1\nb: 2\na: 3\n", "scenario-duplicate-key", 3, 1, "'a' is here and also in line 1"),
        ("a: [1,\n", "scenario-not-yaml", 2, 1, "not YAML"),
        ("x: y\na: [1\n", "scenario-not-yaml", 3, 1, "that begins in line 2, column 4"),
        ("a: b: c\n", "scenario-not-yaml", 1, 5, "not YAML"),
        (b"a: 1\nb: \xff\n", "scenario-not-yaml", 2, 4, "not UTF-8"),
        ("a: é\nb: \x01\n", "scenario-not-yaml", 2, 4, "control characters"),
        (
            "\ufeffa: \u00e9\nb:\n\t- c\n",
            "scenario-not-yaml",
            3,
            1,
            "a tab stands here, and YAML is indented with spaces",
        ),
        ("a:\n  b: c\n\td: e\n", "scenario-not-yaml", 3, 1, "a tab stands here, and YAML is indented with spaces"),
        ("a:\n  -\tb: c\n", "scenario-not-yaml", 2, 4, "a tab stands here, and YAML is indented with spaces"),
        ("a: !!python/name:os.system x\n", "scenario-not-yaml", 1, 4, "tags"),
        ("a: !!set {x}\n", "scenario-not-yaml", 1, 4, "tags"),
        ("a: 1\n---\nb: 2\n", "scenario-not-yaml", 2, 1, "more than one document"),
        ("? [a]\n: b\n", "scenario-not-yaml", 1, 3, "key must be a string"),
        ("a: *b\n", "scenario-not-yaml", 1, 4, "names no anchor"),
        ("a: &b [*b]\n", "scenario-not-yaml", 1, 8, "inside its own anchor"),
        ("[" * 100_000, "scenario-not-yaml", 1, MAX_DEPTH + 1, "nested too deep"),
        ("- " * 20_000 + "x", "scenario-not-yaml", 1, 2 * MAX_DEPTH + 1, "nested too deep"),
    ],
)
def test_a_text_that_is_no_scenario_data_is_one_finding_at_its_place(text, code, line, column, words):
    """Each kind of broken text is named with line and column; deep nesting ends nothing but the load."""
    _, findings = read(text)
    assert [f.code for f in findings] == [code]
    assert (findings[0].place.line, findings[0].place.column) == (line, column)
    assert words in findings[0].message


class LimitedLoader(yaml.SafeLoader):
    """A parser with the limit on nesting that PyYAML 6.0.4 has, whichever release is installed."""

    def fetch_flow_collection_start(self, token):
        """Refuse the token before it is looked at, as the scanner in C does."""
        if self.flow_level >= 1000:
            raise ScannerError("while increasing flow level", None, "exceeded maximum nesting depth", self.get_mark())
        super().fetch_flow_collection_start(token)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("[" * 5000, MAX_DEPTH + 1),
        ("[" * 1001 + "]" * 1001, MAX_DEPTH + 1),
        ("{a: " * 1001 + "}" * 1001, 4 * MAX_DEPTH + 1),
        ("a: é\nb: " + "[" * 1001, 3 + MAX_DEPTH),
        ("a: [[" + "[]," * 300 + "[" * 1001, 905 + MAX_DEPTH - 2),
    ],
)
def test_our_limit_on_nesting_answers_before_that_of_the_parser(monkeypatch, text, column):
    """The parser reads ahead, and so it gives up at level 1001 before it says that level 201 is open."""
    monkeypatch.setattr("tpharness.scenario.yaml_nodes._PARSER", LimitedLoader)
    with pytest.raises(ScannerError, match="maximum nesting"):
        list(yaml.parse(text, LimitedLoader))
    _, (finding,) = read(text)
    assert (finding.code, finding.expected) == ("scenario-not-yaml", f"≤ {MAX_DEPTH} levels")
    assert (finding.place.line, finding.place.column) == (text.count("\n") + 1, column)


def test_aliases_share_what_they_name():
    """An anchor and its aliases read as equal values of their own."""
    value, findings = read("a: &x {k: [1, 2]}\nb: *x\n")
    assert findings == ()
    assert value == {"a": {"k": [1, 2]}, "b": {"k": [1, 2]}}
    assert value["a"] is not value["b"]


def test_aliases_that_expand_without_bound_are_refused():
    """Ten anchors of ten aliases each are refused before anything is written out."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)]
    value, findings = read("\n".join(lines))
    assert value is None
    assert "expand to too much" in findings[0].message


def test_a_file_above_the_limit_is_refused_unread():
    """16 MiB is the most that is parsed."""
    _, findings = read(b"a" * (16 * 1024 * 1024 + 1))
    assert [f.code for f in findings] == ["scenario-too-large"]


@given(st.text(max_size=60))
def test_no_text_raises(text):
    """Whatever the text, what is wrong with it has a line."""
    _, findings = read(text.encode("utf-8", "surrogatepass"))
    assert all(finding.place.line for finding in findings)
