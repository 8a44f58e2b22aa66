"""`--times N` plays each chosen test so many times, to see whether it depends on the clock or on its order.

`scripts/under_load.py` does that on a machine that is busy.
"""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the option."""
    parser.addoption("--times", type=int, default=1, metavar="N", help="play each test N times")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put others like it behind each test: pytest sets up and tears down each of them."""
    times: int = config.getoption("times")
    items[:] = [one for item in items for one in (item, *(_another(item) for _ in range(times - 1)))]


def _another(item: pytest.Item) -> pytest.Item:
    if not isinstance(item, pytest.Function):
        raise pytest.UsageError(f"--times: {item.nodeid} is not a function")
    return type(item).from_parent(
        item.parent,
        name=item.name,
        originalname=item.originalname,
        callspec=getattr(item, "callspec", None),
        fixtureinfo=item._fixtureinfo,
        keywords=item.keywords,
    )
