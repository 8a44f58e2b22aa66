"""Pydantic AI, "UI Event Streams", "Saving to a conversation store": the adapter loads and saves by itself."""

from agent import agent
from listen import listen
from pydantic_ai.conversation_store import InMemoryConversationStore
from pydantic_ai.ui.vercel_ai import VercelAIAdapter
from starlette.requests import Request
from starlette.responses import Response

store = InMemoryConversationStore()


async def chat(request: Request) -> Response:
    return await VercelAIAdapter.dispatch_request(
        request, agent=agent, sdk_version=7, conversation_store=store, conversation_scope="user-1"
    )


listen(chat)
