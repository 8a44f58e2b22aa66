// The field above the cases of a run: words of a case, and outcomes; what does not have all of them is hidden.

/** Make one field work: the cases are those of its section. */
function find(box) {
  const [field, said] = [box.querySelector("input[type=search]"), box.querySelector("output")];
  const cases = [...box.parentElement.querySelectorAll(".result")];
  const outcomes = [...box.querySelectorAll("input[type=checkbox]")];
  const texts = new Map();
  const textOf = (one) => {
    if (!texts.has(one)) texts.set(one, `${one.textContent} ${one.dataset.words ?? ""}`.toLowerCase());
    return texts.get(one);
  };
  const look = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = new Set(outcomes.filter((one) => one.checked).map((one) => one.value));
    let shown = 0;
    for (const one of cases) {
      one.hidden = (outcomes.length > 0 && !wanted.has(one.dataset.outcome)) || !words.every((word) => textOf(one).includes(word));
      if (!one.hidden) shown += 1;
    }
    const all = shown === cases.length;
    if (!all) for (const fold of box.parentElement.querySelectorAll(".fold")) fold.open = true;
    said.textContent = all ? "" : shown ? `${shown} of ${cases.length}` : "none has all of these words";
  };
  box.addEventListener("input", look);
}

document.querySelectorAll(".find").forEach(find);
