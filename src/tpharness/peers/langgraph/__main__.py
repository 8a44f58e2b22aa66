"""The program behind `peer:langgraph`."""

import sys

from tpharness.extras import explain_import_error

if __name__ == "__main__":
    try:
        from tpharness.peers.control import main
        from tpharness.peers.langgraph.framework import LangGraph
    except ImportError as error:
        sys.exit(explain_import_error(error, "langgraph", "langgraph"))
    main(LangGraph)
