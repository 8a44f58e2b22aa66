#!/usr/bin/env bash
# mistral-common 1.13.1: whether a history is taken depends on the model's tokenizer, not on what the documentation says.
#
# mistral-common is Mistral's own reading of a request; vLLM runs its validator for Mistral's models. A model's tokenizer has a
# version, and each version a validator: v3, v7, v11, v13.
# Expected: one set of rules for the messages of a request.
# Seen: an id of another API's call is refused up to v11 and taken from v13 on; an answer without words is refused by v3
# alone, a result whose id no call has from v11 on. A message of the user after a tool's result is taken by all, which the
# hosted API was seen to refuse (mistralai/mistral-vibe#578).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check mistral-common==1.13.1

cat > judged.py <<'PY'
from mistral_common.exceptions import MistralCommonException
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.protocol.instruct.validator import ValidationMode, get_validator
from mistral_common.tokens.tokenizers.base import TokenizerVersion

VERSIONS = ("v3", "v7", "v11", "v13")
SHORT = "callparis"


def user(text="Hi"):
    return {"role": "user", "content": text}


def answer(text="Hello."):
    return {"role": "assistant", "content": text}


def call(call_id=SHORT, name="get_weather", arguments="{}"):
    function = {"name": name, "arguments": arguments}
    return {"role": "assistant", "tool_calls": [{"id": call_id, "type": "function", "function": function}]}


def result(call_id=SHORT):
    return {"role": "tool", "tool_call_id": call_id, "content": "sunny"}


HISTORIES = {
    "a call and its result": [user(), call(), result()],
    "the user after a result": [user(), call(), result(), user()],
    "an id of another API": [user(), call("call_1234567"), result("call_1234567")],
    "a result without its call": [user(), result()],
    "a result of another call": [user(), call(), result("callother")],
    "half the arguments": [user(), call(arguments='{"city":"Pa'), result()],
    "a name with a dot": [user(), call(name="weather.get"), result()],
    "a name of 65 letters": [user(), call(name="a" * 65), result()],
    "a system message after an answer": [user(), answer(), {"role": "system", "content": "Be brief."}, user()],
    "an answer at the end": [user(), answer()],
    "an answer without words": [user(), answer(""), user()],
}
for what, messages in HISTORIES.items():
    said = []
    for version in VERSIONS:
        try:
            request = ChatCompletionRequest.from_openai(messages=messages, model="mistral")
            get_validator(TokenizerVersion(version), ValidationMode.serving).validate_request(request)
            said.append("taken")
        except MistralCommonException:
            said.append("refused")
    print(f"{what}: {' '.join(said)}")
PY

env/bin/python -W ignore judged.py > seen.txt
cat > described.txt <<'TEXT'
a call and its result: taken taken taken taken
the user after a result: taken taken taken taken
an id of another API: refused refused refused taken
a result without its call: refused refused refused refused
a result of another call: taken taken refused refused
half the arguments: taken taken taken taken
a name with a dot: refused refused refused refused
a name of 65 letters: refused refused refused refused
a system message after an answer: refused refused refused refused
an answer at the end: refused refused refused refused
an answer without words: refused taken taken taken
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
