// Both threads side by side, message beside message, with what a cut would take away.

/** A ruling as a chip; its text is shown when it is opened. */
function ruling(id, page) {
  const known = page.rulings[id];
  return make("span.ruling", known ? { title: known.title } : {}, id);
}

function partNode(given) {
  const part = Object(given);
  const kind = part.part_kind ?? part.kind ?? "part";
  const names = [part.tool_name, part.tool_call_id].filter((name) => typeof name === "string").join(" ");
  const head = make("div.part-head", {}, make("span.kind", {}, String(kind)), names ? make("code", {}, names) : null);
  if (part.status) head.append(make("span.muted", {}, String(part.status)));
  const content = part.content ?? part.args ?? null;
  const node = make("div.part", {}, head);
  if (content !== null) node.append(longText("div.content", typeof content === "string" ? content : JSON.stringify(content), 600));
  return node;
}

function messageNode(given) {
  const message = Object(given);
  const kind = message.message_type ?? message.turn_type ?? "message";
  const node = make("div.message", {}, make("div.message-head", {}, make("strong", {}, String(kind)), when(message.timestamp)));
  if (message.event_type) node.append(make("div.part", {}, make("div.part-head", {}, make("span.kind", {}, String(message.event_type)))));
  for (const part of Array.isArray(message.parts) ? message.parts : []) node.append(partNode(part));
  node.append(jsonDetails("JSON", message));
  return node;
}

/** A time of day; nothing for the one that stands for "not recorded" in a stream, whose frames have no times. */
function when(time) {
  return typeof time === "string" && !time.startsWith("1970-01-01T") ? make("time.muted", {}, time.replace(/^\d{4}-\d\d-\d\dT/, "").replace("Z", "")) : null;
}

function turnNode(given) {
  const fields = Object(given);
  const words = [fields.turn_type ?? "turn"];
  if (fields.agent_id) words.push(fields.agent_id);
  const head = make("div.turn-head", {}, make("strong", {}, words.map(String).join(" · ")));
  const status = fields.completion_status;
  if (status) {
    const why = fields.interruption?.reason;
    head.append(make(`span.status.${status === "complete" ? "complete" : "interrupted"}`, {}, why ? `${status}: ${why}` : status));
  }
  head.append(when(fields.interruption?.interrupted_at ?? fields.completed_at ?? fields.submitted_at) ?? "");
  return make("div.turn", {}, head, ...(Array.isArray(fields.parts) ? fields.parts : []).map(partNode));
}

const LOST = {
  R18: "This version has no interrupted turns: the whole turn goes",
  R20: "Its response has not finished streaming",
  R21: "Not every call of this response has a return",
  R23: "The response that called goes, and its return with it",
  R25: "It is part of a response that goes",
};

function goneNode(item, tables, page) {
  const head = make("div.message-head", {}, make("strong", {}, item.what), make("span.muted", {}, "not kept"), ruling(item.why, page));
  const node = make("div.message.gone", {}, head, make("p.why", {}, LOST[item.why] ?? ""));
  for (const part of tables.chain(item.parts ?? 0)) {
    const text = part.text ? tables.text(part.text) : undefined;
    node.append(partNode({ ...part, content: text ?? (part.value === undefined ? null : tables.value(part.value)), status: part.complete ? "" : "still open" }));
  }
  if (item.value !== undefined) node.append(jsonDetails(item.call ?? item.name ?? "JSON", tables.value(item.value)));
  return node;
}

/** The lines of the comparison: turns and messages, each with the numbers of both sides. */
function lines(tables, server, client) {
  const [one, other] = [tables.turns(server), tables.turns(client)];
  const found = [];
  for (let turn = 0; turn < Math.max(one.length, other.length); turn += 1) {
    const [left, right] = [one[turn], other[turn]];
    found.push({ what: "turn", left: left?.fields, right: right?.fields, number: turn });
    for (const [a, b] of align(left?.messages ?? [], right?.messages ?? [])) found.push({ what: "message", left: a, right: b });
  }
  return found;
}

const MOST_LINES = 40;

class Threads {
  constructor(root, page) {
    this.page = page;
    this.body = root;
  }

  /** @param {{tables: Tables, sides: string[], server?: number, client?: number, gone: Object}} state */
  show(state) {
    this.again = () => this.show(state);
    return this.draw(state);
  }

  draw({ tables, timeline, sides, server, client, gone }) {
    const both = sides.length === 2;
    this.body.classList.toggle("one", !both);
    const shown = both ? lines(tables, server, client)
      : lines(tables, server ?? client, server ?? client);
    for (const [number, item] of goneRows(gone, sides)) shown.push({ what: "gone", ...item, number });
    if (!shown.length) shown.push({ what: "empty" });
    const differing = shown.filter((line) => both && line.what !== "gone" && line.left !== line.right);
    if (this.whole !== timeline && shown.length > MOST_LINES) {
      const left = shown.splice(0, shown.length - MOST_LINES);
      const wrong = left.filter((line) => differing.includes(line)).length;
      shown.unshift({ what: "earlier", number: left.length, wrong, timeline });
    }
    const key = (line) => `${timeline} ${line.what} ${line.left} ${line.right} ${line.number ?? ""} ${line.wrong ?? ""}`;
    reconcile(this.body, shown, key, (line) => this.line(line, tables, both));
    return differing;
  }

  line(line, tables, both) {
    if (line.what === "earlier") return this.earlier(line);
    if (line.what === "empty") return make("p.muted", {}, "The thread has no turns.");
    const same = line.left === line.right;
    const row = make(`div.pair.${line.what}-line${same || line.what === "gone" ? "" : ".differing"}`);
    const cell = (value) => {
      if (value === undefined) return make("div.cell.absent", {}, both && line.what !== "gone" ? make("span.muted", {}, "not in this thread") : "");
      if (line.what === "gone") return make("div.cell", {}, goneNode(value, tables, this.page));
      const item = tables.value(value);
      return make("div.cell", {}, line.what === "turn" ? turnNode(item) : messageNode(item));
    };
    row.append(cell(line.left));
    if (both) row.append(cell(line.right));
    if (!same && both && line.left !== undefined && line.right !== undefined && line.what !== "gone") row.append(this.fields(line, tables));
    return row;
  }

  /** A button for what stands before the last messages of a long thread. */
  earlier({ number, wrong, timeline }) {
    const differ = wrong ? `, ${wrong.toLocaleString("en")} of which differ` : "";
    const button = make("button.earlier", { type: "button" }, `Show ${number.toLocaleString("en")} earlier turns and messages${differ}`);
    button.addEventListener("click", () => {
      this.whole = timeline;
      this.again();
    });
    return button;
  }

  /** Which fields of two values differ. */
  fields(line, tables) {
    const [one, other] = [Object(tables.value(line.left)), Object(tables.value(line.right))];
    const names = [...new Set([...Object.keys(one), ...Object.keys(other)])];
    const differing = names.filter((name) => JSON.stringify(one[name]) !== JSON.stringify(other[name]));
    return make("span.sign", {}, `≠ ${differing.join(", ")}`);
  }
}

function goneRows(gone, sides) {
  const [left, right] = sides.length === 2 ? [gone.server ?? [], gone.client ?? []] : [gone[sides[0]] ?? [], []];
  return Array.from({ length: Math.max(left.length, right.length) }, (_, n) => [JSON.stringify([left[n], right[n]]), { left: left[n], right: right[n] }]);
}
