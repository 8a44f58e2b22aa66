"""Sources → the site: pages and pictures are written to a folder, and Zensical makes HTML of them.

In: documents, scenarios, the checkout with its `docs/`. Out: a folder that is new or was a site. UsageError where the
generator is not installed or there is no checkout, TargetError where it finds something wrong.
"""

from __future__ import annotations

import html
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tpharness.errors import InputError, TargetError, UsageError
from tpharness.extras import install_command
from tpharness.findings import shorten
from tpharness.resources import conformance_dir, docs_dir
from tpharness.scenario import Scenario
from tpharness.site.applications import application_files
from tpharness.site.documents import Documents
from tpharness.site.pages import site_pages
from tpharness.site.views import view_files

__all__ = ["build_site"]

_SECONDS = 600
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)")
_MARK = ".tpharness-site"
_WORKER = Path(__file__).parent / "search-frame.js"
_VIEWS = "views"
_AS_WRITTEN = re.compile(r"(<(?:pre|textarea|script|style)\b.*?</(?:pre|textarea|script|style)>)", re.DOTALL)
_LINE_ENDS = re.compile(r"\s*\n\s*")
_HEADING_OR_TABLE = re.compile(r"<h[1-6]\b[^>]*>(.*?)</h[1-6]>|<table>(.*?)</table>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_CHOICE_OF_INDEX, _ONE_INDEX = 'location.protocol==="file:"?', "true?"
_REMOTE_WORKER = '<script src="https://unpkg.com/iframe-worker/shim" type="text/javascript">'
_STYLE = """.scroll { overflow-x: auto; } iframe.picture { border: 1px solid #8888; height: 48rem; width: 100%; }
table.data { border-collapse: collapse; font-size: .64rem; }
table.data th, table.data td { border-bottom: 1px solid #8884; padding: .4em .8em; text-align: left; }
table.data th { font-weight: 600; } table.data td { vertical-align: top; }
.named :is(th, td):first-child { background: var(--md-default-bg-color); left: 0; position: sticky; }
.md-typeset .good { color: #2c6e0f; } .md-typeset .part { color: #8a5100; } .md-typeset .bad { color: #b3261e; }
:root, [data-md-color-scheme="default"] { --md-accent-fg-color: #2337b0; --md-typeset-a-color: #2337b0; }
[data-md-color-scheme="slate"] { --md-accent-fg-color: #a9b8ff; --md-typeset-a-color: #a9b8ff; }
[data-md-color-scheme="slate"] .md-typeset .good { color: #8fd46a; }
[data-md-color-scheme="slate"] .md-typeset .part { color: #ffc46b; }
[data-md-color-scheme="slate"] .md-typeset .bad { color: #ff9c94; }
"""


def build_site(output: Path, documents: Documents, scenarios: Sequence[Scenario]) -> int:
    """Write the site with the pictures of these scenarios; return how many pages it has."""
    root = conformance_dir().parent
    if not (root / "conformance" / "interop.json").is_file():
        raise UsageError(
            "the site needs a checkout: conformance/interop.json is not in the package",
            hint="install it in a clone of the repository: pip install -e '.[site]'",
        )
    if importlib.util.find_spec("zensical") is None:
        raise UsageError("zensical is not installed: the site needs it", hint=install_command("site"))
    if output.exists() and (not output.is_dir() or (any(output.iterdir()) and not (output / _MARK).is_file())):
        raise UsageError(f"{output} is there and is not a site", hint="name a folder that is new or empty")
    with tempfile.TemporaryDirectory(prefix="tpharness-site-") as made:
        work = Path(made)
        navigation = _write_sources(work / "docs", root, documents, scenarios)
        (work / "mkdocs.yml").write_text(json.dumps(_settings(navigation), indent=1), "utf-8")  # JSON is YAML
        _generate(work)
        _finish_pages(work / "public")
        _search_from_one_index(work / "public")
        (work / "public" / _MARK).write_text("", "utf-8")
        try:
            shutil.rmtree(output, ignore_errors=True)
            shutil.copytree(work / "public", output)
        except OSError as error:
            raise InputError(f"cannot write to {output}: {error.strerror}", hint="name another folder") from error
    return sum(1 for _ in output.rglob("*.html"))


def _write_sources(
    docs: Path, root: Path, documents: Documents, scenarios: Sequence[Scenario]
) -> list[Mapping[str, Any]]:
    """Write everything that the generator reads; return the navigation."""
    interop, apps = (
        json.loads((root / "conformance" / f"{name}.json").read_text("utf-8")) for name in ("interop", "apps")
    )
    shutil.copytree(docs_dir(), docs / "docs", ignore=shutil.ignore_patterns("reproductions"))
    for path in (docs / "docs").glob("*.md"):
        _write(path, _without_links_to_code(path.read_text("utf-8"), docs_dir(), docs / "docs"))
    for name, text in view_files(scenarios):
        _write(docs / name, text)
    applications, shown = application_files(documents.traces)
    for name, text in applications.items():
        _write(docs / name, text)
    pages, navigation = site_pages(documents, scenarios, interop, apps, shown)
    for name, text in pages.items():
        _write(docs / name, text)
    _write(docs / "site.css", _STYLE)
    names = sorted(path.name for path in (docs / "docs").glob("*.md"))
    return [*navigation, {"Documentation": [{_title(docs / "docs" / name): f"docs/{name}"} for name in names]}]


def _without_links_to_code(text: str, theirs: Path, ours: Path) -> str:
    """Return a page of `docs/` in which links to files that the checkout has and the site has not are their names."""

    def named(found: re.Match[str]) -> str:
        name = found[2].partition("#")[0]
        gone = "://" not in name and name and (theirs / name).exists() and not (ours / name).exists()
        return f"{found[1]} (`{name.removeprefix('../')}`)" if gone else found[0]

    return _LINK.sub(named, text)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("utf-8", "backslashreplace"))  # a lone surrogate in JSON is its escape


