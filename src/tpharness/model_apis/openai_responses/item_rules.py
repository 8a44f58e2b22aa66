"""What OpenAI's Responses API accepts of items: their reasoning, ids, content, repetition and fields (R6–R14)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tpharness.findings import Kind
from tpharness.model_apis.openai_responses.items import (
    REASONING,
    REFERENCE,
    is_call,
    is_output,
    is_tool_output,
    item_type,
)
from tpharness.model_apis.rule import ApiRule, Confidence, Hit, Options
from tpharness.model_apis.shape import PayloadEntry, as_list, is_object_text, string

__all__ = ["RULES"]

_PREFIXES = {"function_call": "fc", "message": "msg", REASONING: "rs"}
_SAID = ("output_text", "refusal")
_CALL_ID_LENGTH = 64
_WITH_ID = ("web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "computer_call")
_SHOULD_BE_INPUT = {"text": "input_text", "image_url": "input_image", "file": "input_file"}


def _find_items_without_reasoning(items: Sequence[PayloadEntry], options: Options) -> Iterator[Hit]:
    """R6: a response is what is between two items of input; what a reference names is not known.

    A model that reasons often answers without reasoning once its calls have returned, so that a message without it says
    nothing unless the caller knows that the model reasoned.
    """
    reasons = options.reasoning
    if reasons is None:
        reasons = any(item_type(entry.value) == REASONING for entry in items)
    reasoned = not reasons or options.continued
    for entry in items:
        kind, item_id = item_type(entry.value), string(entry.value, "id")
        if not is_output(entry.value):
            reasoned = not reasons
        elif kind in (REASONING, REFERENCE):
            reasoned = reasoned or item_id is not None
        elif not reasoned and item_id and (kind != "message" or options.reasoning):
            yield Hit(pointer=entry.pointer, ids=(item_id,), words={"type": kind or ""})


def _find_wrong_ids(items: Sequence[PayloadEntry], options: Options) -> Iterator[Hit]:
    """R7."""
    if not options.openai_ids:
        return
    for index, entry in enumerate(items):
        item_id, prefix = string(entry.value, "id"), _PREFIXES.get(item_type(entry.value) or "")
        if item_id is None or (prefix == "msg" and entry.value.get("role") != "assistant"):
            continue
        words = {"where": f"input[{index}].id", "prefix": prefix or ""}
        if re.fullmatch(r"[A-Za-z0-9_-]+", item_id) is None:
            yield Hit(pointer=f"{entry.pointer}/id", ids=(item_id,), error=1, words=words)
        elif prefix and not item_id.startswith(prefix):
            yield Hit(pointer=f"{entry.pointer}/id", ids=(item_id,), words=words)


def _find_wrong_content(items: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """R8: what the model said is output, what it was sent is input; Chat Completions has other names for both."""
    for entry in items:
        field = "output" if is_tool_output(entry.value) else "content"
        if field == "content" and item_type(entry.value) != "message":
            continue
        said = entry.value.get("role") == "assistant"
        for index, part in enumerate(as_list(entry.value.get(field))):
            kind = string(part, "type")
            pointer = f"{entry.pointer}/{field}/{index}/type"
            if said and kind is not None and kind not in _SAID:
                yield Hit(pointer=pointer, got=kind, expected=" or ".join(_SAID), words={"type": kind})
            elif not said and kind is not None and (kind in _SHOULD_BE_INPUT or kind == field + "_text"):
                expected = _SHOULD_BE_INPUT.get(kind, "input_text")
                yield Hit(pointer=pointer, error=1, got=kind, expected=expected, words={"type": kind})


def _find_unlinked_reasoning(items: Sequence[PayloadEntry], options: Options) -> Iterator[Hit]:
    """R9: reasoning that stands for what the API has stored, before a message that does not; a call has its call_id."""
    if not options.store or not options.openai_ids:
        return
    waiting: PayloadEntry | None = None
    for entry in items:
        if item_type(entry.value) == REASONING:
            stored = string(entry.value, "id") and not entry.value.get("encrypted_content")
            waiting = entry if stored else None
            continue
        said = item_type(entry.value) == "message" and is_output(entry.value)
        if waiting is not None and said and string(entry.value, "id") is None:
            yield Hit(pointer=waiting.pointer, ids=(string(waiting.value, "id") or "",))
        waiting = None


def _find_repeated_items(items: Sequence[PayloadEntry], options: Options) -> Iterator[Hit]:
    """R10: whole, or as a reference to what is there."""
    seen: set[str] = set()
    for entry in items if options.openai_ids else ():
        item_id = string(entry.value, "id")
        if item_id in seen and item_id:  # R7 is about one that is empty
            yield Hit(pointer=entry.pointer, ids=(item_id,))
        seen.add(item_id or "")


def _find_repeated_calls(items: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """R11: of calls among themselves, and of outputs."""
    called: set[str] = set()
    answered: set[str] = set()
    for entry in items:
        call, output = string(entry.value, "call_id"), is_tool_output(entry.value)
        if call is None or not (output or is_call(entry.value)):
            continue
        seen = answered if output else called
        if call in seen:
            yield Hit(pointer=f"{entry.pointer}/call_id", ids=(call,), error=0 if output else None)
        seen.add(call)


def _find_untyped_arguments(items: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """R12: the input of a custom tool is any text."""
    for index, entry in enumerate(items):
        arguments = string(entry.value, "arguments")
        if item_type(entry.value) == "function_call" and arguments is not None and not is_object_text(arguments):
            words = {"where": f"input[{index}].arguments"}
            yield Hit(pointer=f"{entry.pointer}/arguments", got=arguments, expected="a JSON object", words=words)


def _find_overlong_ids(items: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """R13: of calls; their outputs have the same."""
    for index, entry in enumerate(items):
        call_id = string(entry.value, "call_id") or ""
        if is_call(entry.value) and len(call_id) > _CALL_ID_LENGTH:
            words = {"where": f"input[{index}].call_id", "length": str(len(call_id))}
            yield Hit(pointer=f"{entry.pointer}/call_id", ids=(call_id,), words=words)


def _find_other_fields(items: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """R14: what a client has left out of an item, or has read of one and sends back."""
    for index, entry in enumerate(items):
        kind = item_type(entry.value)
        if kind in _WITH_ID and entry.value.get("id") is None:
            yield Hit(pointer=entry.pointer, words={"where": f"input[{index}].id"})
        if kind != REASONING:
            continue
        if not isinstance(entry.value.get("summary"), list):
            yield Hit(pointer=entry.pointer, words={"where": f"input[{index}].summary"}, expected="a list")
        if "status" in entry.value and entry.value["status"] is None:
            yield Hit(pointer=f"{entry.pointer}/status", error=1, words={"where": f"input[{index}].status"})


RULES: tuple[ApiRule, ...] = (
    ApiRule(
        id="R6",
        provider="openai-responses",
        kind=Kind("responses-item-without-reasoning"),
        errors=("Item '{ids}' of type '{type}' was provided without its required 'reasoning' item: ",),
        source="TanStack/ai#1212 (only what the model made with reasoning), mastra-ai/mastra#8738, "
        "continuedev/continue#12620; reasoning without its id: "
        "omnigent-ai/omnigent#5066; without ids: vercel/workflow#880, laravel/ai#1052",
        confidence=Confidence.REPORTED,
        find=_find_items_without_reasoning,
        only="conversations in which the model reasons, and items that it made with reasoning",
    ),
    ApiRule(
        id="R7",
        provider="openai-responses",
        kind=Kind("responses-id-malformed"),
        errors=(
            "Invalid '{where}': '{ids}'. Expected an ID that begins with '{prefix}'.",
            (
                "Invalid '{where}': '{ids}'. Expected an ID that contains letters, numbers, underscores, or dashes, "
                "but this value contained additional characters."
            ),
        ),
        source="nodetool-ai/nodetool#4252, Wei-Shaw/sub2api#3785, openai/codex#33176, langchain-ai/langchain#39113, "
        "langchain-ai/langchainjs#11044",
        confidence=Confidence.REPORTED,
        find=_find_wrong_ids,
    ),
    ApiRule(
        id="R8",
        provider="openai-responses",
        kind=Kind("responses-content-mistyped"),
        errors=(
            "Invalid value: '{type}'. Supported values are: 'output_text' and 'refusal'.",
            "Invalid value: '{type}'. Supported values are: 'input_text', 'input_image',",
        ),
        source="openai/openai-go#485, google/adk-go#1197, stanfordnlp/dspy#9652; names of Chat Completions: "
        "MervinPraison/PraisonAI#3934; in outputs: linanwx/nagobot#27",
        confidence=Confidence.REPORTED,
        find=_find_wrong_content,
    ),
    ApiRule(
        id="R9",
        provider="openai-responses",
        kind=Kind("responses-reasoning-unlinked"),
        errors=("Item '{ids}' of type 'reasoning' was provided without its required following item.",),
        source="openai/openai-node#1567, OpenHands/software-agent-sdk#1754",
        confidence=Confidence.REPORTED,
        find=_find_unlinked_reasoning,
        only="requests with store=true",
    ),
    ApiRule(
        id="R10",
        provider="openai-responses",
        kind=Kind("responses-item-twice"),
        errors=("Duplicate item found with id {ids}. Remove duplicate items from your input and try again.",),
        source="vercel/ai#7883, vercel/ai#13383 (references too), openai/openai-agents-python#1789, "
        "earendil-works/pi#5151",
        confidence=Confidence.REPORTED,
        find=_find_repeated_items,
    ),
    ApiRule(
        id="R11",
        provider="openai-responses",
        kind=Kind("responses-call-id-twice"),
        errors=(
            (
                "Duplicate function_call_output for call_id '{ids}'. Each function_call must have exactly one matching "
                "function_call_output"
            ),
        ),
        source="NousResearch/hermes-agent#102629, earendil-works/pi#9057 (servers of the same API), against "
        "openai/gpt-oss#308 (the later call takes the outputs)",
        confidence=Confidence.CONFLICTING,
        find=_find_repeated_calls,
    ),
    ApiRule(
        id="R12",
        provider="openai-responses",
        kind=Kind("responses-arguments-not-object"),
        errors=("Invalid request: {where}: arguments must be a valid JSON object string",),
        source="local-inference-lab/vllm#684, vllm-project/vllm#55495 (servers of the same API); the words: "
        "justrach/codegraff#752",
        confidence=Confidence.CONFLICTING,
        find=_find_untyped_arguments,
    ),
    ApiRule(
        id="R13",
        provider="openai-responses",
        kind=Kind("responses-call-id-too-long"),
        errors=(
            (
                "Invalid '{where}': string too long. Expected a string with maximum length 64, but got a string with "
                "length {length} instead."
            ),
        ),
        source="AnswerDotAI/fastllm#45, decolua/9router#393, orchidfiles/ungate#26, #41 (only the length is checked), "
        "fitchmultz/pi-cursor-sdk#237 (64 taken, 65 refused)",
        confidence=Confidence.REPORTED,
        find=_find_overlong_ids,
    ),
    ApiRule(
        id="R14",
        provider="openai-responses",
        kind=Kind("responses-field-missing"),
        errors=("Missing required parameter: '{where}'.", "Unknown parameter: '{where}'."),
        source="openai/codex#6926, #6725 (November 2025, a search without its id); newo-ether/Agora#141 (reasoning "
        "without its summary, at Meta's server); 1jehuang/jcode#1028, BerriAI/litellm#13420 (a status that is null); "
        "openai SDK, types of items",
        confidence=Confidence.REPORTED,
        find=_find_other_fields,
    ),
)
