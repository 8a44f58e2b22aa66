"""Two agents for the LangGraph server, as its documentation has them: the server keeps the threads."""

import asyncio
import os
import time
from pathlib import Path
from typing import Annotated

import httpx
from langchain.agents import create_agent
from langchain_core.tools import InjectedToolCallId, tool
from langchain_openai import ChatOpenAI

EFFECTS = Path("effects.txt")
LEDGER = os.environ.get("TPHARNESS_EFFECTS_URL")
SECONDS = float(os.environ.get("BOOKING_SECONDS", "1"))


def order(city: str, nights: int) -> str:
    with EFFECTS.open("a", encoding="utf-8") as effects:
        effects.write(f"book_hotel {city} {nights}\n")
    return f"booked {nights} nights in {city}"


@tool
async def book_hotel(city: str, nights: int, tool_call_id: Annotated[str, InjectedToolCallId]) -> str:
    """Book a hotel room in a city; the booking is made at once, its confirmation takes a while."""
    if LEDGER:  # the booking is made by a service, tpharness's ledger of effects
        call, headers = {"city": city, "nights": nights}, {"X-Tpharness-Call": tool_call_id}
        async with httpx.AsyncClient(timeout=60) as service:
            answer = await service.post(f"{LEDGER}/tools/book_hotel", json=call, headers=headers)
            return str(answer.json()["result"])
    confirmation = await asyncio.to_thread(order, city, nights)
    await asyncio.sleep(SECONDS)
    return confirmation


@tool("book_hotel")
def book_hotel_in_a_thread(city: str, nights: int, tool_call_id: Annotated[str, InjectedToolCallId]) -> str:
    """Book a hotel room in a city; the booking is made at once, its confirmation takes a while."""
    if LEDGER:
        call, headers = {"city": city, "nights": nights}, {"X-Tpharness-Call": tool_call_id}
        with httpx.Client(timeout=60) as service:
            answer = service.post(f"{LEDGER}/tools/book_hotel", json=call, headers=headers)
            return str(answer.json()["result"])
    confirmation = order(city, nights)
    time.sleep(SECONDS)
    return confirmation


graph = create_agent(ChatOpenAI(model="gpt-4.1"), [book_hotel])
plain = create_agent(ChatOpenAI(model="gpt-4.1"), [book_hotel_in_a_thread])
