"""`peer:langgraph`: a LangGraph agent with a checkpointer, its chat model replaced by the script.

LangGraph has no UI message stream of its own in Python: `stream` writes one from what its agent streams, as an
application would. The thread is built from the state that the checkpointer has. Needs the extra `langgraph`.
"""
