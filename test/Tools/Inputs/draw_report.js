// Usage: node draw_report.js PAGE PART...
//
// Runs the script of a report on a document that has no more than the script asks for, and prints what it draws into
// the elements of these names, an element a line.
const fs = require("fs");
const [, , file, ...parts] = process.argv;
const page = fs.readFileSync(file, "utf8");
const [data] = /(?<=<script type="application\/json" id="data">).*?(?=<\/script>)/s.exec(page);
const [script] = /(?<=<script>).*?(?=<\/script>)/s.exec(page);
const elements = new Map();
const element = () => ({ innerHTML: "", textContent: "", value: "", clientWidth: 900, style: {}, dataset: {},
                         addEventListener() {}, querySelectorAll: () => [], appendChild() {} });
global.document = {
  getElementById(id) {
    if (!elements.has(id)) elements.set(id, element());
    return elements.get(id);
  },
  querySelectorAll: () => [], addEventListener() {},
};
global.addEventListener = () => {};
document.getElementById("data").textContent = data;
new Function(script)();
for (const part of parts)
  console.log(document.getElementById(part).innerHTML.replace(/>\s*</g, ">\n<"));
