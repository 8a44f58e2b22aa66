// Lets the events of a script happen in a framework in their order: gates for the model and its tools, marks in the body.

const QUIET_ROUNDS = 4; // rounds of the event loop in which nothing was written: everything said so far is out

const round = () => new Promise((done) => setImmediate(done));

export class Playback {
  /** `times` of the events; `write` sends raw bytes (marks, and `notices` of the application), `written` counts what the SDK has sent; `notice` makes an event of the wire of a chunk; `atEnd` cuts the run. */
  constructor({ times, startedAt, marks, quiet, notices, write, written, notice = (chunk) => chunk, atEnd }) {
    Object.assign(this, { times, marks, quiet, notices, write, written, notice, atEnd });
    this.now = startedAt;
    this.done = 0;
    this.waiters = [];
    this.stopped = false;
    this.opened = this.#opened();
  }

  async #opened() {
    await this.#settled();
    if (!this.begun) this.#advance(-1);
  }

  /** Wait until it is the turn of an event; for ever when the run is cut before it. */
  async turn(index) {
    await this.opened;
    while (this.done < index || (this.done === this.times.length && this.atEnd)) {
      await new Promise((wake) => this.waiters.push(wake));
    }
    if (index < this.times.length) this.now = this.times[index];
  }

  /** An event has been taken: when its bytes are out, it is the next one's turn. */
  async happened(index) {
    await this.#settled();
    this.#advance(index);
  }

  /** The stream has ended by itself: nothing more will happen. */
  over() {
    this.atEnd = undefined;
    this.now = this.times.at(-1) ?? this.now;
    this.#advance(this.times.length - 1);
  }

  stop() {
    this.stopped = true;
  }

  #advance(index) {
    if (this.stopped) return;
    if (!this.begun && this.marks) this.write(": tp 0\n\n");
    this.begun = true;
    while (this.done <= index || (this.done < this.times.length && this.quiet.has(this.done))) {
      if (this.notices.has(this.done)) {
        this.now = this.times[this.done];
        this.write(`data: ${JSON.stringify(this.notice(this.notices.get(this.done).chunk))}\n\n`);
      }
      this.done += 1;
      if (this.marks) this.write(`: tp ${this.done}\n\n`);
    }
    const waiters = this.waiters;
    this.waiters = [];
    waiters.forEach((wake) => wake());
    if (this.done === this.times.length) this.atEnd?.();
  }

  async #settled() {
    for (let quiet = 0, seen = this.written(); quiet < QUIET_ROUNDS; ) {
      await round();
      quiet = this.written() === seen ? quiet + 1 : 0;
      seen = this.written();
    }
  }
}
