"""The suite's own YAML files → JSON values, by the parser in C where PyYAML has it: it takes a tenth of the time.

Files of others are not read by it: it recurses in C, so that a line of ten thousand brackets would end the process.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["load_suite_yaml"]


def load_suite_yaml(file: Path) -> Any:
    """Return what a file of the suite holds."""
    import yaml  # noqa: PLC0415  # a fold that finds nothing wrong reads no file of the suite

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(file.read_bytes(), Loader=loader)  # noqa: S506  # a safe loader
