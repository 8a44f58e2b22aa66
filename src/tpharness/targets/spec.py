"""`kind:…` → target: the little language of `--server` and `--client`."""

from __future__ import annotations

import difflib
import importlib
from typing import Any

from tpharness.errors import TargetError, UsageError
from tpharness.targets.contract import ClientTarget, ServerTarget
from tpharness.targets.reference import Reference

__all__ = ["TARGETS", "resolve_client", "resolve_server"]

TARGETS = {
    "reference": "the embedded reference implementation, server and client",
    "python:MODULE:OBJECT": "a Python object with the methods of tpharness.targets.contract, or what returns one",
}
"""What `--server` and `--client` take, and what it means."""


def resolve_server(spec: str) -> ServerTarget:
    """Return the server that a spec names. UsageError for an unknown kind, TargetError for one that cannot be had."""
    target: ServerTarget = _resolve(spec, ("capabilities", "serve"), "server")
    return target


def resolve_client(spec: str) -> ClientTarget:
    """Return the client that a spec names; errors as for `resolve_server`."""
    target: ClientTarget = _resolve(spec, ("capabilities", "receive", "adopt"), "client")
    return target


def _resolve(spec: str, needs: tuple[str, ...], role: str) -> Any:
    kind, _, rest = spec.partition(":")
    if spec == "reference":
        return Reference()
    if kind == "python" and rest:
        return _python(spec, rest, needs, role)
    near = difflib.get_close_matches(spec, TARGETS, n=1)
    hint = f"did you mean {near[0]}?" if near else f"targets are {', '.join(TARGETS)}"
    raise UsageError(f"no target is called {spec!r}", hint=hint)


def _python(spec: str, rest: str, needs: tuple[str, ...], role: str) -> Any:
    module_name, _, attribute = rest.partition(":")
    if not attribute:
        raise UsageError(f"{spec!r} names no object", hint="write python:package.module:object")
    try:
        found = getattr(importlib.import_module(module_name), attribute)
    except ImportError as error:
        raise TargetError(
            f"{spec}: cannot import {module_name}: {error}", hint="is it installed, and on the path?"
        ) from error
    except AttributeError:
        raise TargetError(f"{spec}: {module_name} has no {attribute}") from None
    target = found() if isinstance(found, type) or (not hasattr(found, needs[0]) and callable(found)) else found
    missing = [name for name in needs if not hasattr(target, name)]
    if missing:
        raise TargetError(
            f"{spec} is no {role}: it lacks {', '.join(missing)}", hint="see tpharness.targets.contract for the methods"
        )
    return target
