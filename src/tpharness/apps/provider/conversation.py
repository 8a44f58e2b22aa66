"""Conversations: which request belongs to which, and which plan answers it.

An application is sent a user's text with a *mark*, a short token such as `[tp:k3f9]`. A request belongs to the
conversation whose mark stands in its last user message, else anywhere in the user's texts; one that has lost them is
known by the ids of its calls, which have the mark's letters (`marks.call_id`). Requests for a title or a summary hold
the mark too; they are recognised (`aside`) and answered plainly, and so is everything without a mark.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping

from tpharness.apps.marks import call_id
from tpharness.apps.provider.exchange import Exchange, ExchangeOutcome, WaitError
from tpharness.model_apis.plan import Plan

__all__ = ["Conversation", "Conversations"]

_TITLE = re.compile(
    r"\b(?:titles?|summar(?:y|ies|i[sz]e[sd]?|i[sz]ing)|headline|follow-?ups?|suggest(?:ions?|ed)?|"
    r"tags?|categor(?:y|i[sz]e)|name (?:for )?(?:this|the) (?:chat|thread|conversation))\b",
    re.IGNORECASE,
)
_FAILED = (ExchangeOutcome.BROKEN, ExchangeOutcome.DISCONNECTED)


class Conversation:
    """The requests that hold one mark, in the order of their arrival, and the plans that answer the next ones.

    `asides` are those that were taken for a title or a summary, each with the reason in its `aside`.
    """

    def __init__(self, mark: str) -> None:
        self.mark = mark
        self.said: list[str] = []
        self.exchanges: list[Exchange] = []
        self.asides: list[Exchange] = []
        self._plans: list[Plan] = []
        self._retriable: Exchange | None = None
        self._taken = 0
        self._arrived = asyncio.Event()

    def plans(self, plans: Iterable[Plan], *, user_text: str | None = None) -> None:
        """Set the answers to the next requests, in order, in place of those that were not used yet.

        To be called before each turn of the user: what comes after it is never taken for a retry of what was before.
        `user_text` is what the user says in this turn, so that words around it are not taken for words in it; an
        application may put what the user said before, and was not answered, into the same message.
        """
        self._plans = list(plans)
        self._retriable = None
        if user_text is not None:
            self.said.append(user_text)

    @property
    def plans_left(self) -> int:
        """How many plans were not used yet."""
        return len(self._plans)

    async def next_exchange(self, timeout: float = 10.0) -> Exchange:  # noqa: ASYNC109  # waits have limits
        """Return the next request that was not returned yet; it may be over already.

        WaitError when none comes in so many seconds.
        """
        try:
            async with asyncio.timeout(timeout):
                while self._taken >= len(self.exchanges):
                    self._arrived.clear()
                    await self._arrived.wait()
        except TimeoutError:
            asides = "".join(f"; {one} was not counted: {one.aside}" for one in self.asides)
            raise WaitError(
                f"waited {timeout:g} s for request {self._taken + 1} of {self.mark} to the model{asides}",
                hint="did the application answer with an error, or does it read the base URL from its environment?",
            ) from None
        self._taken += 1
        return self.exchanges[self._taken - 1]

    def peek(self) -> Plan | None:
        """Return the plan that answers the next request, None when there is none."""
        return self._plans[0] if self._plans else None

    def add(self, exchange: Exchange) -> None:
        """Note a request."""
        self.exchanges.append(exchange)
        self._arrived.set()

    def plan_for(self, exchange: Exchange) -> Plan | None:
        """Return the plan that answers a request, None when there is none left.

        The same body once more, after an answer that failed before its first piece or that the application did not
        wait for, is a retry and gets the same plan; the next one where that plan fails `once`.
        """
        before = self._retriable
        failed = before is not None and before.outcome in _FAILED and before.pieces_written == 0
        if before is not None and failed and before.body == exchange.body:
            exchange.retry_of = before.number
            self._retriable = exchange
            if before.plan is None or not before.plan.once:
                return before.plan
            return self._plans.pop(0) if self._plans else None
        self._retriable = exchange
        return self._plans.pop(0) if self._plans else None


class Conversations:
    """All conversations of a provider, and what belongs to none."""

    def __init__(self) -> None:
        self._all: dict[str, Conversation] = {}
        self.others: list[Exchange] = []

    def of(self, mark: str) -> Conversation:
        """Return the conversation of a mark, made when it is asked for first."""
        return self._all.setdefault(mark, Conversation(mark))

    def assign(self, exchange: Exchange) -> Conversation | None:
        """Put a request where it belongs, and return its conversation; None puts it to the others."""
        found = self._marked(exchange.user_texts) or self._of_calls(exchange)
        if found is not None:
            exchange.mark = found.mark
            exchange.aside = _aside(exchange, found)
            if exchange.aside is None:
                found.add(exchange)
                return found
            found.asides.append(exchange)
        self.others.append(exchange)
        return None

    def _marked(self, texts: tuple[str, ...]) -> Conversation | None:
        for text in reversed(texts):
            places = {text.rfind(mark): one for mark, one in self._all.items() if mark in text}
            if places:
                return places[max(places)]
        return None

    def _of_calls(self, exchange: Exchange) -> Conversation | None:
        """Return the conversation whose calls a request holds that has lost the words of its user."""
        ids = [call.call_id for message in exchange.history for call in message.calls]
        ids += [result.call_id for message in exchange.history for result in message.results]
        return next((one for mark, one in self._all.items() if any(i.startswith(call_id(mark)) for i in ids)), None)


def _aside(exchange: Exchange, conversation: Conversation) -> str | None:
    """Return why a request is not a turn of its conversation but a title, a summary or the like; None if it is one."""
    if exchange.tools:
        return None
    if any(message.results for message in exchange.history):
        return _order_behind(exchange, conversation)
    plan = conversation.peek()
    if plan is not None and plan.calls:
        return "it has no tools, and the plan calls one"
    before: Mapping[str, object] = conversation.exchanges[-1].tools if conversation.exchanges else {}
    if before and not _is_turn(exchange, conversation):
        return "it has no tools, and the requests before it had some"
    if conversation.exchanges and exchange.system != conversation.exchanges[0].system:
        return "it has no tools and another system prompt"
    word = _TITLE.search(_words_around(exchange, conversation))
    return None if word is None else f"it has no tools and asks for {word[0]!r}"


def _order_behind(exchange: Exchange, conversation: Conversation) -> str | None:
    """Return the reason where a history ends with an order of the application's own, such as to sum up the rest."""
    last = exchange.history[-1]
    if last.role != "user" or any(said in last.text for said in conversation.said):
        return None
    word = _TITLE.search(last.text)
    return None if word is None else f"it has no tools and ends with words that ask for {word[0]!r}"


def _is_turn(exchange: Exchange, conversation: Conversation) -> bool:
    """Whether a request says nothing but what the user says, streamed and under the system prompt of the first one.

    An application may offer its tools in some turns and not in others.
    """
    first = conversation.exchanges[0]
    rest = "\n".join(exchange.user_texts)
    for said in sorted(conversation.said, key=len, reverse=True):
        rest = rest.replace(said, "")
    return exchange.stream and exchange.system == first.system and not rest.strip()


def _words_around(exchange: Exchange, conversation: Conversation) -> str:
    """Return the text in which a request for a title or a summary would say so.

    An application without tools may have such words in its own system prompt, so that this counts only for a request
    without streaming, as nearly all side requests are. The user's own words are left out where they are recognised.
    """
    last = exchange.user_texts[-1]
    system = "" if exchange.stream else exchange.system
    if any(said in last for said in conversation.said):
        for said in sorted(conversation.said, key=len, reverse=True):
            last = last.replace(said, "")
        return f"{system}\n{last}"
    return system if exchange.stream else f"{system}\n{last.replace(conversation.mark, '')}"
