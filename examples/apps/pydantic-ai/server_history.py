"""Pydantic AI, "UI Event Streams", "Keeping the history on the server": stored by `on_complete`, keyed by the chat."""

from agent import agent
from listen import listen
from pydantic_ai import AgentRunResult, ModelMessage
from pydantic_ai.ui.vercel_ai import VercelAIAdapter
from starlette.requests import Request
from starlette.responses import Response

histories: dict[str, list[ModelMessage]] = {}


async def chat(request: Request) -> Response:
    chat_id = (await request.json())["id"]

    async def save(result: AgentRunResult) -> None:
        histories[chat_id] = result.all_messages()

    return await VercelAIAdapter.dispatch_request(
        request,
        agent=agent,
        sdk_version=7,
        manage_message_history="server",
        message_history=histories.get(chat_id, []),
        on_complete=save,
    )


listen(chat)
