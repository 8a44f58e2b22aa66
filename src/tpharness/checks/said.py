"""Said: what a server's stream says beside its thread, which no comparison of threads can see.

A stream begins with the id of its message, by which a client finds the message again (R45). A text or a thought that
the model did not end stays open when its run is stopped: what is shown as ended looks whole (R60). A wire that has
words for it says how the run has ended (R27), and a run asks for the approvals for which it waits (R64). Of a server
that is not the reference the chunks are judged, too, that no thread shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from pkgutil import resolve_name

from tpharness.checks.contract import Check, Evidence, NotApplicable
from tpharness.findings import Finding, Kind, Place

__all__ = ["SAID"]

OTHER_MESSAGE = Kind("message-id-differs")
LOOKS_WHOLE = Kind("text-looks-whole")
OTHER_END = Kind("end-differs")
OTHER_APPROVALS = Kind("approvals-differ")


def _judge(evidence: Evidence) -> list[Finding]:
    return list(_search(evidence))


def _search(evidence: Evidence) -> Iterator[Finding]:
    place = Place(case=evidence.case, side="server")
    for number, run in enumerate(evidence.sent, 1):
        if run.named is not None and run.named != run.asked:
            got = run.named or "(no messageId)"
            yield OTHER_MESSAGE.at(
                place, f"the stream of run {number} names another message", got=got, expected=run.asked
            )
        for chunk in run.closed:
            yield LOOKS_WHOLE.at(
                place,
                f"run {number} was stopped inside a text, and its stream ends the text",
                got=chunk,
                expected="no end of what the model did not end",
                symptom=f"{chunk.get('type')} for a text that is open",
            )
        if _lies(run.ended, run.said_end):
            said = f"run {number} has {run.ended}, and its stream says otherwise"
            yield OTHER_END.at(place, said, got=run.said_end or "(no end)", expected=run.ended)
        if sorted(run.waits) != sorted(run.asks):
            said = f"run {number} ends while calls wait for an approval, and its stream asks for others"
            yield OTHER_APPROVALS.at(place, said, got=list(run.asks), expected=list(run.waits))
    if evidence.unsaid:
        yield from resolve_name("tpharness.checks.plain:describe_unsaid")(evidence)  # few runs need it


def _lies(ended: str | None, said: str | None) -> bool:
    """Whether a stream says another end; a stop that cannot be closed in order may be a failure there."""
    if ended == "failed":
        return said != ended
    return said == "finished" if ended == "stopped" else ended == "finished" and said in ("stopped", "failed")


_NOTHING_SAID = NotApplicable(
    reason="no run is given the id of its message, is stopped inside a text, or ends with words of its wire for that"
)


SAID = Check(
    name="said",
    title="a stream names its message and its end, asks what it has to ask, and leaves open what the model did not end",
    not_applicable=lambda evidence: None if evidence.sent or evidence.unsaid is not None else _NOTHING_SAID,
    judge=_judge,
)
