"""What can be wrong with a thread that its schema cannot say, by name."""

from __future__ import annotations

from tpharness.findings import Kind, Level

__all__ = ["KINDS"]

UNKNOWN_AGENT = Kind(
    code="agent-unknown",
    level=Level.MUST,
    title="an agent_id is no key of the agents registry",
    remedy="add the agent to the registry, or correct the id",
    clauses=("thread.registry",),
)
REGISTRY_KEY = Kind(
    code="agent-key-differs",
    level=Level.MUST,
    title="an entry of the agents registry has another agent_id than its key",
    remedy="write the same id in both places",
    clauses=("thread.registry",),
)
AGENT_FORM = Kind(
    code="agent-id-no-uuid",
    level=Level.MAY,
    title="an agent_id is no UUID",
    remedy="nothing to do within one application; use UUIDs where threads meet",
    clauses=("thread.agent-id-form",),
    rulings=("R2",),
)
EVENT_AGENT = Kind(
    code="event-agent-unknown",
    level=Level.SHOULD,
    title="an event names an agent that is no key of the agents registry",
    remedy="add the agent to the registry, or correct the id",
    clauses=("event.agents", "thread.registry"),
)
LINK_FORM = Kind(
    code="link-no-uuid",
    level=Level.SHOULD,
    title="a link names a thread by something that is no UUID",
    remedy="use the UUID of the other thread",
    clauses=("thread.links",),
    rulings=("R2",),
)
BAD_TIME = Kind(
    code="timestamp-invalid",
    level=Level.MUST,
    title="a timestamp names no moment",
    remedy="write ISO 8601 with an offset, such as 2025-01-20T10:00:00Z",
    clauses=("thread.timestamps-iso",),
)
OVERLAP = Kind(
    code="turns-overlap",
    level=Level.MUST,
    title="a turn begins before the turn before it ended",
    remedy="end a turn at its completed_at or interrupted_at and begin the next one no earlier",
    clauses=("turn.no-overlap",),
    rulings=("R4",),
)
OUT_OF_TIME = Kind(
    code="message-out-of-order",
    level=Level.MUST,
    title="a message is older than the message before it",
    remedy="order messages by time: a response by its start, a request by its last return",
    clauses=("turn.messages-chronological", "event.order"),
    rulings=("R25",),
)
OUTSIDE_TURN = Kind(
    code="message-outside-turn",
    level=Level.MUST,
    title="a message is older than the start of its turn, or younger than its end",
    remedy="take timestamps from the events, never from when they were written down",
    clauses=("turn.messages-chronological",),
    rulings=("R25",),
)
ORPHAN = Kind(
    code="return-without-call",
    level=Level.MUST,
    title="a return answers no call before it",
    remedy="drop returns together with the response that made the call",
    clauses=("tool.no-orphan-return", "tool.ids-match"),
    rulings=("R23",),
)
TWICE = Kind(
    code="call-answered-twice",
    level=Level.MUST,
    title="a call has two returns",
    remedy="keep the first final output of each call",
    clauses=("tool.first-output-stands",),
    rulings=("R14",),
)
OTHER_TOOL = Kind(
    code="return-of-another-tool",
    level=Level.MUST,
    title="a return names another tool than its call",
    remedy="write the name of the tool that was called",
    clauses=("tool.ids-match",),
)
CALL_ORDER = Kind(
    code="returns-out-of-order",
    level=Level.MUST,
    title="the returns of a request do not stand in the order of their calls",
    remedy="order returns by their calls, not by which tool finished first",
    clauses=("tool.returns-in-call-order",),
    rulings=("R11",),
)
OPEN_TWICE = Kind(
    code="call-id-in-use",
    level=Level.MUST,
    title="a call has the id of a call that still waits for its return",
    remedy="give each call its own id",
    clauses=("tool.id-reused",),
)
INCOMPLETE = Kind(
    code="cycle-incomplete",
    level=Level.MUST,
    title="an interrupted turn keeps a response with a call that has no return",
    remedy="drop the response whole, its returns too",
    clauses=("cycle.all-returns", "cycle.only-complete"),
    rulings=("R21",),
)
EMPTY_TURN = Kind(
    code="interrupted-turn-empty",
    level=Level.MUST,
    title="an interrupted turn holds no request, no response and no normative event",
    remedy="leave the turn out",
    clauses=("cycle.empty-turn-left-out",),
    rulings=("R24",),
)
EMPTY_MESSAGE = Kind(
    code="message-empty",
    level=Level.MUST,
    title="a request or a response has no parts",
    remedy="leave the message out",
    clauses=("message.empty-left-out",),
    rulings=("R24",),
)
OLD_INTERRUPTED = Kind(
    code="interrupted-before-0.0.4",
    level=Level.MUST,
    title="a thread of a version that knows complete turns only holds an interrupted turn",
    remedy="leave the turn out, or convert the thread to 0.0.4",
    clauses=("turn.only-complete",),
    rulings=("R18",),
)
SYSTEM_PROMPT = Kind(
    code="system-prompt-stored",
    level=Level.MUST,
    title="a system prompt is stored in the thread",
    remedy="leave it out: prompts are configuration, reached by agent_id and config_ref",
    clauses=("thread.no-system-prompt",),
    rulings=("R8",),
)
REPEATED = Kind(
    code="user-input-repeated",
    level=Level.MUST,
    title="an agent turn begins with a request that repeats the user turn before it",
    remedy="store what the user said once, in the user turn",
    clauses=("turn.user-input-once",),
    rulings=("R9",),
)
BOTH_CONTENTS = Kind(
    code="content-and-reference",
    level=Level.MUST,
    title="a return has both content and content_ref",
    remedy="keep one of the two",
    clauses=("ref.content-or-ref",),
    rulings=("R6",),
)
REF_HASH = Kind(
    code="reference-hash-malformed",
    level=Level.MUST,
    title="the hash of a reference is not sha256: and 64 hexadecimal digits",
    remedy="write sha256: and the digest in lower case",
    clauses=("ref.hash",),
    rulings=("R6",),
)
REF_SCHEME = Kind(
    code="reference-scheme-unusual",
    level=Level.SHOULD,
    title="a reference has a scheme that not every reader knows, or one for development only",
    remedy="use https, s3, gs or azure, or document the scheme",
    clauses=("ref.scheme",),
)
LARGE = Kind(
    code="return-large",
    level=Level.SHOULD,
    title="a return holds more than 100 KB",
    remedy="store it elsewhere and refer to it with content_ref",
    clauses=("ref.large-returns",),
)
METADATA_KEY = Kind(
    code="client-metadata-key",
    level=Level.SHOULD,
    title="a key of client_metadata has no namespace",
    remedy="write a namespace and a separator before the name, such as ui:mode",
    clauses=("turn.client-metadata",),
    rulings=("R5",),
)
EVENT_VERSION = Kind(
    code="event-name-of-another-version",
    level=Level.SHOULD,
    title="a normative event has the name that another version gives it",
    remedy="use this version's name, or convert the thread with tpharness convert",
    clauses=("event.normative-names", "event.normative-names-old"),
    rulings=("R1",),
)
NAMESPACE = Kind(
    code="namespace-unknown",
    level=Level.MAY,
    title="an event type or part kind is in none of the namespaces; it is preserved",
    remedy="put events of your own into data-app-* and parts into custom:*",
    clauses=("thread.unknown-preserved",),
    rulings=("R7",),
)
UNSAFE = Kind(
    code="value-not-interoperable",
    level=Level.MUST,
    title="a value that not every JSON reader reads the same",
    remedy="send integers beyond ±(2^53−1) as strings, and whole characters only",
    clauses=("canon.numbers", "canon.lone-surrogate"),
    rulings=("R38",),
)
KINDS = tuple(value for value in tuple(globals().values()) if isinstance(value, Kind))
