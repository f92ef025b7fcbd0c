// How pages are put together: elements by their name, found by their identity.

const byId = (id) => document.getElementById(id);

/** An element with attributes, handlers (`onclick`) and children. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") made[key] = value;
    else if (value !== false && value !== null) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

/** A list of terms with what they are. */
function facts(rows) {
  return element("dl", {}, ...rows.flatMap(([term, what]) => [
    element("dt", {}, term), element("dd", {}, what),
  ]));
}
