"""What the chat clients of the AI SDK's major versions do where they differ, read in their sources and held by tests.

`ai` 5.0.277 with `@ai-sdk/react` 2.0.280, 6.0.324 with 3.0.327, 7.0.173 with 4.0.177. Which chunks each of them knows
is in `tpharness.wires.vsp`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

__all__ = ["NEWEST", "VERSIONS", "ClientVersion"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientVersion:
    """One major version.

    `resumes_anew`: the first start of a stream that is taken up begins the message anew, whether it names it or not.
    `resumes_with_an_id`: an id is made before it is known whether there is something to take up.
    `finds_any_call`: a result belongs to the call with its id, whether it says that the tool is dynamic or not.
    `keeps_call_details`: title, metadata and encoding of a call, and the metadata of its result, are kept.
    `keeps_refused_as_input`: arguments that were refused are the input of the call, not its raw input.
    `keeps_approval_details`: why an approval is asked for, and whether it is answered automatically, is kept.
    """

    major: Literal[5, 6, 7]
    resumes_anew: bool
    resumes_with_an_id: bool
    finds_any_call: bool
    keeps_call_details: bool
    keeps_refused_as_input: bool
    keeps_approval_details: bool


VERSIONS: Mapping[int, ClientVersion] = {
    5: ClientVersion(
        major=5,
        resumes_anew=False,
        resumes_with_an_id=True,
        finds_any_call=False,
        keeps_call_details=False,
        keeps_refused_as_input=False,
        keeps_approval_details=False,
    ),
    6: ClientVersion(
        major=6,
        resumes_anew=True,
        resumes_with_an_id=False,
        finds_any_call=True,
        keeps_call_details=True,
        keeps_refused_as_input=False,
        keeps_approval_details=False,
    ),
    7: ClientVersion(
        major=7,
        resumes_anew=True,
        resumes_with_an_id=False,
        finds_any_call=True,
        keeps_call_details=True,
        keeps_refused_as_input=True,
        keeps_approval_details=True,
    ),
}
NEWEST = VERSIONS[7]
