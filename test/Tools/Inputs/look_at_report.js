// Runs in a report, behind its own script: what a browser made of it, as the page's title.
{
const outside = [...document.querySelectorAll(".scroll > div > svg text")].filter(text => {
  const label = text.getBBox(), boxes = [...text.ownerSVGElement.querySelectorAll("rect[data-pick]")].map(rect => rect.getBBox());
  const box = boxes.find(b => label.y + label.height / 2 > b.y && label.y + label.height / 2 < b.y + b.height &&
                              label.x + label.width / 2 > b.x && label.x + label.width / 2 < b.x + b.width);
  return box && (label.x < box.x - 1 || label.x + label.width > box.x + box.width + 1);
});
const wide = [...document.querySelectorAll("body *")].filter(e => !e.closest("svg,#found") && e.getBoundingClientRect().right > innerWidth + 1);
// The arrows go through the commands, Enter on a row of a table picks it, Escape closes.
const press = (key, target) => target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
const title = () => document.querySelector("#details [data-close]") && document.querySelector("#details").textContent;
const graph = document.querySelector(".scroll");
press("ArrowDown", graph);
const first = title();
press("ArrowDown", graph); press("ArrowDown", graph); press("ArrowUp", graph);
const second = title();
press("Escape", graph);
const closed = !title();
const row = document.querySelector("tr[data-pick]");
press("Enter", row);
press("/", document.body);
const keys = first && second && first !== second && closed && title() && document.activeElement.id === "find";
document.title = `sideways ${wide.length + (document.documentElement.scrollWidth > innerWidth ? 1 : 0)}, outside of boxes ${outside.length}, keys ${keys ? "ok" : JSON.stringify([first, second, closed, title(), document.activeElement.id])}`;
}
