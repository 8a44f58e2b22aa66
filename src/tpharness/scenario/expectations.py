"""Read the `expect` of a scenario file: what it expects beyond what is derived."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tpharness.protocol.versions import Version, version_names
from tpharness.scenario.fields import Fields, describe_node
from tpharness.scenario.problems import BAD_VALUE, CONTRADICTION, Problems
from tpharness.scenario.records import Expectation
from tpharness.scenario.yaml_nodes import ListNode, MapNode, Node, ScalarNode, plain

__all__ = ["EXPECT_KEYS", "read_expectation"]

EXPECT_KEYS = ("findings", "outline", "thread")
_CODE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\Z")


def read_expectation(fields: Fields, versions: tuple[Version, ...]) -> Expectation:
    """Return the expectation; `versions` are those of the scenario."""
    node = fields.node("expect")
    if node is None:
        return Expectation()
    expect = Fields(node, fields.problems, "expect", EXPECT_KEYS)
    findings = None
    if "findings" in expect:
        codes = [item.value if isinstance(item, ScalarNode) else None for item in expect.items("findings")]
        if not all(isinstance(code, str) and _CODE.match(code) for code in codes):
            expect.report_bad("findings", "a list of finding codes, lower-case words joined by -")
        findings = tuple(str(code) for code in codes)
    outline, thread = expect.node("outline"), expect.node("thread")
    return Expectation(
        findings=findings,
        outline={} if outline is None else _outlines(expect, outline, versions),
        thread={} if thread is None else _threads(expect, thread, versions),
    )


def _outlines(expect: Fields, node: Node, versions: tuple[Version, ...]) -> Mapping[Version, tuple[str, ...]]:
    by_version = _by_version(node, expect.problems, "expect.outline", versions)
    if by_version is None:
        by_version = dict.fromkeys(versions, node)
    given = {id(item): item for item in by_version.values()}
    lines = {key: _lines(expect.problems, item) for key, item in given.items()}
    return {version: lines[id(item)] for version, item in by_version.items()}


def _lines(problems: Problems, node: Node) -> tuple[str, ...]:
    items = node.items if isinstance(node, ListNode) else []
    texts = [item.value for item in items if isinstance(item, ScalarNode) and isinstance(item.value, str)]
    if not isinstance(node, ListNode) or len(texts) != len(items):
        message = "expect.outline must be a list of strings, one for each turn"
        problems.add(BAD_VALUE, node.position, message, got=describe_node(node))
    return tuple(" ".join(text.split()) for text in texts)


def _threads(expect: Fields, node: Node, versions: tuple[Version, ...]) -> Mapping[Version, Any]:
    if not isinstance(node, MapNode):
        expect.report_bad("thread", "a map, part of the thread")
        return {}
    by_version = _by_version(node, expect.problems, "expect.thread", versions)
    if by_version is None:
        by_version = dict.fromkeys(versions, node)
    return {version: plain(subset) for version, subset in by_version.items()}


def _by_version(
    node: Node, problems: Problems, where: str, versions: tuple[Version, ...]
) -> dict[Version, Node] | None:
    """Return the values of a map whose keys are versions; None if it is something else."""
    known = {str(version.value): version for version in Version}
    if not isinstance(node, MapNode) or not node.items or not any(key in known for key in node.items):
        return None
    for key, position in node.keys.items():
        if key not in known:
            message = f"{where}: there is no version {key!r}"
            problems.add(BAD_VALUE, position, message, got=key, expected=", ".join(known))
        elif known[key] not in versions:
            message = f"{where}: the scenario is not for version {key}"
            problems.add(CONTRADICTION, position, message, expected=version_names(versions))
    return {known[key]: value for key, value in node.items.items() if key in known}
