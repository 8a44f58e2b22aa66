// The viewer: which case, where each side is cut, and what that means.

const page = { ...globalThis.tpharnessDecided, ...JSON.parse(document.getElementById("page-data").textContent) };
const byId = (id) => document.getElementById(id);

/** A place of a sweep, such as `turn-1-event-12:timeout`, as a row of a timeline. */
function rowOfPlace(timeline, place) {
  const found = /^(?:turn-(\d+)-)?(event|byte|row)-(\d+)/.exec(place);
  if (!found) return null;
  if (found[2] === "row") return Math.min(Number(found[3]), timeline.rows.length - 1);
  const turn = found[1] === undefined ? timeline.turn : Number(found[1]);
  const count = Number(found[3]);
  let last = null;
  timeline.rows.forEach((row, number) => {
    if (row.turn !== turn) return;
    const within = found[2] === "event" ? (row.index ?? (row.kind === "begin" ? -1 : NaN)) < count : row.to !== undefined && row.to <= count;
    if (within || last === null || (found[2] === "event" && row.kind === "more" && last === number - 1)) last = number;
  });
  return last;
}

/** Scroll this page to an element; `scrollIntoView` also scrolls the page that shows this one in a frame. */
function scrollToElement(element) {
  scrollBy(0, element.getBoundingClientRect().top - parseFloat(getComputedStyle(element).scrollMarginTop));
}

