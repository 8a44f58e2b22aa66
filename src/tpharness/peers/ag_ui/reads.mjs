// The bytes of a stream, in the groups in which a client is to read them.

const ROUNDS = 6; // rounds of the event loop: more than the package takes for one event
const STOP = /\n: ?tp stop\r?\n/;
const LF = 10;
const STOP_LENGTH = "\n: tp stop\r".length;

/** What waits until an event has been read, given what begins a round of the event loop. */
export const someRounds = (begin) => async () => {
  for (let round = 0; round < ROUNDS; round += 1) await begin();
};

const inNode = someRounds(() => new Promise((done) => setImmediate(done)));

/**
 * The same bytes: all in one read, or one event a read. At the comment `: tp stop` the user presses stop; that, and the
 * error of a body that breaks off, happen when what came before has been read, which `settled` waits for.
 */
export function regrouped(body, inOneRead, stop, settled = inNode) {
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
  let held = new Uint8Array();
  let tail = "\n";
  const ascii = new TextDecoder("latin1");
  try {
    for await (const bytes of eagerly(body)) {
      held = joined([held, bytes]);
      tail += ascii.decode(bytes);
      const stopped = STOP.test(tail);
      tail = tail.slice(-STOP_LENGTH); // what the comment may begin in
      for (let end; !inOneRead && (end = endOfEvent(held)) > 0; ) {
        yield held.subarray(0, end);
        held = held.subarray(end);
        await settled();
      }
      if (!stopped) continue;
      if (held.length > 0) yield held;
      held = new Uint8Array();
      await settled();
      stop(); // fetch ends the body with an error then
    }
  } finally {
    if (held.length > 0) yield held;
  }
}

/** Where the first event ends that is whole, 0 if none is. */
function endOfEvent(bytes) {
  for (let at = bytes.indexOf(LF); at >= 0; at = bytes.indexOf(LF, at + 1)) if (bytes[at + 1] === LF) return at + 2;
  return 0;
}

function joined(pieces) {
  const whole = new Uint8Array(pieces.reduce((length, piece) => length + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
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
    if (arrived.length > 0) yield joined(arrived.splice(0));
    else if (over) return await reading;
    else await new Promise((resolve) => (changed = resolve));
  }
}
