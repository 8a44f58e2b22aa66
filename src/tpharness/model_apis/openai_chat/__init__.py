"""OpenAI Chat Completions, and servers that speak it."""
