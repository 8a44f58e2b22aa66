"""What to change in an application of a framework (`conformance/fixes.yaml`): plays the changes, writes docs/FIXES.md.

python scripts/fixes.py            # apply each change to its application, whose packages are installed, and play
python scripts/fixes.py ID         # one of them
python scripts/fixes.py --render   # write the page

Each case fails at MUST before, and passes when the change is applied. examples/apps/FOLDER/README.md says how the
packages are installed; what is not installed is skipped, and said.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from scripts.apps_page import APPS, CONFIG, INSTALLED, copy_application

from tpharness.apps.config import AppConfig, load_config
from tpharness.apps.engine import AppOptions, run_app
from tpharness.apps.fixes import Fix, load_fixes, load_frameworks
from tpharness.verdict import Outcome, Result, ResultReady

__all__ = ["PAGE", "apply_diff", "play_fix", "render"]

PAGE = Path(__file__).parent.parent / "docs" / "FIXES.md"
_HEAD = """\
# What to change, framework by framework

Where `tpharness app` knows the framework of an application, by what it calls itself to its model's API or by
`framework` in `tpharness.toml`, a finding says what to change there. This page has the changes. Each was applied to the
application of `examples/apps` that is named: the cases fail without it and pass with it (`python scripts/fixes.py` in
the repository plays them again). They are shown on that application, whose files are named below `examples/apps` and
whose releases its folder pins; in yours the same belongs at the place that does the same. Two changes of one line are
made one after the other. Where a text says that nobody knows whether a tool has run, name it under `outcome_unknown`
in `tpharness.toml`, so that it is taken for that and not for another result.

*Alone* names a program in which the framework does the same without any application. Where there is none, it is not
decided whether the framework or the application is to blame. The page is made from `conformance/fixes.yaml`.
"""


def apply_diff(diff: str, folder: Path) -> None:
    """Change the file that a diff names below `folder`. ValueError where a place of it does not occur there once."""
    head, *hunks = diff.split("@@\n")
    file = folder / head.splitlines()[0].removeprefix("--- ")
    text = file.read_text("utf-8")
    for hunk in hunks:
        lines = hunk.splitlines(keepends=True)
        before, after = ("".join(line[1:] for line in lines if line[0] in f" {sign}") for sign in "-+")
        if text.count(before) != 1:
            raise ValueError(f"{file.name} has this {text.count(before)} times:\n{before}")
        text = text.replace(before, after)
    file.write_text(text, "utf-8")


def play_fix(fix: Fix, config: AppConfig, folder: Path) -> Iterator[str]:
    """Play the cases without the change and with it; yield what is not as the table says. `folder` has a copy."""
    patient = replace(config, quiet=0.2, ready=300.0, answer=120.0)  # for a busy machine
    said = replace(patient, folder=folder, baseline=None, outcome_unknown=fix.outcome_unknown)
    for result in _played(said, fix):
        if result.outcome is not Outcome.FAILED or not set(fix.codes) & set(result.failing_codes):
            yield f"{fix.id}: {result.id} is {result.outcome.value} without the change: {result.failing_codes}"
        elif not any(fix.id in finding.remedy for finding in result.findings):
            yield f"{fix.id}: {result.id} does not say what to change"
    apply_diff(fix.diff, folder)
    for result in _played(said, fix):
        if result.outcome is not Outcome.PASSED:
            yield f"{fix.id}: {result.id} is {result.outcome.value} with the change: {result.failing_codes}"


def _played(config: AppConfig, fix: Fix) -> list[Result]:
    options = AppOptions(config=config, ids=fix.passes)
    return [event.result for event in run_app(options) if isinstance(event, ResultReady)]


def render() -> str:
    """Return the page."""
    parts = [_HEAD]
    for name, framework in load_frameworks().items():
        parts.append(f"## {framework.title}\n")
        for fix in (one for one in load_fixes() if one.framework == name):
            alone = f"[{fix.alone}](reproductions/{fix.alone})" if fix.alone else "none, not decided"
            cases = ", ".join(f"`{case}`" for case in fix.passes)
            parts += [
                f"### {fix.id}: {fix.title}\n",
                f"For {', '.join(f'`{code}`' for code in fix.codes)}: {fix.to_do}.\n",
                f"Shown on `{fix.application}`: {cases}. Alone: {alone}.\n",
                f"```diff\n{fix.diff}```\n",
            ]
    return "\n".join(parts)


def main() -> None:
    """Play, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ids", nargs="*", metavar="ID")
    parser.add_argument("--render", action="store_true")
    options = parser.parse_args()
    if options.render:
        PAGE.write_text(render(), "utf-8")
        return
    wrong = 0
    for fix in (one for one in load_fixes() if not options.ids or one.id in options.ids):
        with tempfile.TemporaryDirectory() as folder:
            copied = copy_application(fix.application, Path(folder))
            installed = [name for name in INSTALLED if (APPS / copied.name / name).is_dir()]
            for name in installed:
                (copied / name).symlink_to(APPS / copied.name / name)
            found = list(play_fix(fix, load_config(fix.application, CONFIG), Path(folder))) if installed else []
        wrong += len(found)
        state = f"{len(fix.passes)} cases fail without, and pass with it" if installed else "not installed, skipped"
        print("\n".join(found) or f"{fix.id}: {state}", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
