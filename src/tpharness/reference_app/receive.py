"""The client's role: streams are read and folded, and the threads are returned.

In: a `receiveRequest`. Out: a `received`. Times are the request's: everything in a stream happens when it was begun,
unless its carriers have times, and its end at `end.at`. An `end.reason` in the request counts; without one the client
observes the end itself.

The content of a `content_ref` is never fetched, unless its host is allowed: then its bytes are fetched once and
compared with the reference, and `contents` beside the threads says for each whether they match.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import aiohttp
from yarl import URL

from tpharness.dialects import DIALECTS, ThreadHeader
from tpharness.facts import provider_names
from tpharness.findings import shorten
from tpharness.protocol.content import find_mismatch
from tpharness.protocol.versions import Version
from tpharness.readings import Readings
from tpharness.reference_app.listen import StreamListener
from tpharness.reference_app.refusal import Refusal
from tpharness.reference_app.requests import check_time, wire_of
from tpharness.reference_app.settings import Settings
from tpharness.targets import forms
from tpharness.targets.endpoint import is_loopback
from tpharness.wires.contract import Reader
from tpharness.wires.registry import wire_named
from tpharness.wires.sse.writer import encode_data

__all__ = ["Receiver"]


class Receiver:
    """Receives streams; connections are shared by all requests."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def receive(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """Receive a case that fits the contract; return a `received`. Refusal for an invalid URL or time."""
        _check_request(value, self._settings)
        agents = value["agents"]
        wire = wire_named(wire_of(value))
        reader = wire.open_reader(agent_id=next(iter(agents), "assistant"), providers=provider_names(agents))
        for turn in value["turns"]:
            if turn["turn_type"] == "user":
                reader.add_user_turn(forms.user_from(turn))
            else:
                await self._turn(reader, turn, resumable=wire.resumable)
        header = ThreadHeader(thread_id=value["thread_id"], created_at=value["created_at"], agents=agents)
        journal = reader.journal()
        threads = {v: DIALECTS[Version(v)].renderer(header, Readings()).render(journal) for v in value["versions"]}
        if not self._settings.allow_content:
            return {"threads": threads}
        return {"threads": threads, "contents": await self._contents(threads)}

    @staticmethod
    def resolve(value: Mapping[str, Any]) -> dict[str, Any]:
        """Return the `resolved` of a `resolveRequest`: the content, or why it is refused (R56)."""
        try:
            data = base64.b64decode(value["data_base64"], validate=True)
        except ValueError as error:
            hint = "send the bytes of the content as base64, with its padding"
            raise Refusal(422, f"/data_base64 is not base64: {error}", hint=hint) from None
        why = find_mismatch(value["content_ref"], digest=hashlib.sha256(data).hexdigest(), size=len(data))
        return {"refused": why} if why else {"data_base64": value["data_base64"]}

    # ------------------------------------------------------------------- inside

    async def _turn(self, reader: Reader, turn: Mapping[str, Any], *, resumable: bool) -> None:
        at, given = turn["begun_at"], turn["end"].get("reason")
        reader.begin(at, agent_id=turn["agent_id"])
        seen = None
        if "packets" in turn:
            for packet in forms.packets_from(turn["packets"]):
                reader.feed(packet.data, packet.at)
        else:
            limits = turn.get("limits") or {}
            listener = StreamListener(
                session=self._connections(),
                url=turn["url"],
                silence=min(float(limits.get("stream_seconds", self._settings.client_seconds)), 1e7),
                most=self._settings.max_stream,
                resumes=given is None and resumable,
                feed=lambda data: reader.feed(encode_data(data), at),
                ended=lambda: reader.signalled_end,
                done=lambda: reader.complete,
            )
            seen = await listener.listen()
        reader.close(given if given is not None else seen, turn["end"]["at"])

    def _connections(self) -> aiohttp.ClientSession:
        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=10)
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0), timeout=timeout, cookie_jar=aiohttp.DummyCookieJar()
            )
        return self._session

    async def _contents(self, threads: Mapping[str, Any]) -> list[dict[str, Any]]:
        references = {ref["uri"]: ref for ref in _references(list(threads.values())) if isinstance(ref.get("uri"), str)}
        allowed = [ref for uri, ref in references.items() if self._may_fetch(uri)]
        return [await self._verify(ref) for ref in allowed]

    def _may_fetch(self, uri: str) -> bool:
        """Whether the scheme and the host may be fetched; an allowed host may include a port."""
        try:
            url = URL(uri)
        except ValueError:
            return False
        safe = url.scheme == "https" or (url.scheme == "http" and is_loopback(url.host or ""))
        return safe and bool({url.host, f"{url.host}:{url.port}"} & set(self._settings.allow_content))

    async def _verify(self, ref: Mapping[str, Any]) -> dict[str, Any]:
        uri, why = ref["uri"], "" if ref.get("hash") is not None else "its reference has no hash"
        digest, size = hashlib.sha256(), 0
        try:
            async with asyncio.timeout(self._settings.client_seconds):
                async with self._connections().get(uri, allow_redirects=False) as response:
                    if response.status != 200:
                        why = f"it answers {response.status}"
                    async for data in response.content.iter_any():
                        size += len(data)
                        digest.update(data)
                        if size > self._settings.max_stream:
                            why = f"it has more than {self._settings.max_stream} bytes"
                            response.close()
                            break
        except (aiohttp.ClientError, OSError) as error:
            why = f"it cannot be fetched: {shorten(str(error) or type(error).__name__, 80)}"
        why = why or find_mismatch(ref, digest=digest.hexdigest(), size=size)
        return {"uri": uri, "verified": not why, **({"why": why} if why else {})}


def _check_request(value: Mapping[str, Any], settings: Settings) -> None:
    check_time(value["created_at"], "/created_at")
    for index, turn in enumerate(value["turns"]):
        place = f"/turns/{index}"
        if turn["turn_type"] == "user":
            check_time(turn["submitted_at"], f"{place}/submitted_at")
            continue
        check_time(turn["begun_at"], f"{place}/begun_at")
        check_time(turn["end"]["at"], f"{place}/end/at")
        try:
            for number, packet in enumerate(forms.packets_from(turn.get("packets", ()))):
                check_time(packet.at, f"{place}/packets/{number}/at")
        except (binascii.Error, ValueError) as error:
            raise Refusal(422, f"{place}/packets: data_base64 is not base64: {error}") from None
        if "url" in turn:
            _check_url(turn["url"], f"{place}/url", settings.receive_from)


def _check_url(text: str, place: str, allowed: tuple[str, ...]) -> None:
    """Refuse what is not a stream of this machine, or of a host that the server was started with."""
    shown = shorten(text, 80)
    try:
        url = URL(text)
        host, port = url.host, url.port
    except ValueError:
        host = None
    if host is None or url.scheme not in ("http", "https"):
        raise Refusal(422, f"{place}: {shown} is not an http(s) URL")
    if not (is_loopback(host) or {host, f"{host}:{port}"} & set(allowed)):
        raise Refusal(
            422,
            f"{place}: {shown} is not on this machine, and this server was not started to receive from it",
            hint=f"start the server with --receive-from {host}",
        )


def _references(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield every `content_ref` of tool returns."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            if item.get("part_kind") == "tool-return" and isinstance(item.get("content_ref"), dict):
                yield item["content_ref"]
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
