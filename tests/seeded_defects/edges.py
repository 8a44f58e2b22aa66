# mypy: disallow-untyped-calls=False
# A change takes the place of whatever it changes: what it is called with is said there.
"""Values at the edge: what is empty, very long, very small or very large, and odd keys where few look: R7, R12, R13."""

from __future__ import annotations

from tests.seeded_defects.leaks import metadata
from tests.seeded_defects.looks import keys, numbers, storing, texts, without
from tests.seeded_defects.repeats import on_document
from tests.seeded_defects.seeding import both_writers, defect
from tests.seeded_defects.values import on_part, on_response

__all__ = ["DEFECTS"]

_PLACES = ("args", "result", "event")
_CLAUSES = {
    "args": "tool.args-parsed",
    "result": "stream.tool-output tool.status-success",
    "event": "event.app-tier",
}


def is_float(number) -> bool:
    return isinstance(number, float)


def parts_kept(keep):
    """Both sides leave out the parts of responses that are not kept."""
    return on_response(lambda message: {**message, "parts": [part for part in message["parts"] if keep(part)]})


def in_field(name, change, *kinds):
    """Change a field of each part of these kinds that has it, on both sides."""
    return on_part(
        lambda part: {**part, name: change(part[name])} if part["part_kind"] in kinds and name in part else part
    )


def left_out(name, value):
    """Leave out a field that has this value, and is of the same kind, on both sides."""

    def part(one):
        held = one.get(name)
        empty = name in one and held == value and type(held) is type(value)
        return {key: item for key, item in one.items() if key != name} if empty else one

    return on_part(part)


def with_words(status, words):
    """Give a return of this status that has no words some of its own, on both sides."""
    return on_part(
        lambda one: {**one, "content": words} if (one.get("status"), one.get("content")) == (status, "") else one
    )


def users(change):
    """Change or leave out the turns of users on both sides."""
    return on_document(
        lambda turns: [
            told
            for told in (change(turn) if turn["turn_type"] == "user" else turn for turn in turns)
            if told is not None
        ]
    )


def said_by(turn):
    return [
        item
        for part in turn["parts"]
        for item in (part["content"] if isinstance(part["content"], list) else [part["content"]])
    ]


def is_blank(item) -> bool:
    return isinstance(item, str) and not item.strip()


def without_blank_items(turn):
    return {
        **turn,
        "parts": [
            {**part, "content": [item for item in part["content"] if item != ""]}
            if isinstance(part["content"], list)
            else part
            for part in turn["parts"]
        ],
    }


def no_blank_prompt(turns):
    """A prompt of blanks alone is not stored."""
    told = []
    for turn in turns:
        messages = [
            one
            for one in turn.get("messages", ())
            if one["message_type"] != "request"
            or not all(part["part_kind"] == "user-prompt" and is_blank(part["content"]) for part in one["parts"])
        ]
        told.append({**turn, "messages": messages} if "messages" in turn else turn)
    return told


_CLIENT = "turn.client-metadata thread.unknown-preserved"
_NUMBERS = (
    (
        "smallest-become-nought",
        "Numbers near nought become nought.",
        lambda n: 0 if is_float(n) and abs(n) < 1e-300 else n,
    ),
    (
        "largest-become-null",
        "Numbers near the largest become null.",
        lambda n: None if is_float(n) and abs(n) > 1e308 else n,
    ),
    (
        "beyond-21-digits-as-texts",
        "Numbers of more than 21 digits become texts.",
        lambda n: str(n) if abs(n) >= 1e21 else n,
    ),
    ("to-seventeen-places", "Numbers have seventeen decimal places.", lambda n: round(n, 17) if is_float(n) else n),
)
_LONGEST = (65_535, 30_000)
_LOST_KEYS = (
    ("prototypes-lost", "without those that objects of JavaScript have", without("__proto__", "constructor")),
    ("empty-lost", "without the empty ones", without("")),
)
_KEYS = (
    *_LOST_KEYS,
    ("in-small-letters", "in small letters", keys(str.lower)),
    ("without-dots", "with underscores for dots", keys(lambda key: key.replace(".", "_"))),
    ("trimmed", "without the blanks around them", keys(str.strip)),
)
_FIELDS = (
    ("metadata-of-returns", "metadata of returns", "thread.unknown-preserved", "metadata", ("tool-return",)),
    ("custom-parts", "parts of kinds of their own", "part.custom-kind", "provider_metadata", ("custom:mock.thing",)),
    ("retry-prompts", "retry prompts", "tool.retry-prompt-content", "content", ("retry-prompt",)),
    (
        "results-of-the-provider",
        "results of the provider",
        "tool.provider-executed",
        "content",
        ("builtin-tool-return",),
    ),
    ("arguments-of-the-provider", "calls of the provider", "tool.provider-executed", "args", ("builtin-tool-call",)),
)

