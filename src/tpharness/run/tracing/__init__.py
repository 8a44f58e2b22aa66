"""What is traced of a run: the record of a case while it is played, and the files that are made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tpharness.lazy_names import lazy_names

if TYPE_CHECKING:
    from tpharness.run.tracing.record import MOST_RECORDED, PlaceRecorder, make_ready, make_record, record_place
    from tpharness.run.tracing.secrets import find_secrets

__all__ = ["MOST_RECORDED", "PlaceRecorder", "find_secrets", "make_ready", "make_record", "record_place"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "tpharness.run.tracing.record": ("MOST_RECORDED", "PlaceRecorder", "make_ready", "make_record", "record_place"),
        "tpharness.run.tracing.secrets": ("find_secrets",),
    },
)
