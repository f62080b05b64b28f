// Isometries of the Poincaré disk of curvature −1.
//
// An isometry that keeps orientation is z ↦ (αz + β) / (β̄z + ᾱ) with |α|² − |β|² = 1, held as the array
// [Re α, Im α, Re β, Im β]. A point of the disk is [x, y]. Everything is computed in the disk, in double
// precision: the error of a difference of points at distance r from the origin grows as e^r there, but as
// e^2r on the hyperboloid.

const IDENTITY = [1, 0, 0, 0];

/** The isometry `f` after `g`. */
function compose([a, b, c, d], [p, q, r, s]) {
  return normalised(
    a * p - b * q + c * r + d * s,
    a * q + b * p + d * r - c * s,
    a * r - b * s + c * p + d * q,
    a * s + b * r + d * p - c * q,
  );
}

/** Sets |α| to √(1 + |β|²): rounding would add up over a thousand small moves. */
function normalised(a, b, c, d) {
  const scale = Math.sqrt(1 + c * c + d * d) / Math.hypot(a, b);
  return [a * scale, b * scale, c, d];
}

function inverse([a, b, c, d]) {
  return [a, -b, -c, -d];
}

function apply([a, b, c, d], [x, y]) {
  const re = a * x - b * y + c;
  const im = a * y + b * x + d;
  const u = c * x + d * y + a;
  const v = c * y - d * x - b;
  const scale = 1 / (u * u + v * v);
  return [(re * u + im * v) * scale, (im * u - re * v) * scale];
}

/** `apply` to the points xy = [x₁, y₁, x₂, …], into an array of the same length. Nothing is allocated. */
function applyAll([a, b, c, d], xy, out) {
  for (let i = 0; i < xy.length; i += 2) {
    const x = xy[i];
    const y = xy[i + 1];
    const re = a * x - b * y + c;
    const im = a * y + b * x + d;
    const u = c * x + d * y + a;
    const v = c * y - d * x - b;
    const scale = 1 / (u * u + v * v);
    out[i] = (re * u + im * v) * scale;
    out[i + 1] = (im * u - re * v) * scale;
  }
}

/** Moves the origin by a distance in the direction [ux, uy], a unit vector. */
function translation(distance, [ux, uy]) {
  const sinh = Math.sinh(distance / 2);
  return [Math.cosh(distance / 2), 0, sinh * ux, sinh * uy];
}

/** Moves the origin to a point along the diameter through it. */
function translationTo([x, y]) {
  const alpha = 1 / Math.sqrt(1 - x * x - y * y);
  return [alpha, 0, alpha * x, alpha * y];
}

/** The rotation about the origin by an angle. */
function rotation(angle) {
  return [Math.cos(angle / 2), Math.sin(angle / 2), 0, 0];
}

/** The translation along the geodesic through p and q that takes p to q. */
function carry(p, q) {
  const fromOrigin = translationTo(p);
  const toOrigin = inverse(fromOrigin);
  return compose(fromOrigin, compose(translationTo(apply(toOrigin, q)), toOrigin));
}

/** How far an isometry moves the origin. */
function reach([, , c, d]) {
  return 2 * Math.asinh(Math.hypot(c, d));
}

/** The distance between two points of the disk. */
function distance([x, y], [u, v]) {
  const scale = Math.sqrt((1 - x * x - y * y) * (1 - u * u - v * v));
  return 2 * Math.asinh(Math.hypot(x - u, y - v) / scale);
}

/** The direction of a vector; [1, 0] if it is 0. */
function direction([x, y]) {
  const length = Math.hypot(x, y);
  return length > 0 ? [x / length, y / length] : [1, 0];
}

/**
 * A flight from the isometry `start` to one that takes the point exp(v) to the origin, where v is a tangent
 * vector at the origin. It goes along the geodesic from the centre of the view to the point, and turns by
 * `spin` on the way. With `upright` the flight ends without a rotation.
 *
 * Returns the length, and a function from the part of it that is done, 0 to 1, to the isometry.
 */
function flight(start, [x, y], upright) {
  const radius = Math.hypot(x, y);
  const unit = direction([x, y]);
  // The point's place in the view is this isometry's image of the origin. Its length and direction are exact
  // where the point itself would round to the boundary.
  const [a, b, c, d] = compose(start, translation(radius, unit));
  const length = 2 * Math.asinh(Math.hypot(c, d));
  const course = direction([c * a - d * b, c * b + d * a]);
  const turned = 2 * Math.atan2(b, a);
  const end = compose(rotation(turned), translation(-radius, unit));
  const spin = upright ? -Math.atan2(Math.sin(turned), Math.cos(turned)) : 0;
  const viewAfter = (part) => {
    // From the nearer end: the other one is exponentially many digits away.
    const placed = part < 0.5
      ? compose(translation(-part * length, course), start)
      : compose(translation((1 - part) * length, course), end);
    return compose(rotation(spin * part), placed);
  };
  return { length, viewAfter };
}

/**
 * The circle of the geodesic through two points, [x, y, radius], or null where it is a diameter. It meets the
 * unit circle at right angles: its centre satisfies 2⟨c, p⟩ = 1 + |p|² for each of the two points.
 */
function geodesic(px, py, qx, qy) {
  const cross = px * qy - py * qx;
  if (Math.abs(cross) < 1e-9) return null;
  const a = (1 + px * px + py * py) / 2;
  const b = (1 + qx * qx + qy * qy) / 2;
  const x = (a * qy - b * py) / cross;
  const y = (b * px - a * qx) / cross;
  return [x, y, Math.hypot(px - x, py - y)];
}
