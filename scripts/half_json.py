"""Write the table of half JSON in docs/HISTORIES.md: what readers of streaming arguments show at every cut.

    python scripts/half_json.py            installs the readers into a temporary folder, asks them, and writes the table
    python scripts/half_json.py --print    prints it

Each text is what a model means to say as the arguments of a call. It is cut after each of its characters but the last,
and every reader is given what had come by then. What it shows is compared with what was meant: a value that is not
there yet is not a mistake, nor is half a text, and a number that is another one is.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent.parent / "docs" / "HISTORIES.md"
BEGIN, END = "<!-- half JSON: generated -->\n", "<!-- half JSON: end -->"

TEXTS = (
    '{"amount": 125}',
    '{"amount": -125}',
    '{"amount": 12.50, "to": "Ann"}',
    '{"amount": 1.5e3}',
    '{"amount": 2E-2, "note": null}',
    '{"seats": [12, 13, 140]}',
    '{"a": 0, "b": 10, "c": 100}',
    '{"city": "Paris"}',
    '{"path": "/etc/hosts", "recursive": true}',
    '{"dry_run": false, "force": true}',
    '{"when": "2025-01-20T10:00:00Z"}',
    '{"q": "say \\"no\\" twice"}',
    '{"q": "caf\\u00e9", "n": 3}',
    '{"q": "\\ud83d\\ude00 smile"}',
    '{"name": "null", "value": null}',
    '{"filter": {"price": {"max": 1000, "min": 10}}}',
    '{"rows": [{"id": 1}, {"id": 22}]}',
    '{"code": "if (a) { return [1, 2]; }"}',
    '{"text": "a: b, c", "more": []}',
    '{"empty": {}, "list": [], "last": "x"}',
    '[{"op": "add", "value": 42}]',
)
"""What a model means to say, as it says it."""

PYTHON: Mapping[str, str] = {
    "jiter": "0.14.0",
    "pydantic-core": "2.50.5",
    "partial-json-parser": "0.2.1.1.post7",
    "json-repair": "0.64.6",
    "langchain-core": "1.8.3",
}
NODE: Mapping[str, str] = {
    "ai": "7.0.173",
    "partial-json": "0.1.7",
    "untruncate-json": "0.0.1",
    "best-effort-json-parser": "1.5.1",
    "openai": "7.59.0",
    "@anthropic-ai/sdk": "1.14.0",
    "@langchain/core": "1.4.0",
}
USED_BY: Mapping[str, str] = {
    "untruncate-json": "AG-UI's client",
    "jiter": "OpenAI's and Anthropic's Python SDKs",
    "pydantic-core": "Pydantic AI",
}

IN_PYTHON = """
import json, sys
import jiter, json_repair, pydantic_core
from langchain_core.utils.json import parse_partial_json
from partial_json_parser import loads

readers = {
    "jiter": lambda text: jiter.from_json(text.encode(), partial_mode="trailing-strings"),
    "pydantic-core": lambda text: pydantic_core.from_json(text, allow_partial="trailing-strings"),
    "partial-json-parser": loads,
    "json-repair": lambda text: json_repair.loads(text),
    "langchain-core": parse_partial_json,
}
cuts = json.load(sys.stdin)
shown = {name: [] for name in readers}
for name, read in readers.items():
    for text in cuts:
        try:
            shown[name].append([read(text)])
        except Exception:
            shown[name].append([])
print(json.dumps(shown))
"""

IN_NODE = """
import { readFileSync } from 'node:fs';
import { parsePartialJson as ai } from 'ai';
import { parse as partialJson } from 'partial-json';
import untruncate from 'untruncate-json';
import { parse as bestEffort } from 'best-effort-json-parser';
import { partialParse as openai } from 'openai/_vendor/partial-json-parser/parser';
import { partialParse as anthropic } from '@anthropic-ai/sdk/_vendor/partial-json-parser/parser';
import { parsePartialJson as langchain } from '@langchain/core/output_parsers';

