// The layer of points: by WebGL, or pixel by pixel where there is none. Positions are points of the disk.
// They are computed once a frame in double precision, and are also what labels, edges and pointers need.

const VERTEX = `#version 300 es
in vec2 position;
in vec4 colour;
uniform vec2 scale, shift;
uniform float size;
out vec4 fill;
out float radius;
void main() {
  float room = clamp(1.0 - dot(position, position), 0.0, 1.0);
  radius = size * (0.4 + 0.6 * room);
  fill = colour;
  gl_PointSize = 2.0 * radius + 1.0;
  gl_Position = vec4(position * scale + shift, 0.0, 1.0);
}`;

// The edge of the circle is one pixel wide.
const FRAGMENT = `#version 300 es
precision mediump float;
in vec4 fill;
in float radius;
out vec4 pixel;
void main() {
  float from_centre = length(gl_PointCoord - 0.5) * (2.0 * radius + 1.0);
  float alpha = fill.a * clamp(radius + 0.5 - from_centre, 0.0, 1.0);
  pixel = vec4(fill.rgb * alpha, alpha);
}`;

/** A layer of points on a canvas. */
function createPoints(canvas, count) {
  const gl = canvas.getContext("webgl2", { antialias: false, premultipliedAlpha: true });
  return gl ? new WebglPoints(gl, canvas, count) : new PixelPoints(canvas, count);
}

/** The radius of a point at the disk's centre, in pixels. */
function pointRadius(count, zoom) {
  return Math.min(4, Math.max(1.4, 75 / Math.sqrt(count))) * Math.min(3, zoom ** 0.4);
}

class WebglPoints {
  constructor(gl, canvas, count) {
    this.name = "webgl";
    this.gl = gl;
    this.canvas = canvas;
    this.count = count;
    this.colours = null;
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => {
      this.prepare();
      if (this.colours) this.setColours(this.colours);
    });
    this.prepare();
  }

  prepare() {
    const { gl } = this;
    const program = link(gl);
    gl.useProgram(program);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.uniforms = ["scale", "shift", "size"].map((name) => gl.getUniformLocation(program, name));
    this.positions = attribute(gl, program, "position", 2, gl.FLOAT, false);
    gl.bufferData(gl.ARRAY_BUFFER, 8 * this.count, gl.STREAM_DRAW);
    this.colourBuffer = attribute(gl, program, "colour", 4, gl.UNSIGNED_BYTE, true);
    // The most important points are drawn last, over the others.
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    const order = Uint32Array.from({ length: this.count }, (_, i) => this.count - 1 - i);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, order, gl.STATIC_DRAW);
  }

  setColours(colours) {
    const { gl } = this;
    this.colours = colours;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.colourBuffer);
    gl.bufferData(gl.ARRAY_BUFFER, colours, gl.STATIC_DRAW);
  }

  draw(camera, positions) {
    const { gl, canvas, uniforms: [scale, shift, size] } = this;
    const ratio = canvas.width / camera.width;
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.positions);
    gl.bufferSubData(gl.ARRAY_BUFFER, 0, positions);
    gl.uniform2f(scale, (2 * camera.scale) / camera.width, (2 * camera.scale) / camera.height);
    gl.uniform2f(shift, (2 * camera.offset[0]) / camera.width, (-2 * camera.offset[1]) / camera.height);
    gl.uniform1f(size, ratio * pointRadius(this.count, camera.zoom));
    gl.drawElements(gl.POINTS, this.count, gl.UNSIGNED_INT, 0);
  }
}

function link(gl) {
  const program = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  return program;
}

/** A bound buffer for an attribute of the program. */
function attribute(gl, program, name, size, type, normalised) {
  const location = gl.getAttribLocation(program, name);
  const buffer = gl.createBuffer();
  gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
  gl.enableVertexAttribArray(location);
  gl.vertexAttribPointer(location, size, type, normalised, 0, 0);
  return buffer;
}

/** Points written into an image: without WebGL this is many times faster than a path for each. */
class PixelPoints {
  constructor(canvas, count) {
    this.name = "2d";
    this.canvas = canvas;
    this.count = count;
    this.context = canvas.getContext("2d");
    this.image = null;
    this.stamps = [];
  }

  setColours(colours) {
    this.colours = new Uint32Array(colours.buffer);
  }

  draw(camera, positions) {
    const { canvas, context } = this;
    const { width, height } = canvas;
    if (this.image?.width !== width || this.image?.height !== height) {
      this.image = context.createImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
      this.stamps = [];
    }
    this.pixels.fill(0);
    this.stampAll(camera, positions, width, height);
    context.putImageData(this.image, 0, 0);
  }

  /** Integer operations round here: Math.round takes half of the time of a frame. */
  stampAll(camera, positions, width, height) {
    const { pixels, stamps, colours } = this;
    const ratio = width / camera.width;
    const scale = ratio * camera.scale;
    const [left, top] = camera.middle.map((x) => ratio * x);
    const size = ratio * pointRadius(this.count, camera.zoom);
    for (let i = this.count - 1; i >= 0; i -= 1) {
      const x = positions[2 * i];
      const y = positions[2 * i + 1];
      const radius = (size * (1 - 0.6 * (x * x + y * y)) + 0.5) | 0;
      const column = (left + scale * x + 0.5) | 0;
      const row = (top - scale * y + 0.5) | 0;
      if (column < radius || row < radius || column + radius >= width || row + radius >= height) continue;
      const start = row * width + column;
      const stamp = (stamps[radius] ??= disc(radius, width));
      const colour = colours[i];
      for (let k = 0; k < stamp.length; k += 1) pixels[start + stamp[k]] = colour;
    }
  }
}

/** The pixels of a disc, relative to its centre, in an image of some width. */
function disc(radius, width) {
  const pixels = [];
  for (let row = -radius; row <= radius; row += 1) {
    for (let column = -radius; column <= radius; column += 1) {
      if (row * row + column * column <= radius * radius + 0.5) pixels.push(row * width + column);
    }
  }
  return Int32Array.from(pixels);
}
