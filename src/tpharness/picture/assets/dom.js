// Elements and text. Whatever comes from a file or from the wire goes through `text`, and into the page as text only.

/** Characters that turn the direction of writing, hide, or act on a terminal: shown as escapes. */
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
const LONG = 2000;

/** @param {string} value @returns {string} the same with escapes for what cannot be seen */
function visible(value) {
  return value.replace(UNSEEN, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/**
 * @param {string} tag an element's name, with classes after dots
 * @param {Object<string, string>} attributes
 * @param {...(Node|string|null)} children strings become text
 * @returns {HTMLElement}
 */
function make(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name);
  if (classes.length) element.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  for (const child of children) if (child !== null) element.append(typeof child === "string" ? visible(child) : child);
  return element;
}

/** @param {string} value @param {number} most @returns {string} the value on one line, cut at the end */
function brief(value, most = 90) {
  const line = value.slice(0, most + 1).replace(/\s+/g, " ");
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}

/** A long text: its beginning, and a button for the rest. */
function longText(tag, value, most = LONG) {
  const element = make(tag, {}, value.slice(0, most));
  if (value.length <= most) return element;
  const rest = value.length - most;
  const more = make("button.rest", { type: "button" }, `Show ${rest.toLocaleString("en")} more characters`);
  more.addEventListener("click", () => element.replaceChildren(visible(value)));
  element.append("… ", more);
  return element;
}

/** JSON that is written out when it is opened. */
function jsonDetails(label, value) {
  const details = make("details.json", {}, make("summary", {}, label));
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1) details.append(longText("pre", JSON.stringify(value, null, 1)));
  });
  return details;
}

/** Replace what an element holds, but keep the children that stand there already and have the same key. */
function reconcile(parent, items, key, build) {
  let place = 0;
  while (place < items.length && parent.children[place]?.dataset.key === key(items[place])) place += 1;
  while (parent.children.length > place) parent.lastElementChild.remove();
  const fresh = document.createDocumentFragment();
  for (; place < items.length; place += 1) {
    const element = build(items[place]);
    element.dataset.key = key(items[place]);
    fresh.append(element);
  }
  parent.append(fresh);
}
