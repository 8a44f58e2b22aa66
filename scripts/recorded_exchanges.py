"""Judge requests that were recorded together with the answer of a model's API, and print where we differ from the API.

python scripts/recorded_exchanges.py CHECKOUT...   # git checkouts or bare repositories of projects that keep cassettes

It reads the cassettes of VCR, vcrpy and pytest-recording at HEAD: YAML or JSON files with "cassette" in the path. It
prints the counts of what the API answered and what `tpharness accept` says, then each request that an API took and we
call refused or not certain, and each that an API refused with 400 or 422 and we do not. Exit code 1 if we refuse what
an API took.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import yaml

from tpharness.errors import TpharnessError
from tpharness.findings import Level
from tpharness.model_apis.check import check_payload
from tpharness.model_apis.request import read_request

API_OF = {
    r"/chat/completions": "openai-chat",
    r"/responses(\?|$)": "openai-responses",
    r"/v1/messages(\?|$)": "anthropic",
    r":(stream)?[gG]enerateContent": "gemini",
    r"/model/[^/]+/converse": "bedrock",
    r"/api/chat$": "ollama",
}
"""Which API a request is for, by its address."""
SERVER_OF = {
    "groq": "groq",
    "mistral": "mistral",
    "deepseek": "deepseek",
    "cerebras": "cerebras",
    "moonshot": "moonshot",
    "bigmodel": "zhipu",
    "api.x.ai": "xai",
    "fireworks": "fireworks",
}
"""Which server of Chat Completions answered, by its host."""
MODEL = re.compile(r"/models?/([^/:]+)[:/]")


class _Loader(yaml.CSafeLoader):
    """YAML with the tags of Ruby and Python, whose values are read as what they hold."""


def _untagged(loader: _Loader, _tag: str, node: yaml.Node) -> Any:
    match node:
        case yaml.ScalarNode():
            return loader.construct_scalar(node)
        case yaml.SequenceNode():
            return loader.construct_sequence(node, deep=True)
        case yaml.MappingNode():
            return loader.construct_mapping(node, deep=True)
    return None


_Loader.add_multi_constructor("!", _untagged)
_Loader.add_multi_constructor("tag:yaml.org,2002:python", lambda _loader, _tag, _node: None)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and the status of its answer; `place` is its file and its number in it."""

    place: str
    api: str
    address: str
    body: dict[str, Any]
    status: int
    answer: Any


def cassettes(repository: Path) -> Iterator[tuple[str, bytes]]:
    """Yield path and contents of each cassette at HEAD; files that a partial copy does not have are left out."""
    git = ("git", "-C", str(repository))
    listed = subprocess.run([*git, "ls-tree", "-r", "-z", "HEAD"], capture_output=True, check=True).stdout  # noqa: S603
    for line in listed.decode("utf-8", "replace").split("\0"):
        about, _, name = line.partition("\t")
        if "assette" in name and name.endswith((".yaml", ".yml", ".json")):
            shown = subprocess.run([*git, "cat-file", "blob", about.split()[2]], capture_output=True, check=False)  # noqa: S603
            if shown.returncode == 0:
                yield name, shown.stdout


def exchanges(name: str, contents: bytes) -> Iterator[Exchange]:
    """Yield what a cassette has of the APIs that we judge."""
    try:
        cassette = json.loads(contents) if name.endswith(".json") else yaml.load(contents, Loader=_Loader)  # noqa: S506
    except (ValueError, yaml.YAMLError):
        return
    recorded = cassette if isinstance(cassette, dict) else {}
    for number, one in enumerate(recorded.get("interactions") or recorded.get("http_interactions") or []):
        if not isinstance(one, dict) or "request" not in one:
            continue
        request, response = one["request"], one.get("response") or {}
        address = str(request.get("uri") or request.get("url") or "")
        api = next((name for pattern, name in API_OF.items() if re.search(pattern, address)), None)
        body = _json_of(request)
        if api and isinstance(body, dict) and "count" not in address and "batch" not in address:
            status = response.get("status") or response.get("status_code") or 0
            code = int(status.get("code") or 0) if isinstance(status, dict) else int(status)
            yield Exchange(f"{name}#{number}", api, address, body, code, _json_of(response))


def _json_of(message: Mapping[str, Any]) -> Any:
    if "parsed_body" in message:
        return message["parsed_body"]
    body = message.get("body")
    body = body.get("string") if isinstance(body, dict) else body
    try:
        return json.loads(body) if isinstance(body, str | bytes) else None
    except ValueError:
        return None


def judge(one: Exchange) -> tuple[str, list[str]]:
    """Return what we say of a request (`accepted`, `not certain`, `refused`, `unreadable`), and our reasons."""
    named = MODEL.search(one.address)
    words = {"model": unquote(named[1])} if named and one.api in {"bedrock", "gemini"} else {}
    if one.api == "openai-chat":
        servers = [server for host, server in SERVER_OF.items() if host in one.address]
        words = {"server": servers[0]} if servers else {}
    try:
        request = read_request(one.body, provider=one.api, **words)
        found = check_payload(request.provider, request.payload, options=request.options)
    except TpharnessError as error:
        return "unreadable", [str(error)]
    said = (
        "refused" if any(finding.level is Level.MUST for finding in found) else "not certain" if found else "accepted"
    )
    return said, [f"{finding.message} ({finding.place.pointer})" for finding in found]


def main(repositories: list[Path]) -> int:
    """Print the counts and the differences; return the exit code."""
    counts: Counter[tuple[str, str, str]] = Counter()
    differ = []
    for repository in repositories:
        for one in (exchange for file in cassettes(repository) for exchange in exchanges(*file)):
            taken = 200 <= one.status < 300
            said, reasons = judge(one)
            counts[one.api, "taken" if taken else str(one.status), said] += 1
            if (said != "accepted") if taken else (said != "refused" and one.status in {400, 422}):
                differ.append((taken and said == "refused", one, said, reasons))
    for (api, answer, said), count in sorted(counts.items()):
        print(f"{count:6}  {api:16}  {answer:6}  {said}")
    for _, one, said, reasons in differ:
        print(f"\n{one.place}  {one.api}  {one.status}  {said}")
        for reason in reasons[:4]:
            print(f"    {reason}")
        if not 200 <= one.status < 300:
            print(f"    the API: {json.dumps(one.answer, default=str)[:300]}")
    return 1 if any(wrong for wrong, *_ in differ) else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", metavar="CHECKOUT", nargs="+", type=Path, help="a git repository on this machine")
    sys.exit(main(parser.parse_args().checkouts))