/** Put in place of what is packed in an element its JSON. */
async function unpack(element) {
  const bytes = Uint8Array.from(atob(element.textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  element.textContent = await new Response(stream).text();
  delete element.dataset.packed;
}

class Viewer {
  constructor() {
    this.timeline = new Timeline(byId("rows"), (side, row) => this.drag(side, row));
    this.threads = new Threads(byId("threads"), page);
    this.tracks = new Tracks(byId("tracks"), (place) => this.move("server", place));
    this.loaded = new Map();
    byId("viewer").hidden = false;
    byId("server-cut").addEventListener("input", (event) => this.move("server", Number(event.target.value)));
    byId("client-cut").addEventListener("input", (event) => this.moveClient(Number(event.target.value)));
    byId("together").addEventListener("change", () => this.show());
    byId("case")?.addEventListener("change", (event) => this.go(Number(event.target.value)));
    byId("rows").addEventListener("keydown", (event) => this.key(event));
    byId("strip").addEventListener("pointerdown", (event) => this.pick(event));
    byId("strip").addEventListener("pointermove", (event) => event.buttons && this.pick(event));
    for (const [id, step] of [["earlier", -1], ["later", 1]])
      byId(id).addEventListener("click", () => this.move("server", this.place + step));
    byId("next-bad").addEventListener("click", () => this.nextBad());
    byId("compare").addEventListener("change", () => this.show());
    addEventListener("hashchange", () => this.route());
    this.route();
  }

  /** Show the case that the address names, or the first one. */
  route() {
    const wanted = decodeURIComponent(location.hash.replace(/^#view\//, ""));
    const [name, place] = wanted.split("@");
    const view = location.hash.startsWith("#view/");
    const exact = view ? page.cases.find((one) => one.id === wanted) : null;
    const known = exact ?? (view ? page.cases.find((one) => one.id === name) : null);
    if (this.current && !known) return;
    this.load(known ?? page.cases[0], exact ? undefined : place);
    if (known) scrollToElement(byId("viewer"));
  }

  go(number) {
    this.load(page.cases[number]);
    history.replaceState(null, "", `#view/${encodeURIComponent(page.cases[number].id)}`);
  }

  /** Show a case, at once or as soon as it is unpacked, unless another one is wanted by then. */
  load(entry, place) {
    this.wanted = entry;
    const element = byId(entry.data);
    if (element.dataset.packed === undefined) {
      this.open(entry, place);
      return;
    }
    byId("viewer").inert = true;
    unpack(element).then(
      () => this.wanted === entry && this.open(entry, place),
      (error) => byId("about").replaceChildren(make("p.note", {}, `This browser cannot unpack the timeline: ${error}`)),
    ).finally(() => { byId("viewer").inert = false; });
  }

  open(entry, place) {
    if (!this.loaded.has(entry.data)) {
      const timeline = JSON.parse(byId(entry.data).textContent);
      this.loaded.set(entry.data, { timeline, tables: new Tables(timeline.tables) });
    }
    const { timeline, tables } = this.loaded.get(entry.data);
    Object.assign(this, { entry, tables, current: timeline });
    this.sides = ["server", "client"].filter((side) => timeline.rows.some((row) => (row[side] ?? row.right?.[side]) !== undefined));
    this.bad = new Set((entry.failed ?? []).map((one) => rowOfPlace(timeline, one)).filter((row) => row !== null));
    if (Number.isInteger(timeline.parts)) this.bad.add(timeline.parts);
    // A case that was played has a verdict of its own, and may be about a stream that is wrong; a file has what was found.
    if (!entry.outcome) for (const row of this.rowsWith("must")) this.bad.add(row);
    this.warned = new Set(entry.outcome ? [] : this.rowsWith("should"));
    byId("next-bad").hidden = this.bad.size < (timeline.departing ? 1 : 2);
    const lost = timeline.rows.findIndex((row) => row.lost || row.broken !== undefined);
    this.lossFrom = lost < 0 ? Infinity : lost;
    const places = timeline.places;
    byId("server-cut").max = String(places.length - 1);
    byId("client-cut").max = String(timeline.rows.length - 1);
    this.tracks.load(timeline.tracks);
    const first = place ?? entry.failed?.[0];
    const loss = timeline.tracks ? this.tracks.firstLoss() : null;
    const wrong = [...(entry.outcome ? [] : this.bad)].sort((a, b) => a - b)[0] ?? [...this.warned][0] ?? null;
    const row = first === undefined ? (wrong ?? (loss === null ? null : places[loss])) : rowOfPlace(timeline, first);
    this.client = row ?? timeline.rows.length - 1;
    this.place = this.placeOf(this.client);
    byId("together").checked = row === null || places[this.place] === row;
    byId("controls").hidden = timeline.rows.length < 2;
    byId("rows-box").hidden = timeline.rows.length < 2;
    byId("together-label").hidden = this.sides.length < 2;
    byId("compare-box").hidden = !timeline.rows.some((row) => row.right);
    byId("compare").value = timeline.departing?.[0] ?? "both";
    if (byId("case")) byId("case").value = String(page.cases.indexOf(entry));
    byId("about").replaceChildren(...this.about());
    this.legend();
    this.timeline.load(timeline.rows, tables, this.sides, timeline.parts);
    this.strip();
    this.show();
  }

  /** A heading below the title of the case, or below that of the page where the case has the same. */
  heading(text) {
    return make(this.current.id === document.title ? "h3.small" : "h4", {}, text);
  }

  about() {
    const { current: timeline, entry } = this;
    const chips = [make("span.chip", {}, `version ${timeline.version}`)];
    if (timeline.reason) chips.push(make("span.chip", { id: "reason" }));
    if (entry.outcome) chips.unshift(make(`span.verdict.${entry.green ? "good" : "bad"}`, {}, entry.outcome));
    return [
      ...(timeline.id === document.title ? [] : [make("h3", {}, timeline.id)]), make("p", {}, timeline.title ?? ""), make("p.chips", {}, ...chips),
      ...(timeline.recorded ? [make("p.note", {}, `The server's thread is the one that ${timeline.recorded} kept when this was recorded.`)] : []),
      ...(timeline.traced ? [make("p.note", {}, timeline.traced)] : []),
      ...(entry.note ? [make("p.note", {}, entry.note)] : []),
    ];
  }

  /** The rows that have findings of a level, each as the place at which one can cut after it. */
  rowsWith(level) {
    const { places, rows } = this.current;
    const found = rows.flatMap((row, number) => (row.found?.some((one) => one.level === level) ? [number] : []));
    return [...new Set(found.map((number) => places[this.placeOf(number)]))];
  }

  /** Say what the colours of the strip mean, of those that it can have. */
  legend() {
    const both = this.sides.length === 2;
    const shown = { same: both, quiet: !both, grows: true, behind: both, warned: this.warned.size > 0, bad: true };
    for (const one of ["#strip", "#controls .legend"]) document.querySelector(one).toggleAttribute("hidden", Boolean(this.current.tracks));
    for (const [name, is] of Object.entries(shown)) document.querySelector(`#controls .legend .${name}`).hidden = !is;
    byId("threads-title").textContent = `The thread${both ? "s" : ""} after this cut`;
  }

  placeOf(row) {
    const place = this.current.places.findIndex((one) => one >= row);
    return place < 0 ? this.current.places.length - 1 : place;
  }

  drag(side, row) {
    if (side === "client" && !byId("together").checked) this.moveClient(row);
    else this.move("server", this.placeOf(row));
  }

  move(side, place) {
    this.place = Math.max(0, Math.min(this.current.places.length - 1, place));
    if (byId("together").checked) this.client = this.current.places[this.place];
    this.show(side);
    this.address();
  }

  /** Have the address of the page name the place of the cut, so that a link opens exactly this. */
  address() {
    if (!this.entry.id.isWellFormed()) return; // no address can name it
    const row = this.current.rows[this.current.places[this.place]];
    const step = this.step(this.current.places[this.place]);
    const unit = step.index !== undefined ? `event-${step.index + 1}` : row.to !== undefined ? `byte-${row.to}` : "";
    const place = unit ? `turn-${row.turn}-${unit}` : `row-${this.current.places[this.place]}`;
    history.replaceState(null, "", `#view/${encodeURIComponent(this.entry.id)}@${place}`);
  }

  /** Go to the next place that failed, after the last one to the first. */
  nextBad() {
    const rows = [...this.bad].sort((a, b) => a - b);
    const row = rows.find((one) => one > this.client) ?? rows[0];
    this.move("server", this.placeOf(row));
  }

  moveClient(row) {
    byId("together").checked = false;
    this.client = Math.max(0, Math.min(this.current.rows.length - 1, row));
    this.show("client");
  }

  key(event) {
    const steps = { ArrowUp: -1, ArrowDown: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity };
    if (!(event.key in steps)) return;
    event.preventDefault();
    this.move("server", this.place + steps[event.key]);
  }

  pick(event) {
    const box = byId("strip").getBoundingClientRect();
    const share = (event.clientX - box.left) / box.width;
    this.move("server", Math.floor(share * this.current.places.length));
  }

  /** The strip of all places: bad ones red, and a mark where a thread grows. */
  strip() {
    const { places, rows } = this.current;
    const most = Math.min(places.length, 1200);
    const usual = this.sides.length === 2 ? "same" : "quiet";
    const cells = Array.from({ length: most }, () => usual);
    const rank = [usual, "grows", "behind", "warned", "bad"];
    places.forEach((row, number) => {
      const cell = Math.floor((number * most) / places.length);
      const before = number ? rows[places[number - 1]] : undefined;
      const side = this.sides.at(-1);
      const bad = this.bad.has(row) || (this.sides.length === 2 && rows[row].differences?.length && !this.behind(row));
      const grows = before && this.tables.added(rows[row][side], before[side]).length;
      const is = bad ? "bad" : this.warned.has(row) ? "warned" : this.behind(row) ? "behind" : grows ? "grows" : usual;
      if (rank.indexOf(is) > rank.indexOf(cells[cell])) cells[cell] = is;
    });
    const svg = byId("strip");
    svg.setAttribute("viewBox", `0 0 ${most} 1`);
    const counts = `${places.length} places to cut, ${this.bad.size} of them ${this.entry.outcome ? "failed" : "wrong"}`;
    svg.setAttribute("aria-label", counts);
    byId("strip-words").textContent = counts;
    const space = "http://www.w3.org/2000/svg";
    svg.replaceChildren();
    let start = 0;
    for (let at = 1; at <= most; at += 1) {
      if (at < most && cells[at] === cells[start]) continue;
      const rect = document.createElementNS(space, "rect");
      for (const [name, value] of Object.entries({ x: start, y: 0, width: at - start, height: 1, class: cells[start] })) rect.setAttribute(name, String(value));
      svg.append(rect);
      start = at;
    }
  }

  /** Whether the client got less of the stream than the server sent, so that its thread may lag behind (R32). */
  behind(row) {
    return row >= this.lossFrom;
  }

  show(focus = "server") {
    const { current: timeline, tables } = this;
    const server = timeline.places[this.place];
    const together = byId("together").checked;
    if (together) this.client = server;
    byId("client-box").hidden = together || this.sides.length < 2;
    const serverRow = timeline.rows[server];
    const clientRow = timeline.rows[this.client];
    this.tracks.show(this.place);
    this.timeline.cut(server, this.client, focus === "client" ? this.client : server);
    this.slider("server-cut", this.place, this.words(server), this.place);
    this.slider("client-cut", this.client, this.words(this.client), this.client);
    byId("server-words").textContent = this.words(server);
    byId("client-words").textContent = this.words(this.client);
    const gone = {};
    if (serverRow.gone?.server !== undefined) gone.server = tables.value(serverRow.gone.server);
    if (clientRow.gone?.client !== undefined) gone.client = tables.value(clientRow.gone.client);
    const { held, titles } = this.columns(serverRow, clientRow);
    const sides = Object.keys(held);
    const differing = this.threads.show({ tables, timeline: this.entry.data, sides, gone, ...held });
    for (const side of ["server", "client"]) {
      byId(`${side}-title`).hidden = !sides.includes(side);
      byId(`${side}-title`).textContent = titles[side] ?? "";
    }
    byId("heads").classList.toggle("one", sides.length < 2);
    this.reason(held.client ?? held.server, clientRow.kind === "end");
    this.panel(serverRow, clientRow, differing, gone, together);
  }

  /** Say by what the run of the thread that is shown was cut: its own end may have another reason than a cut has. */
  reason(thread, ended) {
    const chip = byId("reason");
    if (!chip) return;
    const last = thread === undefined ? undefined : this.tables.turns(thread).at(-1);
    const why = last && Object(this.tables.value(last.fields)).interruption?.reason;
    chip.hidden = ended && !last;
    chip.textContent = visible(why || !ended ? `cut by ${why ?? this.current.reason}` : "not cut");
  }

  /** The threads to show in the two columns, and what stands above them. */
  columns(serverRow, clientRow) {
    const chosen = byId("compare").value;
    const rows = { server: serverRow, client: clientRow };
    const held = {};
    const titles = {};
    if (chosen === "both")
      for (const side of this.sides) {
        const really = rows[side][side] !== undefined;
        held[side] = rows[side][side] ?? rows[side].right?.[side];
        titles[side] = `${side === "server" ? "Server" : "Client"}${really ? "" : ": what it should hold here"}`;
      }
    else {
      const row = rows[chosen];
      const name = chosen === "server" ? "Server" : "Client";
      if (row[chosen] !== undefined) [held.server, titles.server] = [row[chosen], name];
      [held.client, titles.client] = [row.right?.[chosen], `${name}: what it should hold here`];
    }
    return { held, titles };
  }

  slider(id, value, words) {
    byId(id).value = String(value);
    byId(id).setAttribute("aria-valuetext", words);
  }

  /** The row that begins the step of a row: the one that has the server's event. */
  step(number) {
    let at = number;
    while (this.current.rows[at].kind === "more") at -= 1;
    return this.current.rows[at];
  }

  words(number) {
    const row = { ...this.step(number), to: this.current.rows[number].to, frame: this.current.rows[number].frame };
    const [kind, says] = eventWords(row);
    const bytes = row.to === undefined ? "" : ` · byte ${row.to.toLocaleString("en")}`;
    const event = row.index === undefined ? "" : `event ${row.index + 1} · `;
    return visible(`${event}${kind || chunkWords(row.frame)[0]}${says ? ` ${brief(says, 40)}` : ""}${bytes}`);
  }

  panel(serverRow, clientRow, differing, gone, together) {
    const box = byId("panel");
    const here = (this.entry.results ?? []).filter((one) => one.findings.length && this.isHere(one.id)).slice(0, 6);
    const found = here.flatMap((one) => [make("p.differs", {}, `Failed: ${one.id}`), ...this.findings(one.findings, "")]);
    found.push(...this.verdict(serverRow, clientRow, differing, together));
    found.push(...this.findings([...(serverRow.found ?? []), ...(clientRow === serverRow ? [] : clientRow.found ?? [])], "Found at this row"));
    found.push(...this.tracks.details(this.place));
    const dropped = [...new Set([...(gone.server ?? []), ...(gone.client ?? [])].map((one) => one.why))];
    if (dropped.length) found.push(this.heading("What a cut here takes away"), ...dropped.map((why) => make("p", {}, ruling(why, page), ` ${LOST[why]}.`)));
    found.push(this.heading("This row"), ...this.details(serverRow, clientRow));
    found.push(...this.cited(dropped, differing, serverRow));
    box.replaceChildren(...found);
  }

  /** Whether a result is about the whole case, or about the place of the cut. */
  isHere(id) {
    const place = this.current.id === id ? undefined : id.split("@")[1];
    const row = place === undefined ? null : rowOfPlace(this.current, place);
    return row === null || row === this.client || row === this.current.places[this.place];
  }

  verdict(serverRow, clientRow, differing, together) {
    const chosen = byId("compare").value;
    if (chosen !== "both") return this.departure(chosen, chosen === "server" ? serverRow : clientRow);
    if (this.sides.length < 2 || serverRow.server === undefined || clientRow.client === undefined) return [];
    const same = serverRow.server === clientRow.client;
    const behind = !together || this.behind(this.current.rows.indexOf(clientRow)) || clientRow.to < serverRow.to;
    const differences = serverRow === clientRow ? serverRow.differences : undefined;
    if (same || differences?.length === 0) return [make("p.same", { role: "status" }, same ? `Both sides hold the same thread${this.entry.note ? ", as the reference plays it" : ""}.` : "Both sides hold the same thread but for generated facts (R39).")];
    const prefix = differing.every((line) => line.right === undefined || line.what === "turn");
    const head = behind && prefix ? "The client got less of the stream: its thread is a prefix of the server's (R32)." : "The threads differ.";
    return [make(behind && prefix ? "p.behind" : "p.differs", { role: "status" }, head), ...(differences ? [this.list(differences)] : [])];
  }

  /** How a side departs from what it should hold. */
  departure(side, row) {
    if (row[side] === undefined) return [make("p.note", {}, `The ${side} was asked once, at its end: this is what it should hold here.`)];
    const found = row.departs?.[side] ?? [];
    if (!found.length) return [make("p.same", { role: "status" }, `The ${side} holds what it should.`)];
    return [make("p.differs", { role: "status" }, `The ${side} is wrong: it does not hold what the reference makes of the same input (R51).`), this.list(found)];
  }

  list(differences) {
    return make("ul.differences", {}, ...differences.slice(0, 30).map((one) =>
      make("li", {}, one.text, " ", ...one.cites.split(", ").filter(Boolean).map((id) => ruling(id, page)))));
  }

  details(serverRow, clientRow) {
    const nodes = [];
    const { event, index } = this.step(this.current.places[this.place]);
    if (event) nodes.push(jsonDetails(index === undefined ? "What the server did" : `Server event ${index + 1}`, event));
    if (clientRow.frame !== undefined) {
      const frame = make("details.json", {}, make("summary", {}, `Bytes ${clientRow.from.toLocaleString("en")}–${clientRow.to.toLocaleString("en")}`), longText("pre", clientRow.frame));
      nodes.push(frame);
    }
    if (serverRow.server !== undefined) nodes.push(jsonDetails(this.sides.length === 2 ? "The server's thread as JSON" : "The thread as JSON", this.tables.thread(serverRow.server)));
    if (clientRow.client !== undefined) nodes.push(jsonDetails("The client's thread as JSON", this.tables.thread(clientRow.client)));
    return nodes.length ? nodes : [make("p.muted", {}, "nothing on the wire")];
  }

  findings(list, title) {
    if (!list.length) return [];
    return [...(title ? [this.heading(title)] : []), ...list.slice(0, 20).map((one) => {
      const node = make(`div.finding-block.${one.level}`, {}, make("p", {}, make("strong", {}, one.code), ` ${one.message}`));
      const facts = make("dl");
      for (const [name, key] of [["at", "place"], ["got", "got"], ["expected", "expected"], ["to do", "remedy"]])
        if (one[key]) facts.append(make("dt", {}, name), make("dd", {}, String(one[key])));
      node.append(facts);
      node.append(...[...(one.clauses ?? []), ...(one.rulings ?? [])].map((id) => ruling(id, page)));
      return node;
    })];
  }

  /** The texts of what the case is about and of what decides here. */
  cited(dropped, differing, row) {
    const ids = [...dropped, ...(row.differences ?? []).flatMap((one) => one.cites.split(", ").filter(Boolean)), ...(this.current.rulings ?? [])];
    const clauses = (this.current.clauses ?? []).filter((id) => page.clauses[id]);
    const nodes = clauses.map((id) => make("p.clause", {}, make("code", {}, id), ` ${page.clauses[id]}`));
    for (const id of new Set(ids)) {
      const known = page.rulings[id];
      if (known) nodes.push(make("details.cited", {}, make("summary", {}, make("span.ruling", {}, id), ` ${known.title}`), longText("div.text", known.text)));
    }
    return nodes.length ? [this.heading("Clauses and rulings"), ...nodes] : [];
  }
}

if (page.cases.length) globalThis.viewer = new Viewer();
/** Buttons that copy a command or the text of an issue. */
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const title = button.dataset.title ?? (button.dataset.title = button.textContent);
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not copied: the browser does not allow it";
  }
  setTimeout(() => { button.textContent = title; }, 2000);
});
document.documentElement.classList.add("scripted");
