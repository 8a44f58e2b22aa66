"""A target over stdio that writes down what it sees: how it was started, and each request. The example answers.

One line of JSON for each process in the folder that `ASKED` names, when it ends.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

import plain_python  # type: ignore[import-not-found]

started = time.time_ns()
requests: list[Any] = []
answer = plain_python.answer_line


def write_down(request: Any) -> Any:
    """Answer a request, and keep it."""
    requests.append(request)
    return answer(request)


plain_python.answer_line = write_down
plain_python.stdio()
seen = {"arguments": sys.argv, "environment": dict(os.environ), "folder": str(Path.cwd()), "requests": requests}
folder = Path(os.environ["ASKED"])
(folder / f"{started}-{os.getpid()}.json").write_text(json.dumps(seen), "utf-8")
