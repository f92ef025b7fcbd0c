// The words of a command line: taken apart, changed at one place, put together again.

/** The words, without the quotes that keep spaces within them. */
export function split(line) {
  const found = line.match(/(?:[^\s'"]+|'[^']*'|"[^"]*")+/g) ?? [];
  return found.map((word) => word.replace(/'([^']*)'|"([^"]*)"/g, (_, one, two) => one ?? two));
}

export function join(words) {
  const quoted = (word) => (/^[^\s'"]+$/.test(word) ? word : `'${word.replaceAll("'", "")}'`);
  return words.map(quoted).join(" ");
}

/** Where an option stands, and how many words it takes. */
function find(words, name) {
  const at = words.findIndex((word) => word === name || word.startsWith(`${name}=`));
  if (at < 0) return null;
  const whole = words[at] !== name;
  return { at, length: whole ? 1 : 2, value: whole ? words[at].slice(name.length + 1)
    : words[at + 1] ?? "" };
}

/** The value of an option, or nothing. */
export function value(line, name) {
  return find(split(line), name)?.value ?? "";
}

/** The line with this value of the option; with an empty one, without it. */
export function withValue(line, name, to) {
  const words = split(line);
  const found = find(words, name);
  const put = to === "" ? [] : [name, to];
  if (found) words.splice(found.at, found.length, ...put);
  else words.push(...put);
  return join(words);
}

/** The algorithm is the first word. */
export function algorithm(line) {
  const [first = ""] = split(line);
  return first.startsWith("-") ? "" : first;
}

export function withAlgorithm(line, name) {
  const words = split(line);
  if (words.length > 0 && !words[0].startsWith("-")) words.shift();
  return join(name === "" ? words : [name, ...words]);
}
