# mypy: disallow-untyped-calls=False
# A change takes the place of whatever it changes: what it is called with is said there.
"""Times that are equal, that differ in their last digits, and that are written in other forms: R25, R37, R39."""

from __future__ import annotations

import re
from collections.abc import Callable

from tests.seeded_defects.seeding import defect, wrap

from tpharness.dialects import messages, thread
from tpharness.dialects.messages import time_key
from tpharness.wires.vsp.carrier import CarriedFacts

__all__ = ["DEFECTS"]

_TIMES = ("timestamp", "started_at", "completed_at", "interrupted_at")


def ordered(key):
    """Both sides put what happened at one time in the order of a key."""

    def make(was):
        def by_time(message):
            return time_key(message["timestamp"]), key(message)

        return lambda *given, **options: sorted(was(*given, **options), key=by_time)

    return wrap(thread, "messages", make)


def newest_first(was):
    def backwards(*given, **options):
        found = was(*given, **options)
        found.reverse()
        return sorted(found, key=lambda message: time_key(message["timestamp"]))

    return backwards


def carried(change: Callable[[str], str]):
    """Let the client read the times of carriers so."""

    def make(was):
        def take_in(self, data):
            told = data
            if isinstance(data, dict):
                told = {k: change(v) if k in _TIMES and isinstance(v, str) else v for k, v in data.items()}
            was(self, told)

        return take_in

    return wrap(CarriedFacts, "take_in", make)


def by_milliseconds(was):
    return lambda at: re.sub(r"(\.\d{3})\d+", r"\1", was(at))


DEFECTS = (
    *(
        defect(f"at-one-time-{name}", "both", sentence, "event.order turn.messages-chronological R25", ordered(key))
        for name, sentence, key in (
            (
                "events-first",
                "Of what happened at one time events stand first.",
                lambda one: one["message_type"] != "system",
            ),
            (
                "events-last",
                "Of what happened at one time events stand last.",
                lambda one: one["message_type"] == "system",
            ),
            (
                "requests-last",
                "Of what happened at one time requests stand last.",
                lambda one: one["message_type"] == "request",
            ),
            (
                "responses-last",
                "Of what happened at one time responses stand last.",
                lambda one: one["message_type"] == "response",
            ),
            ("by-name", "Events of one time are sorted by their names.", lambda one: one.get("event_type", "")),
        )
    ),
    defect(
        "at-one-time-newest-first",
        "both",
        "Of what happened at one time the newest stands first.",
        "event.order turn.messages-chronological R25",
        wrap(thread, "messages", newest_first),
    ),
    defect(
        "order-by-milliseconds",
        "both",
        "Messages are sorted by the milliseconds of their times.",
        "event.order turn.messages-chronological R25",
        wrap(messages, "time_key", by_milliseconds),
    ),
    *(
        defect(
            f"carried-times-{name}", "client", sentence, "carrier.timestamps canon.timestamps R37 R39", carried(read)
        )
        for name, sentence, read in (
            (
                "with-offsets-of-hours",
                "Of an offset from UTC the minutes are not read.",
                lambda at: re.sub(r"([+-]\d\d):\d\d$", r"\1:00", at),
            ),
            (
                "without-their-offset",
                "The offset of a time is cut off.",
                lambda at: re.sub(r"[+-]\d\d:\d\d$", "Z", at),
            ),
        )
    ),
)
