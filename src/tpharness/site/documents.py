"""What a site is given besides the checkout: reports, matrices, certificates, trends, traces of applications.

In: paths of JSON documents, recognised by what they say, and of traces. Out: the values. InputError for a file that is
none of these. A certificate is shown and not judged: `tpharness verify` does that.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tpharness.certificate import open_envelope
from tpharness.errors import InputError
from tpharness.schema_misfits import first_misfit
from tpharness.trace.read import Trace

__all__ = ["Documents", "read_documents"]

_KINDS = {"tpharness-report/1": "report", "tpharness-matrix/1": "matrix", "tpharness-trend/1": "trend"}


@dataclass(slots=True)
class Documents:
    """The documents by kind; a certificate is the predicate of its statement."""

    reports: list[dict[str, Any]] = field(default_factory=list)
    trends: list[dict[str, Any]] = field(default_factory=list)
    certificates: list[dict[str, Any]] = field(default_factory=list)
    traces: list[Trace] = field(default_factory=list)


def read_documents(paths: Sequence[Path]) -> Documents:
    """Read documents. InputError for a file that cannot be read, or is not what it says that it is."""
    found = Documents()
    for path in paths:
        if path.suffix == ".zip":
            found.traces.append(Trace.open(path))
            continue
        try:
            value = json.loads(path.read_bytes())
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}", hint="name files that can be read") from error
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path} is not JSON: {error}") from error
        _sort_in(found, value, path)
    return found


def _sort_in(found: Documents, value: Any, path: Path) -> None:
    if isinstance(value, dict) and "payloadType" in value:
        statement = json.loads(open_envelope(value))
        predicate: Any = statement.get("predicate") if isinstance(statement, dict) else None
        _require(predicate, "certificate", path)
        found.certificates.append(predicate)
        return
    kind = _KINDS.get(str(value.get("format")) if isinstance(value, dict) else "")
    if kind is None:
        raise InputError(
            f"{path} is not a document for a site",
            hint="run --report json:PATH, trend -o PATH and certify -o FOLDER write some",
        )
    if kind == "matrix":
        for report in value["reports"]:
            _require(report, "report", path)
        found.reports += value["reports"]
        return
    _require(value, kind, path)
    (found.trends if kind == "trend" else found.reports).append(value)


def _require(value: Any, kind: str, path: Path) -> None:
    misfit = first_misfit(kind, value)
    if misfit:
        raise InputError(f"{path} is not a {kind}: {misfit}", hint="has it been changed by hand?")
