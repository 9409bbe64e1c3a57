// One measured run of llama.cpp (node-llama-cpp's prebuilt binaries), or its greedy answer.
// usage: llama_cpp.mjs REQUEST   with REQUEST a JSON object as compare.py writes it
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const request = JSON.parse(process.argv[2]);
const library = `${request.modules}/node_modules/node-llama-cpp/dist/index.js`;
const { getLlama, LlamaLogLevel } = await import(pathToFileURL(library));

const llama = await getLlama({ gpu: false, build: "never", logLevel: LlamaLogLevel.error });
const model = await llama.loadModel({ modelPath: request.gguf });

async function run(prompt, count) {
  const context = await model.createContext({
    contextSize: Math.max(512, prompt.length + count + 8), threads: request.threads, batchSize: 512,
  });
  const start = performance.now();
  let first = 0, last = 0;
  const ids = [];
  for await (const id of context.getSequence().evaluate(prompt, { temperature: 0, yieldEogToken: true })) {
    last = performance.now();
    if (ids.length === 0) first = last;
    ids.push(id);
    if (ids.length === count) break;
  }
  await context.dispose();
  return { ids, ttft_ms: first - start, decode_ms: last - first };
}

// Linux lets a program inherit the maximum of the one that started it in maxRSS, hence /proc there.
function peakMemoryBytes() {
  if (process.platform !== "linux") return process.resourceUsage().maxRSS * 1024;
  return Number(readFileSync("/proc/self/status", "utf8").match(/VmHWM:\s+(\d+)/)[1]) * 1024;
}

if (request.text) {
  const { ids } = await run(model.tokenize(request.text, true), request.tokens);
  console.log(JSON.stringify({ text: model.detokenize(ids) }));
} else {
  await run(request.prompt.slice(0, 16), 4);
  const { ids, ttft_ms, decode_ms } = await run(request.prompt, request.tokens);
  if (ids.length !== request.tokens) throw new Error(`ended after ${ids.length} tokens`);
  console.log(JSON.stringify({
    ttft_ms,
    prefill_tps: request.prompt.length / ttft_ms * 1e3,
    decode_tps: (ids.length - 1) / decode_ms * 1e3,
    peak_memory_bytes: peakMemoryBytes(),
  }));
}
await llama.dispose();
process.exit(0);
