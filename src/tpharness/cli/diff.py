"""`tpharness diff`: where two threads differ, in words."""

from __future__ import annotations

from typing import Annotated

from tpharness.cli.files import check_stdin_once, print_json, read_thread
from tpharness.cli.options import Argument, Exit, Option
from tpharness.printable import say
from tpharness.protocol.diff import diff as differences

__all__ = ["diff"]


def diff(
    a: Annotated[str, Argument(help="A thread; - is standard input.")],
    b: Annotated[str, Argument(help="Another thread.")],
    content: Annotated[bool, Option("--content", help="Compare only what the stream carries (R39).")] = False,
    json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Describe where two threads differ.

    The output names turn, message, part and first character, and the ruling that decides.
    """
    check_stdin_once((a, b))
    found = differences(read_thread(a), read_thread(b), names=("A", "B"), mode="content" if content else "exact")
    if json:
        print_json([{"pointer": d.pointer, "text": d.text, "cites": d.cites} for d in found])
    else:
        for difference in found:
            say(difference.pointer)
            say(f"  {difference.text}{f' [{difference.cites}]' if difference.cites else ''}")
        if not found:
            say("the threads are equal" + (" in content" if content else ""))
    raise Exit(1 if found else 0)
