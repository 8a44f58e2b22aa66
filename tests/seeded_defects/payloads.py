"""Wrong requests to model APIs: for each rule of a model API what a sender of histories does that the API refuses.

The right request is what the history of ThreadProtocol 0.0.4 sends after a scenario; the mistake is a JSON Patch of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from conformance.bad_documents import apply_patch
from tests.histories.message_parts.build import journal_of, scenario

from tpharness.histories.registry import HISTORIES
from tpharness.model_apis.registry import ApiName
from tpharness.model_apis.rule import Options
from tpharness.model_apis.rules import RULES

__all__ = ["PAYLOAD_DEFECTS", "PayloadDefect"]

_PROVIDERS: dict[str, ApiName] = {rule.id[0]: rule.provider for rule in RULES}


@dataclass(frozen=True, slots=True, kw_only=True)
class PayloadDefect:
    """One mistake: the rule that it breaks, a sentence, the patch, the scenario, and options of the request."""

    rule: str
    sentence: str
    patch: tuple[dict[str, Any], ...]
    scenario: str = "histories/k02-thinking-call-and-answer"
    options: Options = field(default_factory=Options)

    @property
    def provider(self) -> ApiName:
        """Whose rule it is."""
        return _PROVIDERS[self.rule[0]]

    def right(self) -> Any:
        """Return the request as it should be."""
        history = HISTORIES["0.0.4"]
        return history.model_input(
            history.store(journal_of(scenario(self.scenario))), self.provider, next_user="Go on."
        )

    def wrong(self) -> Any:
        """Return the request with the mistake."""
        return apply_patch(self.right(), self.patch)


def defect(rule: str, sentence: str, *patch: dict[str, Any], **more: Any) -> PayloadDefect:
    """Write a mistake down."""
    return PayloadDefect(rule=rule, sentence=sentence, patch=patch, **more)


def add(path: str, value: Any) -> dict[str, Any]:
    """Add a value, in a list before what is there."""
    return {"op": "add", "path": path, "value": value}


def replace(path: str, value: Any) -> dict[str, Any]:
    """Put a value in place of another."""
    return {"op": "replace", "path": path, "value": value}


def remove(path: str) -> dict[str, Any]:
    """Take a value away."""
    return {"op": "remove", "path": path}


def reasoning(**more: Any) -> dict[str, Any]:
    """Return a reasoning item of the Responses API."""
    return {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "abc", **more}


def thinking(signature: str) -> dict[str, Any]:
    """Return a thinking block of Anthropic."""
    return {"type": "thinking", "thinking": "hm", "signature": signature}


def called_in_chat(call_id: str) -> tuple[dict[str, Any], ...]:
    """Add a call of Chat Completions, and its result, after the first message."""
    function = {"name": "get_weather", "arguments": "{}"}
    call = {"role": "assistant", "tool_calls": [{"id": call_id, "type": "function", "function": function}]}
    return add("/1", call), add("/2", {"role": "tool", "tool_call_id": call_id, "content": "sunny"})


SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
TEXT_ONLY = "histories/k01-text-only"
PAYLOAD_DEFECTS = (
    defect("C1", "A turn that was cut while its tool ran is sent with the call alone.", remove("/3"), remove("/2")),
    defect("C2", "The message that made a call is dropped and the result is sent.", remove("/1")),
    defect(
        "C3", "An answer of which nothing was kept is sent as an empty message.", replace("/3", {"role": "assistant"})
    ),
    defect(
        "C4",
        "Arguments are sent as an object.",
        replace("/1/tool_calls/0/function/arguments", {"city": "Paris"}),
    ),
    defect(
        "C5",
        "A message of the user that was never answered is followed by another.",
        add("/4", {"role": "user", "content": "?"}),
    ),
    defect("C6", "A message that calls nothing is sent with an empty list of calls.", add("/3/tool_calls", [])),
    defect(
        "C7",
        "An interrupted call gets a second result beside the one that had arrived.",
        add("/3", {"role": "tool", "tool_call_id": "c1", "content": "interrupted"}),
    ),
    defect(
        "C8",
        "A call is put twice into its message.",
        add(
            "/1/tool_calls/0", {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
        ),
    ),
    defect(
        "C9",
        "The arguments of a call that was cut are sent as far as they had come.",
        replace("/1/tool_calls/0/function/arguments", '{"city":"Pa'),
    ),
    defect(
        "C10",
        "What the user says after an interrupted tool follows its result.",
        *called_in_chat("callparis"),
        remove("/3"),
        scenario=TEXT_ONLY,
        options=Options(server="mistral"),
    ),
    defect(
        "C11",
        "The id that another API gave to a call is sent on.",
        *called_in_chat("call_1"),
        scenario=TEXT_ONLY,
        options=Options(server="mistral"),
    ),
    defect(
        "C12",
        "The thinking before a call is not sent back.",
        *called_in_chat("c1"),
        scenario=TEXT_ONLY,
        options=Options(server="moonshot"),
    ),
    defect(
        "C13",
        "Thinking is sent back to a server that does not know the field.",
        add("/1/reasoning_content", "hm"),
        scenario=TEXT_ONLY,
        options=Options(server="groq"),
    ),
    defect(
        "C14",
        "The system prompt of the next turn is put where the turn begins.",
        add("/2", {"role": "system", "content": "Be brief."}),
        scenario=TEXT_ONLY,
        options=Options(server="mistral"),
    ),
    defect(
        "C15",
        "The message that the user sent is left out.",
        remove("/2"),
        scenario=TEXT_ONLY,
        options=Options(server="mistral"),
    ),
    defect("C16", "The user is named as the page shows it.", add("/0/name", "Ann Lee")),
    defect(
        "C17",
        "The ids of another API are sent on.",
        replace("/1/tool_calls/0/id", "c" * 41),
        replace("/2/tool_call_id", "c" * 41),
    ),
    defect(
        "C18",
        "A picture that a tool made is sent as its result.",
        replace("/2/content", [{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}]),
    ),
    defect(
        "C19",
        "The picture of the user is sent as its address.",
        replace("/0/content", [{"type": "image_url", "image_url": {"url": "https://example.com/map.png"}}]),
        scenario=TEXT_ONLY,
        options=Options(server="ollama"),
    ),
    defect(
        "C20",
        "A call without words is sent as OpenAI's own API has it.",
        replace("/1/content", None),
        options=Options(server="ollama"),
    ),
    defect("C21", "The user is named.", add("/0/name", "Ann"), scenario=TEXT_ONLY, options=Options(server="mistral")),
    defect(
        "C22",
        "An answer that only calls is sent with an empty text.",
        replace("/1/content", ""),
        options=Options(server="moonshot", thinking=False),
    ),
    defect(
        "C23",
        "What the page knows of a message is sent with it.",
        add("/0/metadata", {"shown": True}),
        scenario=TEXT_ONLY,
        options=Options(server="groq"),
    ),
    defect(
        "C24",
        "An answer is sent in parts, as the page has it.",
        replace("/1/content", [{"type": "text", "text": "It is sunny."}]),
        scenario=TEXT_ONLY,
        options=Options(server="nim"),
    ),
    defect(
        "C25",
        "An answer that was stopped before its first word is sent.",
        replace("/1/content", ""),
        scenario=TEXT_ONLY,
        options=Options(server="mistral"),
    ),
    defect(
        "C26",
        "The words of the user are cut off to make the history shorter.",
        remove("/2"),
        remove("/0"),
        scenario=TEXT_ONLY,
        options=Options(server="zhipu"),
    ),
    defect(
        "C27",
        "A file of the user is sent as Mistral has it.",
        replace("/0/content", [{"type": "document_url", "document_url": "https://example.org/a.pdf"}]),
        scenario=TEXT_ONLY,
        options=Options(server="openai"),
    ),
    defect("R1", "A call is sent without its output.", remove("/4")),
    defect("R2", "An output is sent without its call.", remove("/3")),
    defect("R3", "The reasoning of an answer is sent and the answer is not.", add("/6", reasoning())),
    defect(
        "R4",
        "The reasoning of an answer that was cut is sent as it had arrived.",
        add("/5", reasoning(status="in_progress")),
    ),
    defect("R5", "A call that was still streaming is sent.", add("/3/status", "in_progress")),
    defect(
        "R6",
        "The reasoning before a call is dropped, and the call keeps its id.",
        add("/3/id", "fc_1"),
        options=Options(reasoning=True),
    ),
    defect("R7", "The id of a call is sent as the id of its item.", add("/3/id", "call_1")),
    defect(
        "R8",
        "What the model said is sent as input.",
        replace("/5/content", [{"type": "input_text", "text": "It is sunny."}]),
    ),
    defect(
        "R9",
        "Stored reasoning is sent by its id, and what followed it without.",
        add("/5", reasoning(encrypted_content=None)),
    ),
    defect(
        "R10",
        "A call that the API has stored is sent, and a reference to it.",
        add("/3/id", "fc_1"),
        add("/4", {"type": "item_reference", "id": "fc_1"}),
    ),
    defect(
        "R11",
        "An interrupted call gets a second output beside the one that had arrived.",
        add("/5", {"type": "function_call_output", "call_id": "c1", "output": "interrupted"}),
    ),
    defect(
        "R12", "The arguments of a call that was cut are sent as far as they had come.", replace("/3/arguments", '{"a')
    ),
    defect(
        "R13",
        "The ids of another API are sent on.",
        replace("/3/call_id", "c" * 65),
        replace("/4/call_id", "c" * 65),
    ),
    defect(
        "R14",
        "A field of the stored reasoning that is null is sent.",
        add("/5", {**reasoning(), "status": None}),
    ),
    defect(
        "A1",
        "The user's next words come in place of a result.",
        replace("/messages/3/content", [{"type": "text", "text": "Wait"}]),
    ),
    defect("A2", "A call is dropped from its message and its result is sent.", remove("/messages/2/content/1")),
    defect(
        "A3",
        "The user's words stand before the result in one message.",
        add("/messages/3/content/0", {"type": "text", "text": "Here"}),
    ),
    defect("A4", "An answer of white space is sent.", replace("/messages/4/content/0/text", " ")),
    defect(
        "A5",
        "A message of the user whose picture was left out is sent without content.",
        replace("/messages/0/content", []),
    ),
    defect("A6", "The conversation is sent without what the user said last.", remove("/messages/5")),
    defect(
        "A7",
        "A message of the user that was never answered is followed by another.",
        add("/messages/0", {"role": "user", "content": "?"}),
        scenario=TEXT_ONLY,
        options=Options(observations=True),
    ),
    defect(
        "A8",
        "Thinking that was cut is sent without the signature that had not arrived.",
        add("/messages/1/content/0", thinking("")),
        scenario=TEXT_ONLY,
    ),
    defect(
        "A9",
        "The thinking before a call is dropped, and later thinking is kept.",
        add("/messages/4/content/0", thinking("c2ln")),
    ),
    defect(
        "A10",
        "What the user said is written otherwise than when the model thought about it.",
        replace("/messages/0/content/0/text", "Q"),
        add("/messages/1/content/0", thinking("c2ln")),
        scenario=TEXT_ONLY,
        options=Options(earlier={"messages": [{"role": "user", "content": [{"type": "text", "text": "q"}]}]}),
    ),
    defect("A11", "Arguments are sent as text.", replace("/messages/2/content/1/input", '{"city":"Paris"}')),
    defect(
        "A12",
        "A call is put twice into its message.",
        add("/messages/2/content/1", {"type": "tool_use", "id": "c1", "name": "get_weather", "input": {}}),
    ),
    defect(
        "A13",
        "Calls are numbered anew in each turn.",
        add("/messages/5", {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "x"}]}),
        add(
            "/messages/5",
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "get_weather", "input": {}}]},
        ),
        add("/messages/5", {"role": "user", "content": "Again."}),
    ),
    defect(
        "A14",
        "An interrupted call gets a second result beside the one that had arrived.",
        add("/messages/3/content/1", {"type": "tool_result", "tool_use_id": "c1", "content": "interrupted"}),
    ),
    defect(
        "A15",
        "The search of a turn that was cut is sent without the result that never came.",
        add("/messages/1/content/1", SEARCH),
        scenario=TEXT_ONLY,
    ),
    defect(
        "A16",
        "The result of a search is sent in the turn after the one that searched.",
        add("/messages/1/content/0", {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}),
        scenario=TEXT_ONLY,
    ),
    defect(
        "A17",
        "The id that another API gave to a search is sent on.",
        add("/messages/1/content/1", {**SEARCH, "id": "ws-1"}),
        add("/messages/1/content/2", {"type": "web_search_tool_result", "tool_use_id": "ws-1", "content": []}),
        scenario=TEXT_ONLY,
    ),
    defect(
        "A18",
        "A tool that printed nothing is sent with an empty text.",
        replace("/messages/3/content/0/content", [{"type": "text", "text": ""}]),
    ),
    defect(
        "A19",
        "An answer of which only thinking had come is sent to be continued.",
        replace("/messages/1/content", [thinking("c2ln")]),
        remove("/messages/2"),
        scenario=TEXT_ONLY,
        options=Options(prefill=True),
    ),
    defect(
        "A20",
        "Half an answer is sent to be continued as it had come.",
        replace("/messages/1/content/0/text", "Hel "),
        remove("/messages/2"),
        scenario=TEXT_ONLY,
        options=Options(prefill=True),
    ),
    defect(
        "A21",
        "The thinking of an answer is sent after its text.",
        add("/messages/1/content/1", thinking("c2ln")),
        scenario=TEXT_ONLY,
    ),
    defect(
        "A22",
        "An instruction is sent between the messages of the user.",
        add("/messages/1", {"role": "system", "content": "Be brief."}),
        scenario=TEXT_ONLY,
        options=Options(system_messages=False),
    ),
    defect(
        "A23",
        "An answer of which nothing was kept is sent as a message without content.",
        replace("/messages/4/content", []),
    ),
    defect(
        "A24",
        "A tool that failed without a word is sent so.",
        replace("/messages/3/content/0/content", ""),
        add("/messages/3/content/0/is_error", True),  # a value of JSON
    ),
    defect(
        "G1", "The user's next words come in place of a response.", replace("/contents/2/parts", [{"text": "Wait"}])
    ),
    defect("G2", "The first words of the user are cut off to make the history shorter.", remove("/contents/0")),
    defect("G3", "A call is dropped and its response is sent.", remove("/contents/1/parts/2")),
    defect(
        "G4",
        "The run goes on after a result, and the signature of its call is not kept.",
        remove("/contents/4"),
        remove("/contents/3"),
        remove("/contents/1/parts/2/thought_signature"),
    ),
    defect("G5", "The model speaks in the role that another API gives it.", replace("/contents/3/role", "assistant")),
    defect(
        "G6", "An answer of which nothing was kept is sent as an empty text.", replace("/contents/3/parts/0/text", "")
    ),
    defect(
        "G7",
        "The name of the function is not sent with its response.",
        replace("/contents/2/parts/0/function_response/name", ""),
    ),
    defect(
        "G8",
        "A response is sent with the id of its call as its name.",
        replace("/contents/2/parts/0/function_response/name", "c1"),
    ),
    defect(
        "G9",
        "The text of a response and its call are sent one after the other.",
        add("/contents/1", {"role": "model", "parts": [{"text": "hm"}]}),
    ),
    defect(
        "O1",
        "Arguments are sent as the text that another API has them as.",
        replace("/1/tool_calls/0/function/arguments", '{"city":"Paris"}'),
    ),
    defect(
        "O2",
        "What the user says is sent as a list of parts.",
        replace("/0/content", [{"type": "text", "text": "Hi"}]),
    ),
    defect("O3", "An image is sent as a data URI.", add("/0/images", ["data:image/png;base64,eA=="])),
    defect(
        "O4",
        "A turn that was cut while its tool ran is sent with the call alone.",
        remove("/3"),
        remove("/2"),
        options=Options(observations=True),
    ),
    defect(
        "O5",
        "The message that made a call is dropped and the result is sent.",
        remove("/1"),
        options=Options(observations=True),
    ),
    defect(
        "O6",
        "The system prompt is sent in the role of newer APIs.",
        add("/0", {"role": "developer", "content": "Be kind."}),
        options=Options(observations=True),
    ),
    defect(
        "B1", "The user's next words come in place of a result.", replace("/messages/2/content", [{"text": "Wait"}])
    ),
    defect("B2", "The call is dropped and its result is sent.", remove("/messages/1/content/2")),
    defect(
        "B3",
        "An interrupted call gets a second result beside the one that had arrived.",
        add("/messages/2/content/1", {"toolResult": {"toolUseId": "c1", "content": []}}),
    ),
    defect("B4", "An answer of which only white space had come is sent.", replace("/messages/3/content/0/text", " \n")),
    defect("B5", "An answer of which nothing was kept is sent without content.", replace("/messages/3/content", [])),
    defect("B6", "The first message was cut off to make the history shorter.", remove("/messages/0")),
    defect(
        "B7",
        "A message of the user that was never answered is followed by another.",
        add("/messages/4", {"role": "user", "content": [{"text": "?"}]}),
    ),
    defect(
        "B8",
        "A summary is asked for without the tools of the conversation.",
        add("/inferenceConfig", {"maxTokens": 99}),
    ),
    defect(
        "B9",
        "A tool that failed without a word is sent so.",
        replace("/messages/2/content/0/toolResult/content", []),
        replace("/messages/2/content/0/toolResult/status", "error"),
    ),
    defect(
        "B10",
        "The arguments of a call that was cut are sent as far as they had come.",
        replace("/messages/1/content/2/toolUse/input", '{"city":"Pa'),
    ),
    defect(
        "B11",
        "The name of a tool is sent as the model misspelt it.",
        replace("/messages/1/content/2/toolUse/name", "fast</arg>"),
    ),
    defect(
        "B12",
        "The user sent a file and said nothing.",
        replace("/messages/0/content", [{"document": {"name": "a", "format": "pdf", "source": {"bytes": "eA=="}}}]),
    ),
    defect(
        "B13",
        "What the user says after an interrupted tool stands beside its result.",
        replace("/messages/1/content", [{"toolUse": {"toolUseId": "c1", "name": "f", "input": {}}}]),
        add("/messages/2/content/0", {"toolResult": {"toolUseId": "c1", "content": [{"text": "interrupted"}]}}),
        scenario=TEXT_ONLY,
        options=Options(observations=True),
    ),
)
