"""`tpharness site`: the static site of the suite, and of what other commands have written."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tpharness.cli.options import Argument, Exit, Option
from tpharness.printable import counted, say
from tpharness.resources import conformance_dir, scenarios_dir
from tpharness.run.select import select_scenarios
from tpharness.scenario import load_scenario
from tpharness.site import build_site, find_broken_links, read_documents

__all__ = ["site"]

_TRACES = "examples/apps/traces"
"""Traces of the repository's applications, which were recorded when their table was written."""


def site(
    output: Annotated[Path, Option("--output", "-o", metavar="FOLDER", help="Where the site goes.")],
    files: Annotated[
        list[Path] | None,
        Argument(metavar="[FILES]...", help="Reports, matrices, trends, certificates, as JSON; traces of app."),
    ] = None,
) -> None:
    """Make a static site: rules, pictures, docs, matrix, apps, certificates, trends.

    It needs a clone of the repository. Exit code 1 if a link of the site leads nowhere.
    """
    recorded = sorted((conformance_dir().parent / _TRACES).glob("*.zip"))
    documents = read_documents([*(files or []), *recorded])
    root = scenarios_dir()
    scenarios = [load_scenario(one.path, root=root) for one in select_scenarios((), (root,))]
    pages = build_site(output, documents, scenarios)
    broken = list(find_broken_links(output))
    for line in broken:
        say(line, err=True)
    say(f"{counted(pages, 'page')}, {counted(len(broken), 'broken link')}: {output / 'index.html'}")
    raise Exit(1 if broken else 0)
