// What a reader does with the page, as events. `nodes` are the names of two nodes.

const canvas = document.getElementById("labels");
const query = document.getElementById("query");
const [node, other] = nodes;
const fire = (target, Kind, name, options) =>
  target.dispatchEvent(new Kind(name, { bubbles: true, cancelable: true, ...options }));
const pointer = (name, [clientX, clientY], pointerId = 1) =>
  fire(canvas, PointerEvent, name, { clientX, clientY, pointerId, button: 0, pointerType: "mouse" });
const press = async (key, target = canvas) => {
  fire(target, KeyboardEvent, "keydown", { key });
  await pause(50);
};
// The distance in the disk, by another formula than the page's.
const distance = ([x, y], [u, v]) =>
  Math.acosh(1 + (2 * ((x - u) ** 2 + (y - v) ** 2)) / ((1 - x * x - y * y) * (1 - u * u - v * v)));
const between = () => distance(page.where(node).disk, page.where(other).disk);
/** The opacities of a layer's pixels. */
const pixels = (id) => {
  const layer = document.getElementById(id);
  const copy = Object.assign(document.createElement("canvas"), { width: layer.width, height: layer.height });
  const context = copy.getContext("2d");
  context.drawImage(layer, 0, 0);
  return context.getImageData(0, 0, layer.width, layer.height);
};
const opacity = (image, [x, y]) => image.data[4 * (Math.round(y) * image.width + Math.round(x)) + 3];
const ink = (id) => pixels(id).data.filter((value, i) => i % 4 === 3 && value > 0).length;

async function drag(from, to) {
  pointer("pointerdown", from);
  for (let i = 1; i <= 5; i += 1) pointer("pointermove", from.map((x, k) => x + ((to[k] - x) * i) / 5));
  await pause(50);
}

async function look() {
  await pause(300);
  found.start = page.state();
  found.ink = ["lines", "points", "labels"].map(ink);
  const points = pixels("points");
  found.dots = nodes.map((name) => opacity(points, page.where(name).pixel));
  found.frames = page.frames.length;

  // A drag moves the node with the pointer, keeps distances, and is undone by the way back.
  const from = page.where(node).pixel;
  const to = [from[0] + 70, from[1] - 40];
  const view = page.state().view;
  const before = between();
  await drag(from, to);
  const moved = page.where(node).pixel;
  found.drag = { missed: Math.hypot(moved[0] - to[0], moved[1] - to[1]), stretched: between() - before };
  // It is drawn there, too.
  found.drag.dot = opacity(pixels("points"), to);
  pointer("pointermove", from);
  await pause(50);
  pointer("pointerup", from);
  found.drag.undone = Math.max(...page.state().view.map((x, k) => Math.abs(x - view[k])));
  found.drag.selected = page.state().selected;

  // Wheel and pinch zoom; what is under the pointer stays.
  const near = page.where(node).pixel;
  const spot = near.map(Math.round);
  fire(canvas, WheelEvent, "wheel", { deltaY: -600, clientX: spot[0], clientY: spot[1] });
  await pause(50);
  const { zoom } = page.state();
  const error = page.where(node).pixel.map((x, k) => x - (spot[k] + zoom * (near[k] - spot[k])));
  found.wheel = { zoom, missed: Math.hypot(...error) };
  await press("Home");
  await landed();
  pointer("pointerdown", [300, 300], 1);
  pointer("pointerdown", [400, 300], 2);
  pointer("pointermove", [200, 300], 1);
  pointer("pointermove", [500, 300], 2);
  found.pinch = page.state().zoom;
  pointer("pointerup", [200, 300], 1);
  pointer("pointerup", [500, 300], 2);

  // Keys.
  await press("Home");
  await landed();
  found.home = page.state();
  const centre = page.state().centre;
  await press("ArrowRight");
  found.right = page.state().centre.map((x, k) => x - centre[k]);
  await press("ArrowUp");
  found.up = page.state().centre.map((x, k) => x - centre[k]);
  await press("+");
  found.plus = page.state().zoom;
  await press("-");
  found.minus = page.state().zoom;

  // Search, by keyboard.
  await press("/", document.body);
  found.focused = document.activeElement === query;
  query.value = node.slice(0, -1);
  fire(query, InputEvent, "input", {});
  found.suggestions = document.querySelectorAll("#found [role=option]").length;
  query.value = node.toUpperCase();
  fire(query, InputEvent, "input", {});
  await press("Enter", query);
  found.departed = page.state().flying;
  await landed();
  const { selected, middle, size } = page.state();
  found.search = {
    selected: selected === node,
    disk: Math.hypot(...page.where(node).disk),
    missed: Math.hypot(...page.where(node).pixel.map((x, k) => x - middle[k])),
    centred: Math.hypot(...middle.map((x, k) => x - size[k] / 2)),
    stretched: between() - before,
    depth: page.where(node).depth,
    card: document.getElementById("depth").textContent,
    near: Array.from(document.querySelectorAll("#near button"), (button) => button.title),
    distances: Array.from(document.querySelectorAll("#near span + span"), (span) => Number(span.textContent)),
    announced: document.getElementById("status").textContent.startsWith(document.getElementById("name").textContent),
  };
  await press("Escape");
  found.cleared = page.state().selected === null && document.getElementById("card").hidden;

  // The pointer shows what is under it, and a click selects it.
  const target = page.where(other).pixel;
  pointer("pointermove", target);
  await pause(200);
  found.hovered = page.state().hovered === other && !document.getElementById("tip").hidden;
  pointer("pointerdown", target);
  pointer("pointerup", target);
  await landed();
  found.clicked = page.state().selected === other && Math.hypot(...page.where(other).disk) < 1e-6;

  // From one node to the other and back, and names that do not exist.
  page.select(node);
  await landed();
  found.returned = Math.hypot(...page.where(node).disk);
  found.unknown = page.select("no such name");

  // Dark and light, colours, and every control has a label.
  const disk = () => getComputedStyle(document.documentElement).getPropertyValue("--disk");
  found.dark = [page.state().dark, disk()];
  document.getElementById("theme").click();
  found.toggled = [page.state().dark, disk()];
  const colouring = document.getElementById("colouring");
  colouring.value = "depth";
  fire(colouring, Event, "change", {});
  await pause(50);
  found.colouring = page.state().colouring;
  found.unlabelled = Array.from(document.querySelectorAll("button, input, select, canvas[tabindex]"))
    .filter((control) => !control.getAttribute("aria-label") && !control.labels?.length && !control.textContent)
    .map((control) => control.id);
}
