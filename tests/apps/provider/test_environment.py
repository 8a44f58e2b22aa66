"""SDKs and frameworks that are given nothing but the environment find the provider, and read its answers."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Sequence

import pytest
from tests.apps.provider.environment_clients import APIS, mark_of
from tests.distribution import Sample

from tpharness.apps.provider.server import Provider
from tpharness.model_apis.plan import Plan, Text


@pytest.mark.sampled
def test_clients_find_the_provider_by_the_environment(sample: Sample[str]) -> None:
    """Its base URL, a key that they take, and no proxy; all in one program: each takes seconds to import."""

    async def asked(names: Sequence[str]) -> None:
        async with Provider() as provider:
            conversations = {name: provider.conversation(mark_of(name)) for name in names}
            for name, conversation in conversations.items():
                conversation.plans([Plan(items=(Text(pieces=("Good day, ", name)),))])
            environment = {**os.environ, "HTTP_PROXY": "http://127.0.0.1:9", **provider.environment()}
            program = [sys.executable, "-m", "tests.apps.provider.environment_clients", *names]
            process = await asyncio.create_subprocess_exec(*program, env=environment, stdout=asyncio.subprocess.PIPE)
            said, _ = await process.communicate()
            assert json.loads(said) == {name: f"Good day, {name}" for name in names}
            assert {name: one.exchanges[0].api for name, one in conversations.items()} == {
                name: APIS[name] for name in names
            }
            assert [one.exchanges[0].refusals for one in conversations.values()] == [()] * len(names)
            assert provider.strays == []

    asyncio.run(asyncio.wait_for(asked(sample(tuple(APIS))), 90))
