"""The chat client: posts as common clients do, reads the answer, goes away, comes back."""

from tpharness.apps.client.message import MessageFold, is_tool_part
from tpharness.apps.client.profile import Chat, Profile, Trigger, text_of
from tpharness.apps.client.profiles import PROFILES, find_profile
from tpharness.apps.client.reply import End, Limits, Reply, SeenChunk, Translator, as_event
from tpharness.apps.client.session import Addresses, ChatClient, Fetched, Route

__all__ = [
    "PROFILES",
    "Addresses",
    "Chat",
    "ChatClient",
    "End",
    "Fetched",
    "Limits",
    "MessageFold",
    "Profile",
    "Reply",
    "Route",
    "SeenChunk",
    "Translator",
    "Trigger",
    "as_event",
    "find_profile",
    "is_tool_part",
    "text_of",
]
