"""What the tests of the suite share: the goldens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conformance.goldens import GOLDEN
from syrupy.assertion import SnapshotAssertion
from syrupy.data import SnapshotCollections
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from tpharness.protocol.rules import check

check.ONE_IN = 1  # as in the conftest of the tests


class GoldenThread(SingleFileSnapshotExtension):
    """One plain JSON file for each snapshot: `golden/<theme>/<name>.json`, `golden/<theme>/<name>@<version>.json`."""

    file_extension = "json"
    write_immediately = True
    _write_mode = WriteMode.TEXT

    def serialize(self, data: Any, **_: Any) -> str:
        """Write the thread so that a person and any language can read it."""
        return json.dumps(data, indent=1, ensure_ascii=False, sort_keys=True) + "\n"

    @classmethod
    def get_location(cls, *, test_location: Any, index: Any) -> str:
        """Find the file by the snapshot's name."""
        return str(Path(cls.dirname(test_location=test_location)) / f"{index}.json")

    @classmethod
    def matches_test_location(cls, *, test_location: Any, snapshot_location: str) -> bool:
        """Goldens are named for scenarios, not for test files."""
        return Path(snapshot_location).is_relative_to(cls.dirname(test_location=test_location))

    @classmethod
    def dirname(cls, *, test_location: Any) -> str:
        """Goldens live in one tree."""
        del cls, test_location
        return str(GOLDEN)

    def discover_snapshots(self, **_: Any) -> SnapshotCollections:
        """Look for none: `test_every_golden_is_used` finds goldens that nothing uses any more."""
        return SnapshotCollections()


@pytest.fixture
def golden(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """Compare with a file of `golden/`; `pytest --snapshot-update` writes it anew, for a person to read."""
    return snapshot.use_extension(GoldenThread)


@pytest.fixture
def updating(request: pytest.FixtureRequest) -> bool:
    """Return whether `--snapshot-update` is given."""
    return bool(request.config.option.update_snapshots)
