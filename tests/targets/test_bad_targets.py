"""Every bad server and client that we know of, over HTTP, and the outcome that each has to have."""

from __future__ import annotations

import re

import pytest
from tests.targets.bad_clients import BAD_CLIENTS
from tests.targets.bad_targets import BAD, Bad, play


@pytest.mark.parametrize("bad", [*BAD, *BAD_CLIENTS], ids=lambda bad: bad.name)
def test_every_bad_target_has_an_outcome_of_its_own(bad: Bad) -> None:
    """Never a hang, never a traceback, never a pass."""
    got = play(bad)
    assert got.outcome == bad.outcome, got.text
    assert re.search(bad.words, got.text), got.text
    assert "Traceback (" not in got.text
    assert got.seconds < 30


def test_bad_targets_have_names_of_their_own() -> None:
    """Servers and clients are told apart in one table."""
    names = [bad.name for bad in (*BAD, *BAD_CLIENTS)]
    assert len(set(names)) == len(names)


def test_the_outcomes_of_bad_servers_differ() -> None:
    """Two bad servers that say the same could not be told apart."""
    words = [bad.words for bad in BAD]
    assert len(set(words)) >= len(words) - 6
