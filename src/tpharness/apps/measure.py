"""Measuring the tool: one uncut run before the cases, which is not judged.

In: a player and the tool that may be called. Out: the player knows how long the tool takes, that it has run, and what
the model is sent its result; or an error says that its runs are not counted, because then a missing effect could
never be found.
"""

from __future__ import annotations

from tpharness.apps.cases.basic import basic_cases
from tpharness.apps.cases.case import CaseTool
from tpharness.apps.checks.effects import returned_calls
from tpharness.apps.effects import MCP_VARIABLE, URL_VARIABLE, reference_of
from tpharness.apps.evidence import AppEvidence
from tpharness.apps.marks import call_id, new_mark
from tpharness.apps.play import Player
from tpharness.errors import UsageError

__all__ = ["measure_tool"]


async def measure_tool(player: Player, tool: CaseTool, effects_command: str | None) -> None:
    """Play an uncut run, to know how long the tool takes when nobody waits for it.

    UsageError where the run called the tool, and the ledger has not seen it; or where the tool has returned, and the
    effects command fails or counts no run.
    """
    token = new_mark()
    evidence = await player.play(basic_cases(tool, call_id(token))[0], token)
    asked = evidence.turns[0].asked
    if len(asked) > 1 and asked[0].ended_at is not None:
        player.tool_seconds = max(0.0, asked[1].started_at - asked[0].ended_at)
    results = [result.content for one in asked for result in one.sent_results()]
    player.known_result = next(iter(results), None)
    references = [reference_of(run.number) for run in evidence.tool_runs or ()]
    player.tells_references = any(name in content for name in references for content in results)
    called = {call.call_id for one in asked for call in one.called}
    player.names_calls = bool(evidence.tool_runs) and called.issuperset(run.call_id for run in evidence.tool_runs or ())
    if evidence.tool_runs == () and any(one.complete_calls for one in asked):
        raise UsageError(
            f"the model called {tool.name}, and no run of it reached the ledger of effects",
            hint=f"let the tool post to {URL_VARIABLE}, or mount the tools of {MCP_VARIABLE} (see"
            ' tpharness docs APPLICATIONS); for a tool of your own give a command: effects = "wc -l < effects.txt"',
        )
    player.tool_has_run = any(returned_calls(evidence.turns[0]))
    if effects_command is not None and player.tool_has_run:
        await _require_counted(player, tool, effects_command, evidence)


async def _require_counted(player: Player, tool: CaseTool, command: str, evidence: AppEvidence) -> None:
    before, after = evidence.runs_before, await player.count_effects()
    if before == after:
        _, known = next(returned_calls(evidence.turns[0]))
        raise UsageError(
            f"effects: {command!r} counts {after} before and after a run of {tool.name}; it ran: {known}",
            hint="it has to print how often the tool has run; is it the right file? If the tool has refused its"
            " arguments, give others in tools.args, or with --tool-args",
        )
