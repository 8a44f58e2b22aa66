"""The LangChain CLI design as a history dialect: a state of messages, two buffers, three scenarios of interruption.

In: a journal, best with `partial` parts. Out: its state as LangChain serialises messages, and the three projections of
`HistoryDialect`. `LANGCHAIN` has the variants: `langchain/documented` is the design as it reads, `langchain/repaired`
what it takes for model APIs to accept each interrupted history. `real` (not imported here: it needs the extra
`langchain`) turns states into real message objects.
"""

from tpharness.histories.langchain.choices import DOCUMENTED, GAPS, REPAIRED, Choices, Gap
from tpharness.histories.langchain.dialect import LANGCHAIN, LangChainDialect
from tpharness.histories.langchain.reducer import UnsupportedError

__all__ = [
    "DOCUMENTED",
    "GAPS",
    "LANGCHAIN",
    "REPAIRED",
    "Choices",
    "Gap",
    "LangChainDialect",
    "UnsupportedError",
]
