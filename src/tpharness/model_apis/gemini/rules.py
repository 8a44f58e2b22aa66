"""What the Gemini API accepts as `contents`: rules G1 to G9. Fields may be spelt as in JSON or as in the Python SDK."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from tpharness.findings import Finding, Kind
from tpharness.model_apis.rule import ApiRule, Confidence, Hit, Options, malformed_finding
from tpharness.model_apis.shape import PayloadEntry, as_list, entries, objects, string, turns, value_of

__all__ = ["RULES", "open_payload"]

_CALL = ("function_call", "functionCall")
_RESPONSE = ("function_response", "functionResponse")
_SIGNATURE = ("thought_signature", "thoughtSignature")


def open_payload(payload: Any) -> tuple[list[PayloadEntry], list[Finding]]:
    """Return the contents, and findings about values of unknown types.

    The payload is the list of contents, or an object with `contents`.
    """
    whole = isinstance(payload, Mapping)
    contents = payload.get("contents") if whole else payload
    prefix = "/contents" if whole else ""
    found = entries(contents, prefix)
    return found, list(_check_contents(contents, found, prefix))


def _check_contents(contents: Any, found: list[PayloadEntry], prefix: str) -> Iterator[Finding]:
    if not isinstance(contents, list) or not contents:
        yield malformed_finding(prefix, "list of contents", contents)
    for entry, item in zip(found, as_list(contents), strict=True):
        parts = entry.value.get("parts")
        if not isinstance(item, Mapping):
            yield malformed_finding(entry.pointer, "content object", item)
        elif parts is not None and not isinstance(parts, list):
            yield malformed_finding(f"{entry.pointer}/parts", "list of parts", parts)
        for index, part in enumerate(as_list(parts)):
            yield from _check_part(part, f"{entry.pointer}/parts/{index}")


def _check_part(part: Any, pointer: str) -> Iterator[Finding]:
    if not isinstance(part, Mapping):
        yield malformed_finding(pointer, "part object", part)
    for names, field in ((_CALL, "args"), (_RESPONSE, "response")):
        function = value_of(part, *names)
        if function is not None and string(function, "name") is None:
            yield malformed_finding(pointer, "function with a name", function)
        inside = value_of(function, field)
        if inside is not None and not isinstance(inside, Mapping):
            yield malformed_finding(pointer, f"object as {field}", inside)


def _parts_with(entry: PayloadEntry, names: tuple[str, str]) -> list[PayloadEntry]:
    """Return the parts of a content that have one of these fields."""
    parts = objects(entry.value.get("parts"), f"{entry.pointer}/parts")
    return [part for part in parts if value_of(part.value, *names) is not None]


def _parts_of(turn: Sequence[PayloadEntry], names: tuple[str, str]) -> list[PayloadEntry]:
    return [part for entry in turn for part in _parts_with(entry, names)]


def _find_uneven_responses(contents: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """G1: the turn after calls answers all of them; calls at the end are not answered."""
    for turn, after in pairwise([*turns(contents), []]):
        calls, answers = len(_parts_of(turn, _CALL)), len(_parts_of(after, _RESPONSE))
        if calls and calls != answers:
            called = next(entry for entry in turn if _parts_with(entry, _CALL))
            yield Hit(pointer=called.pointer, got=answers, expected=calls)


def _find_misplaced_calls(contents: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """G2."""
    for entry in next(iter(turns(contents)), []):
        if _parts_with(entry, _CALL):
            yield Hit(pointer=entry.pointer, got="nothing before it", expected="user")


def _find_misplaced_responses(contents: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """G3."""
    for before, turn in pairwise([[], *turns(contents)]):
        for entry in () if _parts_of(before, _CALL) else turn:
            if _parts_with(entry, _RESPONSE):
                yield Hit(pointer=entry.pointer)


def _find_divided_turns(contents: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """G9: a call behind another content of the model, a response behind another one of the user."""
    for turn in turns(contents):
        for entry in turn[1:]:
            for names, error in ((_RESPONSE, 0), (_CALL, 1)):
                if _parts_with(entry, names):
                    yield Hit(pointer=entry.pointer, error=error)


def _find_unsigned_calls(contents: Sequence[PayloadEntry], options: Options) -> Iterator[Hit]:
    """G4: the current turn begins at the last user content that has more than responses."""
    if not options.thought_signatures:
        return
    begins = 0
    for index, entry in enumerate(contents):
        parts = as_list(entry.value.get("parts"))
        if string(entry.value, "role") == "user" and any(value_of(part, *_RESPONSE) is None for part in parts):
            begins = index
    for entry in contents[begins:]:
        calls = _parts_with(entry, _CALL)
        if calls and not value_of(calls[0].value, *_SIGNATURE):
            name = string(value_of(calls[0].value, *_CALL), "name")
            yield Hit(pointer=calls[0].pointer, ids=(name or "without a name",))


def _find_hollow_contents(contents: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """G5."""
    for index, entry in enumerate(contents):
        role, parts = entry.value.get("role"), entry.value.get("parts")
        if entry.value and role not in ("user", "model"):
            yield Hit(pointer=f"{entry.pointer}/role", error=None, got=role, expected="user or model")
        if entry.value and (parts is None or parts == []):
            yield Hit(pointer=f"{entry.pointer}/parts", got=parts, words={"where": f"contents[{index}].parts"})
        for part in objects(parts, f"{entry.pointer}/parts"):
            if all(value is None for value in part.value.values()):
                where = f"contents[{index}].parts[{part.pointer.rpartition('/')[2]}].data"
                yield Hit(pointer=part.pointer, error=1, got=dict(part.value), words={"where": where})


def _find_empty_texts(contents: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """G6: an empty text may carry a signature, which comes so from the model."""
    for entry in contents:
        for part in objects(entry.value.get("parts"), f"{entry.pointer}/parts"):
            if part.value.get("text") == "" and not value_of(part.value, *_SIGNATURE):
                yield Hit(pointer=f"{part.pointer}/text", got="")


def _find_unnamed_functions(contents: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """G7: a name that is missing is not of the API's types."""
    for index, entry in enumerate(contents):
        for names in (_CALL, _RESPONSE):
            for part in _parts_with(entry, names):
                if string(value_of(part.value, *names), "name") == "":
                    where = f"contents[{index}].parts[{part.pointer.rpartition('/')[2]}].{names[0]}.name"
                    yield Hit(pointer=part.pointer, got="", words={"where": where})


