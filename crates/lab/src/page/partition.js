// Partitions: an option of the run, `--partition 1,2@10..50`, that the menu of a process edits.

import { join, split } from "./words.js";

const OPTION = "--partition";
const PARTITION = /^(\d+(?:,\d+)*)@([\d.]+?)\.\.([\d.]*)$/;
/**
 * Delay of a partition after the present time, in units, so that events of the present moment come
 * first.
 */
const AFTER = 0.001;

/**
 * Time of a partition that an action in this view begins or ends. At its end a run may have waited
 * after its last moment, so the time is that of the moment.
 */
const rightAfter = ({ tree, moment }) => Number((tree[moment].time + AFTER).toFixed(6));

/** Returns the partitions in a command line: their positions, processes, beginnings and ends. */
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

/** Returns true if a partition cuts off a process at a time. */
const includes = ({ processes, from, to }, process, time) =>
  processes.includes(process) && from <= time && time < to;

/** Returns true if a process is in a part that is cut off at the time of a view. */
export function isCutOff(view, process) {
  const now = rightAfter(view);
  return partitions(split(view.words ?? "")).some((each) => includes(each, process, now));
}

/**
 * Command line after an action `cut` or `reconnect` at the time of a view; null for other actions.
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
