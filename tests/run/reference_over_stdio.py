"""The reference behind the contract on standard input and output, on both wires; `--old` is one of contract 1.1."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tpharness.dialects import ThreadHeader
from tpharness.protocol.versions import Version
from tpharness.targets import forms
from tpharness.targets.contract import Script, Stream, StreamEnd
from tpharness.targets.reference import Reference

OLD = "--old" in sys.argv


def script_of(case: Mapping[str, Any], runs: bool) -> Script:
    """Return a case as a script; the streams of a client are not in it."""
    if OLD and "wire" in case:
        raise ValueError("a target of 1.1 is given a member that it does not know")
    turns = [one for one in case["turns"] if runs or one["turn_type"] == "user"]
    return Script(
        header=ThreadHeader(thread_id=case["thread_id"], created_at=case["created_at"], agents=case["agents"]),
        turns=tuple(forms.user_from(one) if one["turn_type"] == "user" else forms.run_from(one) for one in turns),
        versions=tuple(Version(version) for version in case["versions"]),
        carriers=case["carriers"],
        wire=case.get("wire", "vsp"),
    )


def stream_of(turn: Mapping[str, Any]) -> Any:
    """Return a turn as a client gets it."""
    if turn["turn_type"] == "user":
        return forms.user_from(turn)
    end = StreamEnd(reason=turn["end"].get("reason"), at=turn["end"]["at"])
    packets = forms.packets_from(turn["packets"])
    return Stream(agent_id=turn["agent_id"], begun_at=turn["begun_at"], packets=packets, end=end)


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer to a request."""
    target = Reference()
    match request["op"]:
        case "start":
            declared = forms.capabilities_json(replace(target.capabilities, name="both"), ("server", "client"))
            if OLD:
                del declared["wires"]
                declared["contract"] = "1.1"
            return {"capabilities": declared}
        case "serve":
            played = asyncio.run(target.serve(script_of(request["case"], runs=True)))
            streams = [[forms.packet_json(packet) for packet in stream] for stream in played.streams]
            return {"served": {"threads": forms.threads_json(played.threads), "streams": streams}}
        case "receive":
            turns = [stream_of(turn) for turn in request["case"]["turns"]]
            got = asyncio.run(target.receive(script_of(request["case"], runs=False), turns))
            return {"received": {"threads": forms.threads_json(got.threads)}}
        case "adopt":
            return {"received": {"threads": request["threads"]}}
        case "resolve":
            return {"resolved": {"data_base64": request["data_base64"]}}
    return {"stopped": True}


if __name__ == "__main__":
    for line in sys.stdin:
        asked = json.loads(line)
        sys.stdout.write(json.dumps({"id": asked["id"], **answer(asked)}) + "\n")
        sys.stdout.flush()
