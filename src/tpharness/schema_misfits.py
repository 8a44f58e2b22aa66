"""The first place at which a document does not fit one of our schemas, in words for whoever has the document.

In: the name of a file in `conformance/schemas`, and a JSON value that anybody may have written. Out: a text.
"""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import orjson

from tpharness.findings import shorten
from tpharness.resources import schema_path

__all__ = ["first_misfit"]


def first_misfit(schema: str, value: Any) -> str:
    """Return what does not fit, and where; "" if all of it does."""
    validator = jsonschema_rs.Draft202012Validator(orjson.loads(schema_path(schema).read_bytes()))
    try:
        for error in validator.iter_errors(value):
            return f"{shorten(error.message)} at /{'/'.join(map(str, error.instance_path))}"
    except (ValueError, OverflowError) as error:  # no schema allows as many levels or digits as it gives up at
        return f"a value that JSON readers do not share: {error}"
    return ""
