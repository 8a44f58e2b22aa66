"""Mutation testing of the suite: the scenarios are played on the reference with one defect at a time."""

from tpharness.explore.mutation.matrix import Matrix, killers, smoke
from tpharness.explore.mutation.module import Changes, load_changes
from tpharness.explore.mutation.play import (
    load_scenarios,
    load_selected,
    play_change,
    play_module,
    record_selected,
    record_unharmed,
    settle_change,
    unharmed,
    worth_recording,
)
from tpharness.explore.mutation.records import Defect, Harmless, Kill, Row, Seed, Side

__all__ = [
    "Changes",
    "Defect",
    "Harmless",
    "Kill",
    "Matrix",
    "Row",
    "Seed",
    "Side",
    "killers",
    "load_changes",
    "load_scenarios",
    "load_selected",
    "play_change",
    "play_module",
    "record_selected",
    "record_unharmed",
    "settle_change",
    "smoke",
    "unharmed",
    "worth_recording",
]
