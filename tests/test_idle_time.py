"""The clock of tests whose servers and clients are on one loop: it goes only while nothing is to do."""

from __future__ import annotations

import asyncio
import sys

import pytest
from benchmarks.virtual_time import HangError, run_idly, virtual_loop


def test_time_stands_still_while_a_message_is_on_its_way() -> None:
    """However long the other side takes for it: a limit of a millisecond is not over."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await reader.readline()
        sum(range(500_000))  # much longer than a millisecond
        writer.write(asked)
        writer.close()
        await writer.wait_closed()

    async def main() -> tuple[bytes, float]:
        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            begun = virtual_loop().time()
            writer.write(b"Hello\n")
            async with asyncio.timeout(0.001):
                answered = await reader.readline()
            passed = virtual_loop().time() - begun
            writer.close()
            await writer.wait_closed()
            return answered, passed

    assert run_idly(main()) == (b"Hello\n", 0.0)


def test_time_passes_while_everybody_waits() -> None:
    """As much as was waited for, and not as much as went by."""

    async def main() -> list[float]:
        times = []
        for seconds in (2.0, 0.5):
            await asyncio.sleep(seconds)
            times.append(round(virtual_loop().time(), 6))
        return times

    assert run_idly(main()) == [2.0, 2.5]


def test_a_child_process_has_the_time_that_it_takes() -> None:
    """No more passes than on any clock while it runs."""

    async def main() -> tuple[bytes, int | None]:
        command = (sys.executable, "-I", "-S", "-c", "print('done')")
        child = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        async with asyncio.timeout(60):
            printed, _ = await child.communicate()
        return printed, child.returncode

    assert run_idly(main()) == (b"done\n", 0)


def test_who_waits_for_nothing_is_told_so() -> None:
    """After a second, since something might still come from outside."""

    async def main() -> None:
        await asyncio.Event().wait()

    with pytest.raises(HangError, match="nothing comes"):
        run_idly(main())
