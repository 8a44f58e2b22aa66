"""`console|json:PATH|junit:PATH` → which report is written to which file at the end of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tpharness.errors import UsageError
from tpharness.output import check_writable, write_atomically

if TYPE_CHECKING:
    from tpharness.report.summary import Report

__all__ = ["FORMATS", "Destination", "Format", "parse_reports", "report_words"]


@dataclass(frozen=True, slots=True)
class Format:
    """The functions of a module of this package that write the report on one pair, and the reports on several.

    A format is imported when it writes: a page takes as long to import as a scenario to play.
    """

    module: str
    one: str
    several: str

    def render(self, report: Report) -> str:
        """Return the report on one pair in this format."""
        return cast("Callable[[Report], str]", self._function(self.one))(report)

    def render_several(self, reports: Mapping[str, Report]) -> str:
        """Return the reports on several pairs, by the names of the pairs, in this format."""
        return cast("Callable[[Mapping[str, Report]], str]", self._function(self.several))(reports)

    def _function(self, name: str) -> object:
        return getattr(import_module(f"tpharness.report.{self.module}"), name)


FORMATS: Mapping[str, Format] = {
    "github": Format("github", "render_github", "render_github_of_several"),
    "html": Format("html", "render_html", "render_html_of_several"),
    "json": Format("json", "render_json", "render_matrix"),
    "junit": Format("junit", "render_junit", "render_suites"),
    "markdown": Format("markdown", "render_markdown", "render_markdown_of_several"),
}
"""Every format that goes to a file, by the word that names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """One report: its format and where it goes, `-` for standard output."""

    format: str
    path: str

    def write(self, report: Report) -> None:
        """Write the finished report in one step."""
        write_atomically(self.path, FORMATS[self.format].render(report))

    def write_matrix(self, reports: Mapping[str, Report]) -> None:
        """Write the finished reports on several pairs, by the name of the pair, in one step."""
        write_atomically(self.path, FORMATS[self.format].render_several(reports))


def report_words() -> str:
    """Return how each report is named on the command line."""
    return ", ".join(["console", *(f"{name}:PATH" for name in FORMATS)])


def parse_reports(specs: Sequence[str]) -> tuple[bool, list[Destination]]:
    """Return whether the console is wanted, and the other destinations. UsageError for a format that does not exist."""
    destinations = []
    console = not specs
    for spec in specs:
        kind, colon, path = spec.partition(":")
        if spec == "console":
            console = True
        elif kind in FORMATS and colon and path:
            destinations.append(Destination(format=kind, path=path))
            if path != "-":
                check_writable(Path(path), f"the {kind} report")
        else:
            raise UsageError(
                f"{spec!r} is not a report",
                hint=f"reports are {report_words()}; PATH may be - for standard output",
            )
    twice = [path for path, count in Counter(d.path for d in destinations).items() if count > 1]
    if twice:
        raise UsageError(f"two reports go to {twice[0]}", hint="give each report a file of its own")
    return console, destinations
