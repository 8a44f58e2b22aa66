"""Servers of the Chat Completions API that take less than OpenAI's, and by which models they are known.

A rule of a server is found where `--server` names it or the name of the model is one of its models. Each row has been
reported; what a row says holds since the release that the source of its rules names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["SERVERS", "Server", "server_of_model"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server or a family of models.

    `models` finds their names, also behind a vendor. `ordered`: a tool message is followed by the assistant or another
    tool. `short_ids`: ids of calls are nine letters and digits. `thinks`: a message with calls has its thinking, while
    thinking is enabled.
    """

    name: str
    title: str
    models: re.Pattern[str]
    ordered: bool = False
    short_ids: bool = False
    thinks: bool = False


SERVERS: dict[str, Server] = {
    server.name: server
    for server in (
        Server(
            name="mistral",
            title="Mistral's API and its models on other servers",
            models=re.compile(
                r"(?:^|/)(?:open-)?(?:mistral|ministral|magistral|codestral|devstral|mixtral|pixtral)", re.IGNORECASE
            ),
            ordered=True,
            short_ids=True,
        ),
        Server(
            name="moonshot",
            title="Moonshot's API and Kimi from K2.5 on",
            models=re.compile(
                r"(?:^|/)kimi[-_](?:k2[.-]?[5-9]|k2-thinking|k[3-9]|for-coding)|(?:^|/)k2p[5-9]", re.IGNORECASE
            ),
            thinks=True,
        ),
    )
}
"""The servers by the name that `--server` takes."""


def server_of_model(model: str) -> Server | None:
    """Return the server whose models have such a name, None if it could be on any."""
    return next((server for server in SERVERS.values() if server.models.search(model)), None)
