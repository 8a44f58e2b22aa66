"""The record of what each version can say is the only place that tells one version from another."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tpharness.protocol.versions import (
    Version,
    event_name,
    is_normative_name,
    neutral_event_name,
    newest_version,
    version_names,
)
from tpharness.resources import schema_path

ROOT = Path(__file__).parents[2]
OLDEST, MIDDLE, NEWEST = Version("2.0.0"), Version("0.0.3"), Version("0.0.4")


def test_the_lineage_is_that_of_r1() -> None:
    """The numbering restarted, so no comparison of numbers gives the order."""
    assert [version.order for version in (OLDEST, MIDDLE, NEWEST)] == [0, 1, 2]
    assert OLDEST.path_to(NEWEST) == (OLDEST, MIDDLE, NEWEST)
    assert NEWEST.path_to(OLDEST) == (NEWEST, MIDDLE, OLDEST)
    assert MIDDLE.path_to(MIDDLE) == (MIDDLE,)
    assert newest_version() is newest_version([NEWEST, OLDEST]) is NEWEST
    assert newest_version([OLDEST, MIDDLE]) is MIDDLE
    assert version_names() == "2.0.0, 0.0.3, 0.0.4"


@pytest.mark.parametrize(
    ("feature", "since"),
    [
        ("interrupted_turns", NEWEST),  # R18, R19
        ("event_tiers", NEWEST),
        ("client_metadata", MIDDLE),
        ("content_refs", MIDDLE),
        ("links", MIDDLE),
        ("namespaces", MIDDLE),
    ],
)
def test_a_feature_came_with_its_version_and_stayed(feature: str, since: Version) -> None:
    """The documents of 0.0.3 and of 0.0.4 say what they added; nothing was taken away."""
    assert {v: getattr(v.features, feature) for v in Version} == {v: v.order >= since.order for v in Version}


@pytest.mark.parametrize(
    ("journal", "old"),
    [
        ("data-tp-agent_handoff", "agent.handoff"),
        ("data-tp-thread_spawn", "thread.spawn"),
        ("data-tp-thread_merge", "thread.merge"),
        ("data-tp-thread_end", "thread.end"),
        ("data-tp-error", "error"),
    ],
)
def test_a_normative_event_is_renamed_by_0_0_4(journal: str, old: str) -> None:
    """R1 names the five of them."""
    assert [event_name(journal, version) for version in Version] == [old, old, journal]
    assert neutral_event_name(old) == neutral_event_name(journal) == journal
    assert is_normative_name(old)
    assert is_normative_name(journal)


def test_other_events_keep_their_names_but_for_the_prefix_that_2_0_0_strips() -> None:
    """R34; an event whose name is the prefix alone keeps it, since an event has a type."""
    assert [event_name("data-note", version) for version in Version] == ["note", "data-note", "data-note"]
    assert [event_name("data-", version) for version in Version] == ["data-"] * 3
    assert [event_name("source.url", version) for version in Version] == ["source.url"] * 3
    assert neutral_event_name("data-note") == "data-note"
    assert not is_normative_name("data-note")


def test_nothing_but_the_record_names_a_version_in_code() -> None:
    """A version is added in one place: code elsewhere asks for a feature, or for the newest version.

    What `tpharness init` writes is a program of its user's, and declares the version that it writes.
    """
    named = re.compile(r"""\bVersion\.V\d|V\d+_\d+_\d+|(["'])(?:2\.0\.0|0\.0\.3|0\.0\.4)\1""")
    record = ROOT / "src" / "tpharness" / "protocol" / "versions.py"
    found = {
        str(path.relative_to(ROOT)): hits
        for path in (ROOT / "src").rglob("*.py")
        if path != record
        and path.parent.name != "starter"
        and (hits := [line.strip() for line in path.read_text().splitlines() if named.search(line)])
    }
    assert found == {}


def test_every_version_has_its_schema_and_every_published_list_of_versions_names_all() -> None:
    """Readers in other languages have the schemas only."""
    names = [version.value for version in Version]
    for name in names:
        assert json.loads(schema_path(f"thread-{name}").read_text())["properties"]["version"]["const"] == name
    for name in ("clauses", "control", "report", "scenario"):
        lists = list(_lists_of_versions(json.loads(schema_path(name).read_text())))
        assert lists
        assert all(one == names for one in lists), name


def _lists_of_versions(value: Any) -> Iterator[list[str]]:
    if isinstance(value, dict):
        if isinstance(value.get("enum"), list) and "2.0.0" in value["enum"]:
            yield value["enum"]
        if isinstance(value.get("properties"), dict) and "2.0.0" in value["properties"]:
            yield list(value["properties"])
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _lists_of_versions(inner)
