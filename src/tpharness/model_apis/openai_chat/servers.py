"""Servers of the Chat Completions API that take less than OpenAI's, and by which models they are known.

A rule of a server is found where `--server` names it or the name of the model is one of its models. Each row has been
reported; what a row says holds since the release that the source of its rules names. What Mistral's rows say was tried
with mistral-common (`findings/mistral-common-judges-histories.sh`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["SERVERS", "SHORT_ID", "Server", "server_named", "server_of_model"]

SHORT_ID = re.compile(r"[a-zA-Z0-9]{9}")
"""The ids of calls of a server with `short_ids`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server or a family of models.

    `models` finds their names, also behind a vendor; None where it runs models of everybody, so that only `--server`
    names it. `ordered`: a tool message is followed by the assistant or another tool, a system message comes before the
    assistant, and the assistant is not last. `short_ids`: ids of calls are nine letters and digits. `thinks`: a message
    with calls has its thinking, while thinking is enabled. `refuses_thinking`: no message has it.
    """

    name: str
    title: str
    models: re.Pattern[str] | None = None
    ordered: bool = False
    short_ids: bool = False
    thinks: bool = False
    refuses_thinking: bool = False


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
        Server(
            name="deepseek",
            title="DeepSeek's API and its models that think, from V3.2 on",
            models=re.compile(r"(?:^|/)deepseek[-_](?:reasoner|v3[.-]2|v[4-9])", re.IGNORECASE),
            thinks=True,
        ),
        Server(name="groq", title="Groq's API", refuses_thinking=True),
    )
}
"""The servers by the name that `--server` takes."""

_OPENAI = Server(name="", title="OpenAI's API")


def server_named(name: str) -> Server:
    """Return the server with this name; for "" OpenAI's own, which refuses nothing that the others refuse."""
    return SERVERS.get(name, _OPENAI)


def server_of_model(model: str) -> Server | None:
    """Return the server whose models have such a name, None if it could be on any."""
    return next((one for one in SERVERS.values() if one.models is not None and one.models.search(model)), None)
