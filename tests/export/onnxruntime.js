// Runs models: node onnxruntime.js MODULES JOBS.json > RESULTS.json
// MODULES is the folder node_modules with onnxruntime-node. A job is {model, inputs: {name: {type,
// dims, file}}}, where a file holds the numbers; its result is {name: [numbers]} of all outputs.
const fs = require("fs");
const ort = require(process.argv[2] + "/onnxruntime-node");

async function run(job) {
  const session = await ort.InferenceSession.create(job.model, { intraOpNumThreads: 1 });
  const feeds = {};
  for (const [name, input] of Object.entries(job.inputs)) {
    const bytes = fs.readFileSync(input.file);
    const copy = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    const numbers = input.type === "int64" ? new BigInt64Array(copy) : new Float32Array(copy);
    feeds[name] = new ort.Tensor(input.type, numbers, input.dims);
  }
  const results = await session.run(feeds);
  const out = {};
  for (const [name, tensor] of Object.entries(results)) out[name] = Array.from(tensor.data);
  return out;
}

(async () => {
  const jobs = JSON.parse(fs.readFileSync(process.argv[3]));
  const results = [];
  for (const job of jobs) results.push(await run(job));
  process.stdout.write(JSON.stringify(results));
})().catch((error) => {
  console.error(String(error));
  process.exit(1);
});
