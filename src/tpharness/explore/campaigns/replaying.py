"""A saved failure → its verdict and the record of its playing, for a trace.

In: a file that a campaign has saved, and an opened session. Out: a result, with a record if it fails again. It is
played as `tpharness run --scenarios FILE` plays it, which is not how every kind was judged: a case that fails only as
the campaign judges it says so.
"""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

from tpharness.errors import TpharnessError
from tpharness.explore.campaigns.judging import HangError, time_limit
from tpharness.run.session import Session
from tpharness.scenario import load_scenario
from tpharness.verdict.result import Outcome, Result

__all__ = ["play_saved"]


def play_saved(path: Path, session: Session) -> Result:
    """Play a saved failure once on the session's targets; whatever keeps it from being played is the reason.

    A crash is one: it is what a campaign looks for.
    """
    name = f"{path.parent.name}/{path.stem}"  # the id that `tpharness run --scenarios FILE` gives it
    if path.suffix != ".yaml":
        return _unplayed(name, "a document is read and written, and not played")
    try:
        scenario = load_scenario(path, root=path.parent.parent)
        with nullcontext() if session.has_remote else time_limit():
            case, reason = session.run(session.adapt(scenario))
            if reason:
                return _unplayed(scenario.id, reason)
            result = session.run(session.play_case(case, thorough=True))
    except (TpharnessError, HangError) as error:
        return _unplayed(name, str(error))
    except Exception as error:  # noqa: BLE001  # whatever it is, the campaign has reported it
        return _unplayed(name, f"it ends with {type(error).__name__}: {error}")
    if result.outcome.green:
        return _unplayed(scenario.id, "played by itself, as `tpharness run` plays it, it does not fail")
    return result


def _unplayed(name: str, reason: str) -> Result:
    return Result(id=name, outcome=Outcome.ERRORED, reason=reason)
