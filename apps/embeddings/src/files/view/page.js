// The page: puts the parts together and draws frames when something has changed.

/** Frames whose times are kept. */
const FRAMES = 1000;
/** After this many milliseconds without movement, the still view is drawn, with more edges. */
const STILL = 150;
/** A description is shown when the pointer has been on a node for this many milliseconds. */
const TIP_DELAY = 80;

class Page {
  constructor(embedding) {
    this.embedding = embedding;
    this.camera = new Camera();
    this.selected = -1;
    this.hovered = -1;
    this.flight = null;
    this.frames = [];
    this.pending = false;
    this.moving = false;
    this.timer = 0;
    this.tipTimer = 0;
    const stage = element("stage");
    this.setTheme(matchMedia("(prefers-color-scheme: dark)").matches);
    this.picture = new Picture(stage, embedding);
    this.panel = new Panel(embedding, this);
    this.interaction = new Interaction(this, element("labels"));
    this.showColours();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => {
      this.setTheme(event.matches);
      this.showColours();
    });
    new ResizeObserver(() => this.resize(stage)).observe(stage);
    this.resize(stage);
  }

  resize(stage) {
    this.camera.resize(stage.clientWidth, stage.clientHeight);
    this.picture.resize(this.camera);
    // At once: the canvas is empty after its size was set.
    this.render();
  }

  /** Asks for a frame. */
  changed() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame((time) => {
      this.pending = false;
      this.render(time);
    });
  }

  /** Asks for a frame of a view that moves; the still one follows. */
  moved() {
    this.moving = true;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.moving = false;
      this.changed();
    }, STILL);
    this.changed();
  }

  /** Draws a frame, with a flight at this time, and keeps how many milliseconds the script took. */
  render(time) {
    const start = performance.now();
    if (this.flight !== null && time !== undefined) this.advance(time);
    this.picture.draw(this.camera, this, this.moving);
    this.frames.push(performance.now() - start);
    if (this.frames.length > FRAMES) this.frames.shift();
  }

  /** Moves the view from where it was at the start of a drag: the point then under the pointer is under it. */
  drag(view, point, pixel) {
    this.camera.moveTo(compose(carry(point, this.camera.toDiskInside(pixel)), view));
    this.moved();
  }

  /** Moves the picture by a vector in the disk, less where it is enlarged. */
  step(vector) {
    this.stopFlight();
    const length = Math.hypot(...vector) / this.camera.zoom;
    this.camera.moveTo(compose(translation(length, direction(vector)), this.camera.view));
    this.moved();
  }

  zoomBy(factor, pixel = this.camera.middle) {
    this.stopFlight();
    this.camera.zoomBy(factor, pixel);
    this.moved();
  }

  select(node) {
    this.selected = node;
    this.panel.show(node);
    this.fly(this.embedding.tangent(node), false);
  }

  selectAt(pixel, within) {
    const node = nodeUnder(this.camera, this.picture.positions, pixel, within);
    if (node >= 0) this.select(node);
  }

  selectCentre() {
    const node = nodeUnder(this.camera, this.picture.positions, this.camera.middle, Infinity);
    if (node >= 0) this.select(node);
  }

  clear() {
    this.selected = -1;
    element("query").value = "";
    this.panel.show(-1);
    this.changed();
  }

  /** Marks a node, without its description. */
  hover(node) {
    clearTimeout(this.tipTimer);
    this.panel.tip(-1, [0, 0], this.camera);
    element("labels").classList.toggle("pointing", false);
    if (node === this.hovered) return;
    this.hovered = node;
    this.changed();
  }

  hoverAt(pixel, within) {
    const node = nodeUnder(this.camera, this.picture.positions, pixel, within);
    if (node === this.hovered) return;
    this.hover(node);
    element("labels").classList.toggle("pointing", node >= 0);
    // Not at once: a pointer that passes by needs no neighbours.
    if (node >= 0) this.tipTimer = setTimeout(() => this.panel.tip(node, pixel, this.camera), TIP_DELAY);
  }

  /** Flies to a tangent vector's point, which ends at the centre of the canvas. */
  fly(tangent, home) {
    this.hover(-1);
    const { length, viewAfter } = flight(this.camera.view, tangent, home);
    const quick = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.flight = {
      viewAfter,
      offset: [...this.camera.offset],
      zoom: this.camera.zoom,
      endZoom: home ? 1 : this.camera.zoom,
      start: null,
      duration: quick ? 0 : Math.min(1800, 350 + 180 * length),
    };
    this.moved();
  }

  goHome() {
    this.fly([0, 0], true);
  }

  stopFlight() {
    this.flight = null;
  }

  /** Moves the view along its flight to the time of a frame. */
  advance(time) {
    const { flight: current, camera } = this;
    current.start ??= time;
    const part = current.duration > 0 ? Math.min(1, (time - current.start) / current.duration) : 1;
    // Slow at the ends.
    const done = part * part * (3 - 2 * part);
    camera.view = current.viewAfter(done);
    camera.zoom = current.zoom * (current.endZoom / current.zoom) ** done;
    camera.offset = current.offset.map((x) => x * (1 - done));
    if (part === 1) this.flight = null;
    this.moved();
  }

  setTheme(dark) {
    this.dark = dark;
    document.documentElement.dataset.theme = dark ? "dark" : "light";
  }

  toggleTheme() {
    this.setTheme(!this.dark);
    this.showColours();
  }

  setColouring(name) {
    this.picture.setColouring(name);
    this.showColours();
  }

  showColours() {
    this.picture.setTheme();
    this.panel.legend(this.picture);
    this.panel.themeButton(this.dark);
    this.changed();
  }

  /** What the page shows, for tests. */
  state() {
    const { camera, embedding, picture } = this;
    const name = (node) => (node < 0 ? null : embedding.names[node]);
    return {
      nodes: embedding.count,
      edges: embedding.edgeCount,
      selected: name(this.selected),
      hovered: name(this.hovered),
      view: [...camera.view],
      centre: camera.centre,
      zoom: camera.zoom,
      middle: camera.middle,
      size: [camera.width, camera.height],
      flying: this.flight !== null,
      dark: this.dark,
      colouring: picture.colouring,
      labels: picture.labelCount,
      renderer: picture.points.name,
    };
  }

  /** Where a node is: its point of the disk as it is shown, its pixel on the canvas, its depth. */
  where(name) {
    const node = this.embedding.index.get(name);
    if (node === undefined) return null;
    const { points, depths } = this.embedding;
    const disk = apply(this.camera.view, [points[2 * node], points[2 * node + 1]]);
    return { disk, pixel: this.camera.toPixel(disk), depth: depths[node] };
  }
}

const page = new Page(new Embedding(JSON.parse(element("data").textContent)));

/** For tests and for the console: times of frames, and what the page shows. */
window.cotangent = {
  frames: page.frames,
  state: () => page.state(),
  where: (name) => page.where(name),
  /** Selects a node by its name and flies to it; false if there is none. */
  select: (name) => {
    const node = page.embedding.index.get(name);
    if (node !== undefined) page.select(node);
    return node !== undefined;
  },
};
