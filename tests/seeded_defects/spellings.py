# mypy: disallow-untyped-calls=False
# A change takes the place of whatever it changes: what it is called with is said there.
"""Words that are read where they are spelled otherwise than the protocol spells them: R7, R16, R22, R27, R36, R62."""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec.structs import replace
from tests.seeded_defects.interrupts import on_turns
from tests.seeded_defects.seeding import defect, on_chunk, together, wrap

from tpharness.server_events import recorder, returns
from tpharness.wires.vsp import chunks, lifecycle
from tpharness.wires.vsp import records as c
from tpharness.wires.vsp import server as encoder

__all__ = ["DEFECTS"]

Spell = Callable[[str], str]


def words(**meanings: str) -> Spell:
    return lambda word: meanings.get(word, word)


def with_dashes(word: str) -> str:
    """Return a word in camel case as one with dashes."""
    return re.sub("(?<=[a-z])([A-Z])", lambda found: f"-{found[1].lower()}", word)


def finish_reasons(spell: Spell):
    """Both sides read the finish reasons of responses so."""

    def make(was):
        return lambda word: was(spell(word) if isinstance(word, str) else word)

    return together(*(wrap(side, "normalize_finish_reason", make) for side in (recorder, lifecycle)))


def ends(spell: Spell):
    """Both sides read the word of a finish so, and draw their conclusion."""

    def make(was):
        return lambda word, **more: was(spell(word) if isinstance(word, str) else word, **more)

    return together(*(wrap(side, "interruption_reason", make) for side in (recorder, lifecycle)))


def aborts(spell: Spell):
    return on_chunk(
        lambda was: lambda self, chunk: was(self, replace(chunk, reason=spell(chunk.reason) if chunk.reason else None)),
        c.AbortChunk,
    )


def containing(word: str) -> str:
    return next((known for known in ("timeout", "network_failure", "safety_halt", "error") if known in word), word)


def reasons(spell: Spell):
    """Both sides write the reason of an interruption so."""

    def written(turn, _):
        if "interruption" not in turn:
            return turn
        return {**turn, "interruption": {**turn["interruption"], "reason": spell(turn["interruption"]["reason"])}}

    return on_turns(written)


def outcomes(spell: Spell):
    """Both the server's thread and its stream read the outcome and the status of a result so."""

    def make(was):
        def outcome(part):
            said = {name: spell(part[name]) for name in ("outcome", "status") if isinstance(part.get(name), str)}
            return was({**part, **said})

        return outcome

    return together(wrap(returns, "outcome_of", make), wrap(encoder, "outcome_of", make))


def read_objects(change):
    """Let the client change each chunk before it looks at it."""

    def make(was):
        return lambda value, *, raw=b"": was(change(value) if isinstance(value, dict) else value, raw=raw)

    return wrap(chunks, "chunk_from_object", make)


def types(spell: Spell):
    def change(value):
        kind = value.get("type")
        return {**value, "type": spell(kind)} if isinstance(kind, str) else value

    return read_objects(change)


def if_known(spell: Spell) -> Spell:
    return lambda kind: spell(kind) if spell(kind) in c.RECORDS else kind


def fields(change):
    """Change the fields of all chunks but those of the application."""
    return read_objects(
        lambda value: (
            value if str(value.get("type")).startswith("data-") else dict(change(*one) for one in value.items())
        )
    )


def in_its_tier(name: str) -> str:
    return name.lower() if name.lower().startswith(("data-tp-", "data-sys-")) else name


def snake_case(name, value):
    return re.sub("_([a-z])", lambda found: found[1].upper(), name), value


def flags_read(value):
    flags = ("preliminary", "transient", "providerExecuted")
    read = {name: str(held).lower() == "true" for name, held in value.items() if name in flags and held is not None}
    return {**value, **read}


def text_of_number(name, value):
    return name, str(value) if name in ("toolCallId", "delta") and type(value) is int else value


def text_of_null(name, value):
    return name, "" if name in ("delta", "errorText") and value is None else value


