// The field at the top of a run's page: words of a case, and outcomes; what does not have all of them is hidden.

/** Make the field work on causes, cases that failed, and the list of everything that was played. */
function find(box) {
  const [field, said] = [box.querySelector("input[type=search]"), box.querySelector("output")];
  const all = (selector) => [...document.querySelectorAll(selector)];
  const [cards, cases, rows] = [all(".cause"), all(".result[data-cause]"), all(".played tbody tr")];
  const outcomes = [...box.querySelectorAll("input[type=checkbox]")];
  const texts = new Map();
  const markOf = (one) => one.querySelector("[data-outcome]") ?? one;
  const textOf = (one) => {
    if (!texts.has(one)) texts.set(one, `${one.textContent} ${markOf(one).dataset.words ?? ""}`.toLowerCase());
    return texts.get(one);
  };
  const look = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = new Set(outcomes.filter((one) => one.checked).map((one) => one.value));
    const fits = (one) =>
      (outcomes.length === 0 || wanted.has(markOf(one).dataset.outcome)) && words.every((word) => textOf(one).includes(word));
    const show = (some, are) => some.filter((one) => !(one.hidden = !are(one)));
    const found = show(cases, fits);
    const causes = new Set(found.map((one) => one.dataset.cause));
    show(cards, (one) => causes.has(one.id) || fits(one));
    const listed = show(rows, fits);
    const whole = found.length === cases.length && listed.length === rows.length;
    if (!whole) for (const one of [...cards, ...cases]) if (!one.hidden && one.closest(".fold")) one.closest(".fold").open = true;
    if (!whole && found.length === 0 && listed.length > 0) listed[0].closest("details").open = true;
    const failed = cases.length > 0 ? `${found.length} of ${cases.length} cases that failed, ` : "";
    said.textContent = whole ? "" : found.length + listed.length > 0 ? `${failed}${listed.length} of ${rows.length} rows` : "none has all of these words";
  };
  box.addEventListener("input", look);
  const room = () => document.documentElement.style.setProperty("--find", `${box.offsetHeight}px`);
  new ResizeObserver(room).observe(box);
}

document.querySelectorAll(".find").forEach(find);
