"""Ollama's own API: `/api/chat`. What it serves at `/v1` is `openai_chat`."""
