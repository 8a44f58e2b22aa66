"""What can be wrong with a stream of AG-UI, by name. The catalogue says which of its 114 rules each one breaks."""

from __future__ import annotations

from tpharness.findings import Kind

__all__ = [
    "ACTIVITY_NOT_OBJECT",
    "ACTIVITY_OWNER",
    "AFTER_END",
    "CALL_OWNER",
    "CANCELLED_RESULT",
    "CHUNK_AMBIGUOUS",
    "CHUNK_CONFLICT",
    "CUSTOM_UNPREFIXED",
    "DELTA_WITHOUT_BASELINE",
    "ENTITY_UNKNOWN",
    "FATAL",
    "FIRST_CHUNK",
    "FIRST_EVENT",
    "FORMS_MIXED",
    "FRONTEND_ANSWERED",
    "FRONTEND_INTERRUPT",
    "HISTORY_STREAMED",
    "INPUT_MALFORMED",
    "INTERRUPT_REPEATED",
    "INTERRUPT_UNSAID",
    "LINE_ENDS",
    "MALFORMED",
    "MESSAGE_ID_REUSED",
    "MESSAGE_RENAMED",
    "METADATA_RESERVED",
    "NOT_AN_EVENT",
    "NOT_OPEN",
    "NULL",
    "OPENED_TWICE",
    "OPEN_AT_END",
    "OWNER_DIFFERS",
    "PATCH_FAILS",
    "PENDING_UNNAMED",
    "PENDING_WRONG",
    "REOPENED_DIFFERENTLY",
    "RUN_IDS",
    "RUN_IN_RUN",
    "STANDARD_AS_CUSTOM",
    "STEP_NOT_OPEN",
    "STEP_OPENED_TWICE",
    "SUBAGENT_LATE",
    "SUBAGENT_NOT_ACTIVE",
    "SUBAGENT_PARENT",
    "SUBAGENT_REUSED",
    "TOOL_UNADVERTISED",
    "TRUNCATED",
    "UNKNOWN_EVENT",
    "UNKNOWN_FIELD",
    "UNKNOWN_VALUE",
    "USAGE_SUM",
    "VERSION_MISSING",
    "VERSION_UNKNOWN",
]

# The bytes and the shape of an event
LINE_ENDS = Kind("ag-ui-line-ends")
NOT_AN_EVENT = Kind("ag-ui-not-an-event")
UNKNOWN_EVENT = Kind("ag-ui-unknown-event")
UNKNOWN_FIELD = Kind("ag-ui-unknown-field")
UNKNOWN_VALUE = Kind("ag-ui-unknown-value")
MALFORMED = Kind("ag-ui-malformed")
NULL = Kind("ag-ui-null")

# Runs
FIRST_EVENT = Kind("ag-ui-first-event")
AFTER_END = Kind("ag-ui-after-end")
RUN_IN_RUN = Kind("ag-ui-run-in-run")
RUN_IDS = Kind("ag-ui-run-ids")
VERSION_MISSING = Kind("ag-ui-version-missing")
VERSION_UNKNOWN = Kind("ag-ui-version-unknown")
OPEN_AT_END = Kind("ag-ui-open-at-end")
CANCELLED_RESULT = Kind("ag-ui-cancelled-result")
USAGE_SUM = Kind("ag-ui-usage-sum")
TRUNCATED = Kind("ag-ui-truncated")
STEP_OPENED_TWICE = Kind("ag-ui-step-opened-twice")
STEP_NOT_OPEN = Kind("ag-ui-step-not-open")

# What streams
OPENED_TWICE = Kind("ag-ui-opened-twice")
NOT_OPEN = Kind("ag-ui-not-open")
FORMS_MIXED = Kind("ag-ui-forms-mixed")
FIRST_CHUNK = Kind("ag-ui-first-chunk")
CHUNK_CONFLICT = Kind("ag-ui-chunk-conflict")
CHUNK_AMBIGUOUS = Kind("ag-ui-chunk-ambiguous")
REOPENED_DIFFERENTLY = Kind("ag-ui-reopened-differently")
MESSAGE_ID_REUSED = Kind("ag-ui-message-id-reused")
MESSAGE_RENAMED = Kind("ag-ui-message-renamed")
HISTORY_STREAMED = Kind("ag-ui-history-streamed")

# Calls and interrupts
CALL_OWNER = Kind("ag-ui-call-owner")
PENDING_UNNAMED = Kind("ag-ui-pending-unnamed")
PENDING_WRONG = Kind("ag-ui-pending-wrong")
FRONTEND_ANSWERED = Kind("ag-ui-frontend-answered")
FRONTEND_INTERRUPT = Kind("ag-ui-frontend-interrupt")
TOOL_UNADVERTISED = Kind("ag-ui-tool-unadvertised")
INTERRUPT_REPEATED = Kind("ag-ui-interrupt-repeated")
INTERRUPT_UNSAID = Kind("ag-ui-interrupt-unsaid")

# Subagents
OWNER_DIFFERS = Kind("ag-ui-owner-differs")
SUBAGENT_REUSED = Kind("ag-ui-subagent-reused")
SUBAGENT_LATE = Kind("ag-ui-subagent-late")
SUBAGENT_NOT_ACTIVE = Kind("ag-ui-subagent-not-active")
SUBAGENT_PARENT = Kind("ag-ui-subagent-parent")

# Values that evolve, and what passes through
DELTA_WITHOUT_BASELINE = Kind("ag-ui-delta-without-baseline")
PATCH_FAILS = Kind("ag-ui-patch-fails")
ACTIVITY_OWNER = Kind("ag-ui-activity-owner")
ACTIVITY_NOT_OBJECT = Kind("ag-ui-activity-not-object")
ENTITY_UNKNOWN = Kind("ag-ui-entity-unknown")
CUSTOM_UNPREFIXED = Kind("ag-ui-custom-unprefixed")
STANDARD_AS_CUSTOM = Kind("ag-ui-standard-as-custom")
METADATA_RESERVED = Kind("ag-ui-metadata-reserved")
INPUT_MALFORMED = Kind("ag-ui-input-malformed")

FATAL = frozenset(
    {
        NOT_AN_EVENT,
        MALFORMED,
        NULL,
        FIRST_EVENT,
        AFTER_END,
        RUN_IN_RUN,
        OPEN_AT_END,
        STEP_OPENED_TWICE,
        STEP_NOT_OPEN,
        OPENED_TWICE,
        NOT_OPEN,
        FORMS_MIXED,
        FIRST_CHUNK,
        CHUNK_CONFLICT,
        CHUNK_AMBIGUOUS,
        OWNER_DIFFERS,
        SUBAGENT_REUSED,
        SUBAGENT_NOT_ACTIVE,
    }
)
"""For what a consumer has to reject the stream; whatever else is wrong, the run goes on."""
