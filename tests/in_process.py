"""pytest in this process, for tests of the plugin: what it needs is imported once, and not by each run anew."""

import tpharness.pytest_plugin.app
import tpharness.pytest_plugin.collecting  # noqa: F401  # pytester forgets what a run has imported

QUICK = ("-p", "no:cacheprovider", "-p", "no:asyncio", "-p", "no:langsmith_plugin", "-p", "no:syrupy", "-p", "no:xdist")


def quick_with(plugin: str) -> tuple[str, ...]:
    """Return the options of QUICK with one of the plugins that it leaves out."""
    pairs = zip(QUICK[::2], QUICK[1::2], strict=True)
    return tuple(word for pair in pairs if pair[1] != f"no:{plugin}" for word in pair)
