# ruff: noqa: SLF001  # the table names the actions of the fold that it is made for
"""The states of a stream, and the table of what each chunk does in each of them.

A pair that is not in the table is a violation (R35, R36).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import Any

from tpharness.vsp import chunks as c

__all__ = ["StreamState", "transitions"]

_Action = Callable[[Any, Any], Any]


class StreamState(Enum):
    """Where a stream stands between two chunks."""

    IDLE = auto()  # no turn has begun
    BETWEEN = auto()  # a turn runs, no response is streaming
    STREAMING = auto()  # parts of a response are streaming
    ABORTED = auto()  # the server said abort: nothing finishes any more (R40)
    FINISHED = auto()  # the server said finish (R35)
    DONE = auto()  # the end marker came


def transitions(fold: Any) -> Mapping[StreamState, Mapping[type, _Action]]:
    """Return the table for a fold class: state → chunk record → action."""
    starts: dict[type, _Action] = {
        c.StartChunk: fold._start,
        c.FinishChunk: fold._finish,
        c.AbortChunk: fold._abort,
        c.ErrorChunk: fold._error,
        c.StartStepChunk: fold._start_step,
        c.FinishStepChunk: fold._finish_step,
        c.ResetStepChunk: fold._reset_step,
        c.TextStartChunk: fold._text_start,
        c.ReasoningStartChunk: fold._reasoning_start,
        c.ToolInputStartChunk: fold._input_start,
        c.ToolInputAvailableChunk: fold._input_available,
        c.ToolInputErrorChunk: fold._input_error,
        c.ToolOutputAvailableChunk: fold._output,
        c.ToolOutputErrorChunk: fold._output_error,
        c.ToolOutputDeniedChunk: fold._output_denied,
        c.ToolApprovalRequestChunk: fold._approval_request,
        c.ToolApprovalResponseChunk: fold._approval_response,
        c.FileChunk: fold._file,
        c.ReasoningFileChunk: fold._custom,
        c.CustomChunk: fold._custom,
        c.SourceUrlChunk: fold._source,
        c.SourceDocumentChunk: fold._source,
        c.SteeringMessageChunk: fold._steering,
        c.MessageMetadataChunk: fold._metadata,
    }
    always: dict[type, _Action] = {c.Malformed: fold._malformed}
    anytime: dict[type, _Action] = {
        **always,
        c.DataChunk: fold._data,
        c.UnknownChunk: fold._unknown,
        c.Done: fold._done,
    }
    deltas: dict[type, _Action] = {
        c.TextDeltaChunk: fold._text_delta,
        c.TextEndChunk: fold._text_end,
        c.ReasoningDeltaChunk: fold._reasoning_delta,
        c.ReasoningEndChunk: fold._reasoning_end,
        c.ToolInputDeltaChunk: fold._input_delta,
    }

    return {
        StreamState.IDLE: {**anytime, **starts, **dict.fromkeys(deltas, fold._no_start)},
        StreamState.BETWEEN: {**anytime, **starts, **dict.fromkeys(deltas, fold._no_start)},
        StreamState.STREAMING: {**anytime, **starts, **deltas},
        StreamState.ABORTED: {
            **always,
            **dict.fromkeys((*starts, *deltas, c.DataChunk, c.UnknownChunk), fold._late),
            c.Done: fold._done,
        },
        StreamState.FINISHED: {**always, c.Done: fold._done},
        StreamState.DONE: {**always},
    }
