"""Messages → the input of a model API, as Pydantic AI's model classes would send them.

In: messages shaped as Pydantic AI's, such as `model_history(…).messages`, and the next user message. Out: JSON values
in the API's own format. Consecutive requests are joined, results first. Nothing is repaired, so that what an API would
reject can be found. Tools that a provider runs itself and their results are left out, because they need the provider's
own state. Nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tpharness.model_apis.history_parts import merge_messages
from tpharness.model_apis.registry import ApiName, find_api, find_server

__all__ = ["additions_to", "payload_of"]


def payload_of(
    name: ApiName, messages: Sequence[Mapping[str, Any]], *, next_user: str | None = None, server: str = ""
) -> Any:
    """Return the input for the API: its list of messages or items, or an object with the list and the system prompt.

    An object is written where the API has a field beside the list for the system prompt. `next_user` is added at the
    end. `server` is another server of the API, which takes less: what it would refuse is written otherwise.
    UsageError for another API or server, and for a file that this API does not accept in any form.
    """
    more = [] if next_user is None else [{"kind": "request", "parts": [_prompt(next_user)]}]
    merged = merge_messages([*messages, *more])
    api = find_api(name)
    if server:
        known = find_server(api, server)
        return api.server_history.write_for(known, merged)
    return api.history.write_payload(merged)


def additions_to(name: ApiName, messages: Sequence[Mapping[str, Any]], server: str) -> list[tuple[str, str, str]]:
    """Return what `payload_of` writes that the messages do not have: its place in what it writes, what it is, and why.

    For a server that is what it gets otherwise than the API's own.
    """
    api, merged = find_api(name), merge_messages(messages)
    return list(api.server_history.changes_for(server, merged) if server else api.history.additions(merged))


def _prompt(text: str) -> dict[str, Any]:
    return {"part_kind": "user-prompt", "content": text}
