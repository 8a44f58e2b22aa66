"""Checks of an application: one property each, evidence → findings."""

from tpharness.apps.checks import (
    accepted,
    after_leaving,
    alive,
    answered,
    asked_once,
    branches,
    cycles,
    effects,
    grows,
    prefix,
    seen_and_told,
    stream,
    user_turns,
    view,
)
from tpharness.apps.checks.contract import AppCheck

__all__ = ["APP_CHECKS", "AppCheck"]

APP_CHECKS: tuple[AppCheck, ...] = (
    alive.CHECK,
    answered.CHECK,
    accepted.CHECK,
    prefix.CHECK,
    user_turns.CHECK,
    branches.CHECK,
    cycles.CHECK,
    effects.CHECK,
    grows.CHECK,
    stream.CHECK,
    after_leaving.CHECK,
    view.CHECK,
    asked_once.CHECK,
    seen_and_told.CHECK,
)
"""Every check, in the order of reports."""
