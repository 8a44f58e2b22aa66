"""What a complete thread becomes is taken by every API, and refused by every API once a piece of it is lost."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.model_apis.threads import complete_threads

from tpharness.findings import Finding
from tpharness.model_apis.append_only import check_append_only
from tpharness.model_apis.check import check_payload
from tpharness.model_apis.payloads import payload_of
from tpharness.model_apis.registry import API_NAMES, APIS, ApiName
from tpharness.model_apis.rule import Options
from tpharness.model_apis.sdk_types import check_sdk_types
from tpharness.protocol.history import model_history
from tpharness.protocol.rules import check_thread

FEW = settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
SYSTEM = st.none() | st.just("Be kind.")


def sent(provider: ApiName, thread: dict[str, Any], system: str | None = None, then: str = "And?") -> Any:
    """Return the payload of the next call."""
    return payload_of(provider, model_history(thread, system_prompt=system).messages, next_user=then)


def refused(provider: ApiName, payload: Any, options: Options) -> list[Finding]:
    """Return the findings but A18: Pydantic AI sends an empty text for a tool that returned nothing."""
    found = check_payload(provider, payload, options=options)
    return [finding for finding in found if finding.code != "anthropic-result-blank"]


@FEW
@given(complete_threads(), SYSTEM)
def test_every_api_takes_a_complete_thread(thread: dict[str, Any], system: str | None) -> None:
    """No rule is broken, not even at SHOULD, and the SDKs' types allow every part of it."""
    found = [finding for finding in check_thread(thread) if finding.code != "arguments-in-text"]  # a model may write so
    assert found == []
    for provider in API_NAMES:
        payload = sent(provider, thread, system)
        assert refused(provider, payload, Options(adjacent_outputs=True, store=False)) == []
        assert APIS[provider].sdk is None or check_sdk_types(provider, payload) == []


@FEW
@given(complete_threads(), SYSTEM)
def test_the_payload_of_a_turn_is_the_beginning_of_the_next(thread: dict[str, Any], system: str | None) -> None:
    """A10: what was sent for a user's turn stays when the conversation goes on."""
    for provider in API_NAMES:
        for turn in range(2, len(thread["turns"]), 2):
            asked = model_history({**thread, "turns": thread["turns"][: turn + 1]}, system_prompt=system).messages
            before, after = payload_of(provider, asked), sent(provider, thread, system)
            assert check_append_only(before, after) == []
            assert refused(provider, after, Options(earlier=before)) == []


Wanted = Callable[[dict[str, Any]], bool]


def places(value: Any, wanted: Wanted, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every object that is wanted."""
    if isinstance(value, dict) and wanted(value):
        yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inside:
        yield from places(item, wanted, (*path, key))


def without(payload: Any, path: tuple[Any, ...]) -> Any:
    """Return a copy of a payload that lost the item at a path, and what held nothing but it."""
    lost = copy.deepcopy(payload)
    holders = [lost]
    for step in path[:-1]:
        holders.append(holders[-1][step])
    del holders[-1][path[-1]]
    if not holders[-1] and len(path) > 2:  # a message without blocks is left out as well; its tool_calls, without calls
        return without(payload, path[:-1] if path[-2] == "tool_calls" else path[:-2])
    return lost


def is_result(item: dict[str, Any]) -> bool:
    """Whether this is what came back for one call, in any of the APIs."""
    kinds = ("tool_result", "function_call_output")
    return (
        item.get("role") == "tool" or item.get("type") in kinds or bool({"function_response", "toolResult"} & {*item})
    )


def is_call(item: dict[str, Any]) -> bool:
    """Whether this is one call, in any of the APIs."""
    return item.get("type") in ("function", "tool_use", "function_call") or bool({"function_call", "toolUse"} & {*item})


LOST: list[tuple[Wanted, dict[ApiName, set[str]]]] = [
    (
        is_result,
        {
            "openai-chat": {"C1"},
            "openai-responses": {"R1"},
            "anthropic": {"A1"},
            "gemini": {"G1"},
            "ollama": {"O4"},
            "bedrock": {"B1"},
        },
    ),
    (
        is_call,
        {
            "openai-chat": {"C2"},
            "openai-responses": {"R2"},
            "anthropic": {"A2"},
            "gemini": {"G1", "G3"},
            "ollama": {"O5"},
            "bedrock": {"B2"},
        },
    ),
]


@FEW
@given(complete_threads(), st.data())
def test_no_api_takes_a_thread_that_lost_one_result_or_one_call(thread: dict[str, Any], data: st.DataObject) -> None:
    """Of any call, wherever it stands. Gemini counts, so with other calls beside it the number is wrong.

    Ollama takes it, and what the model then reads is an observation.
    """
    wanted, rules = data.draw(st.sampled_from(LOST))
    for provider in API_NAMES:
        payload = sent(provider, thread)
        paths = list(places(payload, wanted))
        assume(paths)
        for path in paths:
            found = check_payload(provider, without(payload, path), options=Options(observations=True))
            assert {f.message.partition(":")[0] for f in found} & rules[provider], (provider, path)
