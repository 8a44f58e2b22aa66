// The body of an answer, and what whoever reads it has taken.

const QUIET_ROUNDS = 20; // rounds of the event loop with nothing left to read

/**
 * Pass bytes on; wait for `arrived(bytes)` behind each piece. A body that breaks off does so when what came before has
 * been read: fetch throws away what nobody has read yet, and how much that is, is chance.
 *
 * `settled()` waits until everything has been read that came, or the reader wants no more; `ended()` is called once.
 */
export function passedOn(body, { arrived, ended = () => {} }) {
  const reader = body.getReader();
  let left = () => 0; // pieces that nobody has taken yet
  const end = () => {
    left = () => 0;
    ended();
  };
  const settled = async () => {
    for (let quiet = 0; quiet < QUIET_ROUNDS; ) {
      await new Promise((done) => setImmediate(done));
      quiet = left() > 0 ? 0 : quiet + 1;
    }
  };
  const stream = new ReadableStream({
    start(controller) {
      left = () => 1 - controller.desiredSize;
    },
    async pull(controller) {
      try {
        const { value, done } = await reader.read();
        if (done) {
          controller.close();
          return end();
        }
        controller.enqueue(value);
        await arrived(value);
      } catch (error) {
        await settled();
        controller.error(error);
        end();
      }
    },
    cancel(reason) {
      end();
      return reader.cancel(reason);
    },
  });
  return { stream, settled };
}
