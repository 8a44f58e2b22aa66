"""What somebody's own code does with the public names; mypy checks it, and a test adds misspelt words to it."""

from __future__ import annotations

from typing import Any

from tpharness import (
    App,
    CanonicalError,
    Change,
    Finding,
    Folded,
    Imported,
    Loss,
    Migration,
    ModelCall,
    ModelHistory,
    Outcome,
    PendingCall,
    Repaired,
    Result,
    Scenario,
    ScenarioError,
    ThreadDifference,
    ThreadError,
    TpharnessError,
    assert_same_thread,
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
    repair,
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


def fail(thread: dict[str, Any], scenario: Scenario) -> TpharnessError | None:
    """Catch each error by its name."""
    try:
        thread_hash(thread)
        convert(thread, "2.0.0")
    except CanonicalError:
        return None
    except (ThreadError, ScenarioError) as error:
        return error
    return TpharnessError(scenario.id) if scenario == load_scenario("cycles/three-steps") else None


def test_both_sides(tpharness_app: App) -> None:
    """Name the type of the fixture, and read what judging an application gives."""
    stream = tpharness_app.client.post("/chats/whole", json={"text": "Hi"})
    thread: dict[str, Any] = tpharness_app.client.get("/chats/whole").json()
    assert_same_thread(thread, fold("Hi", stream.content), mode="content")
    results: list[Result] = tpharness_app("chat", "basic")
    assert all(result.outcome is not Outcome.FAILED for result in results), tpharness_app.url
