"""`tpharness app init`: the table of a chat application, the files of its CI, and what to type then."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from tpharness.apps.config import CONFIG_FILE, AppConfig, config_of_url, load_config
from tpharness.apps.effects import COMMAND_VARIABLE, MCP_VARIABLE, URL_VARIABLE
from tpharness.apps.init import describe_application, require_new_table, write_table
from tpharness.cli.app_workflow import Ci, require_new_workflow, write_workflow
from tpharness.errors import UsageError
from tpharness.model_apis.registry import APIS
from tpharness.printable import make_printable, say, without_credentials
from tpharness.report.terminal import make_console

__all__ = ["init_application", "tell_environment"]

_SHOWN = (
    *(name for api in APIS.values() for name in api.shown),
    URL_VARIABLE,
    MCP_VARIABLE,
    COMMAND_VARIABLE,
)


def tell_environment(out: Console, config: AppConfig, variables: dict[str, str]) -> None:
    """Print the variables that an application needs which tpharness does not start."""
    url = escape(make_printable(without_credentials(config.url)))
    out.print(f"The model's API is ready. {url} has to run with this environment:\n")
    for key in _SHOWN:
        if key in variables:
            out.print(f"    export {key}={escape(shlex.quote(variables[key]))}")
    out.print("\nWaiting for it, and for its first request …")
    sys.stdout.flush()


def init_application(
    words: list[str],
    path: Path | None,
    given: dict[str, Any],
    own_host: str | None,
    ci: Ci | None,
    run_options: Sequence[str],
) -> None:
    """Ask the application of a URL once, and write its table; write what CI needs, also for one that has a table.

    `given` are the options, by the names of `AppConfig`, which are written down; `run_options` those of a run that were
    given too: UsageError, since nothing would become of them.
    """
    if run_options:
        raise UsageError(
            f"init does not take {run_options[0]}: it plays no cases",
            hint=f"give it to the run: tpharness app NAME {run_options[0]} …",
        )
    if len(words) == 1 and ci is not None and not words[0].startswith(("http://", "https://")):
        known = load_config(words[0], path)
        left = sorted(set(given) - {"command", "provider_port"})
        if left:
            raise UsageError(
                f"{words[0]} has a table already, and {left[0]} is not written into it", hint="change it there"
            )
        known = replace(known, **given)
        require_new_workflow(ci, known, Path())
        say(*write_workflow(ci, known, Path()))
        return
    if len(words) != 1 or not words[0].startswith(("http://", "https://")):
        raise UsageError(
            "init takes the address that the chat posts to", hint="tpharness app init http://127.0.0.1:3000/api/chat"
        )
    out = make_console(soft_wrap=True)
    config = config_of_url(words[0], **given)
    file = path or Path(CONFIG_FILE)
    require_new_table(file, config)
    if ci is not None:
        require_new_workflow(ci, config, Path())
    found = describe_application(
        config,
        owned=own_host,
        on_ready=None if config.command else lambda variables: tell_environment(out, config, variables),
    )
    write_table(file, found)
    for line in found.lines:
        out.print(f"  {escape(make_printable(line))}")
    out.print(f"\nwritten to {escape(make_printable(str(file)))}")
    if ci is not None:
        for line in write_workflow(ci, replace(config, name=found.name), Path()):
            out.print(escape(make_printable(line)))
    if found.tools and not config.allow:
        tool = found.tools[0]
        line = f'cases that call a tool are left out until you allow a harmless one: tools = {{allow = ["{tool}"]}}'
        out.print(escape(make_printable(line)))
    if not config.command:
        out.print("the application has to go on running with the variables above, or give its command in the table")
    if config.unseen:
        out.print(escape(make_printable(config.unseen)))
    where = f" --config {shlex.quote(str(path))}" if path is not None else ""
    where += f" --i-own-this-host {shlex.quote(own_host)}" if own_host is not None else ""
    out.print()
    out.print(escape(make_printable(f"now: tpharness app {shlex.quote(found.name)}{where}")))
