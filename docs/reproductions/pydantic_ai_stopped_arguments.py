"""Pydantic AI: what the AI SDK posts after a stop in the arguments of a call is refused, and so is every later turn."""

import json

from pydantic import ValidationError
from pydantic_ai.ui.vercel_ai import VercelAIAdapter

cut = {
    "type": "tool-book_hotel",
    "toolCallId": "c1",
    "state": "input-streaming",
    "input": {"city": "Par"},
    "rawInput": '{"city":"Par',  # the AI SDK keeps the text that has come beside what it could parse of it
}
messages = [
    {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "Book a hotel in Paris"}]},
    {"id": "a1", "role": "assistant", "parts": [{"type": "step-start"}, cut]},
    {"id": "u2", "role": "user", "parts": [{"type": "text", "text": "Thanks"}]},
]
body = {"id": "c1", "trigger": "submit-message", "messages": messages}
try:
    VercelAIAdapter.build_run_input(json.dumps(body).encode())  # the route answers 422 where this raises
except ValidationError as refused:
    print(*(error["msg"] for error in refused.errors() if error["loc"][-2:] == ("ToolInputStreamingPart", "rawInput")))
