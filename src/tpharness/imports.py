"""Modules that a user names, such as `python:mine:Server`: found in a folder of theirs, before what is installed."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

__all__ = ["describe_import_error", "import_from"]


def import_from(folder: Path, module: str) -> ModuleType:
    """Import a module by its full name, from `folder` first. Raises what the import raises.

    Afterwards the folder is the last place that is searched: a `yaml.py` in it is not taken for the library by what is
    imported later.
    """
    place = str(folder)
    known = place in sys.path
    sys.path.insert(0, place)
    try:
        return import_module(module)
    finally:
        sys.path.remove(place)
        if not known:
            sys.path.append(place)


def describe_import_error(module: str, error: Exception) -> str:
    """Return in words what importing a module raised, which its own code may do with any exception."""
    return f"importing {module} gave {type(error).__name__}: {error}"
