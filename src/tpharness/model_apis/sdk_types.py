"""What the official SDKs' own types say of a payload: a second opinion on its shape.

In: a payload. Out: findings. The types do not describe pairs, order or emptiness, which the rules judge; they
describe the fields of every block. Needs the extra `providers`; an SDK is loaded when it is first used.

Fields declared as `Iterable[...]` are validated lazily: an item is validated only when it is taken out. So the
validated value is walked to its last item; otherwise a wrong block in a message would pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any

from tpharness.errors import UsageError
from tpharness.extras import install_command
from tpharness.findings import Finding, Kind, Place
from tpharness.model_apis.api import SdkTypes
from tpharness.model_apis.registry import ApiName, find_api
from tpharness.protocol.jcs import escape

__all__ = ["check_sdk_types"]

NOT_OF_SDK = Kind("payload-not-of-sdk")


def check_sdk_types(name: ApiName, payload: Any) -> list[Finding]:
    """Return a finding for each entry of a payload that the SDK's types do not allow, at its first wrong place.

    UsageError for another API, for one without an SDK, and where the SDK is not installed, with the command that
    installs it.
    """
    api = find_api(name)
    if api.sdk is None:
        raise UsageError(f"no official SDK has the types of {api.title}", hint="judge the request without --types")
    validate, refusal = _validator(api.name, api.sdk)
    field = api.entries
    inside = isinstance(payload, Mapping)
    entries, prefix = (payload.get(field), f"/{field}") if inside else (payload, "")
    if not isinstance(entries, list):
        return [NOT_OF_SDK.at(Place(pointer=prefix), got=entries, expected="a list")]
    found: list[Finding] = []
    for index, entry in enumerate(entries):
        try:
            wrong = next(_walk(validate(entry), entry, "", refusal), None)
        except refusal as error:
            wrong = _first(error, entry, "")
        if wrong is not None:
            pointer, message, got = wrong
            place = Place(pointer=f"{prefix}/{index}{pointer}")
            found.append(NOT_OF_SDK.at(place, f"{NOT_OF_SDK.title}: {message}", got=got))
    return found


@cache
def _validator(name: ApiName, sdk: SdkTypes) -> tuple[Callable[[Any], Any], type[Exception]]:
    """Return the function that validates one entry, and the exception that it raises."""
    try:
        pydantic = import_module("pydantic")
        declared = getattr(import_module(sdk.module), sdk.name)
    except ImportError as error:
        what = f"the SDK {sdk.package!r}, which has the types of {name}, is not installed"
        raise UsageError(what, hint=install_command("providers")) from error
    return pydantic.TypeAdapter(declared).validate_python, pydantic.ValidationError


def _walk(value: Any, given: Any, pointer: str, refusal: type[Exception]) -> Iterator[tuple[str, str, Any]]:
    """Take every item out of a validated value and yield what is rejected; `given` is the value before validation."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _walk(item, _inside(given, key), f"{pointer}/{escape(str(key))}", refusal)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _walk(item, _inside(given, index), f"{pointer}/{index}", refusal)
    elif isinstance(value, Iterator):  # a lazy list
        index = 0
        while True:
            try:
                item = next(value)
            except StopIteration:
                return
            except refusal as error:
                yield _first(error, given, pointer)
                return
            yield from _walk(item, _inside(given, index), f"{pointer}/{index}", refusal)
            index += 1


def _first(error: Any, given: Any, pointer: str) -> tuple[str, str, Any]:
    """Return pointer, words and value of the error that fits best.

    A value that may be of several types gets errors for each of them. Those of a type that has another role or type say
    nothing; of the others, the type with the fewest errors is the one meant.
    """
    branches: dict[Any, list[tuple[str, Any]]] = {}
    for one in error.errors(include_url=False, include_context=False):
        path, names = _path(one["loc"], given, missing=one["type"] == "missing")
        branches.setdefault(names[:1], []).append((path, one))
    best = min(
        branches.values(), key=lambda errors: (any(e["type"] == "literal_error" for _, e in errors), len(errors))
    )
    path, wrong = best[0]
    return pointer + path, str(wrong["msg"]), wrong["input"]


def _path(location: tuple[Any, ...], given: Any, *, missing: bool) -> tuple[str, tuple[Any, ...]]:
    """Divide a location into the JSON pointer of the value, and the names of types between its steps."""
    path, names = "", []
    for number, step in enumerate(location, 1):
        if _has(given, step) or (missing and number == len(location)):
            path += f"/{escape(str(step))}"
            given = _inside(given, step)
        else:
            names.append(step)
    return path, tuple(names)


def _has(value: Any, step: Any) -> bool:
    if isinstance(value, Mapping):
        return step in value
    return isinstance(value, list) and isinstance(step, int) and step < len(value)


def _inside(value: Any, step: Any) -> Any:
    return value[step] if _has(value, step) else None
