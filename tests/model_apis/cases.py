"""For each rule a payload that breaks it and only it, and its nearest neighbour that keeps it.

Written by hand from the rules' own sentences (`docs/ACCEPTANCE.md`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tpharness.model_apis.rule import Options
from tpharness.model_apis.rules import RULES


class Case(NamedTuple):
    """One place that breaks a rule: the payload, the nearest one that keeps it, the pointer, words of the finding."""

    rule: str
    bad: Any
    good: Any
    pointer: str
    says: str
    options: Options = Options()
    good_options: Options | None = None


def user(content: Any = "Hi") -> dict[str, Any]:
    """Return a user message of chat, Responses or Anthropic."""
    return {"role": "user", "content": content}


def assistant(content: Any = "Hello", **more: Any) -> dict[str, Any]:
    """Return an assistant message of chat, Responses or Anthropic."""
    return {"role": "assistant", "content": content, **more}


def chat_call(*ids: str, arguments: Any = '{"city":"Paris"}', name: str = "f") -> dict[str, Any]:
    """Return an assistant message of chat that calls."""
    calls = [{"id": i, "type": "function", "function": {"name": name, "arguments": arguments}} for i in ids]
    return assistant(None, tool_calls=calls)


def chat_answer(call: Any) -> dict[str, Any]:
    """Return a tool message of chat."""
    return {"role": "tool", "tool_call_id": call, "content": "sunny"}


def native_call(arguments: Any = None, **more: Any) -> dict[str, Any]:
    """Return an assistant message of Ollama that calls, without an id."""
    function = {"name": "f", "arguments": {"city": "Paris"} if arguments is None else arguments}
    return assistant("", tool_calls=[{"function": function, **more}])


def native_result(**more: Any) -> dict[str, Any]:
    """Return a tool message of Ollama."""
    return {"role": "tool", "content": "sunny", **more}


def converse(*blocks: Any, role: str = "user") -> dict[str, Any]:
    """Return a message of Bedrock's Converse; a text is a block of text."""
    return {"role": role, "content": [{"text": block} if isinstance(block, str) else block for block in blocks]}


def converse_call(*ids: str, sent: Any = None, name: str = "f") -> dict[str, Any]:
    """Return a message of Converse's model that calls."""
    made = ({"toolUseId": one, "name": name, "input": {} if sent is None else sent} for one in ids)
    return converse(*({"toolUse": one} for one in made), role="assistant")


def converse_result(call_id: str, *contents: Any, **more: Any) -> dict[str, Any]:
    """Return a block with a result of Converse."""
    return {"toolResult": {"toolUseId": call_id, "content": list(contents), **more}}


def call(call_id: str = "c1", **more: Any) -> dict[str, Any]:
    """Return a function_call item."""
    return {"type": "function_call", "call_id": call_id, "name": "f", "arguments": "{}", **more}


def output(call_id: str = "c1") -> dict[str, Any]:
    """Return a function_call_output item."""
    return {"type": "function_call_output", "call_id": call_id, "output": "sunny"}


def custom(call_id: str = "c1") -> dict[str, Any]:
    """Return a custom_tool_call item."""
    return {"type": "custom_tool_call", "call_id": call_id, "name": "apply_patch", "input": "*** Begin Patch"}


def custom_output(call_id: str = "c1") -> dict[str, Any]:
    """Return a custom_tool_call_output item."""
    return {"type": "custom_tool_call_output", "call_id": call_id, "output": "Done."}


def shell() -> dict[str, Any]:
    """Return a local_shell_call item."""
    action = {"type": "exec", "command": ["ls"], "env": {}}
    return {"type": "local_shell_call", "id": "lsh_1", "call_id": "c1", "action": action, "status": "completed"}


def reasoning(item_id: str = "rs_1", **more: Any) -> dict[str, Any]:
    """Return a reasoning item."""
    return {"type": "reasoning", "id": item_id, "summary": [], "encrypted_content": "abc", **more}


def text(words: str) -> dict[str, Any]:
    """Return a text block."""
    return {"type": "text", "text": words}


def use(call_id: str = "c1", arguments: Any = None) -> dict[str, Any]:
    """Return a tool_use block."""
    return {"type": "tool_use", "id": call_id, "name": "f", "input": {} if arguments is None else arguments}


def result(call_id: str = "c1") -> dict[str, Any]:
    """Return a tool_result block."""
    return {"type": "tool_result", "tool_use_id": call_id, "content": "sunny"}


def search(call_id: str = "srvtoolu_1") -> dict[str, Any]:
    """Return a server_tool_use block."""
    return {"type": "server_tool_use", "id": call_id, "name": "web_search", "input": {"query": "Paris"}}


def searched(call_id: str = "srvtoolu_1") -> dict[str, Any]:
    """Return a web_search_tool_result block."""
    return {"type": "web_search_tool_result", "tool_use_id": call_id, "content": []}


def thought(**more: Any) -> dict[str, Any]:
    """Return a thinking block."""
    return {"type": "thinking", "thinking": "hm", "signature": "c2ln", **more}


def content(role: str, *parts: Any) -> dict[str, Any]:
    """Return a content of Gemini."""
    return {"role": role, "parts": list(parts)}


def fcall(name: str = "f", **more: Any) -> dict[str, Any]:
    """Return a function call part."""
    return {"function_call": {"name": name, "args": {}}, **more}


def fresponse(name: str = "f") -> dict[str, Any]:
    """Return a function response part."""
    return {"function_response": {"name": name, "response": {"output": "sunny"}}}


SAID_IN_FULL = assistant(
    [{"type": "output_text", "text": "Hi", "annotations": []}], type="message", id="msg_1", status="completed"
)
SAID = {"text": "Hi"}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
NOTHING: tuple[Any, ...] = ("", [])
BITMAP = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
SIGNED = fcall(thought_signature="c2ln")
ASKED = [user(), chat_call("c1", "c2")]
THINKS = Options(thinking=True)

SIGNED_CALL = {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "c2ln"}


