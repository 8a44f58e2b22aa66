"""Loading the ASGI application that `tpharness_app` names as `MODULE:APP`, and what to do where that fails."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from typing import Any

from tpharness.errors import TargetError, did_you_mean
from tpharness.imports import describe_import_error, import_from

__all__ = ["load_asgi"]

_MOST_FOLDERS = 4
_PYTHONPATH = 'pythonpath = ["src"] in the configuration of pytest does that for the folder src'


def load_asgi(folder: Path, module: str, attribute: str) -> Any:
    """Return the application. TargetError where its module cannot be imported, or has no such name."""
    try:
        loaded = import_from(folder, module)
    except Exception as error:  # the module's own code may raise anything when it is imported
        said = f"tpharness_app = {module}:{attribute}: {describe_import_error(module, error)}{_where(error)}"
        raise TargetError(said, hint=_advice(folder, module, error)) from error
    try:
        return getattr(loaded, attribute)
    except AttributeError:
        hint = did_you_mean(attribute, sorted(vars(loaded)), f"name the application: {module}:NAME")
        raise TargetError(f"tpharness_app: {module} has no {attribute} ({loaded.__file__})", hint=hint) from None


def _advice(folder: Path, module: str, error: Exception) -> str:
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    if missing is None:
        return f"the module was found, and its own code fails; python -c 'import {module}' shows all of it"
    own = (place for place in sys.path if place and not Path(place).is_relative_to(sys.base_prefix))
    places = list(dict.fromkeys([str(folder), *own]))
    searched = ", ".join(places[:_MOST_FOLDERS]) + (", …" if len(places) > _MOST_FOLDERS else "")
    if f"{module}.".startswith(f"{missing}."):
        return (
            f"there is no {missing} in {searched}: write MODULE:APP with the whole name of the module, as"
            f" my_package.main:app, or add the folder that it is in to sys.path ({_PYTHONPATH})"
        )
    return (
        f"{module} was found, and imports {missing}, which was not: install it for {sys.executable}, or add the folder"
        f" that it is in to sys.path ({_PYTHONPATH}); searched were {searched}"
    )


def _where(error: Exception) -> str:
    """Return the file and line of the module that raised, "" where none had begun."""
    files = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    own = [(name, line) for name, line in files if "importlib" not in name and Path(name).name != "imports.py"]
    own = [(name, line) for name, line in own if Path(name) != Path(__file__)]
    return f" ({own[-1][0]}:{own[-1][1]})" if own else ""
