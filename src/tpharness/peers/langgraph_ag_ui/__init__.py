"""`peer:langgraph-ag-ui`: an agent of LangGraph behind `ag-ui-langgraph`, its adapter for AG-UI."""