def _title(path: Path) -> str:
    return path.read_text("utf-8").partition("\n")[0].removeprefix("# ")


def _settings(navigation: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the generator's settings: pages that open from the disk, and nothing that asks another server."""
    palette = [
        {
            "media": f"(prefers-color-scheme: {name})",
            "scheme": scheme,
            "toggle": {"icon": f"material/{icon}", "name": f"{name}: switch the colours"},
        }
        for name, scheme, icon in _SCHEMES
    ]
    return {
        "site_name": "tpharness",
        "docs_dir": "docs",
        "site_dir": "public",
        "use_directory_urls": False,
        "theme": {
            "name": "material",
            "font": False,
            "palette": palette,
            "features": ["navigation.indexes", "navigation.prune"],
        },
        "extra_css": ["site.css"],
        "plugins": ["search", "offline"],
        "markdown_extensions": ["tables", "attr_list", "md_in_html", "pymdownx.superfences"],
        "nav": list(navigation),
    }


def _finish_pages(public: Path) -> None:
    """Have pages that are opened from the disk search by a script of ours, and leave out the generator's blank lines.

    Its worker is loaded from elsewhere. The blanks of its templates are a quarter of what it writes.
    """
    shutil.copy(_WORKER, public / _WORKER.name)
    replaced = 0
    for page in public.rglob("*.html"):
        if page.parent.name == _VIEWS:
            continue  # a picture, which is ours
        text = page.read_text("utf-8")
        above = "../" * (len(page.relative_to(public).parts) - 1)
        replaced += _REMOTE_WORKER in text
        text = text.replace(_REMOTE_WORKER, f'<script src="{above}{_WORKER.name}">')
        page.write_text(_with_scrolled_tables(_without_blanks(text)), "utf-8")
    if not replaced:
        raise TargetError("zensical has written no page that loads its worker: from the disk nobody could search")


def _without_blanks(page: str) -> str:
    """Return a page in which white space with a line end is one line end, but where a reader would see it."""
    parts = _AS_WRITTEN.split(page)
    return "".join(part if index % 2 else _LINE_ENDS.sub("\n", part) for index, part in enumerate(parts))


def _with_scrolled_tables(page: str) -> str:
    """Return a page whose tables can be scrolled with the keyboard, each named as its heading.

    The theme puts a table into an element that scrolls and that a keyboard does not reach; not one that has a class.
    """
    heading = "table"

    def scrolled(found: re.Match[str]) -> str:
        nonlocal heading
        if found[2] is None:
            heading = html.escape(html.unescape(_TAG.sub("", found[1]).strip()))
            return found[0]
        opened = f'<div class="scroll" tabindex="0" role="group" aria-label="{heading}">'
        return f'{opened}<table class="data">{found[2]}</table></div>'

    return _HEADING_OR_TABLE.sub(scrolled, page)


def _search_from_one_index(public: Path) -> None:
    """Have pages from a server read the index that those from the disk read: the generator writes it twice."""
    for script in public.glob("assets/javascripts/bundle.*.js"):
        text = script.read_text("utf-8")
        if text.count(_CHOICE_OF_INDEX) == 1:
            script.write_text(text.replace(_CHOICE_OF_INDEX, _ONE_INDEX), "utf-8")
            (public / "search.json").unlink()
            return
    raise TargetError("zensical's script does not choose between two indexes of its search any more")


_SCHEMES = (("light", "default", "weather-sunny"), ("dark", "slate", "weather-night"))


def _generate(work: Path) -> None:
    words = [sys.executable, "-m", "zensical", "build", "--strict"]
    try:
        done = subprocess.run(  # noqa: S603
            words,
            cwd=work,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_SECONDS,
            env={**os.environ, "NO_COLOR": "1"},
        )
    except subprocess.TimeoutExpired:
        raise TargetError(f"zensical takes longer than {_SECONDS} s") from None
    if done.returncode or not (work / "public" / "index.html").is_file():
        said = " | ".join(line for line in (done.stdout + done.stderr).splitlines() if line.strip())
        raise TargetError(f"zensical exits with {done.returncode}: {shorten(said, 2000)}")
