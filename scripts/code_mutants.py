"""Play machine-made mutants of both examples and of the reference's deciding files, judged by scenarios and goldens.

    python scripts/code_mutants.py                     every mutant; fifteen minutes on two cores
    python scripts/code_mutants.py examples/ --jobs 2  those of files whose path contains this
    python scripts/code_mutants.py plain_node --wire ag-ui  those of the example in Node, judged over one of its wires
    python scripts/code_mutants.py --listed            those of tests/code_mutants/killers.json, as CI does
    python scripts/code_mutants.py --listed --part 3/10  every tenth of them, from the third on
    python scripts/code_mutants.py --update            every mutant, and write killers.json

A mutant is killed when `tpharness run` fails with it, or when a side does not hold a golden thread. One that survives
deserves a scenario; if nobody could tell it from the original, its name and the reason go to
tests/code_mutants/equivalent.yaml. Files of AG-UI are played over AG-UI, and judged by its streams, recordings and
tests as well. Exit codes: 0 if at least 98 % are killed (all of them, with `--listed`), else 1.
Needs POSIX (`fork`).
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.code_mutants.child import Child
from tests.code_mutants.documents import PREFIX
from tests.code_mutants.known import choose_sample, load_equivalents, load_killers, save_killers, stale
from tests.code_mutants.mutants import Mutant
from tests.code_mutants.play import Fate, find_coverage, play_listed, play_mutants
from tests.code_mutants.subjects import SUBJECTS, NodeSubject, ReferenceSubject, Subject

from tpharness.explore.mutation import load_scenarios
from tpharness.wires.registry import WIRES

ENOUGH = 0.98


def main() -> int:
    """Play what the arguments say and print what survives."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", help="only mutants of files whose path contains one of these")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--listed", action="store_true", help="only the mutants of killers.json")
    parser.add_argument("--wire", choices=[*WIRES], help="judge the example in Node over this wire alone")
    parser.add_argument("--part", metavar="K/N", type=read_part, default=(1, 1), help="with --listed: one of N parts")
    parser.add_argument("--equivalent", action="store_true", help="play the mutants listed as equivalent, too")
    parser.add_argument("--update", action="store_true", help="write killers.json")
    parser.add_argument("--json", metavar="PATH", help="write a line of JSON for each mutant")
    args = parser.parse_args()
    if args.update and args.files:
        parser.error("--update writes the list of all files, and takes no name of a file")
    if args.wire and args.update:
        parser.error("--update writes the list of all wires")
    subjects = [s for s in SUBJECTS if not args.files or any(part in s.file for part in args.files)]
    if args.wire:
        subjects = [replace(one, wires=(args.wire,)) for one in subjects if isinstance(one, NodeSubject)]
    mutants = {one.name: one for subject in SUBJECTS for one in subject.mutants()}
    for name in (old := stale(mutants)):
        print(f"STALE       {name}: no mutant has this name any more; remove it, or correct it")
    if args.listed:
        return max(play_known(subjects, mutants, args.jobs, args.part), bool(old))
    begun = time.perf_counter()
    equivalents = {} if args.equivalent else load_equivalents()
    fates = []
    with Path(args.json or os.devnull).open("w", encoding="utf-8") as out:
        for fate in play_all(subjects, equivalents, args.jobs):
            fates.append(fate)
            facts = {"mutant": fate.mutant.name, "killer": fate.killer, "how": fate.how, "covered": fate.covered}
            print(json.dumps({**facts, "seconds": round(fate.seconds, 2)}, ensure_ascii=False), file=out, flush=True)
            if not fate.killer:
                word = "NOT JUDGED" if fate.how else "SURVIVES" if fate.covered else "NOT RUN"
                print(f"{word:<10}  {fate.mutant.name}", flush=True)
    score = summarise(subjects, fates, equivalents, time.perf_counter() - begun)
    if args.update:
        found = {fate.mutant.name: fate.killer for fate in fates if fate.killer}
        survived = {name: found[name] for name in load_killers()["survived"] if name in found}
        sample = choose_sample(name for name in found if name not in survived)
        save_killers({name: found[name] for name in sample}, survived)
    return 0 if score >= ENOUGH and not old else 1


