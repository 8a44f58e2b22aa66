"""The LangChain CLI design as a history dialect: a state of messages, two buffers, three scenarios of interruption.

In: a journal with `partial` parts. Out: its state as LangChain serialises messages, and what `HistoryDialect` asks for.
`LANGCHAIN` has the variants: `langchain/documented` is the design as it is written, `langchain/repaired` the design
changed so that model APIs accept each interrupted history, `langchain/js` the design with the messages, integrations
and storage of LangChain.js. `real` (not imported here: it needs the extra `langchain`) turns states into real messages.
"""

from tpharness.histories.langchain.choices import DOCUMENTED, REPAIRED, Choices
from tpharness.histories.langchain.dialect import LANGCHAIN, LangChainDialect
from tpharness.histories.langchain.reducer import UnsupportedError

__all__ = [
    "DOCUMENTED",
    "LANGCHAIN",
    "REPAIRED",
    "Choices",
    "LangChainDialect",
    "UnsupportedError",
]
