// Runs ONNX Runtime on one model three times without its arena (with it where ORT_ARENA is 1), so that each block that it
// plans is one allocation, and marks in the trace (trace_memory.c) where the third run begins and ends: node ort_memory.mjs MODEL
// Prints the bytes of each output, as JSON: those are the caller's and in no plan.
import fs from 'node:fs';
import ort from 'onnxruntime-node';

const model = process.argv[2];
const mark = text => fs.appendFileSync(process.env.TRACE_FILE, text + '\n');
const session = await ort.InferenceSession.create(model, {
  graphOptimizationLevel: 'all',
  intraOpNumThreads: 1,
  interOpNumThreads: 1,
  enableCpuMemArena: process.env.ORT_ARENA === '1',
  enableMemPattern: true,
});
const feeds = {};
for (const input of session.inputMetadata) {
  const dims = input.shape.map(d => (typeof d === 'number' ? d : 1));
  const length = dims.reduce((a, b) => a * b, 1);
  feeds[input.name] = input.type === 'int64'
      ? new ort.Tensor('int64', BigInt64Array.from({length}, (_, i) => BigInt(i % 2)), dims)
      : new ort.Tensor('float32', Float32Array.from({length}, () => Math.random() * 2 - 1), dims);
}
await session.run(feeds);
await session.run(feeds);
mark('begin');
const results = await session.run(feeds);
mark('end');
console.log(JSON.stringify({
  outputs: Object.values(results).map(y => y.data.byteLength),
  version: ort.env.versions.node,
}));