_FINISH = (
    ("in-small-letters", "in small letters", str.lower),
    ("without-blanks", "without the blanks around them", str.strip),
    ("of-anthropic", "in Anthropic's words", words(end_turn="stop", max_tokens="length", tool_use="tool_call")),
    ("of-openai", "in OpenAI's older words", words(function_call="tool_call", completed="stop")),
    ("of-google", "in Google's words", words(MAX_TOKENS="length", SAFETY="content_filter", STOP="stop")),
    ("in-camel-case", "in camel case", words(toolCalls="tool_call", contentFilter="content_filter")),
    ("of-the-kind-of-part", "in the word for the part", words(**{"tool-call": "tool_call"})),
)
_ABORTS = (
    ("in-small-letters", "in small letters", str.lower),
    ("with-dashes", "with dashes", lambda word: word.lower().replace("-", "_")),
    ("in-camel-case", "in camel case", lambda word: with_dashes(word).replace("-", "_")),
    ("without-blanks", "without the blanks around it", str.strip),
    ("inside-a-sentence", "inside a sentence", containing),
    ("of-one-word", "by its first word", words(safety="safety_halt", content_filter="safety_halt")),
    ("of-a-client", "in the word of clients", words(incomplete_stream="network_failure")),
    ("of-javascript", "in JavaScript's words", words(TimeoutError="timeout")),
)
_OUTCOMES = (
    ("in-small-letters", "in small letters", str.lower),
    ("without-blanks", "without the blanks around it", str.strip),
    ("of-other-protocols", "in the words of other protocols", words(ok="success", completed="success", done="success")),
    ("with-dashes", "with dashes", lambda word: word.replace("-", "_")),
    ("of-a-stop", "in the words for a stop", words(cancelled="interrupted", rejected="denied", retry="retried")),
)
_OLDER = words(text="text-delta", reasoning="reasoning-delta")
_TYPES = (
    ("in-small-letters", "in small letters", if_known(str.lower)),
    ("with-underscores", "with underscores", if_known(lambda kind: kind.replace("_", "-"))),
    ("in-camel-case", "in camel case", if_known(with_dashes)),
    ("without-blanks", "without the blanks around them", str.strip),
    ("of-older-protocols", "of older protocols", _OLDER),
)

DEFECTS = (
    *(
        defect(
            f"finish-reasons-{name}",
            "both",
            f"Finish reasons {words_} are read as those of the protocol.",
            "message.finish-reason R16",
            finish_reasons(spell),
        )
        for name, words_, spell in _FINISH
    ),
    *(
        defect(
            f"finish-says-{name}",
            "both",
            f"A finish that says {sentence} interrupts its turn.",
            "interrupt.safety-halt R27 R44",
            ends(spell),
        )
        for name, sentence, spell in (
            ("interrupted-in-capitals", "that it was interrupted, or filtered, in capitals", str.lower),
            ("cancelled", "cancelled or aborted", words(cancelled="interrupted", aborted="interrupted")),
            ("timeout", "timeout", words(timeout="interrupted")),
        )
    ),
    *(
        defect(
            f"reason-of-an-abort-{name}",
            "client",
            f"The reason of an abort is read {words_}.",
            "interrupt.abort-reason R27",
            aborts(spell),
        )
        for name, words_, spell in _ABORTS
    ),
    *(
        defect(f"own-reasons-{name}", "both", sentence, "interrupt.reason-extensible R7", reasons(spell))
        for name, sentence, spell in (
            ("in-small-letters", "Reasons of interruptions are stored in small letters.", str.lower),
            ("with-underscores", "Dashes in reasons become underscores.", lambda word: word.replace("-", "_")),
            ("cut-to-32", "Reasons are stored in a column of 32 characters.", lambda word: word[:32]),
        )
    ),
    *(
        defect(
            f"outcomes-{name}",
            "both",
            f"The outcome of a tool is read {words_}.",
            "tool.status-error R22 R62",
            outcomes(spell),
        )
        for name, words_, spell in _OUTCOMES
    ),
    *(
        defect(
            f"types-of-chunks-{name}",
            "client",
            f"Types of chunks {words_} are read as those of the stream.",
            "stream.unknown-chunk R7",
            types(spell),
        )
        for name, words_, spell in _TYPES
    ),
    defect(
        "tiers-of-events-in-capitals",
        "client",
        "An event whose tier is written in capitals is one of that tier.",
        "event.unrecognised-tier R34",
        on_chunk(
            lambda was: lambda self, chunk: was(self, replace(chunk, name=in_its_tier(chunk.name))),
            c.DataChunk,
        ),
    ),
    defect(
        "events-with-an-underscore",
        "client",
        "A type that begins with data and an underscore is that of an event.",
        "event.unrecognised-tier stream.unknown-chunk R7",
        types(lambda kind: f"data-{kind[5:]}" if kind.startswith("data_") else kind),
    ),
    *(
        defect(f"fields-of-chunks-{name}", "client", sentence, "stream.malformed R36", seed)
        for name, sentence, seed in (
            ("in-snake-case", "Fields of chunks in snake case are read.", fields(snake_case)),
            ("that-are-numbers", "An id or a delta that is a number is read as its digits.", fields(text_of_number)),
            ("that-are-null", "A delta or an error text that is null is an empty text.", fields(text_of_null)),
            ("that-are-flags-as-texts", "A flag that is a text is read as what it says.", read_objects(flags_read)),
        )
    ),
)
