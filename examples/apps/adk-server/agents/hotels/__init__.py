"""The agent, where ADK looks for it."""

from . import agent as agent
