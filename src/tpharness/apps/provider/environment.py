"""The environment that points SDKs and frameworks at a provider: base URLs and dummy keys, in every spelling."""

from __future__ import annotations

__all__ = ["DUMMY_KEY", "environment"]

DUMMY_KEY = "sk-tpharness-0000000000000000000000000000000000000000"


def environment(base: str) -> dict[str, str]:
    """Return variables for a provider at `base` (scheme, host and port).

    The OpenAI SDKs, the AI SDK and LangChain want `/v1` in OPENAI_BASE_URL. Anthropic's SDKs add `/v1` to theirs; the
    AI SDK does not, which is the same to a provider that serves both. Google's SDKs add `/v1beta`. NO_PROXY keeps the
    requests from a proxy that the environment may name.
    """
    return {
        "OPENAI_BASE_URL": f"{base}/v1",
        "OPENAI_API_BASE": f"{base}/v1",  # LangChain, LiteLLM and older SDKs
        "OPENAI_API_KEY": DUMMY_KEY,
        "ANTHROPIC_BASE_URL": base,
        "ANTHROPIC_API_URL": base,  # LangChain
        "ANTHROPIC_API_KEY": DUMMY_KEY,
        "GOOGLE_GEMINI_BASE_URL": base,  # google-genai in Python, @google/genai
        "GEMINI_BASE_URL": base,
        "GOOGLE_BASE_URL": base,  # where the framework names it so
        "GOOGLE_API_KEY": DUMMY_KEY,
        "GEMINI_API_KEY": DUMMY_KEY,
        "GOOGLE_GENERATIVE_AI_API_KEY": DUMMY_KEY,  # AI SDK
        "GOOGLE_GENAI_USE_VERTEXAI": "false",
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
    }
