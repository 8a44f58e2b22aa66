"""For tests that look at what they leave behind."""

from __future__ import annotations

import gc

import pytest


@pytest.fixture(scope="module")
def little_to_collect() -> None:
    """Put away what others have left, so that a test that collects goes through what it has left itself."""
    gc.collect()
    gc.freeze()
