// Entries of turns → a thread document in one version of the protocol.
//
// An application that keeps threads beside the AI SDK needs this little: what it knows of each turn is whole responses,
// returns and events, and how the turn ended. Interrupted turns keep complete cycles only (R19–R24).

const OLD_NAMES = {
  "data-tp-agent_handoff": "agent.handoff",
  "data-tp-thread_spawn": "thread.spawn",
  "data-tp-thread_merge": "thread.merge",
  "data-tp-thread_end": "thread.end",
  "data-tp-error": "error",
};

function eventName(name, version) {
  if (version === "0.0.4") return name;
  if (OLD_NAMES[name]) return OLD_NAMES[name];
  return version === "2.0.0" ? name.replace(/^data-/, "") || name : name; // R34
}

/** The part of a call that its application has to answer, or a return, by its call id. */
const callIds = (entry) => entry.parts.filter((p) => p.part_kind === "tool-call").map((p) => p.tool_call_id);

/** What of an interrupted turn stays: responses that had finished, each call with a return, and their returns. */
function kept(entries) {
  const answered = new Set();
  for (const entry of entries) {
    if (entry.kind === "returns") entry.parts.forEach((p) => answered.add(p.tool_call_id));
  }
  const own = new Set();
  const dropped = new Set();
  let sourcesGo = false; // R25: with the response before them
  const stays = entries.filter((entry) => {
    if (entry.kind === "event") return !(sourcesGo && entry.name.startsWith("source."));
    if (entry.kind !== "response") return true;
    const calls = callIds(entry);
    sourcesGo = !(entry.finished && calls.every((id) => answered.has(id))); // R20, R21
    const good = entry.parts.length > 0 && !sourcesGo;
    calls.forEach((id) => (good ? own : dropped).add(id));
    return good;
  });
  return stays
    .map((entry) =>
      entry.kind === "returns" // R23
        ? { ...entry, parts: entry.parts.filter((p) => own.has(p.tool_call_id) || !dropped.has(p.tool_call_id)) }
        : entry,
    )
    .filter((entry) => entry.kind !== "returns" || entry.parts.length > 0);
}

function message(entry, version, agentId) {
  if (entry.kind === "event") {
    return {
      message_type: "system",
      timestamp: entry.at,
      event_type: eventName(entry.name, version),
      event_data: entry.data,
      ...entry.agents,
    };
  }
  const type = entry.kind === "response" ? "response" : "request";
  return { message_type: type, timestamp: entry.at, agent_id: agentId, parts: entry.parts, ...entry.facts };
}

function agentTurn(turn, version) {
  const cut = turn.cut;
  if (cut && version !== "0.0.4") return null; // R18
  const entries = (cut ? kept(turn.entries) : turn.entries).filter((e) => e.kind === "event" || e.parts.length > 0);
  const counts = (e) => e.kind !== "event" || e.name.startsWith("data-tp-");
  if (cut && !entries.some(counts)) return null; // R24
  const document = {
    turn_type: "agent",
    agent_id: turn.agent_id,
    started_at: turn.started_at,
    messages: entries.map((entry) => message(entry, version, turn.agent_id)),
  };
  if (Object.keys(turn.usage ?? {}).length > 0) document.total_usage = turn.usage;
  if (cut) {
    document.completion_status = "interrupted";
    const reason = cut.reason === "incomplete_stream" ? "network_failure" : cut.reason; // R27
    document.interruption = { reason, interrupted_at: cut.at };
    return document;
  }
  document.completed_at = turn.ended_at;
  if (version === "0.0.4") document.completion_status = "complete";
  return document;
}

/** Write a thread: `{thread_id, created_at, agents, turns}`, turns as `{user}` or `{agent_id, entries, cut, …}`. */
export function render(thread, version) {
  const turns = thread.turns.map((turn) => (turn.user ? turn.user : agentTurn(turn, version))).filter(Boolean);
  const last = turns.at(-1);
  const end = last?.submitted_at ?? last?.completed_at ?? last?.interruption?.interrupted_at;
  return {
    version,
    thread_id: thread.thread_id,
    created_at: thread.created_at,
    updated_at: end ?? thread.created_at,
    agents: thread.agents,
    turns,
  };
}
