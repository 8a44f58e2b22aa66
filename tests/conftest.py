"""Settings of the whole test suite."""

import pytest
from hypothesis import HealthCheck, settings

# Fixed seeds and no deadline: a test that fails here fails everywhere, also on a slow machine.
settings.register_profile("tpharness", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tpharness")

pytest_plugins = ["pytester"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Peers that need more than Python fail when it is missing, unless they are switched off."""
    parser.addoption("--without-node", action="store_true", help="leave out the peers that run on Node.js")
    parser.addoption("--without-browser", action="store_true", help="leave out the peer that runs in Chromium")
