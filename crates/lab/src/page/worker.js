// Worker of a page in one file. It calls the WebAssembly module, whose exports and imports are
// described in crates/page/README.md.

let instance;
let reason = "The engine stopped.";

const read = (address, length) =>
  new TextDecoder().decode(new Uint8Array(instance.exports.memory.buffer, address, length));

const host = {
  now: () => performance.now(),
  progress(address, length) {
    postMessage({ progress: JSON.parse(read(address, length)) });
    return 0;
  },
  fail(address, length) {
    reason = read(address, length);
  },
};

function call(request) {
  const { memory, buffer, call: handle, response } = instance.exports;
  const bytes = new TextEncoder().encode(JSON.stringify(request));
  const at = buffer(bytes.length);
  new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
  const length = handle(bytes.length);
  return JSON.parse(read(response(), length));
}

onmessage = ({ data: { module, number, request } }) => {
  try {
    if (module !== undefined) instance = new WebAssembly.Instance(module, { host });
    else postMessage({ number, response: call(request) });
  } catch (problem) {
    const isTrap = problem instanceof WebAssembly.RuntimeError;
    postMessage({ trap: isTrap ? reason : String(problem) });
  }
};
