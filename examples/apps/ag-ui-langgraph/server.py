"""LangGraph behind `ag_ui_langgraph`, as its README has it: checkpointer and client keep the history."""

import asyncio
import os
from pathlib import Path
from typing import Annotated

import httpx
import uvicorn
from ag_ui_langgraph import LangGraphAgent, add_langgraph_fastapi_endpoint
from fastapi import FastAPI
from langchain.agents import create_agent
from langchain_core.tools import InjectedToolCallId, tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

EFFECTS = Path("effects.txt")
LEDGER = os.environ.get("TPHARNESS_EFFECTS_URL")


def order(city: str, nights: int) -> None:
    with EFFECTS.open("a", encoding="utf-8") as effects:
        effects.write(f"book_hotel {city} {nights}\n")


@tool
async def book_hotel(city: str, nights: int, tool_call_id: Annotated[str, InjectedToolCallId]) -> str:
    """Book a hotel room in a city; the booking is made at once, its confirmation takes a while."""
    if LEDGER:  # the booking is made by a service, tpharness's ledger of effects
        headers = {"X-Tpharness-Call": tool_call_id}
        async with httpx.AsyncClient(timeout=60) as service:
            call = {"city": city, "nights": nights}
            answer = await service.post(f"{LEDGER}/tools/book_hotel", json=call, headers=headers)
            return str(answer.json()["result"])
    order(city, nights)
    await asyncio.sleep(float(os.environ.get("BOOKING_SECONDS", "1")))
    return f"booked {nights} nights in {city}"


graph = create_agent(ChatOpenAI(model="gpt-4.1", streaming=True), [book_hotel], checkpointer=InMemorySaver())
app = FastAPI()
add_langgraph_fastapi_endpoint(app, LangGraphAgent(name="hotels", graph=graph), "/agent")

uvicorn.run(app, host="127.0.0.1", port=int(os.environ.get("PORT", "8000")))
