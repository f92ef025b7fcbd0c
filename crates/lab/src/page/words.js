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

/** Finds an option. Returns its position, its number of words, and its value. */
function find(words, name) {
  const at = words.findIndex((word) => word === name || word.startsWith(`${name}=`));
  if (at < 0) return null;
  const whole = words[at] !== name;
  return { at, length: whole ? 1 : 2, value: whole ? words[at].slice(name.length + 1)
    : words[at + 1] ?? "" };
}

/** Returns the value of an option; empty if it is absent. */
export function value(line, name) {
  return find(split(line), name)?.value ?? "";
}

/** Sets the value of an option; an empty value removes it. */
export function withValue(line, name, to) {
  const words = split(line);
  const found = find(words, name);
  const put = to === "" ? [] : [name, to];
  if (found) words.splice(found.at, found.length, ...put);
  else words.push(...put);
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
