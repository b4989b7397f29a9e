// Usage: node draw_report.js PAGE [--width=PIXELS] [--pick=MARK | --pick-named=NAME] [--find=WORDS] PART...
//
// Runs the script of a report on a document that has no more than the script asks for, picks or searches, and prints
// what is then in the elements of these names, an element a line. A mark is PLAN KIND NUMBER, as in "0 c 3"; by name an
// op of the first plan is picked.
const fs = require("fs");
const [, , file, ...words] = process.argv;
const flag = name => words.find(word => word.startsWith(`--${name}=`))?.slice(name.length + 3);
const page = fs.readFileSync(file, "utf8");
const [data] = /(?<=<script type="application\/json" id="data">).*?(?=<\/script>)/s.exec(page);
const [script] = /(?<=<script>).*?(?=<\/script>)/s.exec(page);
const elements = new Map();
const element = () => ({ innerHTML: "", textContent: "", value: "", clientWidth: +(flag("width") || 900), style: {}, dataset: {},
                         addEventListener() {}, querySelectorAll: () => [], appendChild() {} });
global.document = {
  getElementById(id) {
    if (!elements.has(id)) elements.set(id, element());
    return elements.get(id);
  },
  querySelectorAll: () => [], addEventListener() {},
};
global.addEventListener = () => {};
global.innerWidth = 1400;
document.getElementById("data").textContent = data;
const { pick, find, plans, markOf } = new Function(script + "\nreturn { pick, find, plans, markOf };")();
if (flag("pick")) pick(flag("pick"));
if (flag("pick-named")) pick(markOf(plans[0], "p", plans[0].functions[0].ops.findIndex(op => op.title === flag("pick-named"))));
if (flag("find")) { find(flag("find")); }
for (const part of words.filter(word => !word.startsWith("--")))
  console.log((({ innerHTML, textContent }) => innerHTML || textContent)(document.getElementById(part)).replace(/>\s*</g, ">\n<"));
