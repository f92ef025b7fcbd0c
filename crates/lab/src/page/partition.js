// Partitions of a run. They are an option, such as `--partition 1,2@10..50`, that the menu of a
// process edits.

import { join, split } from "./words.js";

const OPTION = "--partition";
const PARTITION = /^(\d+(?:,\d+)*)@([\d.]+?)\.\.([\d.]*)$/;
/**
 * Time between the present moment and the beginning or end of a partition, in units. The events of
 * the present moment come before it.
 */
const AFTER = 0.001;

/**
 * Returns the time at which an action in this view begins or ends a partition. It follows the time
 * of the moment, and not `view.time`, because a run may have waited after its last moment.
 */
const rightAfter = ({ tree, moment }) => Number((tree[moment].time + AFTER).toFixed(6));

/**
 * Returns the partitions in the words of a command line. Each has the position and the number of
 * its words, its processes, its beginning and its end.
 */
function partitions(words) {
  return words.flatMap((word, at) => {
    const text = word === OPTION ? words[at + 1] : word.startsWith(`${OPTION}=`)
      ? word.slice(OPTION.length + 1) : undefined;
    const found = PARTITION.exec(text ?? "");
    if (found === null) return [];
    const [, list, from, to] = found;
    return [{
      at, length: word === OPTION ? 2 : 1, list, processes: list.split(",").map(Number),
      from: Number(from), to: to === "" ? Infinity : Number(to),
    }];
  });
}

/** Returns true if a partition lists a process and is active at a time. */
const includes = ({ processes, from, to }, process, time) =>
  processes.includes(process) && from <= time && time < to;

/** Returns true if a partition of the run cuts off a process at the present moment. */
export function isCutOff(view, process) {
  const now = rightAfter(view);
  return partitions(split(view.words ?? "")).some((each) => includes(each, process, now));
}

/**
 * Returns the command line after the action `cut` or `reconnect` at the present moment. Returns
 * null for other actions.
 */
export function withPartition(view, { cut, reconnect }) {
  if (cut === undefined && reconnect === undefined) return null;
  const words = split(view.words);
  const now = rightAfter(view);
  if (cut !== undefined) {
    const allowed = words.includes("--beyond-assumptions") ? [] : ["--beyond-assumptions"];
    return join([...words, OPTION, `${cut}@${now}..`, ...allowed]);
  }
  const open = partitions(words).find((each) => includes(each, reconnect, now));
  const end = open.from < now ? [OPTION, `${open.list}@${open.from}..${now}`] : [];
  words.splice(open.at, open.length, ...end);
  return join(words);
}
