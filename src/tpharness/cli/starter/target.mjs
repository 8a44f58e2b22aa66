// A server that tpharness plays scenarios on: requests come on standard input, a line each, and are answered on output.
//
// It keeps texts, and says of everything else that it cannot play it. Put your own server behind `serve`: the events are
// what your model and its tools would have produced. What else may be asked, and what the thread has to look like, is in
// the implementer's guide, which `tpharness docs CONTROL` prints.

const PLAYED = ["model_request", "part_start", "part_delta", "part_end", "model_response_end", "agent_run_result"];

/** The case has what this server does not do yet. */
class UnplayableError extends Error {}

function answer(request) {
  switch (request.op) {
    case "start":
      return { capabilities: { contract: "1.2", name: "mine", roles: ["server"], versions: ["0.0.4"] } };
    case "serve":
      return { served: { threads: { "0.0.4": serve(request.case) } } };
    case "stop":
      return { stopped: true };
  }
  throw new UnplayableError(`no ${request.op} yet`);
}

/** Play the turns of a case and return the thread that is left of them. */
function serve({ thread_id, created_at, agents, turns: given }) {
  const turns = [];
  let updated_at = created_at;
  for (const one of given) {
    const turn = one.turn_type === "user" ? one : play(one);
    if (turn === null) continue;
    turns.push(turn);
    updated_at = turn.submitted_at ?? turn.completed_at ?? turn.interruption.interrupted_at;
  }
  return { version: "0.0.4", thread_id, created_at, agents, updated_at, turns };
}

/** Play one run of an agent. null for one of which an interruption has left nothing. */
function play({ agent_id, started_at, events, interruption }) {
  const turn = { turn_type: "agent", agent_id, started_at, messages: [] };
  let asked = {};
  let response = null; // the one that is streaming; what is cut in the middle of it is lost
  for (const event of events) {
    const kind = event.event_kind;
    if (!PLAYED.includes(kind) || (event.part?.part_kind ?? "text") !== "text") {
      throw new UnplayableError(`texts only so far: no ${kind} of this kind`);
    }
    if (kind === "model_request") {
      asked = {};
      for (const name of ["model_name", "provider_name"]) if (event[name]) asked[name] = event[name];
    } else if (kind === "part_start") {
      response ??= { message_type: "response", timestamp: event.at, agent_id, parts: [], ...asked };
      response.parts.push({ part_kind: "text", content: event.part.content });
    } else if (kind === "part_delta" && response !== null) {
      if (event.index >= response.parts.length) throw new UnplayableError("texts only so far: a delta of no part");
      response.parts[event.index].content += event.delta.content_delta;
    } else if (kind === "model_response_end" && response !== null) {
      turn.messages.push({ ...response, finish_reason: event.finish_reason });
      response = null;
    } else if (kind === "agent_run_result") {
      return { ...turn, completed_at: event.at, completion_status: "complete" };
    }
  }
  if (interruption === undefined || turn.messages.length === 0) return null;
  const why = { reason: interruption.reason, interrupted_at: interruption.at };
  return { ...turn, interruption: why, completion_status: "interrupted" };
}

// Lines end at a line feed and nowhere else, so Node's readline will not do.
let rest = "";
process.stdin.setEncoding("utf8");
reading: for await (const piece of process.stdin) {
  const lines = (rest + piece).split("\n");
  rest = lines.pop();
  for (const line of lines) {
    const request = JSON.parse(line);
    let reply;
    try {
      reply = answer(request);
    } catch (error) {
      if (!(error instanceof UnplayableError)) throw error;
      reply = { error: { message: error.message, cannot_play: true } };
    }
    process.stdout.write(`${JSON.stringify({ id: request.id, ...reply })}\n`);
    if (request.op === "stop") break reading;
  }
}
