// The list of rows: what the server did, what went over the wire, what the client made of it. Only what is on the screen
// is in the page, so that ten thousand rows scroll and step like ten.

const SPARE = 8;

/** What of an event is worth a line. */
function eventWords(row) {
  if (row.kind === "user") return ["user", brief((row.event?.parts ?? []).map((p) => (typeof p.content === "string" ? p.content : JSON.stringify(p.content))).join(" "))];
  if (row.kind === "begin") return ["stream begins", row.event?.agent_id ?? ""];
  if (row.kind === "end") return [row.event?.interrupted ? "interrupted" : "end of the run", row.event?.interrupted ?? ""];
  if (row.kind === "thread") return ["thread", ""];
  if (!row.event) return ["", ""];
  const { event_kind: kind, type, at, index, ...rest } = row.event;
  return [String(kind ?? type ?? "event"), leaves(rest)];
}

/** The values of an object on one line, without its names: `get_weather c1 {"city": "Paris"}`. */
function leaves(value) {
  const found = [];
  const walk = (one) => {
    if (found.length > 6 || one === null || one === undefined) return;
    if (typeof one === "object") Object.values(one).forEach(walk);
    else found.push(brief(String(one)));
  };
  walk(value);
  return brief(found.join(" "), 120);
}

/** The data of an SSE frame: parsed if it is JSON, else its text; undefined for a comment. */
function chunkOf(frame) {
  const data = frame.split(/\r\n?|\n/).filter((line) => line.startsWith("data:")).map((line) => line.slice(5).replace(/^ /, ""));
  if (!data.length) return undefined;
  try {
    return JSON.parse(data.join("\n"));
  } catch {
    return data.join("\n");
  }
}

function chunkWords(frame) {
  if (frame === undefined) return ["", "", ""];
  if (frame.length > 20000) return ["large", brief(frame, 60), ""];
  const chunk = chunkOf(frame);
  if (chunk === undefined) return ["comment", brief(frame), ""];
  if (typeof chunk !== "object" || chunk === null) return [brief(String(chunk), 40), "", "end"];
  const { type, ...rest } = chunk;
  const kind = String(type ?? "?");
  return [kind, leaves(rest), /^tool/.test(kind) ? "tool" : /^(text|reasoning|thinking|file|source)/.test(kind) ? "said" : /^data/.test(kind) ? "data" : "frame"];
}

