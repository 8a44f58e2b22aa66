"""What can be wrong with a thread that its schema cannot say, by name."""

from __future__ import annotations

from tpharness.findings import Kind

UNKNOWN_AGENT = Kind("agent-unknown")
REGISTRY_KEY = Kind("agent-key-differs")
AGENT_FORM = Kind("agent-id-not-uuid")
EVENT_AGENT = Kind("event-agent-unknown")
LINK_FORM = Kind("link-not-uuid")
BAD_TIME = Kind("timestamp-invalid")
OVERLAP = Kind("turns-overlap")
OUT_OF_TIME = Kind("message-out-of-order")
OUTSIDE_TURN = Kind("message-outside-turn")
ORPHAN = Kind("return-without-call")
TWICE = Kind("call-answered-twice")
OTHER_TOOL = Kind("return-of-another-tool")
CALL_ORDER = Kind("returns-out-of-order")
OPEN_TWICE = Kind("call-id-in-use")
INCOMPLETE = Kind("cycle-incomplete")
EMPTY_TURN = Kind("interrupted-turn-empty")
EMPTY_MESSAGE = Kind("message-empty")
OLD_INTERRUPTED = Kind("interrupted-before-0.0.4")
SYSTEM_PROMPT = Kind("system-prompt-stored")
REPEATED = Kind("user-input-repeated")
BOTH_CONTENTS = Kind("content-and-reference")
REF_HASH = Kind("reference-hash-malformed")
REF_SCHEME = Kind("reference-scheme-unusual")
LARGE = Kind("return-large")
METADATA_KEY = Kind("client-metadata-key")
EVENT_VERSION = Kind("event-name-of-another-version")
NAMESPACE = Kind("namespace-unknown")
UNSAFE = Kind("value-not-interoperable")
