"""The model messages that an implementation kept of its last run → threads of that one turn, in each version. Pure.

Loaded for a scenario that has such messages, as recordings of a model library's server do.
"""

from __future__ import annotations

from typing import Any, cast

from tpharness.dialects import DIALECTS
from tpharness.journal import Interrupted, Journal, JournalWriter, Log
from tpharness.protocol.versions import Version
from tpharness.run.plan import Case
from tpharness.server_events.messages import fold_messages
from tpharness.targets.contract import RunScript, Script

__all__ = ["render_library_messages"]


def render_library_messages(case: Case, script: Script) -> dict[Version, dict[str, Any]]:
    """Render the model messages that the implementation kept of the last run as threads of that one turn."""
    _, run = case.scenario.runs[-1]
    if run.library_messages is None:
        return {}
    last_run = [turn for turn in script.turns if isinstance(turn, RunScript)][-1]
    writer = JournalWriter()
    fold_messages(writer, run.library_messages, agent_id=run.agent_id, at=run.started_at, cut=_end_of_run(last_run))
    journal = writer.journal()
    last = Journal(ended=Log([journal.ended[-1]]))
    renderers = {version: DIALECTS[version].renderer(script.header, script.readings) for version in script.versions}
    return {version: cast("dict[str, Any]", renderer.render(last)) for version, renderer in renderers.items()}


def _end_of_run(run: RunScript) -> Interrupted | None:
    """Return the interruption of a run, None if it completed. A run that ends without a result was cut (R27)."""
    kinds = [event.get("event_kind") for event in run.events]
    if "agent_run_result" in kinds:
        return None
    return run.interruption or Interrupted(reason="network_failure", at=run.started_at)
