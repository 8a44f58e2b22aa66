"""`kind:…` → target: the little language of `--server` and `--client`.

The module of a target is imported when it is named, so a run without a network does not import one.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from tpharness.errors import TargetError, UsageError, did_you_mean
from tpharness.imports import describe_import_error, import_from
from tpharness.targets.contract import ClientTarget, ServerTarget
from tpharness.targets.reference import Reference
from tpharness.targets.remote import Patience

__all__ = ["TARGETS", "resolve_client", "resolve_server"]

TARGETS = {
    "reference": "the embedded reference implementation, server and client",
    "http://[TOKEN@]HOST:PORT[/base]": "a server or a client over HTTP that has the paths of control.openapi.yaml",
    "stdio:COMMAND": "a program that answers on standard output, one JSON object a line; no shell is involved",
    "peer:NAME[@RELEASE]": "a target that is started for the run: serve, a framework, or one of tpharness.toml",
    "ag-ui+http://[TOKEN@]HOST:PORT/PATH": "a server that has nothing but AG-UI: `tpharness run` alone (docs/AG_UI.md)",
    "python:MODULE:OBJECT": "a Python object with the methods of tpharness.targets.contract, or what returns one",
}
"""What `--server` and `--client` take, and what it means."""

_LOADED = {
    ("http", "server"): "tpharness.targets.http_server:HttpServer",
    ("https", "server"): "tpharness.targets.http_server:HttpServer",
    ("http", "client"): "tpharness.targets.http_client:HttpClient",
    ("https", "client"): "tpharness.targets.http_client:HttpClient",
    ("peer", "server"): "tpharness.targets.peers:PeerServer",
    ("peer", "client"): "tpharness.targets.peers:PeerClient",
    ("stdio", "server"): "tpharness.targets.stdio:StdioServer",
    ("stdio", "client"): "tpharness.targets.stdio:StdioClient",
}
"""Kind and role to the class that plays it, made with the whole spec and `patience`."""


def resolve_server(spec: str, *, patience: Patience | None = None) -> ServerTarget:
    """Return the server that a spec names. UsageError for an unknown kind, TargetError if it cannot be loaded.

    `patience` is for a target outside this process, which is not contacted here: see `remote.Remote.open`.
    """
    target: ServerTarget = _resolve(spec, ("capabilities", "serve"), "server", patience)
    return target


def resolve_client(spec: str, *, patience: Patience | None = None) -> ClientTarget:
    """Return the client that a spec names; errors as for `resolve_server`."""
    target: ClientTarget = _resolve(spec, ("capabilities", "receive", "adopt"), "client", patience)
    return target


def _resolve(spec: str, needs: tuple[str, ...], role: str, patience: Patience | None) -> Any:
    kind, _, rest = spec.partition(":")
    if spec == "reference":
        return Reference()
    if (kind, role) in _LOADED:
        return resolve_name(_LOADED[kind, role])(spec, patience=patience)
    if any(kind == other for other, _ in _LOADED):
        raise UsageError(f"{spec!r} cannot be a {role}", hint=f"targets are {', '.join(TARGETS)}")
    if kind == "python" and rest:
        return _python(spec, rest, needs, role)
    if kind in ("ag-ui+http", "ag-ui+https"):
        hint = "tpharness run --server ag-ui+http://HOST:PORT/PATH alone posts to it, and judges its streams"
        raise UsageError(f"{spec!r} has nothing but its AG-UI endpoint, and cannot play scenarios", hint=hint)
    if len(spec.split()) > 1:  # nothing but a command has blanks in it
        raise UsageError(f"there is no target {spec!r}", hint=f"write {shlex.quote(f'stdio:{spec}')} for a program")
    if re.fullmatch(r"[\w.-]+:\d{1,5}(/.*)?", spec):
        raise UsageError(f"there is no target {spec!r}", hint=f"write http://{spec} for an address")
    hint = did_you_mean(spec, TARGETS, f"targets are {', '.join(TARGETS)}")
    raise UsageError(f"there is no target {spec!r}", hint=hint)


def _python(spec: str, rest: str, needs: tuple[str, ...], role: str) -> Any:
    module_name, _, attribute = rest.partition(":")
    if not attribute:
        raise UsageError(f"{spec!r} does not name an object", hint="write python:package.module:object")
    if not all(part.isidentifier() for part in module_name.split(".")):
        raise UsageError(f"{module_name!r} is not the name of a module", hint="write python:package.module:object")
    try:
        module = import_from(Path.cwd(), module_name)
    except ImportError as error:
        raise TargetError(
            f"{spec}: cannot import {module_name}: {error}", hint="is it installed, or a file of the current folder?"
        ) from error
    except Exception as error:  # the module's own code may raise anything when it is imported
        raise TargetError(
            f"{spec}: {describe_import_error(module_name, error)}", hint="import it in a Python shell"
        ) from error
    if not hasattr(module, attribute):
        hint = did_you_mean(attribute, dir(module), "name an object that the module defines: python:MODULE:OBJECT")
        raise TargetError(f"{spec}: {module_name} has no {attribute}", hint=hint)
    found = getattr(module, attribute)
    try:
        target = found() if isinstance(found, type) or (not hasattr(found, needs[0]) and callable(found)) else found
    except Exception as error:  # foreign code may raise anything
        raise TargetError(
            f"{spec}: calling {attribute}() gave {type(error).__name__}: {error}",
            hint="name an object with the methods of a target, or what returns one when called without arguments",
        ) from error
    missing = [name for name in needs if not hasattr(target, name)]
    if missing:
        raise TargetError(
            f"{spec} is not a {role}: it lacks {', '.join(missing)}",
            hint="see tpharness.targets.contract for the methods",
        )
    return target
