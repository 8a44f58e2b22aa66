"""Pydantic AI, "Vercel AI Data Stream Protocol", "Usage with Starlette/FastAPI": the client keeps the history."""

from agent import agent
from listen import listen
from pydantic_ai.ui.vercel_ai import VercelAIAdapter
from starlette.requests import Request
from starlette.responses import Response


async def chat(request: Request) -> Response:
    return await VercelAIAdapter.dispatch_request(request, agent=agent, sdk_version=7)


listen(chat)
