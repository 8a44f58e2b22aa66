// A case for a client, whoever plays it: turns in order, each stream received by a chat, the messages made a thread.

import { render } from "./document.mjs";
import { answered, endOf, entriesOf } from "./mapping.mjs";

/**
 * Receive a case and return its threads. `chat` has `send(parts | null, stream)`, which returns the chat's message after
 * the stream and how it ended: `{message, finish: {isAbort, isNetwork, errorText, finishReason}}`; a chat that is not the
 * AI SDK's says itself for what reason its turn was cut, if it was: `finish.cut`.
 */
export async function received(value, chat) {
  const thread = { thread_id: value.thread_id, created_at: value.created_at, agents: value.agents, turns: [] };
  let waiting = null;
  let asked = null;
  let last = { id: null, parts: [] };
  for (const turn of value.turns) {
    if (turn.turn_type === "user") {
      thread.turns.push({ user: turn });
      asked = JSON.stringify(turn.parts.map((part) => part.content));
      waiting = [...(waiting ?? []), ...turn.parts.flatMap(promptParts)];
      continue;
    }
    const { message, finish } = await chat.send(waiting, turn);
    waiting = null;
    const same = message !== null && message.id === last.id;
    const parts = message === null ? [] : message.parts;
    const reason = finish.isAbort ? null : (turn.end.reason ?? null);
    const cut = finish.cut !== undefined ? finish.cut : endOf(finish, reason);
    const at = turn.begun_at;
    const error = finish.errorText !== null && !finish.isNetwork ? finish.errorText : null;
    thread.turns.push({
      agent_id: turn.agent_id,
      started_at: at,
      ended_at: turn.end.at,
      entries: entriesOf({
        parts,
        from: same ? last.parts.length : 0,
        before: same ? answered(last.parts) : new Set(),
        asked,
        at,
        finished: cut === null || finish.finishReason != null, // R40
        error,
      }),
      cut: cut === null ? null : { reason: cut, at: turn.end.at },
    });
    last = message === null ? last : { id: message.id, parts: structuredClone(parts) };
  }
  return Object.fromEntries(value.versions.map((version) => [version, render(thread, version)]));
}

function promptParts(part) {
  if (part.part_kind !== "user-prompt") return [];
  return (Array.isArray(part.content) ? part.content : [part.content]).map((item) => {
    if (typeof item === "string") return { type: "text", text: item };
    const mediaType = item.media_type ?? "application/octet-stream";
    return { type: "file", mediaType, url: item.url ?? `data:${mediaType};base64,${item.data}` };
  });
}
