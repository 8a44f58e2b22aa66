#!/usr/bin/env bash
# vLLM 0.33.0, SGLang 0.5.10.post1: neither compares calls with results, and half arguments are taken by one of them.
#
# Both have the Chat Completions API of OpenAI. Asked is what each does to the messages before a model's template gets them:
# of vLLM the types of a message and `_postprocess_messages`, of SGLang `ChatCompletionRequest` and the parsing of arguments
# in `serving_chat.py`. Neither needs a model or a GPU for that. The wheel of vLLM has 336 MB.
# Expected: what OpenAI's API refuses is refused: a call without a result, a result without a call, names and ids of any form.
# Seen: all of these are taken. Arguments that are not a JSON object are replaced by {} in vLLM; SGLang refuses what is not
# JSON, and gives a list to the template.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check openai==3.57.0 pydantic==2.14.4 orjson==3.13.0 typing-extensions
env/bin/pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: vllm==0.33.0
env/bin/pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: sglang==0.5.10.post1
tar xzf sglang-*.tar.gz
env/bin/python -m zipfile -e vllm-*.whl vllm

cat > judged.py <<'PY'
import ast
import importlib.util
import json
import logging
import sys
import types
from pathlib import Path

import orjson
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionMessageToolCallParam
from pydantic import TypeAdapter
from typing_extensions import Required, TypedDict

SGLANG = next(Path().glob("sglang-*/sglang/srt/entrypoints/openai/protocol.py"))
VLLM = Path("vllm/vllm/renderers/chat_utils")

# SGLang: its models of a request, without the package around them, which needs a GPU's libraries.
for name in ("sglang", "sglang.utils"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["sglang.utils"].convert_json_schema_to_str = json.dumps
spec = importlib.util.spec_from_file_location("protocol", SGLANG)
protocol = importlib.util.module_from_spec(spec)
sys.modules["protocol"] = protocol
spec.loader.exec_module(protocol)
assert "orjson.loads" in SGLANG.with_name("serving_chat.py").read_text()


def sglang(messages):
    request = protocol.ChatCompletionRequest(model="m", messages=messages)
    for message in request.messages:
        for call in getattr(message, "tool_calls", None) or ():
            if isinstance(call.function.arguments, str):
                orjson.loads(call.function.arguments)


# vLLM: the type of a message that is not one of OpenAI's, and the function that prepares calls for the template.
def cut_out(file, name):
    tree = ast.parse(file.read_text())
    found = next(node for node in tree.body if getattr(node, "name", "") == name)
    return ast.unparse(found)


space = {
    "json": json,
    "logger": logging.getLogger("vllm"),
    "VLLMValidationError": ValueError,
    "ConversationMessage": dict,
    "TypedDict": TypedDict,
    "Required": Required,
    "ChatCompletionContentPartParam": str | dict,
    "ChatCompletionMessageToolCallParam": ChatCompletionMessageToolCallParam,
    "ChatCompletionContentPartPromptEmbedsParam": dict,
    "ChatCompletionFunctionToolParam": dict,
}
logging.getLogger("vllm").disabled = True
exec(cut_out(VLLM / "types.py", "CustomChatCompletionMessageParam"), space)
exec(cut_out(VLLM / "chat_message.py", "_postprocess_messages"), space)
MESSAGES = TypeAdapter(list[ChatCompletionMessageParam | space["CustomChatCompletionMessageParam"]])


def vllm(messages):
    MESSAGES.validate_python(messages)
    space["_postprocess_messages"](json.loads(json.dumps(messages)))


def user():
    return {"role": "user", "content": "Hi"}


def call(call_id="c1", name="f", arguments="{}", **more):
    function = {"name": name, "arguments": arguments}
    made = [{"id": call_id, "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": made, **more}


def result(call_id="c1", **more):
    return {"role": "tool", "tool_call_id": call_id, "content": "sunny", **more}


PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
HISTORIES = {
    "a call and its result": [user(), call(), result()],
    "a call without its result": [user(), call(), user()],
    "a result without its call": [user(), result()],
    "an answer without words": [user(), {"role": "assistant", "content": None}, user()],
    "a result that names no call": [user(), call(), {"role": "tool", "content": "sunny"}],
    "arguments as an object": [user(), call(arguments={}), result()],
    "an empty list of calls": [user(), {"role": "assistant", "content": "Hi", "tool_calls": []}, user()],
    "a second result": [user(), call(), result(), result()],
    "two calls with one id": [user(), call(tool_calls=call()["tool_calls"] * 2), result(), result()],
    "half the arguments": [user(), call(arguments='{"city":"Pa'), result()],
    "a list as arguments": [user(), call(arguments="[1]"), result()],
    "a name with a dot": [user(), call(name="weather.get"), result()],
    "an id of 41 letters": [user(), call("c" * 41), result("c" * 41)],
    "a picture as a result": [user(), call(), result(content=[PICTURE])],
    "a question without words": [{"role": "user", "content": None}],
}
for what, messages in HISTORIES.items():
    said = []
    for server in (vllm, sglang):
        try:
            server(messages)
            said.append("taken")
        except ValueError:
            said.append("refused")
    print(f"{what}: {' '.join(said)}")
PY

env/bin/python -W ignore judged.py > seen.txt
cat > described.txt <<'TEXT'
a call and its result: taken taken
a call without its result: taken taken
a result without its call: taken taken
an answer without words: taken taken
a result that names no call: taken taken
arguments as an object: taken taken
an empty list of calls: taken taken
a second result: taken taken
two calls with one id: taken taken
half the arguments: taken refused
a list as arguments: taken taken
a name with a dot: taken taken
an id of 41 letters: taken taken
a picture as a result: taken taken
a question without words: refused refused
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
