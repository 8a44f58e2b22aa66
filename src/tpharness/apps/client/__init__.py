"""The chat client: posts as common clients do, reads the answer, goes away, comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tpharness.lazy_names import lazy_names

if TYPE_CHECKING:
    from tpharness.apps.client.buttons import CLIENTS, require_known_client
    from tpharness.apps.client.message_parts import is_tool_part
    from tpharness.apps.client.profile import Chat, Profile, Trigger, keeps_history, text_of
    from tpharness.apps.client.profiles import PROFILES, find_profile
    from tpharness.apps.client.reading import Translator
    from tpharness.apps.client.real import RealClient, RealClients
    from tpharness.apps.client.reply import End, Limits, Reply, SeenChunk, as_event
    from tpharness.apps.client.routes import Addresses, Fetched, Route
    from tpharness.apps.client.session import ChatClient, Client

__all__ = [
    "CLIENTS",
    "PROFILES",
    "Addresses",
    "Chat",
    "ChatClient",
    "Client",
    "End",
    "Fetched",
    "Limits",
    "Profile",
    "RealClient",
    "RealClients",
    "Reply",
    "Route",
    "SeenChunk",
    "Translator",
    "Trigger",
    "as_event",
    "find_profile",
    "is_tool_part",
    "keeps_history",
    "require_known_client",
    "text_of",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "tpharness.apps.client.buttons": ("CLIENTS", "require_known_client"),
        "tpharness.apps.client.message_parts": ("is_tool_part",),
        "tpharness.apps.client.profile": ("Chat", "Profile", "Trigger", "keeps_history", "text_of"),
        "tpharness.apps.client.profiles": ("PROFILES", "find_profile"),
        "tpharness.apps.client.real": ("RealClient", "RealClients"),
        "tpharness.apps.client.reading": ("Translator",),
        "tpharness.apps.client.reply": ("End", "Limits", "Reply", "SeenChunk", "as_event"),
        "tpharness.apps.client.routes": ("Addresses", "Fetched", "Route"),
        "tpharness.apps.client.session": ("ChatClient", "Client"),
    },
)
