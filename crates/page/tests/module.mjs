// Sends requests to the WebAssembly module: node module.mjs MODULE < REQUESTS > RESPONSES.
// Each line of the input is a request, and each line of the output the response to it. The last
// line of the standard error has the number of slices, and the milliseconds of each request.

import { readFileSync } from "node:fs";

const [file, stopAfter] = process.argv.slice(2);
let instance;
let slices = 0;
const read = (address, length) =>
  new TextDecoder().decode(new Uint8Array(instance.exports.memory.buffer, address, length));

const host = {
  now: () => performance.now(),
  progress(address, length) {
    const { states, depth } = JSON.parse(read(address, length));
    if (!Number.isInteger(states) || !Number.isInteger(depth)) throw new Error("not a report");
    slices += 1;
    return stopAfter !== undefined && slices > Number(stopAfter) ? 1 : 0;
  },
  fail(address, length) {
    console.error(read(address, length));
  },
};

function call(request) {
  const { memory, buffer, call: handle, response } = instance.exports;
  const bytes = new TextEncoder().encode(request);
  const at = buffer(bytes.length);
  new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
  const length = handle(bytes.length);
  return read(response(), length);
}

const module = new WebAssembly.Module(readFileSync(file));
const foreign = WebAssembly.Module.imports(module).filter(({ module, name }) =>
  module !== "host" || !(name in host));
if (foreign.length > 0) throw new Error(`unknown imports: ${JSON.stringify(foreign)}`);
instance = new WebAssembly.Instance(module, { host });
const milliseconds = [];
for (const line of readFileSync(0, "utf8").split("\n")) {
  if (line === "") continue;
  const started = performance.now();
  console.log(call(line));
  milliseconds.push(Math.round(performance.now() - started));
}
const { byteLength } = instance.exports.memory.buffer;
console.error(JSON.stringify({ slices, milliseconds, memory: byteLength }));
