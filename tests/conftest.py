"""Settings of the whole test suite."""

from hypothesis import HealthCheck, settings

# Fixed seeds and no deadline: a test that fails here fails everywhere, also on a slow machine.
settings.register_profile("tpharness", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tpharness")

pytest_plugins = ["pytester", "tests.prerequisites"]
