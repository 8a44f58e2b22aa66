"""The text, reasoning and files of a response: what a model says, but for its tool calls.

In: the chunks of those parts. Out: parts of the response that is streaming, in the journal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from tpharness.journal import OpenPart
from tpharness.wires.vsp import records as c
from tpharness.wires.vsp import violations as v
from tpharness.wires.vsp.context import StreamContext
from tpharness.wires.vsp.lifecycle import Lifecycle
from tpharness.wires.vsp.parts import custom_part, file_fields, provider_facts

__all__ = ["ContentParts"]


class ContentParts:
    """Writes texts, reasoning, files and custom parts; `providers` is agent id → provider of the agent's model."""

    def __init__(self, context: StreamContext, lifecycle: Lifecycle, providers: Mapping[str, str]) -> None:
        self._context = context
        self._lifecycle = lifecycle
        self._writer = context.writer
        self._texts = context.open_parts.texts
        self._reasonings = context.open_parts.reasonings
        self._providers = providers

    def _text_start(self, chunk: c.TextStartChunk) -> None:
        if chunk.id in self._texts:
            self._context.report(v.DUPLICATE_START, f"text-start for {chunk.id!r}, which is open")
            return
        self._lifecycle.ensure_response()
        facts = provider_facts(chunk.provider_metadata)
        fields = {"id": facts["id"]} if "id" in facts else {}
        self._texts[chunk.id] = self._writer.open_part("text", fields, "content")

    def _text_delta(self, chunk: c.TextDeltaChunk) -> None:
        part = self._texts.get(chunk.id)
        if part is None:
            self._context.report(v.NO_START, f"text-delta for {chunk.id!r}")
        else:
            part.append(chunk.delta)

    def _text_end(self, chunk: c.TextEndChunk) -> None:
        part = self._texts.pop(chunk.id, None)
        if part is None:
            self._context.report(v.NO_START, f"text-end for {chunk.id!r}")
        else:
            self._writer.close_part(part, id=provider_facts(chunk.provider_metadata).get("id"))

    def _reasoning_start(self, chunk: c.ReasoningStartChunk) -> None:
        if chunk.id in self._reasonings:
            self._context.report(v.DUPLICATE_START, f"reasoning-start for {chunk.id!r}, which is open")
            return
        self._lifecycle.ensure_response()
        part = self._writer.open_part("thinking", {}, "content")
        self._reasonings[chunk.id] = part
        self._add_reasoning_facts(part, chunk.provider_metadata)

    def _reasoning_delta(self, chunk: c.ReasoningDeltaChunk) -> None:
        part = self._reasonings.get(chunk.id)
        if part is None:
            self._context.report(v.NO_START, f"reasoning-delta for {chunk.id!r}")
            return
        part.append(chunk.delta)
        if chunk.provider_metadata is not None:
            self._add_reasoning_facts(part, chunk.provider_metadata)

    def _reasoning_end(self, chunk: c.ReasoningEndChunk) -> None:
        part = self._reasonings.pop(chunk.id, None)
        if part is None:
            self._context.report(v.NO_START, f"reasoning-end for {chunk.id!r}")
            return
        self._add_reasoning_facts(part, chunk.provider_metadata)
        part.fields.setdefault("provider_name", self._provider_name())
        self._writer.close_part(part)

    def _file(self, chunk: c.FileChunk) -> None:
        self._lifecycle.ensure_response()
        self._writer.add_part("file", file_fields(chunk))

    def _custom(self, chunk: c.CustomChunk | c.ReasoningFileChunk) -> None:
        self._lifecycle.ensure_response()
        self._writer.add_part(*custom_part(chunk))

    # ----------------------------------------------------------------- inside

    def _add_reasoning_facts(self, part: OpenPart, metadata: Mapping[str, Any] | None) -> None:
        facts = provider_facts(metadata)
        if "id" in facts:
            facts["thinking_id"] = facts.pop("id")
        part.fields.update(facts)

    def _provider_name(self) -> str:
        """R15: the carrier's, else that of the agent's registry entry, else `unknown`."""
        facts = self._context.facts
        return str(facts.get("provider_name") or self._providers.get(self._writer.agent_id) or "unknown")

    HANDLERS: ClassVar[Mapping[type, Callable[..., None]]] = {
        c.TextStartChunk: _text_start,
        c.TextDeltaChunk: _text_delta,
        c.TextEndChunk: _text_end,
        c.ReasoningStartChunk: _reasoning_start,
        c.ReasoningDeltaChunk: _reasoning_delta,
        c.ReasoningEndChunk: _reasoning_end,
        c.FileChunk: _file,
        c.ReasoningFileChunk: _custom,
        c.CustomChunk: _custom,
    }
    """Record → what a chunk of that kind does, in a state in which it is folded."""