DEFECTS = (
    *(
        defect(
            f"numbers-{name}-in-{place}",
            "both",
            f"In {place}: {sentence[0].lower()}{sentence[1:]}",
            _CLAUSES[place],
            seed,
        )
        for place in _PLACES
        for name, sentence, change in _NUMBERS
        for seed in (both_writers(storing(numbers(change), place)),)
    ),
    *(
        defect(
            f"texts-cut-to-{most}-in-{place}",
            "both",
            f"Texts in {place} are cut after {most} characters.",
            _CLAUSES[place],
            both_writers(storing(texts(lambda text, most=most: text[:most]), place)),
        )
        for place in _PLACES
        for most in _LONGEST
    ),
    *(
        defect(
            f"keys-{name}-in-{place}",
            "both",
            f"Keys in {where} are stored {words}.",
            breaks,
            in_field(field, change, *kinds),
        )
        for place, where, breaks, field, kinds in _FIELDS
        for name, words, change in _KEYS
    ),
    *(
        defect(
            f"keys-{name}-in-client-metadata",
            "both",
            f"Keys in the client's metadata are stored {words}.",
            _CLIENT,
            metadata(change),
        )
        for name, words, change in _LOST_KEYS
    ),
    *(
        defect(f"{name}-part-left-out", "both", sentence, breaks, parts_kept(keep))
        for name, sentence, breaks, keep in (
            (
                "empty-thinking",
                "A thought without a word is left out.",
                "stream.reasoning R13",
                lambda one: one["part_kind"] != "thinking" or one["content"] != "" or "signature" in one,
            ),
            (
                "blank-thinking",
                "A thought of blanks alone is left out.",
                "stream.reasoning R13",
                lambda one: one["part_kind"] != "thinking" or not one["content"] or not is_blank(one["content"]),
            ),
            (
                "empty-file",
                "A file without a byte is left out.",
                "part.file",
                lambda one: one["part_kind"] != "file" or one["content"].get("data") != "",
            ),
        )
    ),
    defect(
        "blank-arguments-are-an-empty-object",
        "both",
        "Arguments of blanks alone are an empty object.",
        "tool.args-parsed R12",
        in_field("args", lambda args: {} if is_blank(args) else args, "tool-call"),
    ),
    *(
        defect(f"{name}-without-words-has-some", "both", sentence, breaks, with_words(status, words))
        for name, sentence, breaks, status, words in (
            (
                "failure",
                "A failure or a denial without words says that it failed.",
                "tool.status-error tool.denied",
                "error",
                "failed",
            ),
            (
                "refusal",
                "A refusal without words says so.",
                "tool.status-validation-error",
                "validation_error",
                "invalid",
            ),
        )
    ),
    defect(
        "retry-prompt-without-words-has-some",
        "both",
        "A retry prompt without words asks to try again.",
        "tool.retry-prompt-content",
        in_field("content", lambda content: content or "Try again.", "retry-prompt"),
    ),
    *(
        defect(
            f"{name}-metadata-of-a-return-left-out",
            "both",
            f"Metadata of a return that are {words} are left out.",
            "tool.status-success",
            left_out("metadata", value),
        )
        for name, words, value in (
            ("empty", "an empty object", {}),
            ("wordless", "an empty text", ""),
            ("false", "false", False),
        )
    ),
    *(
        defect(f"{name}-of-the-user-left-out", "both", sentence, breaks, seed)
        for name, sentence, breaks, seed in (
            (
                "empty-turn",
                "A turn of the user without a word is left out.",
                "turn.user-input-once",
                users(lambda turn: None if all(item == "" for item in said_by(turn)) else turn),
            ),
            (
                "blank-turn",
                "A turn of the user of blanks alone is left out.",
                "turn.user-input-once",
                users(lambda turn: None if said_by(turn) == [" "] else turn),
            ),
            (
                "empty-items",
                "Empty texts in a list of the user are left out.",
                "part.multimodal",
                users(without_blank_items),
            ),
        )
    ),
    defect(
        "prompt-of-blanks-left-out",
        "both",
        "A prompt inside a run that says nothing but blanks is not stored.",
        "message.steering R52",
        on_document(no_blank_prompt),
    ),
    defect(
        "client-metadata-without-keys-left-out",
        "both",
        "Metadata of the client without a key are left out.",
        "turn.client-metadata",
        users(lambda turn: {k: v for k, v in turn.items() if (k, v) != ("client_metadata", {})}),
    ),
)
