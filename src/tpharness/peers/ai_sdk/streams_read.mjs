// What of each stream the chat has read: whoever presses a button knows what is on the screen then.

import { passedOn } from "./body.mjs";

const NUMBER = "x-tpharness-stream"; // a header of every answer

export class StreamsRead {
  #streams = new Map();

  /** `fetch`, counting. */
  fetch = async (url, init) => {
    const response = await fetch(url, init);
    const read = this.#read(response.headers.get(NUMBER));
    const ended = () => {
      read.over = true;
      read.changed();
    };
    if (response.body === null) {
      ended();
      return response;
    }
    const arrived = (bytes) => {
      read.bytes += bytes.length;
      read.changed();
    };
    const { stream, settled } = passedOn(response.body, { arrived, ended });
    read.settled = settled;
    return new Response(stream, response);
  };

  /** Wait until so many bytes of each stream have been read, `{STREAM: BYTES}`, or the chat wants no more of it. */
  async read(wanted) {
    for (const [number, bytes] of Object.entries(wanted ?? {})) {
      const read = this.#read(number);
      while (read.bytes < bytes && !read.over) await new Promise((changed) => (read.changed = changed));
      await read.settled();
    }
  }

  #read(number) {
    if (!this.#streams.has(number)) this.#streams.set(number, { bytes: 0, over: false, async settled() {}, changed() {} });
    return this.#streams.get(number);
  }
}
