"""The least that another order of a certificate takes: what its cases ask of both sides, and their threads.

One run over standard input and output is recorded: what each side was asked, and the threads that it gave. For another
order the same is asked of new processes, in the same reads and deltas and as often: requests are written, since those
of a whole run take some 70 MB, answers are held to the contract, and their threads compared. No scenario is loaded, no
read or delta cut, nothing judged or looked up. It is the floor of what `certify` adds to a run for each order after the
first, and gets the threads of the run or ends with an error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

from benchmarks.least_wires import Asked

from tpharness.targets.stdio import StdioClient, StdioServer

__all__ = ["ask_again"]


def ask_again(asked: Sequence[Asked], target: str) -> None:
    """Ask all of it of a server and a client, as many processes of each at once as a run has. SystemExit as above."""
    asyncio.run(_ask_all(iter(asked), StdioServer(target), StdioClient(target)))


async def _ask_all(left: Iterator[Asked], server: StdioServer, client: StdioClient) -> None:
    try:
        await asyncio.gather(*(_ask_each(left, server, client) for _ in range(server.at_once)))
    finally:
        await server.close()
        await client.close()


async def _ask_each(left: Iterator[Asked], server: StdioServer, client: StdioClient) -> None:
    for one in left:  # which all of them share
        given = await (server.serve(one.script) if one.turns is None else client.receive(one.script, one.turns))
        if given.threads != one.threads:
            raise SystemExit("the target of this benchmark gives the floor other threads than the run")
