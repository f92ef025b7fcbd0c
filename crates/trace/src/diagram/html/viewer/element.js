// DOM helpers shared by all pages.

const byId = (id) => document.getElementById(id);

/** Creates an element with attributes, handlers (such as `onclick`) and children. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") made[key] = value;
    else if (value !== false && value !== null) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

/** Creates a description list. */
function facts(rows) {
  return element("dl", {}, ...rows.flatMap(([term, what]) => [
    element("dt", {}, term), element("dd", {}, what),
  ]));
}

/** Handlers that `updateChildren` copies to a kept element. */
const HANDLERS = ["onclick", "onchange", "oninput", "onkeydown", "ontoggle"];

/** Returns the key by which `updateChildren` recognizes a node. */
const keyOf = (node) => node.dataset?.key || node.id || null;

/** Makes a kept node equal to a new one. */
function assignFrom(node, made) {
  if (node.nodeType === Node.TEXT_NODE) {
    if (node.data !== made.data) node.data = made.data;
    return;
  }
  for (const { name } of [...node.attributes]) {
    if (!made.hasAttribute(name)) node.removeAttribute(name);
  }
  for (const { name, value } of made.attributes) {
    if (node.getAttribute(name) !== value) node.setAttribute(name, value);
  }
  for (const name of HANDLERS) if (node[name] !== made[name]) node[name] = made[name];
  updateChildren(node, ...made.childNodes);
}

/**
 * Replaces the children of an element, but keeps and updates existing ones. A new child matches
 * the existing one with the same key (`data-key` or `id`), or without a key the next one of the
 * same name. Browsers send no click to an element that is removed between press and release,
 * even if it is inserted again. Focus and selected text survive as well. Handlers must use
 * `event.currentTarget`, because a new element may only update an existing one.
 */
function updateChildren(parent, ...children) {
  const keyed = new Map();
  const others = [];
  for (const node of parent.childNodes) {
    if (keyOf(node)) keyed.set(keyOf(node), node);
    else others.push(node);
  }
  const wanted = children.map((child) => {
    const made = typeof child === "string" ? document.createTextNode(child) : child;
    const key = keyOf(made);
    const place = others.findIndex((node) => node.nodeName === made.nodeName);
    const found = key ? keyed.get(key) : others.splice(0, place + 1)[place];
    if (found?.nodeName !== made.nodeName) return made;
    assignFrom(found, made);
    return found;
  });
  const stays = new Set(wanted);
  for (const node of [...parent.childNodes]) if (!stays.has(node)) node.remove();
  let next = parent.firstChild;
  for (const node of wanted) {
    if (node === next) next = next.nextSibling;
    else parent.insertBefore(node, next);
  }
}
