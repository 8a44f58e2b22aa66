"""`peer:pydantic-ai-ag-ui`: an agent of Pydantic AI behind its AG-UI adapter."""
