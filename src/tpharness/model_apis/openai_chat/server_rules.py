"""What some servers of the Chat Completions API refuse, and OpenAI's does not: rules C9 to C15."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from tpharness.findings import Kind
from tpharness.model_apis.openai_chat.servers import SHORT_ID, server_named
from tpharness.model_apis.rule import ApiRule, Confidence, Hit, Options
from tpharness.model_apis.shape import PayloadEntry, as_list, is_object_text, objects, string, value_of

__all__ = ["RULES"]

_THINKING = ("reasoning_content", "reasoning", "reasoning_details")
_WORDS_OF_DEEPSEEK = 1
_WORDS_OF_GROQ = {"reasoning_content": 0, "reasoning": 1}
_WORDS_OF_CEREBRAS = 2


def _find_untyped_arguments(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """C9: half arguments, two objects in a row, an object encoded twice; the input of a custom tool is any text."""
    for index, entry in enumerate(messages):
        for number, call in enumerate(objects(entry.value.get("tool_calls"), f"{entry.pointer}/tool_calls")):
            arguments = string(value_of(call.value, "function"), "arguments")
            if arguments is not None and not is_object_text(arguments):
                words = {"where": f"messages.{index}.tool_calls.{number}.function.arguments"}
                pointer = f"{call.pointer}/function/arguments"
                yield Hit(pointer=pointer, got=arguments, expected="a JSON object", words=words)


def _find_users_after_tools(messages: Sequence[PayloadEntry], options: Options) -> Iterator[Hit]:
    """C10."""
    if not server_named(options.server).ordered:
        return
    for before, entry in pairwise(messages):
        if before.value.get("role") == "tool" and entry.value.get("role") in ("user", "system"):
            role = str(entry.value.get("role"))
            yield Hit(pointer=f"{entry.pointer}/role", got=role, expected="assistant", words={"role": role})


def _find_long_ids(messages: Sequence[PayloadEntry], options: Options) -> Iterator[Hit]:
    """C11: of calls; their results have the same."""
    if not server_named(options.server).short_ids:
        return
    for entry in messages:
        for call in objects(entry.value.get("tool_calls"), f"{entry.pointer}/tool_calls"):
            call_id = string(call.value, "id")
            if call_id is not None and SHORT_ID.fullmatch(call_id) is None:
                yield Hit(pointer=f"{call.pointer}/id", ids=(call_id,))


def _find_calls_without_thinking(messages: Sequence[PayloadEntry], options: Options) -> Iterator[Hit]:
    """C12: an empty text is thinking enough, as far as a payload shows."""
    server = server_named(options.server)
    if not server.thinks or options.thinking is False:
        return
    error = _WORDS_OF_DEEPSEEK if server.name == "deepseek" else 0
    for index, entry in enumerate(messages):
        thinking = value_of(entry.value, *_THINKING)
        if entry.value.get("role") == "assistant" and as_list(entry.value.get("tool_calls")) and thinking is None:
            yield Hit(pointer=entry.pointer, error=error, words={"index": str(index)})


def _find_thinking(messages: Sequence[PayloadEntry], options: Options) -> Iterator[Hit]:
    """C13: `reasoning` is refused by models that do not reason, also if it is empty; Cerebras takes it."""
    server = server_named(options.server)
    if not server.refuses_thinking:
        return
    errors = {"reasoning_content": _WORDS_OF_CEREBRAS} if server.name == "cerebras" else _WORDS_OF_GROQ
    for index, entry in enumerate(messages):
        for name, error in errors.items():
            if entry.value.get("role") == "assistant" and name in entry.value:
                yield Hit(pointer=f"{entry.pointer}/{name}", error=error, words={"index": str(index)})


def _find_late_systems(messages: Sequence[PayloadEntry], options: Options) -> Iterator[Hit]:
    """C14: after a tool message C10 finds it."""
    if not server_named(options.server).ordered:
        return
    for before, entry in pairwise(messages):
        if before.value.get("role") == "assistant" and entry.value.get("role") == "system":
            yield Hit(pointer=f"{entry.pointer}/role", got="system", expected="user")


def _find_last_assistant(messages: Sequence[PayloadEntry], options: Options) -> Iterator[Hit]:
    """C15: `prefix` says that the model is to continue the message."""
    if not server_named(options.server).ordered or not messages:
        return
    last = messages[-1]
    if last.value.get("role") == "assistant" and last.value.get("prefix") is not True:
        yield Hit(pointer=f"{last.pointer}/role", got="assistant", expected="user or tool")


RULES: tuple[ApiRule, ...] = (
    ApiRule(
        id="C9",
        provider="openai-chat",
        kind=Kind("chat-arguments-not-object"),
        errors=("invalid_prompt: Invalid request: {where}: arguments must be a valid JSON object string",),
        source="justrach/codegraff#752, vllm-project/vllm#43995, #48922 (since then vLLM takes them), "
        "local-inference-lab/vllm#684, OpenHands/software-agent-sdk#2887 (llama.cpp)",
        confidence=Confidence.CONFLICTING,
        find=_find_untyped_arguments,
    ),
    ApiRule(
        id="C10",
        provider="openai-chat",
        kind=Kind("chat-user-after-tool"),
        errors=("Unexpected role '{role}' after role 'tool'",),
        source="mistralai/mistral-vibe#578 (after a cancelled tool), NousResearch/hermes-agent#20154, "
        "zed-industries/zed#37021, datapizza-labs/datapizza-ai#98; against aaif-goose/goose#5998 (not seen any more); "
        "the validator of mistral-common 1.13.1, which vLLM runs, takes it",
        confidence=Confidence.CONFLICTING,
        find=_find_users_after_tools,
        only="Mistral's models",
    ),
    ApiRule(
        id="C11",
        provider="openai-chat",
        kind=Kind("chat-call-id-long"),
        errors=("Tool call id was {ids} but must be a-z, A-Z, 0-9, with a length of 9.",),
        source="karthink/gptel#1203, anomalyco/opencode#1680, jackmpcollins/magentic#276; against "
        "ml-explore/mlx-lm#1375 (the template of Devstral Small 2 takes any); mistral-common 1.13.1 refuses long "
        "ones for models with tokenizers v3 to v11, and takes them from v13 on",
        confidence=Confidence.CONFLICTING,
        find=_find_long_ids,
        only="Mistral's models",
    ),
    ApiRule(
        id="C12",
        provider="openai-chat",
        kind=Kind("chat-thinking-missing"),
        errors=(
            "thinking is enabled but reasoning_content is missing in assistant tool call message at index {index}",
            "The `reasoning_content` in the thinking mode must be passed back to the API.",
        ),
        source="continuedev/continue#11527, mastra-ai/mastra#12592, MoonshotAI/kimi-agent-sdk#169 (K2.6); DeepSeek: "
        "crewAIInc/crewAI#5878, abhigyanpatwari/GitNexus#43 (V3.2), AgentiLoop/Agent#22 (V4), "
        "SillyTavern/SillyTavern#5545 (an empty text refused), against langchain-ai/langchain#34166 (V4 took "
        "both in June 2026)",
        confidence=Confidence.CONFLICTING,
        find=_find_calls_without_thinking,
        only="Kimi from K2.5 on and DeepSeek from V3.2 on, while thinking is enabled",
    ),
    ApiRule(
        id="C13",
        provider="openai-chat",
        kind=Kind("chat-thinking-refused"),
        errors=(
            (
                "'messages.{index}' : for 'role:assistant' the following must be satisfied[('messages.{index}' : "
                "property 'reasoning_content' is unsupported)]"
            ),
            "messages[{index}].reasoning: reasoning is not supported with this model",
            "property 'messages.{index}.assistant.reasoning_content' is unsupported",
        ),
        source="tashfeenahmed/freellmapi#1070 (August 2026), janhq/jan#8136, AstrBotDevs/AstrBot#5946, "
        "NousResearch/hermes-agent#11089; reasoning, for models that do not reason: vercel/ai#8057 (August 2025); "
        "Cerebras, which takes reasoning: QwenLM/qwen-code#11045, anomalyco/opencode#48774 (September 2026)",
        confidence=Confidence.REPORTED,
        find=_find_thinking,
        only="Groq, Cerebras",
    ),
    ApiRule(
        id="C14",
        provider="openai-chat",
        kind=Kind("chat-system-late"),
        errors=("Unexpected role 'system' after role 'assistant'",),
        source="swarmauri/swarmauri-sdk#162, #276, SillyTavern/SillyTavern#1558; the validator of mistral-common "
        "1.13.1",
        confidence=Confidence.REPORTED,
        find=_find_late_systems,
        only="Mistral's models",
    ),
    ApiRule(
        id="C15",
        provider="openai-chat",
        kind=Kind("chat-assistant-last"),
        errors=("Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",),
        source="0xPlaygrounds/rig#708, NEKOparapa/AiNiee#641; the validator of mistral-common 1.13.1",
        confidence=Confidence.REPORTED,
        find=_find_last_assistant,
        only="Mistral's models",
    ),
)
