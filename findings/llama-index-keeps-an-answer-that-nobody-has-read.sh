#!/usr/bin/env bash
# llama-index-core 0.14.25: who leaves a chat engine's stream waits for its end, and the whole answer is in the memory.
#
# A chat engine streams an answer of nine words. The page has shown two, and its user leaves: the generator of
# `stream_chat` is closed, as a web server does when its client is gone.
# Expected: the model is no longer read; the memory has the two words, or nothing of the answer.
# Seen: closing the generator blocks until the model has said its last word, which is paid for, and the memory has all nine.
# The next request has an answer of which the user knows two words: "Why not?" means something else than the model
# believes. Nothing in the memory says where the user has left.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check llama-index-core==0.14.25

cat > leave.py <<'PY'
import threading
from contextlib import closing

from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata

WORDS = "Do not take both unless your doctor says so.".split()
go_on = threading.Event()
asked, said = [], []


class Model(CustomLLM):
    """Says two words, and the others when it may."""

    @property
    def metadata(self):
        return LLMMetadata()

    def complete(self, prompt, formatted=False, **kwargs):
        raise NotImplementedError

    def stream_complete(self, prompt, formatted=False, **kwargs):
        asked.append(prompt)
        for word in WORDS:
            if len(said) == 2:
                go_on.wait(60)
            said.append(word)
            yield CompletionResponse(text=" ".join(said), delta=f"{word} ")


engine = SimpleChatEngine.from_defaults(llm=Model())
with closing(engine.stream_chat("Which one?").response_gen) as words:
    print(f"shown: {next(words)}{next(words)}".rstrip())
    threading.Timer(1, go_on.set).start()  # while it is being closed
print(f"closed when the model has said {len(said)} words")
print(f"memory: {[message.content for message in engine.chat_history]}")
list(engine.stream_chat("Why not?").response_gen)
print(f"asked: {[line.strip() for line in asked[-1].splitlines()]}")
PY

env/bin/python -W ignore leave.py > seen.txt
cat > described.txt <<'TEXT'
shown: Do not
closed when the model has said 9 words
memory: ['Which one?', 'Do not take both unless your doctor says so.']
asked: ['user: Which one?', 'assistant: Do not take both unless your doctor says so.', 'user: Why not?', 'assistant:']
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
