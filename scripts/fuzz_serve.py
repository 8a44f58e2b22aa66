"""Schemathesis against `tpharness serve`: no request whatever may be a server error, no answer off the contract.

    pip install schemathesis && python scripts/fuzz_serve.py

The contract is the one that the server gives away, but for one thing: schemathesis cannot make values for `if`/`then`,
by which the schema of server events says what each kind has, so the kinds are written as alternatives for it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from tpharness.reference_app.openapi import openapi_document
from tpharness.targets.server_process import ServerProcess

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


def contract() -> dict[str, Any]:
    """Return the contract with the kinds of server events as alternatives."""
    document: dict[str, Any] = json.loads(json.dumps(openapi_document()))
    event = document["components"]["schemas"]["server_event"]
    kinds = []
    for rule in event.pop("allOf"):
        then = rule["then"]
        named = {**event["properties"], **then.get("properties", {}), **rule["if"]["properties"]}
        kinds.append({"type": "object", "required": ["event_kind", *then.get("required", ())], "properties": named})
    document["components"]["schemas"]["server_event"] = {"anyOf": kinds}
    return document


async def fuzz(examples: int, seed: int) -> int:
    """Start the server and let schemathesis at it; return its exit code."""
    program = shutil.which("st") or shutil.which("schemathesis")
    if program is None:
        sys.stderr.write("schemathesis is not installed: pip install schemathesis\n")
        return 2
    with tempfile.TemporaryDirectory() as folder:
        spec = Path(folder) / "contract.json"
        spec.write_text(json.dumps(contract()), "utf-8")
        command = [sys.executable, "-m", "tpharness", "serve", "--port", "{port}", "--store", str(Path(folder) / "db")]
        async with ServerProcess(command) as server:
            options = ["--url", f"http://127.0.0.1:{server.port}", "--checks", CHECKS, "--seed", str(seed)]
            options += ["--suppress-health-check", "too_slow"]  # that is about the machine, and not about the server
            done = await asyncio.create_subprocess_exec(
                program, "run", str(spec), *options, "--max-examples", str(examples), cwd=folder
            )
            code = await done.wait()
            if server.pid is None:
                sys.stderr.write("the server has ended\n")
                return 1
            return code


def main() -> int:
    """Run with the options of the command line."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--examples", type=int, default=200, help="for each operation (200)")
    options.add_argument("--seed", type=int, default=1)
    args = options.parse_args()
    return asyncio.run(fuzz(args.examples, args.seed))


if __name__ == "__main__":
    sys.exit(main())
