"""tpharness: the conformance test suite and stream-replay harness for ThreadProtocol.

The names below are public; each is imported when it is first used, since pytest loads this package in every run.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tpharness.assertions import assert_same_thread, assert_valid
    from tpharness.checking import RepairFormat, check
    from tpharness.errors import InputError, ScenarioError, TargetError, ThreadError, TpharnessError, UsageError
    from tpharness.findings import Finding, Kind, Level, Place
    from tpharness.folding import Folded, Piece, fold
    from tpharness.histories.conversations import ExportFormat, ImportFormat, export, import_messages, repair
    from tpharness.histories.exchange.imported import Imported
    from tpharness.histories.exchange.model_calls import ModelCall
    from tpharness.histories.stored.formats import Repaired
    from tpharness.histories.stored.sequence import Change
    from tpharness.journal import Interrupted, Journal, UserTurn
    from tpharness.protocol.canonical import canonical_thread, thread_hash
    from tpharness.protocol.compare import Mode, content_thread, same_content, same_exact
    from tpharness.protocol.diff import ThreadDifference, diff
    from tpharness.protocol.history import ModelHistory, PendingCall, check_history, model_history, pending_calls
    from tpharness.protocol.jcs import CanonicalError
    from tpharness.protocol.losses import Loss
    from tpharness.protocol.migrate import Migration, convert
    from tpharness.protocol.reasons import Reason
    from tpharness.protocol.rules import check_thread
    from tpharness.protocol.versions import Version, VersionName
    from tpharness.pytest_plugin.app import App
    from tpharness.readings import AnswerRule, EmptyTurnRule, Readings, UnfinishedRule
    from tpharness.run import RunOptions, play_one, run_suite
    from tpharness.run.keyword import Keyword
    from tpharness.run.order import Order
    from tpharness.run.shard import Shard
    from tpharness.scenario import Compare, Scenario, load_scenario
    from tpharness.scenario.outline import outline
    from tpharness.server_events import Recorder
    from tpharness.targets.remote import Patience
    from tpharness.testing import Played, assert_passed, play
    from tpharness.trace.format import Traced
    from tpharness.verdict import CheckState, Outcome, Result
    from tpharness.verdict.events import RunEvent
    from tpharness.wires.vsp.assembler import Assembler

__all__ = [
    "AnswerRule", "App", "Assembler", "CanonicalError", "Change", "CheckState", "Compare", "EmptyTurnRule",
    "ExportFormat", "Finding", "Folded", "ImportFormat", "Imported", "InputError", "Interrupted", "Journal",
    "Keyword", "Kind", "Level", "Loss", "Migration", "Mode", "ModelCall", "ModelHistory", "Order", "Outcome",
    "Patience", "PendingCall", "Piece", "Place", "Played", "Readings", "Reason", "Recorder", "RepairFormat",
    "Repaired", "Result", "RunEvent", "RunOptions", "Scenario", "ScenarioError", "Shard", "TargetError",
    "ThreadDifference", "ThreadError", "TpharnessError", "Traced", "UnfinishedRule", "UsageError", "UserTurn",
    "Version", "VersionName", "assert_passed", "assert_same_thread", "assert_valid", "canonical_thread", "check",
    "check_history", "check_thread", "content_thread", "convert", "diff", "export", "fold", "import_messages",
    "load_scenario", "model_history", "outline", "pending_calls", "play", "play_one", "repair", "run_suite",
    "same_content", "same_exact", "thread_hash",
]  # fmt: skip

_OF_MESSAGES = "tpharness.histories.conversations"
_HOMES = {
    "tpharness.assertions": ("assert_same_thread", "assert_valid"),
    "tpharness.checking": ("RepairFormat", "check"),
    "tpharness.errors": ("InputError", "ScenarioError", "TargetError", "ThreadError", "TpharnessError", "UsageError"),
    "tpharness.findings": ("Finding", "Kind", "Level", "Place"),
    "tpharness.folding": ("Folded", "Piece", "fold"),
    _OF_MESSAGES: ("ExportFormat", "ImportFormat", "export", "import_messages", "repair"),
    "tpharness.histories.exchange.imported": ("Imported",),
    "tpharness.histories.exchange.model_calls": ("ModelCall",),
    "tpharness.histories.stored.formats": ("Repaired",),
    "tpharness.histories.stored.sequence": ("Change",),
    "tpharness.journal": ("Interrupted", "Journal", "UserTurn"),
    "tpharness.protocol.canonical": ("canonical_thread", "thread_hash"),
    "tpharness.protocol.compare": ("Mode", "content_thread", "same_content", "same_exact"),
    "tpharness.protocol.diff": ("ThreadDifference", "diff"),
    "tpharness.protocol.history": ("ModelHistory", "PendingCall", "check_history", "model_history", "pending_calls"),
    "tpharness.protocol.jcs": ("CanonicalError",),
    "tpharness.protocol.losses": ("Loss",),
    "tpharness.protocol.migrate": ("Migration", "convert"),
    "tpharness.protocol.reasons": ("Reason",),
    "tpharness.protocol.rules": ("check_thread",),
    "tpharness.protocol.versions": ("Version", "VersionName"),
    "tpharness.pytest_plugin.app": ("App",),
    "tpharness.readings": ("AnswerRule", "EmptyTurnRule", "Readings", "UnfinishedRule"),
    "tpharness.run": ("RunOptions", "play_one", "run_suite"),
    "tpharness.run.keyword": ("Keyword",),
    "tpharness.run.order": ("Order",),
    "tpharness.run.shard": ("Shard",),
    "tpharness.scenario": ("Compare", "Scenario", "load_scenario"),
    "tpharness.scenario.outline": ("outline",),
    "tpharness.server_events": ("Recorder",),
    "tpharness.targets.remote": ("Patience",),
    "tpharness.testing": ("Played", "assert_passed", "play"),
    "tpharness.trace.format": ("Traced",),
    "tpharness.verdict": ("CheckState", "Outcome", "Result"),
    "tpharness.verdict.events": ("RunEvent",),
    "tpharness.wires.vsp.assembler": ("Assembler",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
