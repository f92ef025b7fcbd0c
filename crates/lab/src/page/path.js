// Path from the beginning of a run to a moment, as text for a link. A path consists of parts: `@6`
// goes to the initial moment 6, `12` takes 12 steps, and `lose:5` performs an action.

/** Names of the arguments of actions that have two arguments. One of them is a process. */
const PAIRS = {
  ask: ["process", "command"], fire: ["process", "timer"],
  suspect: ["process", "peer"], trust: ["process", "peer"],
};
/** Actions with one number as their argument. */
const NUMBERS = ["lose", "duplicate", "deliver", "crash", "recover"];
const TOKEN = /^[a-z]+(:[^,:]+)+$/;

/** Converts an action to text. */
export function actToText(act) {
  const verb = Object.keys(act).find((name) => name !== "by");
  const value = act[verb];
  const words = verb === "delay" ? [value, act.by]
    : PAIRS[verb]?.map((field) => value[field]) ?? [value];
  return [verb, ...words.map(escape)].join(":");
}

/**
 * Encodes the separators of paths in a word. The browser encodes the fragment of the URL in
 * addition.
 */
function escape(word) {
  return encodeURIComponent(word).replaceAll(/[!'()*~]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16)}`);
}

/** Converts text to an action. Returns null if the text is no action. */
export function actFromText(text) {
  if (!TOKEN.test(text)) return null;
  const [verb, ...words] = text.split(":").map(decodeURIComponent);
  if (NUMBERS.includes(verb)) return { [verb]: Number(words[0]) };
  if (verb === "delay") return { delay: Number(words[0]), by: Number(words[1]) };
  const fields = PAIRS[verb];
  if (fields === undefined) return null;
  const named = fields.map((field, place) =>
    [field, field === "process" || field === "peer" ? Number(words[place]) : words[place]]);
  return { [verb]: Object.fromEntries(named) };
}

/**
 * Returns the path to the present moment of a view. `initial` is the number of moments that the run
 * began with. If an action of the user led to a moment, this moment has the action as `act`.
 */
export function pathOf({ tree, moment, initial }) {
  const tokens = [];
  let at = moment;
  while (at >= initial) {
    const { act, parent } = tree[at];
    if (act !== undefined) tokens.unshift(actToText(act));
    else if (typeof tokens[0] === "number") tokens[0] += 1;
    else tokens.unshift(1);
    at = parent;
  }
  return [`@${at}`, ...tokens].join(",");
}

/** Maximum number of steps in one request. */
const STEPS_PER_REQUEST = 10_000;

/** Maximum number of moments of a session, and therefore of consecutive steps in a path. */
const MOMENTS = 50_000;

/**
 * Returns the requests that take a number of steps. Throws an error if there are too many steps.
 */
function stepRequests(steps) {
  if (steps > MOMENTS) {
    throw new Error(`invalid number of steps '${steps}' in the path: expected at most ${MOMENTS}`);
  }
  const requests = [];
  for (let left = steps; left > 0; left -= STEPS_PER_REQUEST) {
    requests.push(["step", { steps: Math.min(left, STEPS_PER_REQUEST) }]);
  }
  return requests;
}

/**
 * Returns the requests that lead along a path: the verb and the arguments of each. Throws an error
 * if a part of the path is invalid.
 */
export function requestsOf(path) {
  return path.split(",").filter(Boolean).flatMap((token) => {
    if (/^@\d+$/.test(token)) return [["go", { moment: Number(token.slice(1)) }]];
    if (/^\d+$/.test(token)) return stepRequests(Number(token));
    const act = actFromText(token);
    if (act === null) throw new Error(`invalid action '${token}' in the path`);
    return [["act", act]];
  });
}
