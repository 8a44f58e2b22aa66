"""What somebody's own code does with the public names; mypy checks it, and a test adds misspelt words to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tpharness import (
    App,
    Assembler,
    CanonicalError,
    Change,
    Compare,
    EmptyTurnRule,
    ExportFormat,
    Finding,
    Folded,
    Imported,
    ImportFormat,
    InputError,
    Interrupted,
    Journal,
    Level,
    Loss,
    Migration,
    Mode,
    ModelCall,
    ModelHistory,
    Outcome,
    PendingCall,
    Piece,
    Place,
    Played,
    Readings,
    Reason,
    Recorder,
    Repaired,
    RepairFormat,
    Result,
    RunEvent,
    RunOptions,
    Scenario,
    ScenarioError,
    TargetError,
    ThreadDifference,
    ThreadError,
    TpharnessError,
    Traced,
    UsageError,
    UserTurn,
    Version,
    VersionName,
    assert_passed,
    assert_same_thread,
    assert_valid,
    canonical_thread,
    check,
    check_history,
    check_thread,
    content_thread,
    convert,
    diff,
    export,
    fold,
    import_messages,
    load_scenario,
    model_history,
    outline,
    pending_calls,
    play,
    play_one,
    repair,
    run_suite,
    same_content,
    same_exact,
    thread_hash,
)


def use(stream: bytes, messages: list[dict[str, Any]]) -> list[str]:
    """Call everything with its words, and read what it gives."""
    folded: Folded = fold("Hi", stream, interrupted="user_cancelled", version="0.0.4")
    migration: Migration = convert(folded.thread, "0.0.3")
    assert_same_thread(folded, migration.thread, mode="content")
    differences: list[ThreadDifference] = diff(folded.thread, migration.thread, mode="exact")
    imported: Imported = import_messages(messages, format="ai-sdk")
    losses: tuple[Loss, ...] = imported.losses
    call: ModelCall = export(imported.thread, format="anthropic", next_user="And now?")
    repaired: Repaired = repair(messages, format="ai-sdk")
    changes: tuple[Change, ...] = repaired.changes
    history: ModelHistory = model_history(imported.thread)
    pending: tuple[PendingCall, ...] = history.pending
    waiting: tuple[PendingCall, ...] = tuple(pending_calls(imported.thread))
    findings: tuple[Finding, ...] = folded.findings
    words = [text for finding in findings for text in (finding.code, finding.remedy, *finding.clauses)]
    words += [str(content_thread(imported.thread)), *outline(imported.thread), *(loss.why for loss in losses)]
    words += [change.ruling for change in changes] + [one.tool_name for one in (*pending, *waiting)]
    return [*words, *(one.text for one in differences), str(call.messages)]


def pass_on(pieces: list[Piece], mode: Mode, reason: Reason, version: VersionName) -> bool:
    """Write functions around ours, whose words have types."""
    one, other = fold(*pieces, interrupted=reason, version=version), fold(*pieces, version=Version(version))
    assert_same_thread(one, other, mode=mode)
    return same_exact(one.thread, other.thread) or same_content(one.thread, canonical_thread(other.thread))


def change_format(value: list[Any], source: ImportFormat, to: ExportFormat, broken: RepairFormat) -> Any:
    """Name the formats as well."""
    repaired = repair(value, format=broken)
    return export(import_messages(repaired.value, format=source).thread, format=to).messages


def judge(document: Path, thread: dict[str, Any]) -> Iterator[str]:
    """Check, play, and read what is found where."""
    assert_valid(document)
    for finding in [*check(document), *check_thread(thread), *check_history(model_history(thread).messages)]:
        place: Place = finding.place
        if finding.level is Level.MUST:
            yield f"{place.pointer}: {finding.message}"
    played: Played = play("cycles", server="reference", dialects=["0.0.4"], compare="exact")
    assert_passed(played)
    options = RunOptions(ids=("cycles/three-steps",), trace=Traced.NONE, compare=Compare.EXACT)
    events: list[RunEvent] = list(run_suite(options))
    results: list[Result] = play_one(load_scenario(document), options)
    yield from (result.id for result in results)
    assembler = Assembler()
    assembler.add_user_turn(UserTurn(at="2026-01-01T00:00:00Z", parts=()))
    journal: Journal = assembler.journal(Interrupted(reason="user_cancelled", at="2026-01-01T00:00:01Z"))
    yield f"{journal} {assembler.version} {Recorder().version} {len(events)}"
    yield str(Readings(R24=EmptyTurnRule.KEEP_EMPTY).R24)


def fail(thread: dict[str, Any], scenario: Scenario) -> TpharnessError | None:
    """Catch each error by its name."""
    try:
        thread_hash(thread)
        convert(thread, "2.0.0")
    except CanonicalError:
        return None
    except (ThreadError, ScenarioError) as error:
        return error
    except (InputError, TargetError, UsageError) as error:
        return UsageError(error.line, hint=error.hint)
    return TpharnessError(scenario.id) if scenario == load_scenario(Path("scenarios/greeting.yaml")) else None


def test_both_sides(tpharness_app: App) -> None:
    """Name the type of the fixture, and read what judging an application gives."""
    stream = tpharness_app.client.post("/chats/whole", json={"text": "Hi"})
    thread: dict[str, Any] = tpharness_app.client.get("/chats/whole").json()
    assert_same_thread(thread, fold("Hi", stream.content), mode="content")
    results: list[Result] = tpharness_app("chat", "basic")
    assert all(result.outcome is not Outcome.FAILED for result in results), tpharness_app.url
