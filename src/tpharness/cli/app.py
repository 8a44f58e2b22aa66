"""The application: every command by name. A command's module is imported when it is called, not before.

The lines of `tpharness --help` are here, so that printing them imports nothing; a test compares them with the commands'
docstrings. A command is absent if the package that it needs was removed (`tpharness.rooms`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import click
from click.shell_completion import CompletionItem

from tpharness.cli.completion_options import completion_options

__all__ = ["COMMANDS", "CommandEntry", "InterruptedCommandError", "ReaderGoneError", "app"]


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """One command: its module and function below `tpharness.cli`, its line of help, the package that it needs."""

    module: str
    help: str
    function: str = ""
    room: str = ""

    def load(self) -> Callable[..., None]:
        """Import the command's function."""
        found: Callable[..., None] = getattr(
            import_module(f"tpharness.cli.{self.module}"), self.function or self.module
        )
        return found

    @property
    def available(self) -> bool:
        """Whether the package that the command needs is installed."""
        return not self.room or find_spec(f"tpharness.{self.room}") is not None


COMMANDS: dict[str, CommandEntry] = {
    "init": CommandEntry("init", "Write what a first run needs into a folder."),
    "run": CommandEntry("run", "Play scenarios on a server and a client."),
    "sweep": CommandEntry("sweep", "Cut scenarios at every event or byte, or play them in every legal order."),
    "fuzz": CommandEntry("fuzz", "Generate cases, judge them by every check, and shrink what fails.", room="explore"),
    "compare-targets": CommandEntry(
        "compare_targets",
        "Play the same on several servers, or several clients, over one wire, and print only where they part.",
        room="explore",
    ),
    "list": CommandEntry(
        "listing", "List scenarios, clauses, rulings, profiles, targets, faults or findings.", "list_"
    ),
    "explain": CommandEntry(
        "explain", "Explain a clause, ruling, rule, scenario, finding, fix, profile, fault, check or outcome."
    ),
    "docs": CommandEntry("docs", "Print a page of the documentation or one section of it, or list the pages."),
    "check": CommandEntry("check", "Check threads, scenarios and streams without playing them."),
    "accept": CommandEntry("accept", "Judge a request to a model's API: what would be refused, why, and what to do."),
    "compare": CommandEntry("compare", "Compare what histories keep of an interrupted turn.", room="histories"),
    "hash": CommandEntry("hash", "Print the canonical hash of a thread.", "hash_"),
    "diff": CommandEntry("diff", "Describe where two threads differ."),
    "convert": CommandEntry("convert", "Convert a thread to another version."),
    "history": CommandEntry("history", "Print the messages that the next model call gets.", room="histories"),
    "import": CommandEntry("import_", "Make a thread of another program's messages.", "import_", room="histories"),
    "repair": CommandEntry(
        "repair", "Repair stored conversations: what is wrong, and what can be done about it.", room="histories"
    ),
    "fold": CommandEntry("fold", "Fold a recorded stream into a thread."),
    "app": CommandEntry("application", "Judge a chat application as it runs.", room="apps"),
    "record": CommandEntry("record", "Record a live stream as a scenario."),
    "replay": CommandEntry("replay", "Show both sides of a case step by step, and the verdict."),
    "view": CommandEntry("view", "Write a page that shows a recording, a thread or a scenario."),
    "show": CommandEntry("show", "Look at what a run has really played."),
    "trend": CommandEntry("trend", "Play a peer at several releases, and say which differences came and went."),
    "site": CommandEntry("site", "Make a static site: rules, pictures, docs, matrix, apps, certificates, trends."),
    "certify": CommandEntry("certify", "Certify what a server or a client keeps."),
    "verify": CommandEntry("verify", "Verify a certificate: signature, suite, reports, counts and claims."),
    "merge": CommandEntry("merge", "Merge the shards of a run or of a sweep."),
    "mutate": CommandEntry("mutate", "Say which wrong implementations the scenarios find.", room="explore"),
    "serve": CommandEntry("serve", "Serve the reference over HTTP."),
    "doctor": CommandEntry("doctor", "Say what is installed, what is missing for which command, and what to type."),
}
"""Every command, in the order in which the help lists them."""


class _Commands(MutableMapping[str, Any]):
    """The commands as click expects them, each created on first use."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            if not COMMANDS[name].available:
                raise KeyError(name)
            from tpharness.cli.options import make_command  # noqa: PLC0415  # `tpharness --help` makes none

            self._made[name] = make_command(name, COMMANDS[name].load())
        return self._made[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._made[name] = command

    def __delitem__(self, name: str) -> None:
        del self._made[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name, entry in COMMANDS.items() if entry.available)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class InterruptedCommandError(Exception):
    """A command was ended by a signal. Click would exit with 1 for a KeyboardInterrupt."""


class ReaderGoneError(Exception):
    """The reader of the output has exited. Click and rich would exit with 1 for a BrokenPipeError."""


@contextmanager
def _ends_told_apart() -> Iterator[None]:
    """Raise errors of our own for the ends that click and rich take for a failure."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise InterruptedCommandError from error
    except BrokenPipeError as error:
        raise ReaderGoneError from error
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):
            raise ReaderGoneError from error
        raise


class _Group(click.Group):
    """The group of commands, which lists them without importing their modules."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = _Commands()

    def make_context(self, *args: Any, **options: Any) -> Any:  # it prints the help and the version
        with _ends_told_apart():
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        with _ends_told_apart():
            return super().invoke(ctx)

    def list_commands(self, ctx: Any) -> list[str]:
        del ctx
        return list(self.commands)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[CompletionItem]:
        named = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        own: list[CompletionItem] = click.Command.shell_complete(self, ctx, incomplete)
        return [*(CompletionItem(name, help=COMMANDS[name].help) for name in named), *own]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name].help) for name in self.list_commands(ctx)])


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from importlib.metadata import version  # noqa: PLC0415  # it takes as long to import as all of click

        click.echo(f"tpharness {version('tpharness')}")
        ctx.exit()


app = _Group(
    name="tpharness",
    help="Conformance test suite and stream-replay harness for ThreadProtocol.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    params=[
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_version,
            help="Print the version and exit.",
        ),
        *completion_options(),
    ],
)