def answered_as(name: str) -> dict[str, Any]:
    """Return a response of Gemini to a function of this name."""
    return {"functionResponse": {"name": name, "response": {}}}


CASES = (
    Case(
        "C1",
        [*ASKED, chat_answer("c1")],
        [*ASKED, chat_answer("c2"), chat_answer("c1")],
        "/1",
        "The following tool_call_ids did not have response messages: c2",
    ),
    Case(
        "C1",
        [user(), chat_call("c1"), user("Wait"), assistant()],
        [user(), chat_call("c1"), chat_answer("c1"), user("Wait"), assistant()],
        "/1",
        "did not have response messages: c1",
    ),
    Case(
        "C2",
        [user(), chat_call("c1"), chat_answer("c1"), user("And?"), chat_answer("c1")],
        [user(), chat_call("c1"), chat_answer("c1"), user("And?"), chat_call("c1"), chat_answer("c1")],
        "/4/role",
        "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'",
    ),
    Case(
        "C2",
        [user(), chat_call("c1"), chat_answer("c1"), chat_answer("c9")],
        [user(), chat_call("c1", "c9"), chat_answer("c1"), chat_answer("c9")],
        "/3/role",
        "must be a response",
    ),
    Case(
        "C3",
        [user(), {"role": "assistant"}, user()],
        [user(), assistant(""), user()],
        "/1",
        "Invalid value for 'content': expected a string, got null.",
    ),
    Case(
        "C3", [user(), assistant([])], [user(), assistant(None, refusal="No.")], "/1", "neither content nor tool calls"
    ),
    Case(
        "C4",
        [user(), chat_call("c1", arguments={"city": "Paris"}), chat_answer("c1")],
        [user(), chat_call("c1", arguments='{"city":"Paris"}'), chat_answer("c1")],
        "/1/tool_calls/0/function/arguments",
        "arguments of a call are not text",
    ),
    Case(
        "C4",
        [user(), chat_call("c1"), chat_answer("c1"), {"role": "tool", "content": "sunny"}],
        [user(), chat_call("c1"), chat_answer("c1")],
        "/3/tool_call_id",
        "does not name its call",
    ),
    Case(
        "C4",
        [user(), assistant(None, function_call={"name": "f", "arguments": 1})],
        [user(), assistant(None, function_call={"name": "f", "arguments": "1"})],
        "/1/function_call/arguments",
        "text",
    ),
    Case("C5", [user(), user("Still there?")], [user(), assistant(), user("Still there?")], "/1", "follow one another"),
    Case("C5", [user(), assistant(), assistant("Bye")], [user(), assistant("HelloBye")], "/2", "follow one another"),
    Case(
        "C6",
        [user(), assistant("Hello", tool_calls=[]), user()],
        [user(), assistant("Hello"), user()],
        "/1/tool_calls",
        "Invalid 'messages[1].tool_calls': empty array. Expected an array with minimum length 1, but got",
    ),
    Case(
        "C7",
        [user(), chat_call("c1"), chat_answer("c1"), chat_answer("c1")],
        [user(), chat_call("c1"), chat_answer("c1"), chat_call("c1"), chat_answer("c1")],
        "/3/tool_call_id",
        "Invalid parameter: Duplicate value for 'tool_call_id' of 'c1', in messages[2] and messages[3].",
    ),
    Case(
        "C8",
        [user(), chat_call("c1", "c1"), chat_answer("c1")],
        [user(), chat_call("c1", "c2"), chat_answer("c1"), chat_answer("c2")],
        "/1/tool_calls",
        "Duplicate value for 'tool_call_id' of c1 in message[1]",
    ),
    Case(
        "R1",
        [user(), call(), user("Wait")],
        [user(), call(), user("Wait"), output()],
        "/1",
        "No tool output found for function call c1.",
    ),
    Case(
        "R1",
        [user(), call(), user("Wait"), output()],
        [user(), call(), call("c2"), output("c2"), output(), user("Wait")],
        "/1",
        "No tool output found for function call c1.",
        Options(adjacent_outputs=True),
    ),
    Case(
        "R1",
        [user(), custom(), user("Wait")],
        [user(), custom(), custom_output(), user("Wait")],
        "/1",
        "No tool output found for custom tool call c1.",
    ),
    Case(
        "R1",
        [user(), shell(), {"type": "local_shell_call_output", "id": "c1", "output": "ok"}],
        [user(), shell(), {"type": "local_shell_call_output", "id": "c1", "call_id": "c1", "output": "ok"}],
        "/1",
        "No tool output found for local shell call c1.",
    ),
    Case(
        "R2",
        [user(), custom_output(), user("Wait")],
        [user(), custom(), custom_output(), user("Wait")],
        "/1",
        "No tool call found for custom tool call output with call_id c1.",
    ),
    Case(
        "R2",
        [user(), output(), user()],
        [user(), output(), user()],
        "/1",
        "No tool call found",
        Options(),
        Options(continued=True),
    ),
    Case(
        "R2",
        [user(), output(), assistant()],
        [user(), call(), output(), assistant()],
        "/1",
        "No tool call found for function call output with call_id c1.",
    ),
    Case(
        "R3",
        [user(), reasoning(), user("Go on")],
        [user(), reasoning(), assistant(), user("Go on")],
        "/1",
        "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
    ),
    Case(
        "R3",
        [user(), reasoning()],
        [user(), reasoning(), reasoning("rs_2"), call(), output()],
        "/1",
        "without its required following item",
    ),
    Case(
        "R4",
        [user(), {"type": "item_reference", "id": "msg_1"}],
        [user(), {"type": "item_reference", "id": "msg_1"}],
        "/1",
        "Item with id 'msg_1' not found. Items are not persisted when `store` is set to false.",
        Options(store=False),
        Options(store=True),
    ),
    Case(
        "R4",
        [user(), reasoning(encrypted_content=None), assistant()],
        [user(), reasoning(), assistant()],
        "/1",
        "Items are not persisted",
        Options(store=False),
    ),
    Case(
        "R4",
        [user(), reasoning(status="in_progress"), assistant()],
        [user(), reasoning(status="completed"), assistant()],
        "/1/encrypted_content",
        "could not be verified",
    ),
    Case(
        "R5",
        [user(), call(status="in_progress"), output()],
        [user(), call(status="completed"), output()],
        "/1/status",
        "response that did not finish",
    ),
    Case(
        "R6",
        [user(), reasoning(), call(), output(), call("c2", id="fc_2"), output("c2")],
        [user(), reasoning(), call(), output(), call("c2"), output("c2")],
        "/4",
        "Item 'fc_2' of type 'function_call' was provided without its required 'reasoning' item: ",
    ),
    Case(
        "R6",
        [user(), assistant("Hi", id="msg_1"), user()],
        [user(), reasoning(), assistant("Hi", id="msg_1"), user()],
        "/1",
        "Item 'msg_1' of type 'message' was provided without its required 'reasoning' item: ",
        Options(reasoning=True),
    ),
    Case(
        "R6",
        [user(), call(id="fc_1"), output()],
        [user(), call(id="fc_1"), output()],
        "/1",
        "without its required 'reasoning' item",
        Options(reasoning=True),
        Options(),
    ),
    Case(
        "R7",
        [user(), call(id="call_1"), output()],
        [user(), call(id="fc_1"), output()],
        "/1/id",
        "Invalid 'input[1].id': 'call_1'. Expected an ID that begins with 'fc'.",
    ),
    Case(
        "R7",
        [user(), assistant("Hi", id="chatcmpl-1"), user()],
        [user("Hi") | {"id": "chatcmpl-1"}, assistant("Hi", id="msg_1"), user()],
        "/1/id",
        "Invalid 'input[1].id': 'chatcmpl-1'. Expected an ID that begins with 'msg'.",
    ),
    Case(
        "R7",
        [user(), call(id=""), output()],
        [user(), call(id="fc_1"), output()],
        "/1/id",
        "Invalid 'input[1].id': ''. Expected an ID that contains letters, numbers, underscores, or dashes",
    ),
    Case(
        "R8",
        [user(), assistant([{"type": "input_text", "text": "Hi"}]), user()],
        [user(), SAID_IN_FULL, user()],
        "/1/content/0/type",
        "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.",
    ),
    Case(
        "R8",
        [user([text("Hi")])],
        [user([{"type": "input_text", "text": "Hi"}])],
        "/0/content/0/type",
        "Invalid value: 'text'. Supported values are: 'input_text', 'input_image',",
    ),
    Case(
        "R10",
        [user(), reasoning(), SAID_IN_FULL, reasoning(), SAID_IN_FULL | {"id": "msg_2"}, user()],
        [user(), reasoning(), SAID_IN_FULL, reasoning("rs_2"), SAID_IN_FULL | {"id": "msg_2"}, user()],
        "/3",
        "Duplicate item found with id rs_1. Remove duplicate items from your input and try again.",
    ),
    Case(
        "R10",
        [user(), call(id="fc_1"), {"type": "item_reference", "id": "fc_1"}, output()],
        [user(), call(id="fc_1"), {"type": "item_reference", "id": "msg_1"}, output()],
        "/2",
        "Duplicate item found with id fc_1.",
    ),
    Case(
        "R11",
        [user(), call(), output(), output()],
        [user(), call(), output(), call("c2"), output("c2")],
        "/3/call_id",
        "Duplicate function_call_output for call_id 'c1'.",
    ),
    Case(
        "R11",
        [user(), call(), custom(), output()],
        [user(), call(), custom("c2"), output(), custom_output("c2")],
        "/2/call_id",
        "two calls, or two outputs, have the same call_id",
    ),
    Case(
        "R9",
        [user(), reasoning(encrypted_content=None), assistant(), user()],
        [user(), reasoning(encrypted_content=None), SAID_IN_FULL, user()],
        "/1",
        "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
    ),
    Case(
        "A1",
        [user(), assistant([use(), use("c2")]), user([result()])],
        [user(), assistant([use(), use("c2")]), user([result("c2"), result()])],
        "/1",
        "`tool_use` ids were found without `tool_result` blocks immediately after: c2. Each",
    ),
    Case(
        "A1",
        [user(), assistant([use()]), user("Wait")],
        [user(), assistant([use()]), user([result(), text("Wait")])],
        "/1",
        "immediately after: c1.",
    ),
    Case(
        "A2",
        [user(), assistant(), user([result()])],
        [user(), assistant([text("Hello"), use()]), user([result()])],
        "/2/content/0",
        "unexpected `tool_use_id` found in `tool_result` blocks: c1.",
    ),
    Case(
        "A3",
        [user(), assistant([use()]), user([text("Here"), result()])],
        [user(), assistant([use()]), user([result(), text("Here")])],
        "/2/content/1",
        "after other blocks",
    ),
    Case("A4", [user([text("")])], [user([text("x")])], "/0/content/0/text", "blocks must be non-empty"),
    Case("A4", [user(" \n")], [user(" x\n")], "/0/content", "must contain non-whitespace text"),
    Case("A4", [user([text("x"), text("")])], [user([text("x"), text(" ")])], "/0/content/1/text", "must be non-empty"),
    Case(
        "A4",
        [user(), assistant([text(" "), use()]), user([result()])],
        [user(), assistant([text(" "), text("Let me see."), use()]), user([result()])],
        "/1/content/0/text",
        "must contain non-whitespace text",
    ),
    Case(
        "A4",
        {"system": [text(" ")], "messages": [user()]},
        {"system": [text("Be kind.")], "messages": [user()]},
        "/system/0/text",
        "must contain non-whitespace text",
    ),
    Case("A5", [user(""), assistant(), user()], [user("x"), assistant(), user()], "/0/content", "non-empty content"),
    Case(
        "A23",
        [user(), assistant([]), user()],
        [user(), assistant([])],
        "/1/content",
        "except for the optional final assistant message",
        Options(prefill=True),
    ),
    *(
        Case(
            "A24",
            [user(), assistant([use()]), user([result() | {"content": silent, "is_error": True}])],
            [user(), assistant([use()]), user([result() | {"content": silent, "is_error": False}])],
            "/2/content/0/content",
            "tool_result: content cannot be empty if `is_error` is true",
        )
        for silent in NOTHING
    ),
    Case(
        "A24",
        [user(), assistant([use()]), user([result() | {"content": [text("See."), BITMAP], "is_error": True}])],
        [user(), assistant([use()]), user([result() | {"content": [text("See.")], "is_error": True}, BITMAP])],
        "/2/content/0/content/1",
        "all content must be type 'text' if 'is_error' is true",
    ),
    Case(
        "A6", [user(), assistant("It is")], [user(), assistant("It is"), user()], "/1", "must end with a user message"
    ),
    Case(
        "A6",
        [user(), assistant("It is")],
        [user(), assistant("It is")],
        "/1",
        "does not support assistant message prefill",
        Options(),
        Options(prefill=True),
    ),
    Case("A7", [user(), user()], [user(), assistant(), user()], "/1", "follow one another", Options(observations=True)),
    Case(
        "A8",
        [user(), assistant([thought(signature=""), text("x")]), user()],
        [user(), assistant([thought(), text("x")]), user()],
        "/1/content/0/signature",
        "Invalid `signature` in `thinking` block",
    ),
    Case(
        "A9",
        [user(), assistant([thought(), use()]), user([result()]), assistant([use("c2")]), user([result("c2")])],
        [user(), assistant([thought(), use()]), user([result()]), assistant([text("x")]), user()],
        "/3",
        "Expected `thinking` or `redacted_thinking`, but found `tool_use`.",
    ),
    Case(
        "A9",
        [user(), assistant([use()]), user([result()])],
        [user(), assistant([{"type": "redacted_thinking", "data": "x"}, use()]), user([result()])],
        "/1",
        "a final `assistant` message must start with a thinking block",
        THINKS,
    ),
    Case(
        "A10",
        [user(), assistant("[interrupted]"), user(), assistant([thought(), text("x")]), user()],
        [user(), assistant("It is"), user(), assistant([thought(), text("x")]), user()],
        "/1/content",
        "differ from those that the thinking was made for",
        Options(earlier=[user(), assistant("It is"), user()]),
    ),
    Case(
        "A10",
        {"system": "Be brief.", "messages": [user(), assistant([thought(), text("x")]), user()]},
        {"system": "Be brief.", "messages": [user(), assistant("x"), user()]},
        "/system",
        "differ from those that the thinking was made for",
        Options(earlier={"system": "Be kind.", "messages": [user()]}),
    ),
    Case(
        "A11",
        [user(), assistant([use(arguments="{}")]), user([result()])],
        [user(), assistant([use(arguments={})]), user([result()])],
        "/1/content/0/input",
        "is not an object",
    ),
    Case(
        "A11",
        [user(), assistant([{"type": "thinking", "thinking": "hm"}, text("x")]), user()],
        [user(), assistant([thought(), text("x")]), user()],
        "/1/content/0/signature",
        "signature field",
    ),
    Case(
        "A12",
        [user(), assistant([use(), use()]), user([result()])],
        [user(), assistant([use(), use("c2")]), user([result(), result("c2")])],
        "/1/content/1/id",
        "`tool_use` ids must be unique",
    ),
    Case(
        "A13",
        [user(), assistant([use()]), user([result()]), assistant([use()]), user([result()])],
        [user(), assistant([use()]), user([result()]), assistant([use("c2")]), user([result("c2")])],
        "/3/content/0/id",
        "`tool_use` ids must be unique",
    ),
    Case(
        "A14",
        [user(), assistant([use()]), user([result()]), user([result()])],
        [user(), assistant([use()]), user([result()])],
        "/3/content/0",
        "each tool_use must have a single result. Found multiple `tool_result` blocks with id: c1",
    ),
    Case(
        "A15",
        [user(), assistant([text("x"), search()]), user()],
        [user(), assistant([text("x"), search(), searched()]), user()],
        "/1/content/1",
        "`web_search` tool use with id `srvtoolu_1` was found without a corresponding `web_search_tool_result` block",
    ),
    Case(
        "A15",
        [user(), assistant([text("x"), search()]), user()],
        [user(), assistant([text("x"), search()])],
        "/1/content/1",
        "`web_search` tool use",
    ),
    Case(
        "A16",
        [user(), assistant([search(), searched()]), user(), assistant([searched(), text("x")]), user()],
        [user(), assistant([search(), searched()]), user(), assistant([text("x")]), user()],
        "/3/content/0",
        "unexpected `tool_use_id` found in `web_search_tool_result` blocks: srvtoolu_1. Each `web_search",
    ),
    Case(
        "A17",
        [user(), assistant([text("x"), search("toolu_1"), searched("toolu_1")]), user()],
        [user(), assistant([text("x"), search(), searched()]), user()],
        "/1/content/1/id",
        "server_tool_use.id: String should match pattern '^srvtoolu_[a-zA-Z0-9_]+$'",
    ),
    Case(
        "A18",
        [user(), assistant([use()]), user([result() | {"content": [text("")]}])],
        [user(), assistant([use()]), user([result() | {"content": []}])],
        "/2/content/0/content/0/text",
        "text content blocks must be non-empty",
    ),
    Case(
        "A18",
        [user(), assistant([use()]), user([result() | {"content": "\n"}])],
        [user(), assistant([use()]), user([result() | {"content": ""}])],
        "/2/content/0/content",
        "text content blocks must contain non-whitespace text",
    ),
    Case(
        "A19",
        [user(), assistant([thought()])],
        [user(), assistant([thought(), text("x")])],
        "/1/content/0",
        "The final block in an assistant message cannot be `thinking`.",
        Options(prefill=True),
    ),
    Case(
        "A19",
        [user(), assistant([thought(), text("x")])],
        [user(), assistant([thought(), text("x")])],
        "/1/content/0",
        "When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`.",
        Options(prefill=True, thinking=False),
        Options(prefill=True, thinking=True),
    ),
    Case(
        "A20",
        [user(), assistant("It is ")],
        [user(), assistant("It is")],
        "/1/content",
        "final assistant content cannot end with trailing whitespace",
        Options(prefill=True),
    ),
    Case(
        "A20",
        [user(), assistant([text("It is\n")])],
        [user(), assistant([text("\nIt is")])],
        "/1/content/0/text",
        "final assistant content cannot end with trailing whitespace",
        Options(prefill=True),
    ),
    Case(
        "A21",
        [user(), assistant([text("x"), thought(), text("y")]), user()],
        [user(), assistant([thought(), text("x"), thought(), text("y")]), user()],
        "/1/content/0",
        "the first block must be `thinking` or `redacted_thinking`. Found `text`.",
    ),
    Case(
        "G1",
        [content("user", SAID), content("model", SIGNED, fcall("g")), content("user", fresponse())],
        [content("user", SAID), content("model", SIGNED, fcall("g")), content("user", fresponse(), fresponse("g"))],
        "/1",
        "the number of function response parts is equal to the number of function call parts",
    ),
    Case(
        "G1",
        [content("user", SAID), content("model", SIGNED), content("user", SAID)],
        [content("user", SAID), content("model", SIGNED), content("user", fresponse()), content("user", SAID)],
        "/1",
        "the number of function response parts",
    ),
    Case(
        "G9",
        [content("user", SAID), content("model", SAID), content("model", SIGNED), content("user", fresponse())],
        [content("user", SAID), content("model", SAID, SIGNED), content("user", fresponse())],
        "/2",
        "function call turn comes immediately after a user turn",
    ),
    Case(
        "G9",
        [content("user", SAID), content("model", SIGNED, SIGNED), *[content("user", fresponse())] * 2],
        [content("user", SAID), content("model", SIGNED, SIGNED), content("user", fresponse(), fresponse())],
        "/3",
        "the number of function response parts is equal to the number of function call parts",
    ),
    Case(
        "G2",
        [content("model", SIGNED), content("user", fresponse())],
        [content("user", SAID), content("model", SIGNED), content("user", fresponse())],
        "/0",
        "function call turn comes immediately after a user turn",
    ),
    Case(
        "G3",
        [content("user", SAID), content("model", SAID), content("user", fresponse())],
        [content("user", SAID), content("model", SAID, SIGNED), content("user", fresponse())],
        "/2",
        "function response turn comes immediately after a function call turn",
    ),
    Case(
        "G4",
        [content("user", SAID), content("model", fcall()), content("user", fresponse())],
        [content("user", SAID), content("model", fcall()), content("user", fresponse()), content("user", SAID)],
        "/1/parts/0",
        "missing a thought_signature in functionCall parts",
    ),
    Case(
        "G4",
        [content("user", SAID), content("model", fcall(), SIGNED), content("user", fresponse(), fresponse())],
        [content("user", SAID), content("model", SIGNED, fcall()), content("user", fresponse(), fresponse())],
        "/1/parts/0",
        "missing a thought_signature in functionCall parts",
    ),
    Case(
        "G4",
        [content("user", SAID), content("model", fcall()), content("user", fresponse())],
        [content("user", SAID), content("model", fcall()), content("user", fresponse())],
        "/1/parts/0",
        "missing a thought_signature",
        Options(),
        Options(thought_signatures=False),
    ),
    Case("G5", [content("assistant", SAID)], [content("user", SAID)], "/0/role", "a role other than user and model"),
    Case(
        "G5",
        [content("user", SAID), content("model")],
        [content("user", SAID)],
        "/1/parts",
        "GenerateContentRequest.contents[1].parts: contents.parts must not be empty.",
    ),
    Case(
        "G5",
        [content("user", SAID, {})],
        [content("user", SAID, {"text": " "})],
        "/0/parts/1",
        "GenerateContentRequest.contents[0].parts[1].data: required oneof field 'data' must have one initialized field",
    ),
    Case(
        "G6",
        [content("user", SAID), content("model", {"text": ""}), content("user", SAID)],
        [content("user", SAID), content("model", {"text": "", "thoughtSignature": "c2ln"}), content("user", SAID)],
        "/1/parts/0/text",
        "Unable to submit request because it has an empty text parameter.",
    ),
    *(
        Case(
            "C9",
            [user(), chat_call("c1", arguments=sent), chat_answer("c1")],
            [user(), chat_call("c1"), chat_answer("c1")],
            "/1/tool_calls/0/function/arguments",
            "messages.1.tool_calls.0.function.arguments: arguments must be a valid JSON object string",
        )
        for sent in ('{"city":"Pa', "", '{"city":"Paris"}{"city":"Rome"}', '"{}"', "[]", "null")
    ),
    Case(
        "C10",
        [user(), chat_call("callparis"), chat_answer("callparis"), user("Wait")],
        [user(), chat_call("callparis"), chat_answer("callparis"), assistant(), user("Wait")],
        "/3/role",
        "Unexpected role 'user' after role 'tool'",
        Options(server="mistral"),
    ),
    Case(
        "C11",
        [user(), chat_call("call_1"), chat_answer("call_1")],
        [user(), chat_call("callparis"), chat_answer("callparis")],
        "/1/tool_calls/0/id",
        "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.",
        Options(server="mistral"),
    ),
    Case(
        "C12",
        [user(), chat_call("c1"), chat_answer("c1")],
        [user(), {**chat_call("c1"), "reasoning_content": ""}, chat_answer("c1"), assistant()],
        "/1",
        "reasoning_content is missing in assistant tool call message at index 1",
        Options(server="moonshot"),
    ),
    Case(
        "C12",
        [user(), chat_call("c1"), chat_answer("c1")],
        [user(), chat_call("c1"), chat_answer("c1")],
        "/1",
        "thinking is enabled",
        Options(server="moonshot"),
        Options(server="moonshot", thinking=False),
    ),
    Case(
        "C12",
        [user(), chat_call("c1"), chat_answer("c1")],
        [user(), {**chat_call("c1"), "reasoning_content": "hm"}, chat_answer("c1")],
        "/1",
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
        Options(server="deepseek"),
    ),
    Case(
        "C13",
        [user(), assistant(reasoning_content="hm"), user("And?")],
        [user(), assistant(), user("And?")],
        "/1/reasoning_content",
        "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property "
        "'reasoning_content' is unsupported)]",
        Options(server="groq"),
    ),
    Case(
        "C13",
        [user(), assistant(reasoning=""), user("And?")],
        [user(), assistant(), user("And?")],
        "/1/reasoning",
        "messages[1].reasoning: reasoning is not supported with this model",
        Options(server="groq"),
    ),
    Case(
        "C14",
        [user(), assistant(), {"role": "system", "content": "Be brief."}, user("And?")],
        [{"role": "system", "content": "Be brief."}, user(), assistant(), user("And?")],
        "/2/role",
        "Unexpected role 'system' after role 'assistant'",
        Options(server="mistral"),
    ),
    Case(
        "C15",
        [user(), assistant()],
        [user(), assistant(prefix=True)],
        "/1/role",
        "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",
        Options(server="mistral"),
    ),
    Case(
        "C16",
        [{**user(), "name": "Ann Lee"}],
        [{**user(), "name": "Ann_Lee-2"}],
        "/0/name",
        "Invalid 'messages[0].name': string does not match pattern.",
    ),
    *(
        Case(
            "C16",
            [user(), chat_call("c1", name=bad), chat_answer("c1")],
            [user(), chat_call("c1", name="a" * 64), chat_answer("c1")],
            "/1/tool_calls/0/function/name",
            f"Invalid 'messages[1].tool_calls[0].function.name': {says}",
        )
        for bad, says in (
            ("weather.get", "string does not match pattern."),
            ("", "string does not match pattern."),
            ("a" * 65, "string too long. Expected a string with maximum length 64, but got a string with length 65"),
        )
    ),
    Case(
        "C17",
        [user(), chat_call("c" * 41), chat_answer("c" * 41)],
        [user(), chat_call("c" * 40), chat_answer("c" * 40)],
        "/1/tool_calls/0/id",
        "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a "
        "string with length 41 instead.",
    ),
    Case(
        "C18",
        [user(), chat_call("c1"), {**chat_answer("c1"), "content": [text("A map."), PICTURE]}],
        [user(), chat_call("c1"), chat_answer("c1"), user([text("A map."), PICTURE])],
        "/2/content/1",
        "Invalid 'messages[2]'. Image URLs are only allowed for messages with role 'user', but this message with role "
        "'tool' contains an image URL.",
    ),
    *(
        Case(
            "C19",
            [user([text("A map."), {"type": "image_url", "image_url": {"url": bad}}])],
            [user([text("A map."), {"type": "image_url", "image_url": {"url": good}}])],
            "/0/content/1/image_url",
            "invalid image input",
            Options(server="ollama"),
        )
        for bad, good in (
            ("https://example.com/map.png", "data:image/png;base64,iVBORw0KGgo="),
            ("iVBORw0KGgo=", "data:;base64,iVBORw0KGgo="),
        )
    ),
    Case(
        "C20",
        [user(), {**chat_call("c1"), "content": None}, chat_answer("c1")],
        [user(), {**chat_call("c1"), "content": ""}, chat_answer("c1")],
        "/1",
        "invalid message content type: <nil>",
        Options(server="ollama"),
    ),
    Case(
        "C21",
        [{**user(), "name": "Ann"}],
        [user()],
        "/0/name",
        "'loc': ['body', 'messages', 0, 'user', 'name'], 'msg': 'Extra inputs are not permitted'",
        Options(server="mistral"),
    ),
    Case(
        "C22",
        [user(), {**chat_call("c1"), "content": "", "reasoning_content": "hm"}, chat_answer("c1")],
        [user(), {**chat_call("c1"), "reasoning_content": "hm"}, chat_answer("c1")],
        "/1/content",
        "text content is empty",
        Options(server="moonshot"),
    ),
    Case(
        "C13",
        [user(), {"role": "assistant", "content": "Yes?", "reasoning_content": "hm"}, user()],
        [user(), {"role": "assistant", "content": "Yes?", "reasoning": "hm"}, user()],
        "/1/reasoning_content",
        "property 'messages.1.assistant.reasoning_content' is unsupported",
        Options(server="cerebras"),
    ),
    Case(
        "C20",
        [user(), {**chat_call("c1"), "content": None}, chat_answer("c1")],
        [user(), {**chat_call("c1"), "content": ""}, chat_answer("c1")],
        "/1",
        "Invalid request content: Each message must have at least one content element.",
        Options(server="xai"),
    ),
    Case(
        "C23",
        [{**user(), "timestamp": 1}],
        [user()],
        "/0/timestamp",
        "'messages.0' : for 'role:user' the following must be satisfied[('messages.0' : property 'timestamp' is "
        "unsupported",
        Options(server="groq"),
    ),
    Case(
        "C23",
        [user(), {"role": "assistant", "content": "Yes?", "reasoning_details": []}, user()],
        [user(), {"role": "assistant", "content": "Yes?", "reasoning_content": "hm"}, user()],
        "/1/reasoning_details",
        "Extra inputs are not permitted, field: 'messages[1].reasoning_details'",
        Options(server="fireworks"),
    ),
    Case(
        "C23",
        [user(), assistant(None, tool_calls=[{**chat_call("c1")["tool_calls"][0], "tokens": 0}]), chat_answer("c1")],
        [user(), chat_call("c1"), chat_answer("c1")],
        "/1/tool_calls/0/tokens",
        "Extra inputs are not permitted, field: 'messages[1].tool_calls[0].tokens'",
        Options(server="fireworks"),
    ),
    Case(
        "C24",
        [{"role": "system", "content": [text("Be kind.")]}, user()],
        [{"role": "system", "content": "Be kind."}, user([text("Hi")])],
        "/0/content",
        "'messages.0' : for 'role:system' the following must be satisfied[('messages.0.content' : value must be a "
        "string)]",
        Options(server="groq"),
    ),
    Case(
        "C24",
        [user(), {"role": "assistant", "content": [text("Yes?")]}, user()],
        [{"role": "system", "content": [text("Be kind.")]}, user(), {"role": "assistant", "content": "Yes?"}, user()],
        "/1/content",
        "Message content as a list is only supported for user messages.",
        Options(server="nim"),
    ),
    *(
        Case(
            "C25",
            [user(), {"role": "assistant", "content": ""}, user()],
            [user(), {"role": "assistant", "content": "Yes?"}, user()],
            "/1/content",
            words,
            Options(server=server),
        )
        for server, words in (
            ("mistral", "Assistant message must have either content or tool_calls, but not none."),
            ("moonshot", "Invalid request: the message at position 1 with role 'assistant' must not be empty"),
        )
    ),
    *(
        Case(
            "C27",
            [user([{"type": kind, kind: {"url": "https://example.org/a"}}, {"type": "text", "text": "Hi"}])],
            [user([{"type": kind, kind: {"url": "https://example.org/a"}}, {"type": "text", "text": "Hi"}])],
            "/0/content/0/type",
            "a part of the content is of a type that OpenAI's API does not know",
            Options(server=refuses),
            Options(server=takes),
        )
        for kind, refuses, takes in (
            ("document_url", "openai", "mistral"),
            ("reference", "", "mistral"),
            ("video_url", "mistral", "vllm"),
        )
    ),
    Case(
        "C26",
        [{"role": "system", "content": "Be kind."}, chat_call("c1"), chat_answer("c1")],
        [user(), chat_call("c1"), chat_answer("c1")],
        "/0",
        '"code":"1214"',
        Options(server="zhipu"),
    ),
    *(
        Case("R14", [user(), bad, assistant(), user()], [user(), good, assistant(), user()], pointer, words)
        for bad, good, pointer, words in (
            (
                {"type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "x"}},
                {
                    "type": "web_search_call",
                    "status": "completed",
                    "action": {"type": "search", "query": "x"},
                    "id": "ws_1",
                },
                "/1",
                "Missing required parameter: 'input[1].id'.",
            ),
            (
                {"type": "reasoning", "id": "rs_1", "encrypted_content": "x"},
                {"type": "reasoning", "id": "rs_1", "encrypted_content": "x", "summary": []},
                "/1",
                "Missing required parameter: 'input[1].summary'.",
            ),
            (
                {"type": "reasoning", "id": "rs_1", "encrypted_content": "x", "summary": [], "status": None},
                {"type": "reasoning", "id": "rs_1", "encrypted_content": "x", "summary": [], "status": "completed"},
                "/1/status",
                "Unknown parameter: 'input[1].status'.",
            ),
        )
    ),
    Case(
        "R13",
        [user(), call("c" * 65), output("c" * 65)],
        [user(), call("c" * 64), output("c" * 64)],
        "/1/call_id",
        "Invalid 'input[1].call_id': string too long. Expected a string with maximum length 64, but got a string with "
        "length 65 instead.",
    ),
    Case(
        "R12",
        [user(), call(arguments='{"city":"Pa'), output()],
        [user(), call(arguments='{"city":"Paris"}'), output()],
        "/1/arguments",
        "input[1].arguments: arguments must be a valid JSON object string",
    ),
    Case(
        "A22",
        [user(), {"role": "system", "content": "Be brief."}, user()],
        [user(), {"role": "system", "content": "Be brief."}, user()],
        "/1/role",
        'Unexpected role "system"',
        Options(system_messages=False),
        Options(),
    ),
    Case(
        "G7",
        [content("user", SAID), content("model", SIGNED_CALL), content("user", answered_as(""))],
        [content("user", SAID), content("model", SIGNED_CALL), content("user", answered_as("f"))],
        "/2/parts/0",
        "GenerateContentRequest.contents[2].parts[0].function_response.name: Name cannot be empty.",
    ),
    Case(
        "G8",
        [content("user", SAID), content("model", SIGNED_CALL), content("user", answered_as("call_1"))],
        [content("user", SAID), content("model", SIGNED_CALL), content("user", answered_as("f"))],
        "/2/parts/0",
        'functionResponse.name "call_1" does not match functionCall.name "f"',
    ),
    *(
        Case(
            "O1",
            [user(), native_call(arguments=sent), native_result()],
            [user(), native_call(), native_result()],
            "/1/tool_calls/0/function/arguments",
            f"json: cannot unmarshal {name} into Go struct field ChatRequest.messages.tool_calls.function.arguments "
            "of type api.ToolCallFunctionArguments",
        )
        for sent, name in (('{"city":"Pa', "string"), ([], "array"), (7, "number"), (True, "bool"))
    ),
    Case(
        "O2",
        [user([text("Hi")])],
        [user()],
        "/0/content",
        "json: cannot unmarshal array into Go struct field ChatRequest.messages.content of type string",
    ),
    Case(
        "O3",
        [{**user(), "images": ["data:image/png;base64,eA=="]}],
        [{**user(), "images": ["eA=="]}],
        "/0/images/0",
        "illegal base64 data at input byte 4",
    ),
    Case(
        "O3",
        [{**user(), "images": ["https://example.org/x.png"]}],
        [{**user(), "images": ["eHh4\n"]}],
        "/0/images/0",
        "illegal base64 data at input byte 5",
    ),
    Case("O3", [{**user(), "images": ["eA="]}], [{**user(), "images": ["eA=="]}], "/0/images/0", "is not base64"),
    Case(
        "O4",
        [user(), native_call(), user("Wait")],
        [user(), native_call(), native_result(), user("Wait")],
        "/1/tool_calls/0",
        "no tool message answers",
        Options(observations=True),
    ),
    Case(
        "O4",
        [user(), native_call(id="a"), native_call(id="b"), native_result(tool_call_id="b")],
        [user(), native_call(id="a"), native_call(id="b"), native_result(tool_call_id="b"), native_result()],
        "/1/tool_calls/0",
        "no tool message answers",
        Options(observations=True),
    ),
    Case(
        "O5",
        [user(), native_call(), native_result(), native_result()],
        [user(), native_call(), native_call(), native_result(), native_result()],
        "/3",
        "no open call belongs",
        Options(observations=True),
    ),
    Case(
        "O6",
        [{"role": "developer", "content": "Be kind."}, user()],
        [{"role": "system", "content": "Be kind."}, user()],
        "/0/role",
        "a role that templates do not know",
        Options(observations=True),
    ),
    Case(
        "B1",
        [converse("Hi"), converse_call("a", "b"), converse(converse_result("a")), converse("?", role="assistant")],
        [converse("Hi"), converse_call("a", "b"), converse(converse_result("a"), converse_result("b"))],
        "/1",
        "Expected toolResult blocks at messages.2.content for the following Ids: b",
    ),
    Case(
        "B2",
        {"messages": [converse("Hi"), converse("Yes?", role="assistant"), converse(converse_result("a"))]},
        {"messages": [converse("Hi"), converse_call("a"), converse(converse_result("a"))]},
        "/messages/2",
        "The number of toolResult blocks at messages.2.content exceeds the number of toolUse blocks of previous turn.",
    ),
    Case(
        "B3",
        [converse("Hi"), converse_call("a"), converse(converse_result("a"), converse_result("a"))],
        [converse("Hi"), converse_call("a", "b"), converse(converse_result("a"), converse_result("b"))],
        "/2",
        "The toolResult blocks at messages.2.content contain duplicate Ids: a",
    ),
    Case(
        "B3",
        [converse("Hi"), converse_call("a", "a"), converse(converse_result("a"))],
        [converse("Hi"), converse_call("a"), converse(converse_result("a"))],
        "/1",
        "two calls or two results of a message have the same id",
    ),
    Case(
        "B4",
        [converse("Hi"), converse("Yes", "", role="assistant")],
        [converse("Hi"), converse("Yes", " ", role="assistant")],
        "/1/content/1/text",
        "The text field in the ContentBlock object at messages.1.content.1 is blank.",
    ),
    Case(
        "B5",
        [converse("Hi"), converse(role="assistant"), converse("So?")],
        [converse("Hi"), converse("Yes", role="assistant"), converse("So?")],
        "/1/content",
        "The content field in the Message object at messages.1 is empty.",
    ),
    Case(
        "B6",
        [converse("Yes?", role="assistant"), converse("Hi")],
        [{"role": "system", "content": [{"text": "Be kind."}]}, converse("Hi"), converse("Yes?", role="assistant")],
        "/0",
        "A conversation must start with a user message.",
    ),
    Case(
        "B7",
        [converse("Hi"), converse("Hello?")],
        [converse("Hi"), converse("Yes?", role="assistant"), converse("Hello?")],
        "/1",
        "A conversation must alternate between user and assistant roles.",
    ),
    Case(
        "B8",
        {"inferenceConfig": {}, "messages": [converse("Hi"), converse_call("a"), converse(converse_result("a"))]},
        {
            "inferenceConfig": {},
            "messages": [converse("Hi"), converse_call("a"), converse(converse_result("a"))],
            "toolConfig": {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}]},
        },
        "",
        "The toolConfig field must be defined",
    ),
    Case(
        "B9",
        [converse("Hi"), converse_call("a"), converse(converse_result("a", status="error"))],
        [converse("Hi"), converse_call("a"), converse(converse_result("a", {"text": "failed"}, status="error"))],
        "/2/content/0/toolResult/content",
        "The content field at messages.2.content.0.toolResult cannot be empty when status value is error.",
    ),
    Case(
        "B10",
        [converse("Hi"), converse_call("a", sent='{"city'), converse(converse_result("a"))],
        [converse("Hi"), converse_call("a", sent={"city": "Paris"}), converse(converse_result("a"))],
        "/1/content/0/toolUse/input",
        "The format of the value at messages.1.content.0.toolUse.input is invalid.",
    ),
    Case(
        "B10",
        {"messages": [converse("Hi"), converse_call("a"), converse(converse_result("a", {"json": [1]}))]},
        {"messages": [converse("Hi"), converse_call("a"), converse(converse_result("a", {"json": {"n": 1}}))]},
        "/messages/2/content/0/toolResult/content/0/json",
        "The format of the value at messages.2.content.0.toolResult.content.0.json is invalid.",
    ),
    Case(
        "B10",
        {
            "messages": [
                converse("Hi"),
                converse_call("a"),
                converse(converse_result("a", {"json": {"e": [{"__type": "T"}]}})),
            ]
        },
        {
            "messages": [
                converse("Hi"),
                converse_call("a"),
                converse(converse_result("a", {"json": {"e": [{"type": "T"}]}})),
            ]
        },
        "/messages/2/content/0/toolResult/content/0/json",
        "The format of the value at messages.2.content.0.toolResult.content.0.json is invalid.",
    ),
    Case(
        "B11",
        [converse("Hi"), converse_call("a", name="get weather"), converse(converse_result("a"))],
        [converse("Hi"), converse_call("a.b:c-d_e", name="get-weather_2"), converse(converse_result("a.b:c-d_e"))],
        "/1/content/0/toolUse/name",
        "other characters or another length",
    ),
    Case(
        "B12",
        [converse({"document": {"name": "a", "format": "txt", "source": {"bytes": "eA=="}}})],
        [converse({"document": {"name": "a", "format": "txt", "source": {"bytes": "eA=="}}}, "Look.")],
        "/0/content/0",
        "A text block must be included when using documents.",
    ),
    Case(
        "B13",
        [converse("Hi"), converse_call("a"), converse(converse_result("a"), "Go on")],
        [converse("Hi"), converse_call("a"), converse(converse_result("a"))],
        "/2/content/0",
        "messages.2.content: Conversation blocks and tool result blocks cannot be provided in the same turn.",
        Options(observations=True),
    ),
)

RULE = {rule.id: rule for rule in RULES}
