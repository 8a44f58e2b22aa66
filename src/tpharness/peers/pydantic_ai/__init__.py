"""`peer:pydantic-ai`: an agent of Pydantic AI behind its own Vercel AI adapter, its model replaced by the script.

The stream is the adapter's own bytes. The thread is built from the message history that the agent leaves behind. Needs
the extra `pydantic-ai`.
"""
