// What of each stream the chat has read: whoever presses a button knows what is on the screen then.

const NUMBER = "x-tpharness-stream"; // a header of every answer
const QUIET_ROUNDS = 20; // rounds of the event loop with nothing left to read

export class StreamsRead {
  #streams = new Map();

  /** `fetch`, counting. A body that breaks off does so when what came before has been read: fetch throws that away. */
  fetch = async (url, init) => {
    const response = await fetch(url, init);
    const stream = this.#stream(response.headers.get(NUMBER));
    if (response.body === null) {
      stream.over = true;
      stream.changed();
      return response;
    }
    return new Response(counted(response.body, stream), response);
  };

  /** Wait until so many bytes of each stream have been read, `{STREAM: BYTES}`, or the chat wants no more of it. */
  async read(wanted) {
    for (const [number, bytes] of Object.entries(wanted ?? {})) {
      const stream = this.#stream(number);
      while (stream.bytes < bytes && !stream.over) await new Promise((changed) => (stream.changed = changed));
      await settled(stream);
    }
  }

  #stream(number) {
    if (!this.#streams.has(number)) this.#streams.set(number, { bytes: 0, over: false, left: () => 0, changed() {} });
    return this.#streams.get(number);
  }
}

function counted(body, stream) {
  const reader = body.getReader();
  const end = () => {
    stream.over = true;
    stream.changed();
  };
  return new ReadableStream({
    start(controller) {
      stream.left = () => 1 - controller.desiredSize; // pieces that nobody has taken yet
    },
    async pull(controller) {
      try {
        const { value, done } = await reader.read();
        if (done) {
          controller.close();
          return end();
        }
        controller.enqueue(value);
        stream.bytes += value.length;
        stream.changed();
      } catch (error) {
        await settled(stream);
        controller.error(error);
        end();
      }
    },
    cancel(reason) {
      end();
      return reader.cancel(reason);
    },
  });
}

async function settled(stream) {
  for (let quiet = 0; quiet < QUIET_ROUNDS; ) {
    await new Promise((done) => setImmediate(done));
    quiet = stream.over || stream.left() <= 0 ? quiet + 1 : 0;
  }
}
