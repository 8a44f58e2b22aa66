"""What the shell offers for the value of an argument or an option: files, ids, and names such as those of profiles.

The shell asks at each press of Tab, so what knows the names is imported for the value that is asked for only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from tpharness.errors import TpharnessError

__all__ = ["complete_value"]

_FILES = {"a", "b", "file", "files"}
_FILE_METAVARS = {"FILE", "PATH", "PEM"}


def complete_value(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the known values that begin with `incomplete`; none if no values are known or they cannot be read."""
    if param.name in _FILES or param.metavar in _FILE_METAVARS:
        return [CompletionItem(incomplete, type="file")]
    names = _NAMES.get((ctx.info_name or "", param.name or "")) or _NAMES.get(("", param.name or ""))
    if names is None:
        return []
    try:
        return [CompletionItem(name) for name in names(ctx) if name.startswith(incomplete)]
    except TpharnessError:  # such as a folder of --scenarios that is not there: the command itself will say so
        return []


def _scenarios(ctx: click.Context) -> Iterable[str]:
    from tpharness.resources import scenarios_dir  # noqa: PLC0415
    from tpharness.scenario_files import find_files  # noqa: PLC0415

    return sorted(find_files([Path(root) for root in ctx.params.get("scenarios") or (scenarios_dir(),)]))


def _profiles(_: click.Context) -> Iterable[str]:
    from tpharness.profiles import load_profiles  # noqa: PLC0415

    return load_profiles()


def _clauses(_: click.Context) -> Iterable[str]:
    from tpharness.clauses import load_clauses  # noqa: PLC0415

    return load_clauses()


def _explained(ctx: click.Context) -> Iterable[str]:
    from tpharness.cli.explain import explained_names  # noqa: PLC0415

    return [*explained_names(), *_scenarios(ctx)]


def _pages(_: click.Context) -> Iterable[str]:
    from tpharness.cli.docs import pages  # noqa: PLC0415

    return pages()


def _lists(_: click.Context) -> Iterable[str]:
    from tpharness.cli.listing import LISTS  # noqa: PLC0415

    return LISTS


def _targets(_: click.Context) -> Iterable[str]:
    from tpharness.targets import TARGETS  # noqa: PLC0415
    from tpharness.targets.peers import known_peers  # noqa: PLC0415

    return [*(name for name in TARGETS if ":" not in name), *(f"peer:{name}" for name in known_peers())]


def _faults(_: click.Context) -> Iterable[str]:
    from tpharness.faults import FAULTS  # noqa: PLC0415

    return ["all", *FAULTS]


def _reports(_: click.Context) -> Iterable[str]:
    from tpharness.report.spec import FORMATS  # noqa: PLC0415

    return ["console", *(f"{name}:" for name in FORMATS)]


def _dialects(_: click.Context) -> Iterable[str]:
    from tpharness.protocol.versions import Version  # noqa: PLC0415
    from tpharness.rooms import histories_room  # noqa: PLC0415

    room = histories_room()
    return [*(version.value for version in Version), *([] if room is None else room.all_names())]


def _nothing(_: click.Context) -> Iterable[str]:
    return ()


_NAMES: dict[tuple[str, str], Callable[[click.Context], Iterable[str]]] = {
    ("", "ids"): _scenarios,
    ("app", "ids"): _nothing,  # its cases depend on the application
    ("", "play_id"): _scenarios,
    ("", "profile"): _profiles,
    ("", "clause"): _clauses,
    ("", "server"): _targets,
    ("", "client"): _targets,
    ("app", "client"): _nothing,  # the clients of chats
    ("show", "server"): _nothing,  # the targets of the trace
    ("show", "client"): _nothing,
    ("", "fault"): _faults,
    ("", "report"): _reports,
    ("run", "dialect"): _dialects,
    ("compare", "dialect"): _dialects,
    ("list", "what"): _lists,
    ("docs", "page"): _pages,
    ("explain", "name"): _explained,
    ("replay", "name"): _scenarios,
}
"""What is offered by command and parameter; `""` stands for every command without an entry of its own."""
