// Parsing and editing of command lines.

/** Splits a line into words and removes quotes. */
export function split(line) {
  const found = line.match(/(?:[^\s'"]+|'[^']*'|"[^"]*")+/g) ?? [];
  return found.map((word) => word.replace(/'([^']*)'|"([^"]*)"/g, (_, one, two) => one ?? two));
}

export function join(words) {
  const quoted = (word) => (/^[^\s'"]+$/.test(word) ? word : `'${word.replaceAll("'", "")}'`);
  return words.map(quoted).join(" ");
}

/** Other names of options. */
const ALIASES = { "-n": ["--nodes"] };

/** Returns the value in a word such as `--crash=3@10`, `-n4` or `-n=4`; null for other words. */
function joinedValue(word, name) {
  if (word.startsWith(`${name}=`)) return word.slice(name.length + 1);
  const isShort = !name.startsWith("--");
  return isShort && word !== name && word.startsWith(name) ? word.slice(name.length) : null;
}

/** Finds all occurrences of an option: their positions, numbers of words, and values. */
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

/** Returns the values of all occurrences of an option. */
export function values(line, name) {
  return occurrences(split(line), name).map((each) => each.value);
}

/** Returns the values of all occurrences of an option, as words of a line. */
export function value(line, name) {
  return join(values(line, name).filter(Boolean));
}

/** Sets the value of an option. Each word of `to` is one occurrence; an empty text removes all. */
export function withValue(line, name, to) {
  const words = split(line);
  const put = split(to).flatMap((each) => [name, each]);
  const found = occurrences(words, name);
  const first = found[0]?.at ?? words.length;
  for (const { at, length } of found.reverse()) words.splice(at, length);
  words.splice(first, 0, ...put);
  return join(words);
}

/** Returns the algorithm, which is the first word. */
export function algorithm(line) {
  const [first = ""] = split(line);
  return first.startsWith("-") ? "" : first;
}

export function withAlgorithm(line, name) {
  const words = split(line);
  if (words.length > 0 && !words[0].startsWith("-")) words.shift();
  return join(name === "" ? words : [name, ...words]);
}
