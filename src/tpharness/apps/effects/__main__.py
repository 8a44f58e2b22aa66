"""The MCP server over standard input and output: `python -m tpharness.apps.effects URL`."""

from __future__ import annotations

import asyncio
import os
import sys
from importlib import import_module

from tpharness.apps.effects import URL_VARIABLE
from tpharness.errors import TargetError


def main() -> int:
    """Serve until the input ends. The URL of the ledger is the argument, or stands in the environment."""
    url = sys.argv[1] if len(sys.argv) > 1 else os.environ.get(URL_VARIABLE, "")
    if not url.startswith("http://127.0.0.1:"):
        sys.stderr.write(f"usage: python -m tpharness.apps.effects http://127.0.0.1:PORT (or set {URL_VARIABLE})\n")
        return 2
    served = import_module("tpharness.apps.effects.mcp_server")  # a second, which a mistake does not take
    try:
        asyncio.run(served.serve_stdio(url.rstrip("/")))
    except TargetError as error:
        sys.stderr.write(f"{error}\n  {error.hint}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
