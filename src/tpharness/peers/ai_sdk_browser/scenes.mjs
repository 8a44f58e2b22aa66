// What the control contract has no words for: somebody at the screen reloads, loses the network, looks again.
//
// In, on standard input: scenes, `{name: [step, …]}`, each on a page of its own. A step is `[word, argument]`, see STEPS.
// Out, on standard output: what was seen, `{name: {label: look, …}}`; the exit code is 1 when a step could not be done.
// A step that is not known is reported before a browser is started.

import { text } from "node:stream/consumers";
import { portOf, serve } from "./control.mjs";
import { Screen } from "./screen.mjs";

class Scene {
  looks = {};
  #asked = []; // by the page, in order, nobody has taken them yet
  #taking = [];
  #stream = null;
  #done = Promise.resolve();

  constructor(screen) {
    this.screen = screen;
  }

  async play(steps) {
    for (const [word, argument] of steps) await STEPS[word](this, argument);
  }

  async open(query) {
    this.page = await this.screen.open((res, asked) => this.#answer(res, asked), query);
  }

  #answer(res, { why, shown }) {
    this.#asked.push({ res, why, shown, bytes: 0 });
    this.#taking.shift()?.();
  }

  /** Take the next request of the page, which has to be one to `send` or to `resume`. */
  async asked(why) {
    if (this.#asked.length === 0) await new Promise((come) => this.#taking.push(come));
    this.#stream = this.#asked.shift();
    if (this.#stream.why !== why) throw new Error(`the page asks to ${this.#stream.why}, not to ${why}`);
  }

  /** Do what takes as long as the stream does. */
  begin(work) {
    this.#done = work;
    work.catch(() => {}); // it is reported where it is waited for
  }

  get stream() {
    return this.#stream;
  }

  async idle() {
    await this.#done;
    await this.page.page.waitForFunction(() => ["ready", "error"].includes(window.chat.status));
    await this.page.quiet();
  }

  async look(label) {
    this.looks[label] = { ...(await this.page.look()), connected: this.#stream !== null && !this.#stream.res.closed };
  }
}

const STEPS = {
  /** Open the page, with a query. */
  open: (scene, query) => scene.open(query),
  /** Send a text; the page asks for a stream. */
  async send(scene, message) {
    scene.begin(scene.page.send([{ type: "text", text: message }]));
    await scene.asked("send");
    scene.stream.res.writeHead(200, { "content-type": "text/event-stream" });
  },
  /** Send a text that does not get as far as the server. */
  lost: (scene, message) => scene.page.send([{ type: "text", text: message }]),
  /** The page asks for the stream that goes on: "stream", or "nothing" when none does. */
  async resumed(scene, answer) {
    await scene.asked("resume");
    scene.stream.res.writeHead(answer === "stream" ? 200 : 204, { "content-type": "text/event-stream" });
    if (answer === "nothing") scene.stream.res.end();
  },
  /** The application asks for the stream that goes on, as it does when the network is back. */
  resume: (scene) => scene.begin(scene.page.page.evaluate(() => window.chat.resumeStream())),
  /** Chunks come, and are on the screen. */
  async chunks(scene, chunks) {
    const bytes = Buffer.from(chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join(""));
    scene.stream.res.write(bytes);
    scene.stream.bytes += bytes.length;
    await scene.stream.shown(scene.stream.bytes);
  },
  /** The stream ends as it should. */
  async end(scene) {
    scene.stream.res.end("data: [DONE]\n\n");
    await scene.idle();
  },
  /** The connection breaks. */
  async break(scene) {
    scene.stream.res.destroy();
    await scene.idle();
  },
  /** A click on the stop button. */
  async stop(scene) {
    await scene.page.stop();
    await scene.idle();
  },
  /** The page is loaded anew. */
  async reload(scene) {
    scene.begin(Promise.resolve());
    await scene.page.page.reload();
    await scene.page.page.waitForFunction(() => window.chat);
  },
  offline: (scene, value) => scene.page.page.context().setOffline(value),
  idle: (scene) => scene.idle(),
  /** What the chat and the screen say. */
  look: (scene, label) => scene.look(label),
};

const port = portOf(process.argv);
const scenes = Object.entries(JSON.parse(await text(process.stdin)));
for (const [name, steps] of scenes) {
  for (const [word] of steps.filter(([word]) => !Object.hasOwn(STEPS, word))) {
    console.error(`${name}: no step is called ${word}`);
    process.exit(1);
  }
}
const screen = await Screen.on(port);
serve(port, screen.routes);
const seen = {};
for (const [name, steps] of scenes) {
  const scene = new Scene(screen);
  try {
    await scene.play(steps);
  } catch (error) {
    console.error(`${name}: ${error.message}`);
    process.exitCode = 1;
  }
  if (scene.page) await screen.close(scene.page, { again: false });
  seen[name] = scene.looks;
}
process.stdout.write(JSON.stringify(seen), () => process.exit());
