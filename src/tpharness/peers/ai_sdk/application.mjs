// An application on a framework of Node.js behind the control contract: its threads, its runs, how a run is cut.
//
// The framework gives `capabilities`, the `finishReasons` that its model can end with, `refuse(story)` for what it
// cannot play besides, `userMessage(turn)`, `answer(run)`, which streams a run into the response, and `added(run)`, what
// the run has added to the thread. `notice` writes an event of the application, `cancelled` is what its signal is
// aborted with when the user stops it.

import { CannotPlay, Refusal, json, portOf, serve } from "./control.mjs";
import { render } from "./document.mjs";
import { Playback } from "./playback.mjs";
import { readStory } from "./story.mjs";

export const words = (error) => (error instanceof Error ? error.message : String(error));

export const textOf = (args) => (typeof args === "string" ? args : JSON.stringify(args));

/** Serve it on the port that the command line says. */
export function serveApplication(framework) {
  const threads = new Map();
  const found = (id) => {
    const thread = threads.get(id);
    if (!thread) throw new Refusal(404, "there is no such thread", "a run creates its thread");
    return thread;
  };

  function startRun({ id, value: request, res }) {
    let thread = threads.get(id);
    if (thread?.live) throw new Refusal(409, "a run of this thread is in progress");
    const { story, users, ended } = prepared(framework, request);
    if (!thread) {
      if (users.length === 0) throw new CannotPlay("a conversation that begins without a word of the user");
      thread = { thread_id: id, created_at: request.created_at, agents: request.agents, turns: [], history: [] };
      threads.set(id, thread);
    }
    for (const user of request.user ?? []) thread.turns.push({ user });
    thread.history.push(...users);
    thread.live = run(framework, { thread, request, story, ended, res });
  }

  async function cancel({ id, value, res }) {
    const { live } = found(id);
    if (!live) return json(res, { cancelled: false });
    live.cut ??= { reason: value.reason, at: live.holdAt ?? live.playback.now };
    live.controller.abort(framework.cancelled ?? value.reason);
    await live.ended;
    return json(res, { cancelled: true });
  }

  serve(portOf(process.argv), [
    ["GET", /^\/capabilities$/, ({ res }) => json(res, framework.capabilities)],
    ["POST", /^\/threads\/([^/]+)\/runs$/, startRun],
    ["POST", /^\/threads\/([^/]+)\/user-turns$/, ({ id, value, res }) => {
      found(id).turns.push({ user: value });
      res.writeHead(204).end();
    }],
    ["POST", /^\/threads\/([^/]+)\/cancel$/, cancel],
    ["GET", /^\/threads\/([^/]+)$/, ({ id, res, query }) => json(res, render(found(id), query.get("version") ?? "0.0.4"))],
    ["DELETE", /^\/threads\/([^/]+)$/, ({ id, res }) => {
      threads.get(id)?.live?.controller.abort("deleted");
      threads.delete(id);
      res.writeHead(204).end();
    }],
  ]);
}

/** Read a request; CannotPlay for what the framework cannot make happen. */
function prepared({ finishReasons, userMessage, refuse = () => {} }, request) {
  if (request.seed) throw new CannotPlay("a thread that is handed over");
  const story = readStory(request.run.events);
  for (const answer of story.answers) {
    const reason = answer.end.finish_reason;
    if (reason != null && !finishReasons.includes(reason)) throw new CannotPlay(`a model that ends with the finish reason ${reason}`);
  }
  const reason = story.result?.finish_reason;
  if (reason != null && !finishReasons.includes(reason)) throw new CannotPlay(`a run that ends with the finish reason ${reason}`);
  const users = (request.user ?? []).map(userMessage).filter((message) => message.content.length > 0);
  const ended = story.resultAt !== null || story.failedAt !== null;
  const cut = request.run.interruption;
  if (!ended && !request.hold && !cut) throw new CannotPlay("a model that falls silent for good");
  if (!ended && cut && ["error", "safety_halt"].includes(cut.reason)) {
    throw new CannotPlay(`an interruption for ${cut.reason} from outside`);
  }
  refuse(story);
  return { story, users, ended };
}

function run(framework, { thread, request, story, ended, res }) {
  const controller = new AbortController();
  const live = { controller, cut: null, failure: null, holdAt: request.hold?.at };
  let written = 0;
  const raw = res.write.bind(res);
  res.write = (...args) => {
    written += 1;
    return raw(...args);
  };
  const cutNow = () => {
    if (request.hold || live.cut) return;
    live.cut = { reason: request.run.interruption.reason, at: request.run.interruption.at };
    if (request.run.interruption.tell === "abort") controller.abort(framework.cancelled ?? live.cut.reason);
    else res.socket?.write("", () => res.destroy()); // when what was sent is on its way
  };
  let at = request.run.started_at;
  const playback = new Playback({
    times: request.run.events.map((event) => (at = event.at ?? at)),
    startedAt: at,
    marks: request.marks,
    quiet: story.quiet,
    notices: story.notices,
    write: (text) => !res.destroyed && raw(text),
    written: () => written,
    notice: framework.notice,
    atEnd: ended ? undefined : cutNow,
  });
  live.playback = playback;
  res.on("close", () => {
    if (res.writableFinished) return;
    live.cut ??= { reason: "network_failure", at: request.hold?.at ?? playback.now };
    controller.abort(live.cut.reason); // what an application does that does not work for nobody
  });
  const end = res.end.bind(res);
  live.ended = (async () => {
    try {
      await framework.answer({ thread, request, story, playback, live, res });
      if (!live.cut) playback.over();
      if (!res.destroyed) end();
    } finally {
      playback.stop();
      record(thread, request, story, live, framework.added({ thread, story, live }));
      thread.live = undefined;
    }
  })();
  return live;
}

/** Keep the run: what the framework has added to the thread, and how the run ended. */
function record(thread, request, story, live, { entries, usage, halted }) {
  const at = live.playback.now;
  let cut = live.cut;
  if (!cut && live.failure !== null) cut = { reason: "error", at };
  if (!cut && halted) cut = { reason: "safety_halt", at }; // R27
  for (const [index, { name, data, agents, kept }] of story.notices) {
    if (index < live.playback.done && kept) {
      entries.push({ kind: "event", at: live.playback.times[index], order: index, name, data, agents });
    }
  }
  if (live.failure !== null) {
    const when = story.failedAt === null ? at : live.playback.times[story.failedAt];
    entries.push({ kind: "event", at: when, name: "data-tp-error", data: { error: live.failure } });
  }
  entries.sort((a, b) => Date.parse(a.at) - Date.parse(b.at) || (a.order ?? Infinity) - (b.order ?? Infinity)); // R25
  thread.turns.push({
    agent_id: request.run.agent_id,
    started_at: request.run.started_at,
    ended_at: at,
    entries,
    usage,
    cut,
  });
}
