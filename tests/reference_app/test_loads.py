"""Several requests look for one thread at the same moment, in every order that the loop can give them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from benchmarks.virtual_serve import Call
from benchmarks.virtual_time import run_virtually
from tests.reference_app.peer import HELLO, TOOL_CALL, run_body, user_turn
from tests.reference_app.test_in_virtual_time import serving, whole

BODY = run_body([*TOOL_CALL, *HELLO], user=[user_turn("Hi")])
OTHERS = {
    "a look": ("GET", "", None),
    "a reader": ("GET", "/stream", None),
    "a run": ("POST", "/runs", BODY),
    "a user turn": ("POST", "/user-turns", user_turn("Ho", 20)),
}


@pytest.mark.parametrize("ticks", range(6))
@pytest.mark.parametrize("other", OTHERS)
def test_who_comes_when_a_thread_was_not_found_does_not_end_its_first_run(
    other: str, ticks: int, tmp_path: Path
) -> None:
    """The look into the log came behind the beginning of that run, which was taken for one of a server that had died.

    The thread was as it should be, and was another one when it was loaded the next time.
    """
    method, path, posted = OTHERS[other]

    async def play() -> tuple[Any, Any]:
        async with serving(tmp_path) as server:
            store: Any = server.app.threads._store
            tell, comes = store._tell, []

            async def come() -> None:
                for _ in range(ticks):
                    await asyncio.sleep(0)
                await Call(server, method, f"/threads/t{path}", posted).begun()

            def tell_first(results: Any) -> None:
                """Say that there is no such thread; so many ticks later the other one comes."""
                store._tell = tell
                comes.append(asyncio.get_running_loop().create_task(come(), name="client"))
                tell(results)

            store._tell = tell_first
            await whole(Call(server, "POST", "/threads/t/runs", BODY))
            await asyncio.gather(*comes)
            before = await Call(server, "GET", "/threads/t").value()
            await server.kill(None)
            await server.start()
            return before, await Call(server, "GET", "/threads/t").value()

    before, after = run_virtually(play())
    assert before["turns"][1]["completion_status"] == "complete"
    assert after == before
