"""What a rule of a model's API finds, and the least change after which it finds nothing: values, ids and order.

In: a request whose calls and answers belong together (`requests`), and the rules as `check_payload` applies them. Out:
the request, and each change under the name of its rule. Nothing that was said is lost: a message moves, is joined with
its neighbour or gets another name for its call. What would be a guess, such as the thinking that was not stored or the
next words of the user, is not made up; the rules find it again, and whoever repairs says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from tpharness.findings import Finding, Level
from tpharness.histories.stored import request_fields as fields
from tpharness.histories.stored import request_order as order
from tpharness.histories.stored.request_draft import Draft, Mended
from tpharness.histories.stored.sequence import Change
from tpharness.model_apis.check import check_payload
from tpharness.model_apis.rule import Options

__all__ = ["mend_by_rules"]

_TIMES = 8
"""So often one rule is mended in a request: what is mended for another may break it again."""

_MENDS: Mapping[str, Callable[[Draft, list[Finding]], Iterator[Mended]]] = {**fields.MENDS, **order.MENDS}
MENDED_RULES = frozenset(_MENDS)
"""The codes of what can be mended, not in every case."""


def mend_by_rules(draft: Draft, name: str, options: Options, *, certain: bool) -> list[Change]:
    """Change a request so that the rules of its API find less in it, and return the changes.

    With `certain` that goes for what only some servers refuse, too.
    """
    weakest = Level.SHOULD if certain else Level.MUST
    changes: list[Change] = []
    times: Counter[str] = Counter()
    stuck: set[str] = set()
    while True:
        judged = check_payload(name, draft.value(), options=options)
        found = [one for one in judged if one.level.rank <= weakest.rank]
        codes = (one.code for one in found if one.code in _MENDS and one.code not in stuck)
        code = next((one for one in codes if times[one] < _TIMES), None)
        if code is None:
            return changes
        here = [one for one in found if one.code == code]
        places = [draft.origin(one.place.pointer or "") for one in here]
        made = [
            Change(kind=here[mended.number].kind, pointer=places[mended.number], done=mended.done, said=mended.said)
            for mended in _MENDS[code](draft, here)
        ]
        changes += made
        times[code] += 1
        stuck = set() if made else {*stuck, code}  # what could not be mended may be when another rule is kept
