"""Tests that judge nothing because what they need could not be started: one test is an error, these are counted apart.

A skip is something that a project has decided, and most people do not look at it. Reports go from a worker of
pytest-xdist to the run with their attributes.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, NoReturn

import pytest

__all__ = ["UNJUDGED", "leave_unjudged", "register_unjudged"]

UNJUDGED = "unjudged"
"""How such tests are called in the last line of a run."""
_ATTRIBUTE = "tpharness_unjudged"


def leave_unjudged(why: str) -> NoReturn:
    """End a test that judges nothing. For JUnit's files and other plugins it is a skip."""
    skipped: Any = pytest.skip.Exception(why)
    setattr(skipped, _ATTRIBUTE, True)
    raise skipped


def register_unjudged(config: pytest.Config) -> None:
    """Have a run count such tests."""
    if not config.pluginmanager.has_plugin("tpharness-unjudged"):
        config.pluginmanager.register(_Unjudged(), "tpharness-unjudged")


class _Unjudged:
    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Mark the report of such a test."""
        report = yield
        if call.excinfo is not None and hasattr(call.excinfo.value, _ATTRIBUTE):
            setattr(report, _ATTRIBUTE, True)
        return report

    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, str] | None:
        """Return category, letter and word of such a test."""
        return (UNJUDGED, "u", UNJUDGED.upper()) if getattr(report, _ATTRIBUTE, False) else None