class Timeline {
  /** @param {HTMLElement} box the scrolling box @param {(side: string, row: number) => void} moved */
  constructor(box, moved) {
    this.box = box;
    this.moved = moved;
    this.space = make("div.space", { role: "presentation" });
    this.handles = { server: this.handle("server"), client: this.handle("client") };
    this.items = make("div.rows", { role: "rowgroup" });
    this.space.append(this.items, this.handles.server, this.handles.client);
    box.append(this.space);
    box.addEventListener("scroll", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(box);
    this.items.addEventListener("click", (event) => {
      const row = event.target.closest("[data-row]");
      if (row) this.moved(event.target.closest("[data-side]")?.dataset.side ?? "server", Number(row.dataset.row));
    });
    this.drawn = new Map();
  }

  handle(side) {
    const grip = make(`div.handle.${side}`, { "aria-hidden": "true", title: `Drag: cut the ${side} here` }, make("span", {}, side === "server" ? "server cut" : "client cut"));
    grip.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      grip.setPointerCapture(event.pointerId);
      this.drag = side;
    });
    grip.addEventListener("pointermove", (event) => {
      if (this.drag !== side) return;
      const box = this.box.getBoundingClientRect();
      if (event.clientY < box.top + 30) this.box.scrollTop -= this.height;
      if (event.clientY > box.bottom - 30) this.box.scrollTop += this.height;
      const y = event.clientY - this.space.getBoundingClientRect().top;
      this.moved(side, Math.max(0, Math.min(this.rows.length - 1, Math.round(y / this.height) - 1)));
    });
    for (const end of ["pointerup", "pointercancel"]) grip.addEventListener(end, () => { this.drag = null; });
    return grip;
  }

  /** Show the rows of a timeline. */
  load(rows, tables, sides, parts) {
    this.parts = parts;
    this.rows = rows;
    this.tables = tables;
    this.sides = sides;
    this.drawn.clear();
    this.items.replaceChildren();
    this.box.setAttribute("aria-rowcount", String(rows.length + 1));
    const alone = !rows.some((row) => row.event && row.kind === "event");
    this.box.classList.toggle("no-events", alone);
    this.box.querySelector(".row.head .event").textContent = alone ? "step" : "server event";
    this.box.scrollTop = 0;
  }

  /** Move the cuts, and bring the one that moved into view. */
  cut(server, client, focus) {
    this.cuts = { server, client };
    this.measure();
    const top = focus * this.height;
    if (!this.drag && (top < this.box.scrollTop || top > this.box.scrollTop + this.box.clientHeight - 3 * this.height))
      this.box.scrollTop = Math.max(0, top - this.box.clientHeight / 2);
    this.draw();
  }

  /** Give the box the height of all rows: it cannot be scrolled to a place that it does not have. */
  measure() {
    this.height = parseFloat(getComputedStyle(this.box).getPropertyValue("--row")) || 28;
    this.space.style.height = `${(this.rows.length + 1) * this.height}px`;
  }

  draw() {
    if (!this.rows || !this.cuts) return;
    this.measure();
    const first = Math.max(0, Math.floor(this.box.scrollTop / this.height) - SPARE);
    const last = Math.min(this.rows.length, Math.ceil((this.box.scrollTop + this.box.clientHeight) / this.height) + SPARE);
    for (const [number, element] of this.drawn)
      if (number < first || number >= last) {
        element.remove();
        this.drawn.delete(number);
      }
    for (let number = first; number < last; number += 1) {
      let element = this.drawn.get(number);
      if (!element) {
        element = this.row(number);
        this.drawn.set(number, element);
        const next = [...this.items.children].find((other) => Number(other.dataset.row) > number);
        this.items.insertBefore(element, next ?? null);
      }
      element.style.top = `${number * this.height}px`;
      element.classList.toggle("server-gone", number > this.cuts.server);
      element.classList.toggle("client-gone", number > this.cuts.client);
      element.classList.toggle("at", number === this.cuts.client || number === this.cuts.server);
    }
    for (const side of ["server", "client"]) {
      this.handles[side].hidden = !this.sides.includes(side) || this.rows.length < 2;
      this.handles[side].firstChild.textContent = this.sides.length === 2 ? `${side} cut` : "cut";
      this.handles[side].style.top = `${(this.cuts[side] + 1) * this.height}px`;
    }
  }

  row(number) {
    const row = this.rows[number];
    const before = this.rows[number - 1];
    const [kind, words] = eventWords(row);
    const [chunk, says, family] = chunkWords(row.frame);
    const news = (side) => (before ? this.tables.added(row[side], before[side]) : this.tables.added(row[side])).map((one) =>
      make("span.added", {}, `+ ${one.message_type ?? one.turn_type ?? "turn"}`));
    const bytes = row.frame === undefined ? "" : `${row.from.toLocaleString("en")}–${row.to.toLocaleString("en")}`;
    const wire = row.lost ? "lost" : row.broken ? `cut at +${row.broken}` : bytes;
    const cell = (name, side, ...children) => make(`div.cell.${name}`, { role: "cell", "data-side": side }, ...children);
    const server = this.sides[0] === "server" && this.sides.length === 2 ? news("server") : [];
    const client = row.lost ? [] : this.sides.includes("client") ? news("client") : [];
    const parting = number === this.parts ? [make("span.finding.must", {}, "parts here")] : [];
    const wrong = (row.found ?? []).map((one) => make(`span.finding.${one.level}`, { title: visible(one.message) }, one.code));
    const state = client.length ? client : [make("span.muted", {}, row.frame === undefined ? "" : row.state ?? "")];
    return make(`div.row.${row.kind}${row.lost ? ".lost" : ""}`, { role: "row", "aria-rowindex": String(number + 2), "data-row": String(number) },
      cell("number", "server", row.index === undefined ? "" : String(row.index + 1)),
      cell("event", "server", make("b", {}, kind), words ? " " : null, make("span", {}, words), ...server),
      cell("wire", "client", wire),
      cell("chunk", "client", chunk ? make(`b.${family || "frame"}`, {}, chunk) : "", " ", make("span", {}, says)),
      cell("state", "client", ...state, ...parting, ...wrong));
  }
}
