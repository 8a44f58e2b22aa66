"""`tpharness run --patience`: how long a target of any kind may be silent."""

from __future__ import annotations

import shlex
import sys

from tests.cli.conftest import Call


def test_a_target_that_does_not_begin_is_waited_for_as_long_as_is_asked(call: Call) -> None:
    """And the request that it did not answer is named."""
    target = f"stdio:{shlex.join([sys.executable, '-c', 'input(); input()'])}"
    done = call("run", "approvals/answered-in-a-later-turn", "--server", target, "--patience", "0.4", "--no-config")
    assert done.code == 2
    assert "does not answer within 0.4 s; the first request, `start`, has" in " ".join((done.out + done.err).split())
