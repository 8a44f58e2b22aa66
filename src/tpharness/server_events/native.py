"""The forms of events as types of msgspec, which checks a value natively.

In: a record of the table `shapes`. Out: a type that refuses every value with a mismatch. It may refuse more, such as
a mapping that is not a `dict`: the table then says what is wrong, or that nothing is.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Union

import msgspec

from tpharness.server_events.forms import Form, Record, Scalar, TaggedRecord

__all__ = ["REFUSED", "native_type"]

REFUSED = (msgspec.ValidationError, UnicodeEncodeError)
"""What `msgspec.convert` raises for a value that is not of a native type, or has a lone surrogate in a name."""


def native_type(record: Record, *, apart: Collection[str] = ()) -> type[msgspec.Struct] | None:
    """Return the type of a record without the fields `apart`, or None if a field has a form without a native type."""
    return _struct("Event", record, apart)


def _struct(name: str, record: Record, apart: Collection[str], **tag: Any) -> type[msgspec.Struct] | None:
    fields = [(field, _native(form)) for field, form in record.fields.items() if field not in apart]
    if any(native is None for _, native in fields):
        return None
    typed = [(field, native) if field in record.required else (field, native, None) for field, native in fields]
    typed.sort(key=len)  # msgspec wants the required fields first
    return msgspec.defstruct(name, typed, gc=False, **tag)


def _native(form: Form) -> Any:
    if isinstance(form, Scalar):
        return form.native
    if isinstance(form, TaggedRecord):
        records = [
            _struct(f"Record{number}", record, (form.tag,), tag_field=form.tag, tag=tag)
            for number, (tag, record) in enumerate(form.records.items())
        ]
        return None if None in records else Union[tuple(records)]  # noqa: UP007  # made from a table
    return _struct("Record", form, ()) if isinstance(form, Record) else None
