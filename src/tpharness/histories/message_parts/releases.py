"""The releases of klaude-code that are compared, and where they differ.

Measured with both packages: every document of the suite, through codec, replay and input builders
(`tests/histories/message_parts/oracle_klaude.py`). In between, 2.33 brought the entries that 2.32 does not know and the
order of images, 2.34 leaves out empty answers, 2.35 and later brought sources of user messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tpharness.histories.message_parts.records import UserSource, Variant

__all__ = ["CONTINUATION_FRAME", "CONTINUATION_REMINDER", "EMPTY_RESPONSE_PROMPT", "PROGRAMS", "Program"]

EMPTY_RESPONSE_PROMPT = (
    "The previous model response was empty, likely due to a transient network or provider issue. "
    "Continue the task from the current conversation state. Do not treat this reminder as a reason to stop; "
    "only provide a final response if the task is genuinely complete."
)
"""What the program asks the model after a response that ended without calls and without words."""

CONTINUATION_FRAME = ("<assistant>\n", "\n</assistant>\n\n<system-reminder>")
"""What stands before and after the text of half an answer in a prompt that continues it (HISTORIES 1.2)."""

CONTINUATION_REMINDER = (
    "Your previous response was interrupted due to a transient error (often network-related). "
    "Please continue from where it left off without repeating content you've already provided.</system-reminder>"
)
"""What such a prompt asks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What one release does where others do otherwise."""

    release: str
    """The release on the package index that was measured."""
    user_sources: tuple[UserSource, ...]
    """The sources of user messages that it reads; a message with another one is dropped."""
    keeps_half_answers: bool
    """Whether half an answer is kept as one that was aborted, and not as a prompt that continues it."""
    retracts: bool
    """Whether it writes and reads `RetractEntry`."""
    tells_source: bool
    """Whether its replay tells who spoke in the user's place."""
    starts_when_empty: bool
    """Whether its replay of an empty history begins a task."""
    finishes_with_metadata: bool
    """Whether its replay ends a task at the metadata of the task, and not at what comes next."""
    shows_compacted: bool
    """Whether its replay still shows what a compaction has replaced for the model."""
    leaves_out_empty: bool
    """Whether Chat Completions are sent no answer that has neither text nor calls."""
    images_wait: bool
    """Whether the images of results are sent after all results of an answer, and not after each."""


PROGRAMS: Mapping[Variant, Program] = {
    "2.32": Program(
        release="2.32.0",
        user_sources=("user", "bash_mode"),
        keeps_half_answers=False,
        retracts=False,
        tells_source=False,
        starts_when_empty=True,
        finishes_with_metadata=False,
        shows_compacted=False,
        leaves_out_empty=False,
        images_wait=False,
    ),
    "current": Program(
        release="2.43.0",
        user_sources=("user", "bash_mode", "shell_completion", "task_completion", "peer_message"),
        keeps_half_answers=True,
        retracts=True,
        tells_source=True,
        starts_when_empty=False,
        finishes_with_metadata=True,
        shows_compacted=True,
        leaves_out_empty=True,
        images_wait=True,
    ),
}
"""The releases by variant; the plan is not one."""
