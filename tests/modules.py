"""Files of Python that are in no package, as modules: scripts and examples."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

__all__ = ["load_module"]


def load_module(file: Path) -> Any:
    """Return a file as a module, under its name: dataclasses look for theirs there."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return module
