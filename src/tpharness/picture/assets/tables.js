// Threads out of the tables that they share (picture/tables.py says how they are stored).

class Tables {
  /** @param {{values: any[], chains: number[][], turns: number[][], lists: number[][], threads: any[], texts: string[]}} tables */
  constructor(tables) {
    this.tables = tables;
    this.unrolled = new Map();
  }

  /** The numbers of a chain or a list, first to last. Two are kept: those of the two sides. */
  unroll(name, number) {
    const key = `${name} ${number}`;
    const known = this.unrolled.get(key);
    if (known) return known;
    const found = [];
    for (let at = number; at > 0; at = this.tables[name][at][0]) found.push(this.tables[name][at][1]);
    found.reverse();
    if (this.unrolled.size > 16) this.unrolled.clear();
    this.unrolled.set(key, found);
    return found;
  }

  value(number) {
    return this.tables.values[number];
  }

  /** The values of a chain, first to last. */
  chain(number) {
    return this.unroll("chains", number).map((one) => this.value(one));
  }

  /** A thread's turns: their fields and messages, by number. */
  turns(thread) {
    if (thread === undefined) return [];
    return this.unroll("lists", this.tables.threads[thread][2]).map((turn) => {
      const [fields, chain] = this.tables.turns[turn];
      return { fields, chain, messages: chain < 0 ? [] : this.unroll("chains", chain) };
    });
  }

  /** The whole document of a thread. */
  thread(number) {
    const [other, updated] = this.tables.threads[number];
    const turns = this.turns(number).map(({ fields, chain, messages }) =>
      chain < 0 ? this.value(fields) : { ...this.value(fields), messages: messages.map((one) => this.value(one)) });
    return { ...this.value(other), ...(updated === null ? {} : { updated_at: updated }), turns };
  }

  /** What of `thread` was not in `before`: messages of its last turn, or the turn itself if it has none. */
  added(thread, before) {
    const { lists, turns, threads } = this.tables;
    if (thread === undefined || thread === before || threads[thread][2] === 0) return [];
    const [earlier, last] = lists[threads[thread][2]];
    const known = before === undefined ? null : lists[threads[before][2]];
    const same = known && known[0] === earlier;
    const [fields, chain] = turns[last];
    if (chain < 0) return same ? [] : [this.value(fields)];
    const until = same ? turns[known[1]][1] : 0;
    const found = [];
    for (let at = chain; at > 0 && at !== until; at = this.tables.chains[at][0]) found.push(this.value(this.tables.chains[at][1]));
    return found.reverse();
  }

  text([number, length]) {
    return this.tables.texts[number].slice(0, length);
  }
}

/** Two lists of numbers beside each other: equal ones on one line. The longest common subsequence of what differs. */
function align(one, other) {
  let head = 0;
  while (head < one.length && head < other.length && one[head] === other[head]) head += 1;
  let tail = 0;
  while (tail < one.length - head && tail < other.length - head && one.at(-1 - tail) === other.at(-1 - tail)) tail += 1;
  const left = one.slice(head, one.length - tail);
  const right = other.slice(head, other.length - tail);
  const pairs = one.slice(0, head).map((item) => [item, item]);
  pairs.push(...alignMiddle(left, right));
  pairs.push(...one.slice(one.length - tail).map((item) => [item, item]));
  return pairs;
}

function alignMiddle(left, right) {
  if (left.length * right.length > 250000) return zip(left, right);
  const common = Array.from({ length: left.length + 1 }, () => new Uint16Array(right.length + 1));
  for (let i = left.length - 1; i >= 0; i -= 1)
    for (let j = right.length - 1; j >= 0; j -= 1)
      common[i][j] = left[i] === right[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
  const pairs = [];
  let [i, j, fromLeft, fromRight] = [0, 0, [], []];
  const flush = () => {
    pairs.push(...zip(fromLeft, fromRight));
    [fromLeft, fromRight] = [[], []];
  };
  while (i < left.length || j < right.length) {
    if (i < left.length && j < right.length && left[i] === right[j]) {
      flush();
      pairs.push([left[i], right[j]]);
      [i, j] = [i + 1, j + 1];
    } else if (j >= right.length || (i < left.length && common[i + 1][j] >= common[i][j + 1])) fromLeft.push(left[i++]);
    else fromRight.push(right[j++]);
  }
  flush();
  return pairs;
}

function zip(left, right) {
  return Array.from({ length: Math.max(left.length, right.length) }, (_, n) => [left[n], right[n]]);
}
