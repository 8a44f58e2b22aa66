"""Read the `expect` of a scenario file: what it expects beyond what is derived."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tpharness.protocol.versions import Version, version_names
from tpharness.scenario.fields import Fields, describe_node
from tpharness.scenario.outline import OUTLINE_FORM, find_outline_slip
from tpharness.scenario.problems import BAD_VALUE, CODES, CONTRADICTION, Problems, describe_unknown_code, suggest_name
from tpharness.scenario.records import Expectation
from tpharness.scenario.yaml_nodes import ListNode, MapNode, Node, ScalarNode, plain

__all__ = ["EXPECT_KEYS", "read_expectation"]

EXPECT_KEYS = ("findings", "outline", "thread")
_VERSIONS = {str(version.value): version for version in Version}


def read_expectation(fields: Fields, versions: tuple[Version, ...]) -> Expectation:
    """Return the expectation; `versions` are those of the scenario."""
    node = fields.node("expect")
    if node is None:
        return Expectation()
    expect = Fields(node, fields.problems, "expect", EXPECT_KEYS)
    outline, thread = expect.node("outline"), expect.node("thread")
    return Expectation(
        findings=_codes(expect) if "findings" in expect else None,
        outline={} if outline is None else _outlines(expect, outline, versions),
        thread={} if thread is None else _threads(expect, thread, versions),
    )


def _codes(expect: Fields) -> tuple[str, ...]:
    codes = []
    for item in expect.items("findings"):
        code = str(describe_node(item))
        if wrong := describe_unknown_code(code):
            expect.problems.add(BAD_VALUE, item.position, f"expect.findings: {wrong}", got=code, expected=CODES)
        codes.append(code)
    return tuple(codes)


def _outlines(expect: Fields, node: Node, versions: tuple[Version, ...]) -> Mapping[Version, tuple[str, ...]]:
    if isinstance(node, MapNode):
        by_version = _by_version(node, expect.problems, "expect.outline", versions)
    else:
        by_version = dict.fromkeys(versions, node)
    given = {id(item): item for item in by_version.values()}
    lines = {key: _lines(expect.problems, item) for key, item in given.items()}
    return {version: lines[id(item)] for version, item in by_version.items()}


def _lines(problems: Problems, node: Node) -> tuple[str, ...]:
    items = node.items if isinstance(node, ListNode) else []
    texts = [(item.position, item.value) for item in items if isinstance(item, ScalarNode)]
    lines = [(position, " ".join(text.split())) for position, text in texts if isinstance(text, str)]
    if not isinstance(node, ListNode) or len(lines) != len(items):
        message = "expect.outline must be a list of strings, one for each turn, or a map from version to such a list"
        problems.add(BAD_VALUE, node.position, message, got=describe_node(node))
    for position, line in lines:
        if slip := find_outline_slip(line):
            problems.add(BAD_VALUE, position, f"expect.outline: {slip}", got=line, expected=OUTLINE_FORM)
    return tuple(line for _, line in lines)


def _threads(expect: Fields, node: Node, versions: tuple[Version, ...]) -> Mapping[Version, Any]:
    if not isinstance(node, MapNode):
        expect.report_bad("thread", "a map, part of the thread")
        return {}
    if any(key in _VERSIONS for key in node.items):
        by_version = _by_version(node, expect.problems, "expect.thread", versions)
    else:
        by_version = dict.fromkeys(versions, node)
    return {version: plain(subset) for version, subset in by_version.items()}


def _by_version(node: MapNode, problems: Problems, where: str, versions: tuple[Version, ...]) -> Mapping[Version, Node]:
    """Return the values of a map whose keys have to be versions of the scenario; another key is reported."""
    if not node.items:
        problems.add(BAD_VALUE, node.position, f"{where} names no version", expected=", ".join(_VERSIONS))
    for key, position in node.keys.items():
        if key not in _VERSIONS:
            message = f"{where}: there is no version {key!r}{suggest_name(key, _VERSIONS)}"
            problems.add(BAD_VALUE, position, message, got=key, expected=", ".join(_VERSIONS))
        elif _VERSIONS[key] not in versions:
            message = f"{where}: the scenario is not for version {key}"
            problems.add(CONTRADICTION, position, message, expected=version_names(versions))
    return {_VERSIONS[key]: value for key, value in node.items.items() if key in _VERSIONS}
