// The harness's stream, passed on to a page byte for byte, and broken off where it breaks off.
//
// At the comment `: tp stop` the user presses stop; that, and the end of a body that breaks off, happen when what came
// before is on the screen: a browser throws away what the page has not read yet, and how much that is, is chance.

import { once } from "node:events";
import { get } from "node:http";
import { createGunzip } from "node:zlib";

const OF_THIS_HOP = new Set(["connection", "keep-alive", "transfer-encoding"]);

/** Pass the stream of `url` on to `res`; `shown(bytes)` waits until they are on the screen, `stop` presses stop. */
export async function piped(url, res, { shown, stop }) {
  const gone = new AbortController();
  res.on("close", () => gone.abort());
  const body = new Body();
  try {
    const request = get(url, { headers: { accept: "text/event-stream" }, signal: gone.signal });
    const [upstream] = await once(request, "response");
    const headers = Object.entries(upstream.headers).filter(([name]) => !OF_THIS_HOP.has(name));
    res.writeHead(upstream.statusCode, { ...Object.fromEntries(headers), connection: "close" }).flushHeaders();
    body.opened(upstream.headers["content-encoding"]);
    for await (const bytes of upstream) {
      if (!res.write(bytes)) await once(res, "drain", { signal: gone.signal });
      if (await body.passed(bytes)) {
        await shown(body.count);
        await stop();
      }
    }
    res.end();
  } catch (error) {
    if (!gone.signal.aborted && res.headersSent) await shown(body.count);
    res.destroy();
  }
}

/** What of a body has passed, as the page gets it: the browser has unpacked it. */
class Body {
  count = 0;
  #decoder = new TextDecoder();
  #tail = "\n";
  #unpacking = null;
  #stops = false;

  opened(encoding) {
    if (encoding !== "gzip") return;
    this.#unpacking = createGunzip().on("data", (bytes) => this.#read(bytes));
    this.#unpacking.on("error", () => {}); // what cannot be unpacked the browser finds out by itself
  }

  /** Take in bytes; whether the user presses stop now. */
  async passed(bytes) {
    this.#stops = false;
    if (this.#unpacking === null) this.#read(bytes);
    else await new Promise((done) => this.#unpacking.write(bytes, done));
    return this.#stops;
  }

  #read(bytes) {
    this.count += bytes.length;
    this.#tail = (this.#tail + this.#decoder.decode(bytes, { stream: true })).slice(-65536);
    const found = /\n: ?tp stop\r?\n/.exec(this.#tail);
    if (found === null) return;
    this.#stops = true;
    this.#tail = this.#tail.slice(found.index + found[0].length - 1);
  }
}
