// The picture: lines below the points, labels above them.

/** Largest number of nodes whose edges are drawn while the view moves, and when it is still. */
const EDGES_MOVING = 1500;
const EDGES_STILL = 5000;
const FONT = "13px system-ui, sans-serif";
const FONT_FIRST = "600 14px system-ui, sans-serif";
/** Colours of depth, from the origin to the farthest node. */
const DEPTHS = ["#3563c9", "#3a86b8", "#23907a", "#7a9a3a", "#d98c00", "#d0602a", "#c8432b"];

class Picture {
  constructor(stage, embedding) {
    this.embedding = embedding;
    this.layers = ["lines", "points", "labels"].map((name) => stage.querySelector(`#${name}`));
    const [lines, points, labels] = this.layers;
    this.lines = lines.getContext("2d");
    this.labels = labels.getContext("2d");
    this.points = createPoints(points, embedding.count);
    this.positions = new Float32Array(2 * embedding.count);
    this.detail = new Detail(embedding.count);
    this.widths = new Map();
    this.labelCount = 0;
    this.setColouring("subtree");
  }

  resize(camera) {
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    for (const canvas of this.layers) {
      canvas.width = Math.round(camera.width * ratio);
      canvas.height = Math.round(camera.height * ratio);
    }
    for (const context of [this.lines, this.labels]) context.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  /** Colours nodes by `depth` or by `subtree`. */
  setColouring(name) {
    const { embedding } = this;
    this.colouring = name;
    if (name === "depth") {
      const farthest = embedding.depths.reduce((a, b) => Math.max(a, b), 0) || 1;
      const shade = (depth) => Math.min(DEPTHS.length - 1, Math.floor((depth / farthest) * DEPTHS.length));
      this.classes = Uint8Array.from(embedding.depths, shade);
      this.palette = DEPTHS;
    } else {
      this.classes = embedding.classes;
      this.palette = embedding.colours;
    }
    this.setTheme();
  }

  /** Reads the colours of the page's style, which differ in dark and light. */
  setTheme() {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    this.style = Object.fromEntries(
      ["disk", "rim", "ink", "halo", "accent"].map((name) => [name, colour(name)]),
    );
    const lift = Number(colour("lift"));
    this.shades = this.palette.map((hex) => lighter(hex, lift));
    const bytes = new Uint8Array(4 * this.classes.length);
    this.classes.forEach((c, i) => bytes.set([...this.shades[c], 235], 4 * i));
    this.points.setColours(bytes);
  }

  /** Draws the view. `marked` are the selected node and the one under the pointer, −1 for none. */
  draw(camera, marked, moving) {
    applyAll(camera.view, this.embedding.points, this.positions);
    const best = this.detail.best(camera, this.positions, moving ? EDGES_MOVING : EDGES_STILL);
    this.drawDisk(camera);
    this.drawEdges(camera, best);
    this.drawAncestors(camera, marked.selected);
    this.points.draw(camera, this.positions);
    this.drawLabels(camera, best, marked);
  }

  drawDisk(camera) {
    const { lines, style } = this;
    lines.clearRect(0, 0, camera.width, camera.height);
    const [x, y] = camera.middle;
    lines.beginPath();
    lines.arc(x, y, camera.scale, 0, 2 * Math.PI);
    lines.fillStyle = style.disk;
    lines.fill();
    lines.lineWidth = 1.2;
    lines.strokeStyle = style.rim;
    lines.stroke();
    // A cross at the origin of the embedding.
    const [left, top] = camera.toPixel(apply(camera.view, [0, 0]));
    lines.beginPath();
    lines.moveTo(left - 6, top);
    lines.lineTo(left + 6, top);
    lines.moveTo(left, top - 6);
    lines.lineTo(left, top + 6);
    lines.stroke();
  }

  /** The edges that start at these nodes, a path for each colour. */
  drawEdges(camera, nodes) {
    const { lines } = this;
    lines.lineWidth = 0.9;
    lines.globalAlpha = Math.min(0.6, Math.max(0.15, 400 / nodes.length));
    this.shades.forEach((shade, c) => {
      lines.beginPath();
      for (const node of nodes) {
        if (this.classes[node] === c) this.traceEdges(camera, node);
      }
      lines.strokeStyle = `rgb(${shade.join()})`;
      lines.stroke();
    });
    lines.globalAlpha = 1;
  }

  /** The edges from a node up to the roots of its hierarchy. */
  drawAncestors(camera, node) {
    const { lines } = this;
    const seen = new Set(node < 0 ? [] : [node]);
    lines.beginPath();
    for (const lower of seen) {
      this.traceEdges(camera, lower);
      this.embedding.parents(lower).forEach((upper) => seen.size < 200 && seen.add(upper));
    }
    lines.lineWidth = 2;
    lines.strokeStyle = this.style.accent;
    lines.stroke();
  }

  traceEdges(camera, node) {
    const { positions } = this;
    for (const end of this.embedding.parents(node)) {
      traceGeodesic(this.lines, camera, positions[2 * node], positions[2 * node + 1],
        positions[2 * end], positions[2 * end + 1]);
    }
  }

  drawLabels(camera, best, { selected, hovered }) {
    const { labels, style, embedding, positions, detail } = this;
    labels.clearRect(0, 0, camera.width, camera.height);
    const first = [...new Set([selected, hovered])].filter((node) => node >= 0);
    const width = (node) => this.widthOf(node, first.includes(node));
    const placed = detail.labels(camera, positions, embedding, best, first, width);
    labels.textBaseline = "middle";
    labels.lineJoin = "round";
    labels.lineWidth = 3;
    labels.strokeStyle = style.halo;
    labels.fillStyle = style.ink;
    // The first are drawn last.
    for (const label of placed.reverse()) {
      labels.font = label.first ? FONT_FIRST : FONT;
      labels.strokeText(label.text, label.left, label.top + LABEL_HEIGHT / 2);
      labels.fillText(label.text, label.left, label.top + LABEL_HEIGHT / 2);
    }
    labels.strokeStyle = style.accent;
    labels.lineWidth = 2;
    for (const node of first) {
      const [x, y] = camera.toPixel([positions[2 * node], positions[2 * node + 1]]);
      labels.beginPath();
      labels.arc(x, y, node === selected ? 7 : 5, 0, 2 * Math.PI);
      labels.stroke();
    }
    this.labelCount = placed.length;
  }

  widthOf(node, first) {
    const key = first ? -1 - node : node;
    if (!this.widths.has(key)) {
      this.labels.font = first ? FONT_FIRST : FONT;
      this.widths.set(key, this.labels.measureText(this.embedding.short[node]).width);
    }
    return this.widths.get(key);
  }
}

/** Adds the geodesic from p to q to a path: an arc, or a line where it would look straight. */
function traceGeodesic(context, camera, px, py, qx, qy) {
  const { scale } = camera;
  const [left, top] = camera.middle;
  const chord = Math.hypot(px - qx, py - qy);
  if (chord * scale < 1) return;
  context.moveTo(left + scale * px, top - scale * py);
  const circle = geodesic(px, py, qx, qy);
  // The arc is chord²/8r from its chord, in the middle.
  if (circle === null || (chord * chord * scale) / (8 * circle[2]) < 0.4) {
    context.lineTo(left + scale * qx, top - scale * qy);
    return;
  }
  const [x, y, radius] = circle;
  const start = Math.atan2(y - py, px - x);
  const end = Math.atan2(y - qy, qx - x);
  // The short one of the two arcs.
  const turn = Math.atan2(Math.sin(end - start), Math.cos(end - start));
  context.arc(left + scale * x, top - scale * y, scale * radius, start, start + turn, turn < 0);
}

/** The bytes of a colour `#rrggbb`, mixed with this part of white. */
function lighter(hex, part) {
  const bytes = [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16));
  return bytes.map((byte) => Math.round(byte + (255 - byte) * part));
}
