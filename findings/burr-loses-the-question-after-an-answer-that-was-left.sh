#!/usr/bin/env bash
# burr 0.42.0 (Python): the question after an answer that was left is lost, and the model is asked the old one again.
#
# A chat has two actions: `ask` takes the user's question as its input, `answer` streams. Each request of the page is one
# `stream_result(halt_after=["answer"], inputs={"question": ...})`, as in the documentation's chats. The first answer is
# read to its end (`whole`), or its user leaves after the first word (`left`): the generator is closed, as a web server
# does when its client is gone. Then the user asks "Why?".
# Expected: the model is asked "Why?"; or the input that no action takes is refused.
# Seen: after `left` the application still has `answer` before it: the request begins there, "Why?" is an input that nobody
# reads, and the model answers the first question once more. Nothing is raised or logged, and "Why?" is in no later request.
# The half answer is not kept. A step that was not finished is begun again, and inputs that it does not take are ignored.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check burr==0.42.0 apache-burr==0.42.0

cat > leave.py <<'PY'
from burr.core import ApplicationBuilder, action
from burr.core.action import streaming_action

asked = []


@action(reads=["chat"], writes=["chat"])
def ask(state, question: str):
    return state.append(chat=f"user: {question}")


@streaming_action(reads=["chat"], writes=["chat"])
def answer(state):
    asked.append(state["chat"])
    words = ["Take ", "one."]
    for word in words:
        yield {"word": word}, None
    yield {"word": ""}, state.append(chat=f"assistant: {''.join(words)}")


def request(app, question, leave=False):
    """Read the answer, or close it after its first word."""
    _, answer = app.stream_result(halt_after=["answer"], inputs={"question": question})
    pieces = iter(answer)
    next(pieces)
    if leave:
        pieces.close()
    for _ in pieces:
        pass


for end in ("whole", "left"):
    app = (
        ApplicationBuilder()
        .with_actions(ask, answer)
        .with_transitions(("ask", "answer"), ("answer", "ask"))
        .with_state(chat=[])
        .with_entrypoint("ask")
        .build()
    )
    request(app, "May I?", leave=end == "left")
    for question in ("Why?", "Hello?"):
        request(app, question)
        print(f"{end}, {question} the model is asked {asked[-1]}")
PY

env/bin/python -W ignore leave.py > seen.txt
cat > described.txt <<'TEXT'
whole, Why? the model is asked ['user: May I?', 'assistant: Take one.', 'user: Why?']
whole, Hello? the model is asked ['user: May I?', 'assistant: Take one.', 'user: Why?', 'assistant: Take one.', 'user: Hello?']
left, Why? the model is asked ['user: May I?']
left, Hello? the model is asked ['user: May I?', 'assistant: Take one.', 'user: Hello?']
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
