"""The program behind `peer:langgraph-ag-ui`."""

from tpharness.peers.control import main
from tpharness.peers.langgraph_ag_ui.framework import LangGraphAgUi

if __name__ == "__main__":
    main(LangGraphAgUi)
