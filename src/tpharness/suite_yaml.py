"""The suite's own YAML files → JSON values, by the parser in C where PyYAML has it: it takes a tenth of the time.

Files of others are not read by it: it recurses in C, so that a line of ten thousand brackets would end the process.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

__all__ = ["load_suite_yaml"]

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_suite_yaml(file: Path) -> Any:
    """Return what a file of the suite holds."""
    return yaml.load(file.read_bytes(), Loader=_LOADER)  # noqa: S506  # a safe loader
