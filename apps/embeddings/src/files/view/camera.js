// The camera: an isometry of the disk, then a zoom and an offset of its picture.

const LARGEST_ZOOM = 60;
/** Margin between the disk and the edge of the canvas, in pixels. */
const MARGIN = 18;
/** Farthest that the view is moved from the origin; beyond, an isometry would lose its digits. */
const FARTHEST = 24;
/** Pointers outside of the disk count as on this circle. */
const RIM = 0.995;

class Camera {
  constructor() {
    this.view = IDENTITY;
    this.zoom = 1;
    this.offset = [0, 0];
    this.resize(300, 300);
  }

  /** Sets the size of the canvas, in pixels of the page. */
  resize(width, height) {
    this.width = width;
    this.height = height;
    this.radius = Math.max(40, Math.min(width, height) / 2 - MARGIN);
    this.keepInside();
  }

  /** Pixels for the length 1 of the disk. */
  get scale() {
    return this.radius * this.zoom;
  }

  /** The pixel of the disk's centre. */
  get middle() {
    return [this.width / 2 + this.offset[0], this.height / 2 + this.offset[1]];
  }

  toPixel([x, y]) {
    const [left, top] = this.middle;
    return [left + this.scale * x, top - this.scale * y];
  }

  toDisk([left, top]) {
    const [x, y] = this.middle;
    return [(left - x) / this.scale, (y - top) / this.scale];
  }

  /** The point of the disk under a pixel, or the nearest one inside of the rim. */
  toDiskInside(pixel) {
    const [x, y] = this.toDisk(pixel);
    const shrink = Math.min(1, RIM / Math.hypot(x, y));
    return [x * shrink, y * shrink];
  }

  /** The point of the embedding's disk that is at the centre of the view. */
  get centre() {
    return apply(inverse(this.view), [0, 0]);
  }

  /** Sets the isometry, unless it is too far from the origin. */
  moveTo(view) {
    if (reach(view) < FARTHEST) this.view = view;
  }

  /** Zooms by a factor; what is under the pixel stays. */
  zoomBy(factor, pixel) {
    const under = this.toDisk(pixel);
    this.zoom = Math.min(LARGEST_ZOOM, Math.max(1, this.zoom * factor));
    const [left, top] = this.toPixel(under);
    this.offset[0] += pixel[0] - left;
    this.offset[1] += pixel[1] - top;
    this.keepInside();
  }

  /** Keeps the disk in sight: its rim does not pass the place where it is without zoom. */
  keepInside() {
    const slack = this.radius * (this.zoom - 1);
    const length = Math.hypot(...this.offset);
    if (length > slack) this.offset = this.offset.map((x) => (x * slack) / length);
  }
}
