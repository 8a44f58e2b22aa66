"""The model's API, scripted: what an application is given as its provider."""

from tpharness.apps.provider.conversation import Conversation
from tpharness.apps.provider.exchange import Api, Exchange, Outcome, Told, ToldCall, ToldResult, WaitError
from tpharness.apps.provider.plan import Break, Call, Finish, Item, Plan, Text, Thinking, Usage
from tpharness.apps.provider.server import Provider
from tpharness.apps.provider.thoughts import asks_for_thoughts

__all__ = [
    "Api",
    "Break",
    "Call",
    "Conversation",
    "Exchange",
    "Finish",
    "Item",
    "Outcome",
    "Plan",
    "Provider",
    "Text",
    "Thinking",
    "Told",
    "ToldCall",
    "ToldResult",
    "Usage",
    "WaitError",
    "asks_for_thoughts",
]
