// Warm median latency of ONNX Runtime on one model, as JSON: node bench_ort.mjs MODEL THREADS [SECONDS]
// All graph optimisations, no spinning between runs (it would slow down whoever is measured next).
import ort from 'onnxruntime-node';

const [, , model, threads, seconds = '2'] = process.argv;
const session = await ort.InferenceSession.create(model, {
  graphOptimizationLevel: 'all',
  intraOpNumThreads: Number(threads),
  interOpNumThreads: 1,
  extra: {session: {intra_op: {allow_spinning: '0'}}},
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
const times = [];
for (const end = performance.now() + 1e3 * Number(seconds); performance.now() < end;) {
  const start = performance.now();
  await session.run(feeds);
  times.push(performance.now() - start);
}
times.sort((a, b) => a - b);
console.log(JSON.stringify({median_ms: times[times.length >> 1], version: ort.env.versions.node}));
