// Tracks: under the strip of a timeline a strip for each of several names, such as histories, with what it says at the cut.

class Tracks {
  /** @param {HTMLElement} box @param {(place: number) => void} moved */
  constructor(box, moved) {
    this.box = box;
    this.moved = moved;
    for (const kind of ["pointerdown", "pointermove"])
      box.addEventListener(kind, (event) => {
        const strip = event.target.closest("[data-track]");
        if (!strip || (kind === "pointermove" && !event.buttons)) return;
        const area = strip.getBoundingClientRect();
        this.moved(Math.floor(((event.clientX - area.left) / area.width) * this.tracks.places.length));
      });
  }

  /** Show the tracks of a timeline, or none. */
  load(tracks) {
    this.tracks = tracks;
    this.box.hidden = !tracks;
    this.lines = (tracks?.names ?? []).map((name, number) => {
      const words = make("span.words");
      const here = make("i.here");
      const area = make("div.area", { "data-track": String(number) }, this.strip(name, number), here);
      const sum = make("span.muted", {}, this.sum(number));
      return { words, here, element: make("div.track-line", {}, make("div.line", {}, make("b", {}, name), words), area, sum) };
    });
    const meanings = { good: "nothing is lost", warn: "something is lost", bad: "a model API refuses it", none: "no cut, or it cannot be held" };
    const legend = make("ul.legend", { "aria-label": "Colours of the tracks" }, ...Object.entries(meanings).map(([colour, says]) => make(`li.track-${colour}`, {}, says)));
    this.box.replaceChildren(...this.lines.map((line) => line.element), legend);
  }

  state(number, place) {
    const states = this.tracks.places[place];
    return states ? this.tracks.states[states[number]] : null;
  }

  /** The place to open at: the first one where a model API refuses a history, else where one loses something. */
  firstLoss() {
    const has = (colour) => this.tracks.places.findIndex((_, place) => this.lines.some((_, number) => this.state(number, place)?.colour === colour));
    return [has("bad"), has("warn")].find((place) => place >= 0) ?? null;
  }

  /** What a strip says, in a sentence. */
  sum(number) {
    const judged = this.tracks.places.map((_, place) => this.state(number, place)).filter(Boolean);
    const count = (colour) => judged.filter((one) => one.colour === colour).length;
    if (!count("bad") && !count("warn")) return `nothing is lost at any of ${judged.length} places`;
    const refused = `a model API refuses it at ${count("bad")} of ${judged.length} places`;
    const lost = count("bad") ? `and something is lost at ${count("warn")} others` : `something is lost at ${count("warn")} of ${judged.length} places`;
    return [count("bad") ? refused : "", count("warn") ? lost : ""].filter(Boolean).join(", ");
  }

  strip(name, number) {
    const space = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(space, "svg");
    const many = this.tracks.places.length;
    const colours = this.tracks.places.map((_, place) => this.state(number, place)?.colour ?? "none");
    const label = visible(`${name}: ${this.sum(number)}`);
    for (const [key, value] of Object.entries({ role: "img", viewBox: `0 0 ${many} 1`, preserveAspectRatio: "none", "aria-label": label })) svg.setAttribute(key, value);
    let start = 0;
    for (let at = 1; at <= many; at += 1) {
      if (at < many && colours[at] === colours[start]) continue;
      const rect = document.createElementNS(space, "rect");
      for (const [key, value] of Object.entries({ x: start, y: 0, width: at - start, height: 1, class: `track-${colours[start]}` })) rect.setAttribute(key, String(value));
      svg.append(rect);
      start = at;
    }
    return svg;
  }

  /** Move the cut. */
  show(place) {
    if (!this.tracks) return;
    this.lines.forEach(({ words, here }, number) => {
      const state = this.state(number, place);
      words.textContent = visible(state?.words ?? "no run to cut here");
      words.className = `words ${state?.colour ?? "none"}`;
      here.style.left = `${((place + 0.5) / this.tracks.places.length) * 100}%`;
    });
  }

  /** The details at a place, for the panel. */
  details(place) {
    const alike = new Map();
    (this.tracks?.names ?? []).forEach((name, number) => {
      const state = this.state(number, place);
      if (state?.items.length) alike.set(state, [...(alike.get(state) ?? []), name]);
    });
    const nodes = [...alike].flatMap(([state, names]) => [
      make("p", {}, make("b", {}, names.join(", "))), make("ul", {}, ...state.items.map((one) => make("li", {}, one))),
    ]);
    return nodes.length ? [make("h4", {}, "What is lost here"), ...nodes] : [];
  }
}
