// Parsing and editing of command lines.

/** Splits a command line into words and removes quotes. An unclosed quote is ignored. */
export function split(line) {
  const found = line.match(/(?:[^\s'"]+|'[^']*'|"[^"]*")+/g) ?? [];
  return found.map((word) => word.replace(/'([^']*)'|"([^"]*)"/g, (_, one, two) => one ?? two));
}

/**
 * Joins words to a command line, with quotes where they are needed. In a word that needs quotes,
 * removes the single quotes.
 */
export function join(words) {
  const quoted = (word) => (/^[^\s'"]+$/.test(word) ? word : `'${word.replaceAll("'", "")}'`);
  return words.map(quoted).join(" ");
}

/** Other names of options, by the name that the form uses. */
const ALIASES = { "-n": ["--nodes"] };

/**
 * Returns the value in a word that contains both an option and its value, such as `--crash=3@10` or
 * `-n4`. Returns null for other words.
 */
function joinedValue(word, name) {
  if (word.startsWith(`${name}=`)) return word.slice(name.length + 1);
  const isShort = !name.startsWith("--");
  return isShort && word !== name && word.startsWith(name) ? word.slice(name.length) : null;
}

/**
 * Returns all occurrences of an option: the position, the number of words, and the value of each.
 */
function occurrences(words, name) {
  const names = [name, ...ALIASES[name] ?? []];
  const found = [];
  for (let at = 0; at < words.length; at++) {
    const joined = names.map((each) => joinedValue(words[at], each)).find((each) => each !== null);
    if (joined !== undefined) found.push({ at, length: 1, value: joined });
    else if (names.includes(words[at])) {
      found.push({ at, length: 2, value: words[at + 1] ?? "" });
      at++;
    }
  }
  return found;
}

/** Returns the values of all occurrences of an option, as a list. */
export function values(line, name) {
  return occurrences(split(line), name).map((each) => each.value);
}

/** Returns the values of all occurrences of an option, joined to one text. */
export function value(line, name) {
  return join(values(line, name).filter(Boolean));
}

/**
 * Sets the values of an option. Each word of `to` becomes the value of one occurrence. An empty
 * text removes all occurrences.
 */
export function withValue(line, name, to) {
  const words = split(line);
  const put = split(to).flatMap((each) => [name, each]);
  const found = occurrences(words, name);
  const first = found[0]?.at ?? words.length;
  for (const { at, length } of found.reverse()) words.splice(at, length);
  words.splice(first, 0, ...put);
  return join(words);
}

/**
 * Returns the algorithm of a command line, which is its first word. Returns an empty text if the
 * first word is an option.
 */
export function algorithm(line) {
  const [first = ""] = split(line);
  return first.startsWith("-") ? "" : first;
}

/** Replaces the algorithm of a command line. An empty name removes it. */
export function withAlgorithm(line, name) {
  const words = split(line);
  if (words.length > 0 && !words[0].startsWith("-")) words.shift();
  return join(name === "" ? words : [name, ...words]);
}
