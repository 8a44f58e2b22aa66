"""Times are compared as moments, however they are written (R25)."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tpharness.dialects.messages import time_key


@pytest.mark.parametrize(
    "same",
    [
        ("2025-01-20T10:00:01Z", "2025-01-20T10:00:01.0Z", "2025-01-20T10:00:01.000Z", "2025-01-20T11:00:01+01:00"),
        ("2025-01-20T10:00:01.25Z", "2025-01-20T10:00:01.250Z", "2025-01-20T09:00:01.25-01:00"),
        ("2025-01-20T10:00:10Z", "2025-01-20T10:00:10.00Z"),
        ("2025-01-20T10:00:10.000000001Z", "2025-01-20T15:45:10.0000000010+05:45"),
    ],
)
def test_equal_moments_are_equal(same: tuple[str, ...]) -> None:
    """So that equal times stay in the order of arrival."""
    assert len({time_key(at) for at in same}) == 1


def test_moments_are_in_order() -> None:
    """Fractions of any length among them."""
    times = ["10:00:00Z", "10:00:00.05Z", "10:00:00.1Z", "10:00:00.12Z", "10:00:00.2Z", "10:00:01Z", "10:00:10Z"]
    keys = [time_key(f"2025-01-20T{at}") for at in times]
    assert all(one < other for one, other in pairwise(keys))


def test_moments_are_in_order_to_the_nanosecond() -> None:
    """In whatever place of the world they were told; `datetime` keeps six digits."""
    times = ["12:00:00.5+02:00", "10:00:00.500000001Z", "05:00:00.500000002-05:00", "12:00:00.50000001+02:00"]
    keys = [time_key(f"2025-01-20T{at}") for at in times]
    assert all(one < other for one, other in pairwise(keys))