def play_all(subjects: list[Subject], equivalents: dict[str, str], jobs: int) -> Iterator[Fate]:
    """Play every mutant that is not equivalent; the files of the reference share one look at the coverage."""
    scenarios = {one.id: one for one in load_scenarios()}
    known = {**load_killers()["sample"], **load_killers()["survived"]}
    for _, group in itertools.groupby(subjects, key=lambda s: s.wire if isinstance(s, ReferenceSubject) else s.file):
        together = list(group)
        coverage = find_coverage(together, scenarios)
        for subject in together:
            chosen = [one for one in subject.mutants() if one.name not in equivalents]
            yield from play_mutants(subject, chosen, scenarios, coverage[subject.file], jobs=jobs, killers=known)


def read_part(text: str) -> tuple[int, int]:
    """Return K and N of `K/N`. ArgumentTypeError if there is no such part."""
    number, _, parts = text.partition("/")
    if not (number.isdecimal() and parts.isdecimal() and 1 <= int(number) <= int(parts)):
        raise argparse.ArgumentTypeError(f"{text!r} is not K/N with K from 1 to N, such as 3/10")
    return int(number), int(parts)


def play_known(subjects: list[Subject], mutants: dict[str, Mutant], jobs: int, part: tuple[int, int]) -> int:
    """Play the mutants of a part of killers.json, each with the scenario that is known to fail it."""
    number, parts = part
    listed = {**load_killers()["sample"], **load_killers()["survived"]}
    table = {name: listed[name] for name in sorted(listed)[number - 1 :: parts]}
    scenarios = {
        one.id: one for one in load_scenarios(sorted({one for one in table.values() if not one.startswith(PREFIX)}))
    }
    wrong = played = 0
    for subject in subjects:
        chosen = [mutants[name] for name in table if name in mutants and mutants[name].file == subject.file]
        for fate in play_listed(subject, chosen, scenarios, table, jobs=jobs):
            played += 1
            if not fate.killer:
                wrong += 1
                print(f"SURVIVES    {fate.mutant.name}: {table[fate.mutant.name]} passes with it")
    print(f"{played - wrong} of {played} listed mutants are killed")
    return int(wrong > 0)


def summarise(subjects: list[Subject], fates: list[Fate], equivalents: dict[str, str], seconds: float) -> float:
    """Print a line for each file and one for all; return the part that is killed, 0 to 1."""
    killed = Counter(fate.mutant.file for fate in fates if fate.killer)
    played = Counter(fate.mutant.file for fate in fates)
    listed = Counter(name.partition("::")[0] for name in equivalents)
    for subject in subjects:
        if played[subject.file] or listed[subject.file]:
            file = subject.file
            print(f"{killed[file]:>5} of {played[file]:>4} killed, {listed[file]:>3} equivalent  {file}")
    score = killed.total() / max(played.total(), 1)
    equivalent = sum(listed[subject.file] for subject in subjects)
    print(
        f"{killed.total()} of {played.total()} mutants killed ({score:.1%}), {equivalent} equivalent, {seconds:.0f} s"
    )
    return score


def run() -> int:
    """Do it in a temporary folder, and end with all that was started; return the exit code."""
    with tempfile.TemporaryDirectory(prefix="tpharness-mutants-") as folder:
        tempfile.tempdir = folder  # what mutants are written to
        try:
            return main()
        except KeyboardInterrupt:
            print("interrupted: killers.json is as it was", file=sys.stderr)
            return 128 + signal.SIGINT
        finally:
            Child.end_all()


if __name__ == "__main__":
    sys.exit(run())
