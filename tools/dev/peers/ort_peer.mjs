// ONNX Runtime's time of the products or convolutions of a graph, from its own profile.
//   node ort_peer.mjs THREADS     then on standard input a line each: MODEL.onnx SECONDS
// Answers with the seconds of all those ops of the graph together, each the least over the runs.
import fs from 'node:fs';
import readline from 'node:readline';
import os from 'node:os';
import path from 'node:path';
import ort from 'onnxruntime-node';

const threads = Number(process.argv[2]);
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ort-'));

async function time(model, seconds) {
  const session = await ort.InferenceSession.create(model, {
    graphOptimizationLevel: 'all',
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    enableProfiling: true,
    profileFilePrefix: path.join(folder, 'profile'),
    extra: {session: {intra_op: {allow_spinning: '0'}}},
  });
  const feeds = {};
  for (const input of session.inputMetadata) {
    const length = input.shape.reduce((a, b) => a * b, 1);
    feeds[input.name] = new ort.Tensor(
        'float32', Float32Array.from({length}, () => Math.random() * 2 - 1), input.shape);
  }
  const begin = performance.now();
  for (let run = 0; run < 5 || performance.now() - begin < 1e3 * seconds; ++run)
    await session.run(feeds);
  await session.endProfiling();
  await session.release();
  const least = new Map();
  for (const file of fs.readdirSync(folder)) {
    const name = path.join(folder, file);
    for (const event of JSON.parse(fs.readFileSync(name, 'utf8')))
      if (event.cat === 'Node' && event.name.endsWith('_kernel_time') &&
          /Conv|Gemm|MatMul/.test(event.args.op_name))
        least.set(event.name, Math.min(event.dur, least.get(event.name) ?? Infinity));
    fs.unlinkSync(name);
  }
  return [...least.values()].reduce((a, b) => a + b, 0) * 1e-6;
}

console.log('ONNX Runtime ' + ort.env.versions.node);
for await (const line of readline.createInterface({input: process.stdin})) {
  const [model, seconds] = line.split(' ');
  console.log(await time(model, Number(seconds)));
}
fs.rmdirSync(folder);
