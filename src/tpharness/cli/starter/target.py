"""A server that tpharness plays scenarios on: requests come on standard input, a line each, and are answered on output.

It keeps texts, and says of everything else that it cannot play it. Put your own server behind `serve`: the events are
what your model and its tools would have produced. What else may be asked, and what the thread has to look like, is in
the implementer's guide, which `tpharness docs CONTROL` prints.
"""

from __future__ import annotations

import json
import sys
from typing import Any

Json = dict[str, Any]
PLAYED = {"model_request", "part_start", "part_delta", "part_end", "model_response_end", "agent_run_result"}


class UnplayableError(Exception):
    """The case has what this server does not do yet."""


def answer(request: Json) -> Json:
    """Return the answer to a request."""
    match request["op"]:
        case "start":
            roles, versions = ["server"], ["0.0.4"]
            return {"capabilities": {"contract": "1.2", "name": "mine", "roles": roles, "versions": versions}}
        case "serve":
            return {"served": {"threads": {"0.0.4": serve(request["case"])}}}
        case "stop":
            return {"stopped": True}
    raise UnplayableError(f"no {request['op']} yet")


def serve(case: Json) -> Json:
    """Play the turns of a case and return the thread that is left of them."""
    turns: list[Json] = []
    updated_at = case["created_at"]
    for given in case["turns"]:
        if given["turn_type"] == "user":
            turns.append(given)
            updated_at = given["submitted_at"]
        elif (turn := play(given)) is not None:
            turns.append(turn)
            updated_at = turn.get("completed_at") or turn["interruption"]["interrupted_at"]
    head = {name: case[name] for name in ("thread_id", "created_at", "agents")}
    return {"version": "0.0.4", **head, "updated_at": updated_at, "turns": turns}


def play(run: Json) -> Json | None:
    """Play one run of an agent. None for one of which an interruption has left nothing."""
    turn: Json = {"turn_type": "agent", "agent_id": run["agent_id"], "started_at": run["started_at"], "messages": []}
    asked: Json = {}
    response: Json | None = None  # the one that is streaming; what is cut in the middle of it is lost
    for event in run["events"]:
        kind = event["event_kind"]
        if kind not in PLAYED or event.get("part", {}).get("part_kind", "text") != "text":
            raise UnplayableError(f"texts only so far: no {kind} of this kind")
        if kind == "model_request":
            asked = {name: event[name] for name in ("model_name", "provider_name") if event.get(name)}
        elif kind == "part_start":
            if response is None:
                response = {"message_type": "response", "timestamp": event["at"], "agent_id": run["agent_id"]}
                response |= {"parts": [], **asked}
            response["parts"].append({"part_kind": "text", "content": event["part"]["content"]})
        elif kind == "part_delta" and response is not None:
            if event["index"] >= len(response["parts"]):
                raise UnplayableError("texts only so far: a delta of no part")
            response["parts"][event["index"]]["content"] += event["delta"]["content_delta"]
        elif kind == "model_response_end" and response is not None:
            said = {name: event[name] for name in ("finish_reason",) if event.get(name)}
            turn["messages"].append({**response, **said})
            response = None
        elif kind == "agent_run_result":
            return {**turn, "completed_at": event["at"], "completion_status": "complete"}
    interruption = run.get("interruption")
    if interruption is None or not turn["messages"]:
        return None
    why = {"reason": interruption["reason"], "interrupted_at": interruption["at"]}
    return {**turn, "interruption": why, "completion_status": "interrupted"}


def main() -> None:
    """Answer each line with a line, until asked to stop."""
    for line in sys.stdin.buffer:
        request = json.loads(line)
        try:
            reply = answer(request)
        except UnplayableError as error:
            reply = {"error": {"message": str(error), "cannot_play": True}}
        sys.stdout.buffer.write(json.dumps({"id": request["id"], **reply}).encode() + b"\n")
        sys.stdout.buffer.flush()
        if request["op"] == "stop":
            return


if __name__ == "__main__":
    main()
