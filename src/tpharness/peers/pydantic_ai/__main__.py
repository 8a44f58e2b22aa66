"""The program behind `peer:pydantic-ai`."""

import sys

from tpharness.extras import explain_import_error

if __name__ == "__main__":
    try:
        from tpharness.peers.control import main
        from tpharness.peers.pydantic_ai.framework import PydanticAiFramework
    except ImportError as error:
        sys.exit(explain_import_error(error, "pydantic-ai", "pydantic-ai-slim"))
    main(PydanticAiFramework)
