// Level of detail: which nodes matter in a view, and which labels fit.

/** Points this close to the boundary, in pixels, have no label and no edge of their own. */
const NEAR_RIM = 2;
const LABEL_HEIGHT = 17;
const LABEL_GAP = 7;
/** The same for a node with a ring around it. */
const RING_GAP = 12;
/** Pixels of the canvas for each label. */
const ROOM = 14000;
/** Width and height of a tile, in pixels, and the labels in each: they are spread over the canvas. */
const TILE = [170, 90];
const TILE_LABELS = 3;
/** A label that is shown keeps its place against one that is this much more important. */
const KEEP = 1.4;

/** Chooses nodes by their importance and by the size of their surroundings on the screen. */
class Detail {
  constructor(count) {
    this.scores = new Float32Array(count);
    this.bits = new Uint32Array(this.scores.buffer);
    this.histogram = new Uint32Array(1 << 14);
    this.weights = Float32Array.from({ length: count }, (_, i) => 1 / Math.sqrt(i + 1));
    this.shown = new Set();
  }

  /**
   * At most `limit` nodes of the highest scores, the highest first. A score is the node's weight times
   * 1 − |z|², to which lengths near the point z are scaled; 0 outside of the canvas.
   */
  best(camera, positions, limit) {
    this.score(camera, positions);
    const cut = this.cut(limit);
    const chosen = [];
    for (let i = 0; i < this.bits.length && chosen.length < limit; i += 1) {
      if (this.bits[i] >>> 18 >= cut) chosen.push(i);
    }
    return chosen.sort((i, j) => this.scores[j] - this.scores[i]);
  }

  score(camera, positions) {
    const least = (2 * NEAR_RIM) / camera.scale;
    const [left, top] = camera.toDisk([0, 0]);
    const [right, bottom] = camera.toDisk([camera.width, camera.height]);
    for (let i = 0; i < this.scores.length; i += 1) {
      const x = positions[2 * i];
      const y = positions[2 * i + 1];
      const room = 1 - x * x - y * y;
      const inside = room > least && x > left && x < right && y < top && y > bottom;
      this.scores[i] = inside ? this.weights[i] * room : 0;
    }
  }

  /**
   * The bound for the `limit` highest scores. The bits of positive floats are in the order of their values, so
   * a histogram of the upper bits finds it without sorting.
   */
  cut(limit) {
    this.histogram.fill(0);
    for (let i = 0; i < this.bits.length; i += 1) this.histogram[this.bits[i] >>> 18] += 1;
    let found = 0;
    for (let bin = this.histogram.length - 1; bin > 0; bin -= 1) {
      found += this.histogram[bin];
      if (found >= limit) return bin;
    }
    return 1;
  }

  /**
   * Places labels beside their nodes, none over another: [{ node, text, left, top, width, first }, …]. The
   * nodes in `first` have theirs in any case; then come the best. `widthOf` measures the label of a node.
   */
  labels(camera, positions, embedding, best, first, widthOf) {
    const limit = Math.round(Math.min(70, Math.max(10, (camera.width * camera.height) / ROOM)));
    const placed = [];
    const tiles = new Map();
    const place = (node, always) => {
      const tile = tileOf(camera, positions, node);
      const crowded = (tiles.get(tile) ?? 0) >= TILE_LABELS;
      if (crowded && !always) return;
      const label = placeLabel(camera, positions, node, widthOf(node), always ? RING_GAP : LABEL_GAP);
      if (always || placed.every((other) => disjoint(label, other))) {
        placed.push({ ...label, text: embedding.short[node], first: always });
        tiles.set(tile, (tiles.get(tile) ?? 0) + 1);
      }
    };
    for (const node of first) place(node, true);
    for (const node of this.steady(best)) {
      if (placed.length >= limit + first.length) break;
      if (!first.includes(node)) place(node, false);
    }
    this.shown = new Set(placed.map((label) => label.node));
    return placed;
  }

  /** Nodes by score, those that have a label first among near equals, so that labels do not flicker. */
  steady(nodes) {
    const value = (node) => this.scores[node] * (this.shown.has(node) ? KEEP : 1);
    return [...nodes].sort((i, j) => value(j) - value(i));
  }
}

/** The number of the tile that a node is in. */
function tileOf(camera, positions, node) {
  const [x, y] = camera.toPixel([positions[2 * node], positions[2 * node + 1]]);
  return Math.floor(x / TILE[0]) + 1000 * Math.floor(y / TILE[1]);
}

/** The label's place: to the right of its node, or to the left if it would leave the canvas. */
function placeLabel(camera, positions, node, width, gap) {
  const [x, y] = camera.toPixel([positions[2 * node], positions[2 * node + 1]]);
  const right = x + gap;
  const left = right + width > camera.width ? x - gap - width : right;
  return { node, left, top: y - LABEL_HEIGHT / 2, width };
}

function disjoint(a, b) {
  return a.left > b.left + b.width || b.left > a.left + a.width || Math.abs(a.top - b.top) > LABEL_HEIGHT;
}

/** The node nearest to a pixel, or −1 if it is not `within` so many pixels. */
function nodeUnder(camera, positions, pixel, within) {
  const [x, y] = camera.toDisk(pixel);
  let nearest = -1;
  let least = (within / camera.scale) ** 2;
  for (let i = 0; i < positions.length / 2; i += 1) {
    const square = (positions[2 * i] - x) ** 2 + (positions[2 * i + 1] - y) ** 2;
    if (square < least) {
      least = square;
      nearest = i;
    }
  }
  return nearest;
}
