// The URL fragment: all that a link needs to show the same moment elsewhere.

/** Reads the fragment as an object. */
export function readPlace() {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

/** Returns the fragment of a place; empty values are left out. Spaces are written as `+`. */
export function toFragment(place) {
  const given = Object.entries(place).filter(([, value]) =>
    value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(given).toString();
  // These letters need no encoding in a fragment, and people read links.
  return text.replaceAll("%40", "@").replaceAll("%2C", ",").replaceAll("%3A", ":");
}

let written = null;

/** Writes the fragment without a new entry of the browser's history. */
export function writePlace(place) {
  written = `#${toFragment(place)}`;
  if (written !== location.hash) history.replaceState(null, "", written);
}

/** Calls `show` if the user opens another link of this page, or edits the fragment. */
export function onPlaceChange(show) {
  window.addEventListener("hashchange", () => {
    if (location.hash !== written) show(readPlace());
  });
}

/** Returns the address of the page with a place. */
export function linkTo(place) {
  const address = new URL(location.href);
  address.hash = toFragment(place);
  return address.href;
}
