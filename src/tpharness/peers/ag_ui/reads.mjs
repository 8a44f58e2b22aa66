// The bytes of a stream, in the groups in which a client is to read them.

const ROUNDS = 6; // rounds of the event loop: more than the package takes for one event
const STOP = /\n: ?tp stop\r?\n/;
const STOP_LENGTH = "\n: tp stop\r".length;

const someRounds = async () => {
  for (let round = 0; round < ROUNDS; round += 1) await new Promise((done) => setImmediate(done));
};

/**
 * The same bytes: all in one read, or one event a read. At the comment `: tp stop` the user presses stop; that, and the
 * error of a body that breaks off, happen when what came before has been read, which `settled` waits for.
 */
export function regrouped(body, inOneRead, stop, settled = someRounds) {
  const pieces = grouped(body, inOneRead, stop, settled);
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const { value, done } = await pieces.next();
          if (done) controller.close();
          else controller.enqueue(value);
        } catch (error) {
          await settled();
          controller.error(error);
        }
      },
      cancel: (reason) => body.cancel(reason).catch(() => {}),
    },
    { highWaterMark: 0 }, // a piece is asked for when the one before has been taken
  );
}

async function* grouped(body, inOneRead, stop, settled) {
  let held = Buffer.alloc(0);
  let tail = "\n";
  try {
    for await (const bytes of eagerly(body)) {
      held = Buffer.concat([held, bytes]);
      tail += Buffer.from(bytes).toString("latin1");
      const stopped = STOP.test(tail);
      tail = tail.slice(-STOP_LENGTH); // what the comment may begin in
      for (let end; !inOneRead && (end = held.indexOf("\n\n")) >= 0; ) {
        yield held.subarray(0, end + 2);
        held = held.subarray(end + 2);
        await settled();
      }
      if (!stopped) continue;
      if (held.length > 0) yield held;
      held = Buffer.alloc(0);
      await settled();
      stop(); // fetch ends the body with an error then
    }
  } finally {
    if (held.length > 0) yield held;
  }
}

/** Read as fast as it comes: of a body that breaks off, fetch throws away what nobody has read yet. */
async function* eagerly(body) {
  const arrived = [];
  let changed = () => {};
  let over = false;
  const reading = (async () => {
    for await (const bytes of body) {
      arrived.push(bytes);
      changed();
    }
  })().finally(() => {
    over = true;
    changed();
  });
  reading.catch(() => {}); // reported below, behind what has arrived
  for (;;) {
    if (arrived.length > 0) yield Buffer.concat(arrived.splice(0));
    else if (over) return await reading;
    else await new Promise((resolve) => (changed = resolve));
  }
}