const readers = {
  ai: async (text) => (await ai(text)).value,
  'partial-json': partialJson,
  'untruncate-json': (text) => JSON.parse((untruncate.default ?? untruncate)(text)),
  'best-effort-json-parser': bestEffort,
  openai,
  '@anthropic-ai/sdk': anthropic,
  '@langchain/core': langchain,
};
console.error = () => {};
const cuts = JSON.parse(readFileSync(0, 'utf8'));
const shown = {};
for (const [name, read] of Object.entries(readers)) {
  shown[name] = [];
  for (const text of cuts) {
    try {
      const value = await read(text);
      shown[name].push(value === undefined ? [] : [value]);
    } catch {
      shown[name].push([]);
    }
  }
}
console.log(JSON.stringify(shown));
"""


def cuts() -> list[tuple[str, Any]]:
    """Return what has come after each cut, and what was meant."""
    return [(text[:at], json.loads(text)) for text in TEXTS for at in range(1, len(text))]


def mistakes(shown: Any, meant: Any) -> Iterator[str]:
    """Yield what is shown and was not meant: `number` for another number, `other` for anything else."""
    if isinstance(shown, Mapping) and isinstance(meant, Mapping):
        for name, value in shown.items():
            if name in meant:
                yield from mistakes(value, meant[name])
            else:
                yield "other"
    elif isinstance(shown, list) and isinstance(meant, list):
        if len(shown) > len(meant):
            yield "other"
        for one, other in zip(shown, meant, strict=False):
            yield from mistakes(one, other)
    elif isinstance(shown, str) and isinstance(meant, str):
        if not meant.startswith(shown.rstrip("\ud83d")):
            yield "other"
    elif _is_number(shown) and _is_number(meant):
        if shown != meant:
            yield "number"
    elif type(shown) is not type(meant) or shown != meant:
        yield "other"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def count(shown: list[list[Any]]) -> tuple[int, int, int, str]:
    """Return at how many cuts a reader shows something, a number that was not meant, anything else, and an example."""
    something = numbers = others = 0
    example = ""
    for (text, meant), values in zip(cuts(), shown, strict=True):
        found = [kind for value in values for kind in mistakes(value, meant)]
        something += bool(values)
        numbers += "number" in found
        others += "other" in found
        if found and not example:
            example = f"`{text}` is shown as `{json.dumps(values[0])}`"
    return something, numbers, others, example


def ask() -> dict[str, list[list[Any]]]:
    """Return what each reader shows at each cut; the readers are installed into a temporary folder."""
    given = json.dumps([text for text, _ in cuts()])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "env", with_pip=True)
        python = folder / "env" / "bin" / "python"
        pins = [f"{package}=={release}" for package, release in PYTHON.items()]
        _run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *pins], folder)
        (folder / "package.json").write_text('{"type": "module"}', "utf-8")
        node = [f"{package}@{release}" for package, release in NODE.items()]
        _run(["npm", "install", "--silent", "--no-audit", "--no-fund", *node, "zod@4.6.7"], folder)
        (folder / "read.py").write_text(IN_PYTHON, "utf-8")
        (folder / "read.mjs").write_text(IN_NODE, "utf-8")
        shown = json.loads(_run([str(python), "-W", "ignore", "read.py"], folder, given))
        return {**json.loads(_run(["node", "read.mjs"], folder, given)), **shown}


def _run(command: list[str], folder: Path, given: str = "") -> str:
    done = subprocess.run(command, cwd=folder, input=given, capture_output=True, text=True, check=True)  # noqa: S603
    return done.stdout


def table(shown: Mapping[str, list[list[Any]]]) -> str:
    """Return the table in Markdown."""
    releases = {**NODE, **PYTHON}
    lines = ["| reader | shows something | another number | anything else | such as |", "|---|---|---|---|---|"]
    for name, release in releases.items():
        something, numbers, others, example = count(shown[name])
        used = f" ({USED_BY[name]})" if name in USED_BY else ""
        lines.append(f"| {name} {release}{used} | {something} | {numbers} | {others} | {example or '–'} |")
    return "\n".join([f"{len(TEXTS)} texts, {len(cuts())} cuts.", "", *lines, ""])


def main() -> int:
    """Write the table, or print it."""
    made = table(ask())
    if "--print" in sys.argv:
        sys.stdout.write(made)
        return 0
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{made}\n{END}{after}", "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
