// What the program wrote into the page, decoded. Nodes are numbered by importance: 0 is the most important.

const LITTLE_ENDIAN = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

/** An array of numbers from base64 of little-endian values. */
function decode(text, Numbers) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const size = Numbers.BYTES_PER_ELEMENT;
  if (!LITTLE_ENDIAN) {
    for (let i = 0; i < bytes.length; i += size) bytes.subarray(i, i + size).reverse();
  }
  return new Numbers(bytes.buffer);
}

/** Longest label in the picture, in characters. The panel shows the whole. */
const LONGEST = 40;

/** The nodes, their points in the disk, and their edges. */
class Embedding {
  constructor(data) {
    this.caption = data.caption;
    this.names = data.names;
    this.count = data.names.length;
    this.labels = data.names.map((name, i) => data.labels[i] ?? name);
    this.short = this.labels.map(shorten);
    this.tangents = decode(data.points, Float32Array);
    this.points = exponential(this.tangents);
    this.depths = decode(data.depths, Float32Array);
    this.classes = decode(data.classes, Uint8Array);
    this.colours = data.colours;
    this.legend = data.legend;
    this.index = new Map(data.names.map((name, i) => [name, i]));
    this.edgeCount = 0;
    this.readEdges(decode(data.edges, Uint32Array));
    this.nearest = neighbourFinder(data.near, this.count);
    this.searched = null;
  }

  /** Of each node u, the ends of the edges (u, v) are above[starts[u]..starts[u + 1]]. */
  readEdges(edges) {
    this.edgeCount = edges.length / 2;
    this.starts = new Uint32Array(this.count + 1);
    for (let e = 0; e < edges.length; e += 2) this.starts[edges[e] + 1] += 1;
    for (let i = 0; i < this.count; i += 1) this.starts[i + 1] += this.starts[i];
    const next = this.starts.slice();
    this.above = new Uint32Array(this.edgeCount);
    for (let e = 0; e < edges.length; e += 2) {
      this.above[next[edges[e]]] = edges[e + 1];
      next[edges[e]] += 1;
    }
  }

  /** The logarithm of a node's point at the origin. */
  tangent(node) {
    return [this.tangents[2 * node], this.tangents[2 * node + 1]];
  }

  /** The nodes directly above a node. */
  parents(node) {
    return this.above.subarray(this.starts[node], this.starts[node + 1]);
  }

  /**
   * Nodes whose name or label contains a text, in capitals or not: first the whole, then those that begin
   * with it, then those in which a word does; of equals, the more important.
   */
  search(text, limit) {
    const wanted = text.trim().toLowerCase();
    if (wanted === "") return [];
    this.searched ??= this.names.map((name, i) => `${this.labels[i]}\n${name}`.toLowerCase());
    const groups = [[], [], [], []];
    this.searched.forEach((names, i) => {
      const found = names.indexOf(wanted);
      if (found < 0) return;
      const group = matchQuality(names, wanted, found);
      if (groups[group].length < limit) groups[group].push(i);
    });
    return groups.flat().slice(0, limit);
  }
}

/** By characters, of which some are two units of the text. */
function shorten(text) {
  return text.length > LONGEST ? `${[...text].slice(0, LONGEST - 1).join("")}…` : text;
}

/** 0 for a whole name, 1 for its beginning, 2 for the beginning of a word, 3 elsewhere. */
function matchQuality(names, wanted, found) {
  const whole = `\n${names}\n`;
  if (whole.includes(`\n${wanted}\n`)) return 0;
  if (whole.includes(`\n${wanted}`)) return 1;
  return /[\s_.-]/.test(names[found - 1]) ? 2 : 3;
}

/** The points of the disk whose logarithms at the origin are given: exp(v) = tanh(|v|/2) v/|v|. */
function exponential(tangents) {
  const points = new Float64Array(tangents.length);
  for (let i = 0; i < tangents.length; i += 2) {
    const radius = Math.hypot(tangents[i], tangents[i + 1]);
    const scale = radius > 0 ? Math.tanh(radius / 2) / radius : 0;
    points[i] = tangents[i] * scale;
    points[i + 1] = tangents[i + 1] * scale;
  }
  return points;
}

/** A function from a node to its nearest nodes, [{ node, distance }, …], by distances of the embedding. */
function neighbourFinder(near, count) {
  if (near.form === "computed") return computedNeighbours(near, count);
  const nodes = decode(near.nodes, Uint32Array);
  const distances = decode(near.distances, Float32Array);
  return (node) => Array.from({ length: near.count }, (_, k) => {
    const entry = node * near.count + k;
    return { node: nodes[entry], distance: distances[entry] };
  });
}

/**
 * Neighbours from logarithms at the origin, of length r and direction u. In hyperbolic space the distance d
 * of two points satisfies sinh²(d/2) = sinh²((r − r')/2) + sinh r sinh r' |u − u'|²/4. This is the law of
 * cosines, without the cancellation that cosh d has for near points.
 */
function computedNeighbours({ count: wanted, dim, tangents: text, unit, curved }, count) {
  const tangents = decode(text, Float32Array);
  const radii = new Float64Array(count);
  const sinh = new Float64Array(count);
  for (let i = 0; i < count; i += 1) {
    const row = tangents.subarray(i * dim, (i + 1) * dim);
    radii[i] = Math.hypot(...row);
    sinh[i] = Math.sinh(radii[i]);
    // Directions take the place of the vectors.
    if (curved && radii[i] > 0) for (let k = 0; k < dim; k += 1) row[k] /= radii[i];
  }
  const squares = (i, j) => {
    let sum = 0;
    for (let k = 0; k < dim; k += 1) sum += (tangents[i * dim + k] - tangents[j * dim + k]) ** 2;
    return sum;
  };
  // Grows with the distance, and is cheaper.
  const measure = curved
    ? (i, j) => Math.sinh((radii[i] - radii[j]) / 2) ** 2 + (sinh[i] * sinh[j] * squares(i, j)) / 4
    : squares;
  const distanceFrom = (x) => (curved ? 2 * unit * Math.asinh(Math.sqrt(x)) : Math.sqrt(x));
  return (node) => {
    const nearest = [];
    for (let i = 0; i < count; i += 1) {
      if (i !== node) insert(nearest, i, measure(node, i), wanted);
    }
    return nearest.map(({ node: other, value }) => ({ node: other, distance: distanceFrom(value) }));
  };
}

/** Keeps the `limit` smallest values, in ascending order. */
function insert(list, node, value, limit) {
  if (list.length === limit && value >= list[limit - 1].value) return;
  let place = list.length;
  while (place > 0 && list[place - 1].value > value) place -= 1;
  list.splice(place, 0, { node, value });
  if (list.length > limit) list.pop();
}
