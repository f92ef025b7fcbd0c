// Place of a view, in the fragment of the URL. The place contains all data that a link needs to
// show the same view elsewhere.

/** Returns the place in the fragment of the URL, as an object with texts. */
export function readPlace() {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

/**
 * Returns the fragment of a place, without `#`. Empty values are left out. Spaces are written as
 * `+`.
 */
export function toFragment(place) {
  const given = Object.entries(place).filter(([, value]) =>
    value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(given).toString();
  // These letters need no encoding in a fragment, and people read links.
  return text.replaceAll("%40", "@").replaceAll("%2C", ",").replaceAll("%3A", ":");
}

let written = null;

/** Writes a place into the URL, without a new entry in the browser's history. */
export function writePlace(place) {
  written = `#${toFragment(place)}`;
  if (written !== location.hash) history.replaceState(null, "", written);
}

/**
 * Calls `show` with the new place if the user opens another link of this page, or edits the
 * fragment.
 */
export function onPlaceChange(show) {
  window.addEventListener("hashchange", () => {
    if (location.hash !== written) show(readPlace());
  });
}

/** Returns the address of the page with a place in its fragment. */
export function linkTo(place) {
  const address = new URL(location.href);
  address.hash = toFragment(place);
  return address.href;
}
