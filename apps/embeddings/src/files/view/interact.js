// Pointers, wheel and keyboard.

/** Movement that makes a press a drag, in pixels. */
const SLOP = 4;
/** How near a pointer must be to a node, in pixels: mouse or pen, and finger. */
const POINTED = 10;
const TOUCHED = 22;
/** Movement by an arrow key, as a distance in the disk. */
const STEP = 0.25;
const ZOOM_STEP = 1.3;

class Interaction {
  constructor(page, canvas) {
    this.page = page;
    this.canvas = canvas;
    /** Pixels of the pressed pointers, by their id. */
    this.pressed = new Map();
    this.gesture = null;
    for (const [name, listener] of Object.entries({
      pointerdown: (event) => this.press(event),
      pointermove: (event) => this.move(event),
      pointerup: (event) => this.release(event, true),
      pointercancel: (event) => this.release(event, false),
      pointerleave: () => page.hover(-1),
    })) canvas.addEventListener(name, listener);
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    document.addEventListener("keydown", (event) => this.key(event));
    element("closer").addEventListener("click", () => page.zoomBy(ZOOM_STEP));
    element("farther").addEventListener("click", () => page.zoomBy(1 / ZOOM_STEP));
    element("home").addEventListener("click", () => page.goHome());
  }

  pixel(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  press(event) {
    if (event.button !== 0) return;
    this.canvas.focus({ preventScroll: true });
    capture(this.canvas, event.pointerId);
    this.pressed.set(event.pointerId, this.pixel(event));
    this.page.stopFlight();
    this.begin(false);
  }

  /** Begins a gesture with the pointers that are pressed now: a drag by one, a pinch by two. */
  begin(moved) {
    const { camera } = this.page;
    const pixels = [...this.pressed.values()];
    this.gesture = pixels.length === 0 ? null : {
      start: middleOf(pixels),
      point: camera.toDiskInside(middleOf(pixels)),
      view: camera.view,
      spread: spreadOf(pixels),
      moved: moved || pixels.length > 1,
    };
  }

  move(event) {
    const pixel = this.pixel(event);
    if (!this.pressed.has(event.pointerId)) {
      if (this.pressed.size === 0) this.page.hoverAt(pixel, reachOf(event));
      return;
    }
    this.pressed.set(event.pointerId, pixel);
    const pixels = [...this.pressed.values()];
    const middle = middleOf(pixels);
    const { gesture } = this;
    gesture.moved ||= Math.hypot(middle[0] - gesture.start[0], middle[1] - gesture.start[1]) > SLOP;
    if (!gesture.moved) return;
    this.canvas.classList.add("dragged");
    this.page.hover(-1);
    if (pixels.length > 1) this.pinch(pixels, middle);
    // Always from the gesture's start: to go back is to undo.
    this.page.drag(gesture.view, gesture.point, middle);
  }

  pinch(pixels, middle) {
    const spread = spreadOf(pixels);
    this.page.zoomBy(spread / this.gesture.spread, middle);
    this.gesture.spread = spread;
    // The zoom may have moved the disk, so that the pixel shows another point.
    this.gesture.point = apply(
      this.gesture.view,
      apply(inverse(this.page.camera.view), this.page.camera.toDiskInside(middle)),
    );
  }

  release(event, click) {
    if (!this.pressed.delete(event.pointerId)) return;
    const { moved } = this.gesture;
    this.canvas.classList.remove("dragged");
    if (click && !moved) this.page.selectAt(this.pixel(event), reachOf(event));
    this.begin(moved);
  }

  wheel(event) {
    event.preventDefault();
    // Lines and pages, as some mice report, in pixels.
    const delta = event.deltaY * [1, 16, 400][event.deltaMode];
    this.page.zoomBy(Math.exp(-0.0015 * delta), this.pixel(event));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest?.("input, select, textarea")) return;
    const { page } = this;
    const actions = {
      ArrowLeft: () => page.step([STEP, 0]),
      ArrowRight: () => page.step([-STEP, 0]),
      ArrowUp: () => page.step([0, -STEP]),
      ArrowDown: () => page.step([0, STEP]),
      "+": () => page.zoomBy(ZOOM_STEP),
      "=": () => page.zoomBy(ZOOM_STEP),
      "-": () => page.zoomBy(1 / ZOOM_STEP),
      "/": () => element("query").select(),
      Escape: () => page.clear(),
      Home: () => page.goHome(),
    };
    // Enter on a button presses it.
    if (event.target === this.canvas) actions.Enter = () => page.selectCentre();
    if (!Object.hasOwn(actions, event.key)) return;
    event.preventDefault();
    actions[event.key]();
  }
}

/** Keeps a pointer's events when it leaves the canvas; a pointer that has ended cannot be kept. */
function capture(canvas, id) {
  try {
    canvas.setPointerCapture(id);
  } catch (error) {
    if (error.name !== "NotFoundError") throw error;
  }
}

function reachOf(event) {
  return event.pointerType === "touch" ? TOUCHED : POINTED;
}

function middleOf(pixels) {
  const sum = pixels.reduce(([a, b], [x, y]) => [a + x, b + y], [0, 0]);
  return sum.map((x) => x / pixels.length);
}

/** The distance between the first two pointers, in pixels; 1 for a single pointer. */
function spreadOf([first, second]) {
  return second ? Math.max(1, Math.hypot(first[0] - second[0], first[1] - second[1])) : 1;
}
