# mypy: disallow-untyped-calls=False
# A change takes the place of whatever it changes: what it is called with is said there.
"""What stores, parsers and screens make of what was said: R7, R12, R13, R22, R36, R38."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from msgspec.structs import replace
from tests.seeded_defects.calls import read_args
from tests.seeded_defects.seeding import both_writers, defect

from tpharness.facts import join_text
from tpharness.journal import JournalWriter

__all__ = ["DEFECTS"]

_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufe0f\ufffe\uffff]")
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")
_PLACES = ("text", "thinking", "args", "result", "event", "user")
_CLAUSES = {
    "text": "part.text-as-is",
    "thinking": "stream.reasoning",
    "args": "tool.args-parsed",
    "result": "tool.status-success",
    "event": "event.app-tier",
    "user": "turn.user-input-once",
}
_WHERE = {
    "text": "In texts of the model",
    "thinking": "In thoughts of the model",
    "args": "In arguments",
    "result": "In results",
    "event": "In the data of events",
    "user": "In what the user says",
}
_SAYS = " ".join(_CLAUSES.values())
_VALUES = " ".join(_CLAUSES[place] for place in ("args", "result", "event"))
_RETURNS = "tool.status-success stream.tool-output"


def storing(change: Callable[[Any], Any], *places: str) -> type[JournalWriter]:
    """Return a writer that stores what is said in these places changed, by default in all."""
    wanted = places or _PLACES

    class Changing(JournalWriter):
        def close_part(self, part, **fields):
            if part.kind in wanted and part.text_field == "content":
                part.pieces[:], part.joined = [change(join_text(part.pieces))], 0
            if part.kind == "tool-call" and "args" in wanted and "args" in fields:
                fields["args"] = change(fields["args"])
            super().close_part(part, **fields)

        def add_return(self, call_id, kind, fields, at):
            if "result" in wanted and fields.get("status") == "success" and "content" in fields:
                fields = {**fields, "content": change(fields["content"])}
            super().add_return(call_id, kind, fields, at)

        def add_event(self, event):
            super().add_event(replace(event, data=change(event.data)) if "event" in wanted else event)

        def add_user_turn(self, turn):
            parts = tuple(
                {**part, "content": change(part["content"])} if isinstance(part.get("content"), str) else part
                for part in turn.parts
            )
            super().add_user_turn(replace(turn, parts=parts) if "user" in wanted else turn)

    return Changing


def each(value, leaf=lambda one: one, obj=lambda one: one, arr=lambda one: one):
    """Change the leaves, the objects and the lists of a JSON value, the innermost first."""
    if isinstance(value, dict):
        return obj({key: each(item, leaf, obj, arr) for key, item in value.items()})
    if isinstance(value, list | tuple):
        return arr([each(item, leaf, obj, arr) for item in value])
    return leaf(value)


def texts(change):
    return lambda value: each(value, leaf=lambda one: change(one) if isinstance(one, str) else one)


def numbers(change):
    return lambda value: each(value, leaf=lambda one: change(one) if type(one) in (int, float) else one)


def objects(change):
    return lambda value: each(value, obj=change)


def keys(change):
    return objects(lambda found: {change(key): item for key, item in found.items()})


def lists(change):
    return lambda value: each(value, arr=change)


def without(*names):
    return objects(lambda found: {key: item for key, item in found.items() if key not in names})


def wrapped_32(number):
    return number if isinstance(number, float) else (number + 2**31) % 2**32 - 2**31


def as_list(found):
    return list(found.values()) if found and list(found) == [str(i) for i in range(len(found))] else found


def once(items):
    return list({json.dumps(item, sort_keys=True): item for item in items}.values())


def unwrapped(value):
    """Return what a result holds that looks like the envelope of another protocol."""
    if isinstance(value, dict) and value.get("type") in ("text", "json"):
        return value.get(value["type"], value.get("value", value))
    if isinstance(value, dict) and len(value) == 1:
        (name, held) = next(iter(value.items()))
        return held if name in ("result", "output", "value", "content", "data", "text") else value
    return value


def args_unwrapped(value):
    if isinstance(value, dict) and len(value) == 1:
        (name, held) = next(iter(value.items()))
        return held if name in ("input", "args", "arguments", "kwargs", "parameters", "__arg1", "value") else value
    return value


def content_blocks_joined(value):
    blocks = isinstance(value, list) and bool(value) and all(isinstance(one, dict) and "text" in one for one in value)
    return "".join(one["text"] for one in value) if blocks else value


def failing(tells: Callable[[Any], bool]) -> type[JournalWriter]:
    """Return a writer for which a result that tells of an error is a failure."""

    class Failing(JournalWriter):
        def add_return(self, call_id, kind, fields, at):
            if fields.get("status") == "success" and tells(fields.get("content")):
                fields = {**fields, "status": "error"}
            super().add_return(call_id, kind, fields, at)

    return Failing


def says_error(value):
    return isinstance(value, dict) and bool(
        value.get("error") or value.get("isError") or value.get("status") == "error" or value.get("success") is False
    )


def empty_is_null(value):
    return None if value in (False, 0, [], {}) and value != "" else value


def refused(word: str):
    """Refuse a number that is none, which Python reads."""
    raise ValueError(word)


def lenient(mend: Callable[[str], str]):
    """Let both sides mend arguments that are not JSON, if that makes them JSON."""

    def make(was):
        def read(held):
            value = was(held)
            if not isinstance(held, str) or value != held:
                return value
            try:
                return json.loads(mend(held), parse_constant=refused)
            except ValueError:
                return value

        return read

    return read_args(make)


def parsed_again(was):
    def read(held):
        value = was(held)
        return was(value) if isinstance(held, str) and isinstance(value, str) else value

    return read


DEFECTS = (
    defect(
        "invisible-characters-stripped",
        "both",
        "Characters that nobody sees are taken out: zero-width ones, soft hyphens, marks of direction.",
        _SAYS,
        both_writers(storing(texts(lambda text: _INVISIBLE.sub("", text)))),
    ),
    *(
        defect(
            f"emoji-become-question-marks-in-{place}",
            "both",
            f"{_WHERE[place]} an emoji becomes a question mark, since the column has three bytes for a character.",
            _CLAUSES[place],
            both_writers(storing(texts(lambda text: _ASTRAL.sub("?", text)), place)),
        )
        for place in _PLACES
    ),
    *(
        defect(
            f"blanks-collapsed-in-{place}",
            "both",
            f"{_WHERE[place]} several blanks, tabs and line ends become one blank.",
            _CLAUSES[place],
            both_writers(storing(texts(lambda text: re.sub(r"\s+", " ", text)), place)),
        )
        for place in _PLACES
    ),
    defect(
        "tags-of-thoughts-removed",
        "both",
        "What stands between <think> and </think> is taken out wherever it comes.",
        _SAYS,
        both_writers(storing(texts(lambda text: re.sub(r"<think>.*?</think>", "", text)))),
    ),
    defect(
        "fences-removed",
        "both",
        "A text that is one block of code loses the fence around it.",
        _SAYS,
        both_writers(storing(texts(lambda text: re.sub(r"\A```\w*\n(.*?)\n```\Z", r"\1", text, flags=re.DOTALL)))),
    ),
    defect(
        "placeholders-filled-in",
        "both",
        "Braces in a text are taken for placeholders of a template.",
        _SAYS,
        both_writers(storing(texts(lambda text: re.sub(r"\$?\{\w*\}|%s", "", text)))),
    ),
    defect(
        "escapes-of-addresses-decoded",
        "both",
        "A percent sign with two digits is read as the character that it stands for in an address.",
        _SAYS,
        both_writers(storing(texts(unquote))),
    ),
    defect(
        "entities-of-markup-decoded",
        "both",
        "An entity of HTML becomes its character.",
        _SAYS,
        both_writers(storing(texts(html.unescape))),
    ),
    defect(
        "secrets-masked-in-texts",
        "both",
        "What looks like an address or a key is masked before it is stored.",
        _SAYS,
        both_writers(storing(texts(lambda text: re.sub(r"[\w.]+@[\w.]+|\bsk-\w+", "***", text)))),
    ),
    *(
        defect(
            f"word-null-emptied-in-{place}",
            "both",
            f"{_WHERE[place]} the word null is stored as nothing.",
            _CLAUSES[place],
            both_writers(storing(texts(lambda text: "" if text in ("null", "undefined") else text), place)),
        )
        for place in ("text", "args", "result", "user")
    ),
    defect(
        "files-in-texts-taken-out",
        "both",
        "A text that is the data URL of an image is replaced.",
        _SAYS,
        both_writers(storing(texts(lambda text: "[image]" if text.startswith("data:image/") else text))),
    ),
    *(
        defect(
            f"{name}-in-{place}",
            "both",
            f"{_WHERE[place]} {sentence[0].lower()}{sentence[1:]}",
            _CLAUSES[place],
            both_writers(storing(change, place)),
        )
        for place in ("args", "result", "event")
        for name, sentence, change in (
            (
                "keys-of-prototypes-lost",
                "Keys that every object of the language has are left out.",
                without("__proto__", "constructor", "toString"),
            ),
            (
                "keys-with-dots-renamed",
                "A dot in a key becomes an underscore, since the database reads a path.",
                keys(lambda key: key.replace(".", "_")),
            ),
            (
                "keys-in-camel-case",
                "Keys of two words are written in camel case.",
                keys(lambda key: re.sub(r"(?<=[a-z])_([a-z])", lambda m: m[1].upper(), key)),
            ),
            (
                "keys-in-snake-case",
                "Keys of two words are written with an underscore.",
                keys(lambda key: re.sub(r"(?<=[a-z])([A-Z])", lambda m: f"_{m[1].lower()}", key)),
            ),
            ("keys-in-lower-case", "Keys are written in small letters.", keys(str.lower)),
            ("keys-trimmed", "Blanks around a key are cut off.", keys(str.strip)),
            (
                "objects-of-numbers-become-lists",
                "An object whose keys count from nought becomes a list.",
                objects(as_list),
            ),
            (
                "passwords-masked",
                "The value of a key that is called password is masked.",
                objects(lambda found: {**found, **({"password": "***"} if "password" in found else {})}),
            ),
            (
                "keys-of-parts-lost",
                "Keys that parts and messages have are taken for fields of those and left out.",
                without("type", "id", "role", "kind", "name", "timestamp", "metadata", "tool_call_id", "part_kind"),
            ),
            (
                "nulls-left-out",
                "Keys whose value is null are left out.",
                objects(lambda found: {k: v for k, v in found.items() if v is not None}),
            ),
            (
                "empty-values-left-out",
                "Keys whose value is empty, nought or false are left out.",
                objects(lambda found: {k: v for k, v in found.items() if v or v is None}),
            ),
            (
                "nulls-in-lists-left-out",
                "Items of a list that are null are left out.",
                lists(lambda items: [one for one in items if one is not None]),
            ),
            ("lists-as-sets", "Items of a list that are equal are stored once.", lists(once)),
            (
                "lists-of-one-unwrapped",
                "A list of one item is stored as that item.",
                lists(lambda items: items[0] if len(items) == 1 else items),
            ),
            ("long-lists-cut", "A list is cut after its first hundred items.", lists(lambda items: items[:100])),
            ("numbers-of-32-bits", "Whole numbers are stored in 32 bits.", numbers(wrapped_32)),
            (
                "numbers-to-six-places",
                "Numbers are stored with six decimal places.",
                numbers(lambda number: round(number, 6)),
            ),
            (
                "numbers-to-fifteen-digits",
                "Numbers are stored with fifteen digits.",
                numbers(lambda number: float(f"{number:.15g}")),
            ),
            (
                "texts-of-digits-become-numbers",
                "A text of digits is stored as the number.",
                texts(lambda text: int(text) if re.fullmatch("[0-9]{1,9}", text) else text),
            ),
            (
                "times-in-texts-rewritten",
                "A text that is a time is stored as the library writes times.",
                texts(lambda text: f"{text[:19]}Z" if re.fullmatch(r"\d{4}-\d\d-\d\dT.*", text) else text),
            ),
        )
    ),
    defect(
        "results-unwrapped",
        "both",
        "A result that looks like the envelope of another protocol is stored without it.",
        _RETURNS,
        both_writers(storing(unwrapped, "result")),
    ),
    defect(
        "blocks-of-a-result-joined",
        "both",
        "A result that is a list of texts in the form of another protocol is stored as their text.",
        _RETURNS,
        both_writers(storing(content_blocks_joined, "result")),
    ),
    defect(
        "empty-results-stored-as-null",
        "both",
        "A tool that returned false, nought, an empty list or an empty object has returned null.",
        _RETURNS,
        both_writers(storing(empty_is_null, "result")),
    ),
    defect(
        "null-stored-as-empty-text",
        "both",
        "A tool that returned null has returned an empty text.",
        "tool.status-success",
        both_writers(storing(lambda value: "" if value is None else value, "result")),
    ),
    defect(
        "success-that-tells-of-an-error-is-a-failure",
        "both",
        "A result that has an error among its keys is stored as failed.",
        _RETURNS,
        both_writers(failing(says_error)),
    ),
    defect(
        "text-that-begins-with-error-is-a-failure",
        "both",
        "A result that begins with the word error is stored as failed.",
        _RETURNS,
        both_writers(failing(lambda value: isinstance(value, str) and value.lower().startswith("error"))),
    ),
    defect(
        "false-is-a-failure",
        "both",
        "A tool that returned false has failed.",
        _RETURNS,
        both_writers(failing(lambda value: value is False)),
    ),
    defect(
        "arguments-unwrapped",
        "both",
        "Arguments with one key that is called as the arguments are elsewhere are stored without it.",
        "tool.args-parsed",
        both_writers(storing(args_unwrapped, "args")),
    ),
    defect(
        "arguments-parsed-twice",
        "both",
        "Arguments that are a text with JSON in it are parsed twice.",
        "tool.args-parsed R12",
        read_args(parsed_again),
    ),
    *(
        defect(f"arguments-mended-{name}", "both", sentence, "tool.args-parsed R12", lenient(mend))
        for name, sentence, mend in (
            ("after-a-comma", "A comma before a closing brace is taken out.", lambda text: text.replace(",}", "}")),
            (
                "in-their-quotes",
                "Arguments in the notation of Python are read.",
                lambda text: text.replace("'", '"').replace("True", "true"),
            ),
            (
                "in-their-keys",
                "Keys without quotes are read.",
                lambda text: re.sub(r"([{,]\s*)(\w+):", r'\1"\2":', text),
            ),
            ("at-their-end", "A brace that is missing at the end is added.", lambda text: f"{text}}}"),
            (
                "in-a-fence",
                "Arguments in a block of code are read.",
                lambda text: text.removeprefix("```json\n").removesuffix("\n```"),
            ),
            ("after-words", "Words before the arguments are left out.", lambda text: text[text.find("{") :]),
            (
                "before-others",
                "Of several objects the first one is read.",
                lambda text: json.dumps(json.JSONDecoder().raw_decode(text)[0]),
            ),
            ("without-a-number", "A number that is none is read as null.", lambda text: text.replace("NaN", "null")),
        )
    ),
)