def _find_misnamed_responses(contents: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """G8: of the responses to one turn, as many have a name as calls have it; with ids, the one of the call."""
    for before, turn in pairwise(turns(contents)):
        calls = [value_of(part.value, *_CALL) for part in _parts_of(before, _CALL)]
        by_id = {string(call, "id"): string(call, "name") for call in calls if string(call, "id")}
        names = [string(call, "name") for call in calls]
        for part in _parts_of(turn, _RESPONSE) if calls else ():
            response = value_of(part.value, *_RESPONSE)
            name = string(response, "name")
            expected = by_id.get(string(response, "id"))
            if name and (name not in names if expected is None else name != expected):
                words = {"got": name, "expected": expected or ", ".join(filter(None, names))}
                yield Hit(pointer=part.pointer, got=name, expected=words["expected"], words=words)


RULES: tuple[ApiRule, ...] = (
    ApiRule(
        id="G1",
        provider="gemini",
        kind=Kind("gemini-responses-uneven"),
        errors=(
            (
                "Please ensure that the number of function response parts is equal to the number of function call "
                "parts of the function call turn."
            ),
        ),
        source="google-gemini/gemini-cli#3814, #6379 (after an interruption), TanStack/ai#894",
        confidence=Confidence.REPORTED,
        find=_find_uneven_responses,
    ),
    ApiRule(
        id="G2",
        provider="gemini",
        kind=Kind("gemini-call-misplaced"),
        errors=(
            (
                "Please ensure that function call turn comes immediately after a user turn or after a function "
                "response turn."
            ),
        ),
        source="google-gemini/gemini-cli#26486",
        confidence=Confidence.REPORTED,
        find=_find_misplaced_calls,
    ),
    ApiRule(
        id="G3",
        provider="gemini",
        kind=Kind("gemini-response-misplaced"),
        errors=("Please ensure that function response turn comes immediately after a function call turn.",),
        source="GoogleCloudPlatform/generative-ai#368",
        confidence=Confidence.REPORTED,
        find=_find_misplaced_responses,
    ),
    ApiRule(
        id="G4",
        provider="gemini",
        kind=Kind("gemini-call-unsigned"),
        errors=("Function call is missing a thought_signature in functionCall parts.",),
        source="ai.google.dev, Gemini API: thought signatures; mpfaffenberger/code_puppy#165, nanbingxyz/5ire#405",
        confidence=Confidence.DOCUMENTED,
        find=_find_unsigned_calls,
        only="Gemini 3 and later",
    ),
    ApiRule(
        id="G5",
        provider="gemini",
        kind=Kind("gemini-content-hollow"),
        errors=(
            "GenerateContentRequest.{where}: contents.parts must not be empty.",
            "GenerateContentRequest.{where}: required oneof field 'data' must have one initialized field",
        ),
        source="vercel/ai#3775, langchain-ai/langchain-google#691, google-gemini/gemini-cli#317; parts: "
        "router-for-me/CLIProxyAPI#1292; google-genai SDK, the curated history of chats: it raises or drops",
        confidence=Confidence.REPORTED,
        find=_find_hollow_contents,
    ),
    ApiRule(
        id="G6",
        provider="gemini",
        kind=Kind("gemini-text-empty"),
        errors=(
            (
                "Unable to submit request because it has an empty text parameter. Add a value to the parameter and try "
                "again."
            ),
        ),
        source="google-gemini/deprecated-generative-ai-python#697, #727 (a 400 of Vertex AI, a 200 of the Gemini API), "
        "FoundationAgents/OpenManus#876, zuisong/gemini-openai-proxy#83",
        confidence=Confidence.CONFLICTING,
        find=_find_empty_texts,
    ),
    ApiRule(
        id="G7",
        provider="gemini",
        kind=Kind("gemini-function-unnamed"),
        errors=("GenerateContentRequest.{where}: Name cannot be empty.",),
        source="router-for-me/CLIProxyAPI#2104, langflow-ai/langflow#9437, openclaw/openclaw#47857",
        confidence=Confidence.REPORTED,
        find=_find_unnamed_functions,
    ),
    ApiRule(
        id="G8",
        provider="gemini",
        kind=Kind("gemini-response-misnamed"),
        errors=('functionResponse.name "{got}" does not match functionCall.name "{expected}"',),
        source="router-for-me/CLIProxyAPI#5098, AstrBotDevs/AstrBot#9760, #9876 (a server before the API)",
        confidence=Confidence.CONFLICTING,
        find=_find_misnamed_responses,
    ),
    ApiRule(
        id="G9",
        provider="gemini",
        kind=Kind("gemini-turn-divided"),
        errors=(
            (
                "Please ensure that the number of function response parts is equal to the number of function call "
                "parts of the function call turn."
            ),
            (
                "Please ensure that function call turn comes immediately after a user turn or after a function "
                "response turn."
            ),
        ),
        source="cloudwego/eino-ext#571, docker/docker-agent#2959, epam/ai-dial-adapter-vertexai#214, "
        "router-for-me/CLIProxyAPI#4959, lobehub/lobehub#10049; against requests that were recorded with their "
        "answers: crewAIInc/crewAI (Gemini 2.5 Flash, February 2026), pydantic/pydantic-ai (Gemini 3 Flash, "
        "August 2026)",
        confidence=Confidence.CONFLICTING,
        find=_find_divided_turns,
    ),
)
