//! Pictures of scenes. The published ones are rendered by Blender; these have its camera, and plain light and
//! materials, so that what questions ask about can be seen: place, size, colour, shape, and metal, which
//! mirrors its surroundings.

use std::array;

use cotangent_apps_pictures::Raster;

use super::attribute::{Attribute, AttributeValue};
use super::placement::CAMERA;
use super::scene::{Object, Relation, Scene};

/// A point or a direction: x and y on the plane, and the height above it.
type Vector = [f32; 3];

/// Height of the camera of the published generator.
const CAMERA_HEIGHT: f32 = 5.343_65;
/// Half the width of what the camera sees, and half its height, at distance 1: a lens of 35 mm before a
/// sensor of 32 mm, and pictures of 480 x 320 pixels.
const VIEW: [f32; 2] = [16.0 / 35.0, 16.0 / 35.0 * 320.0 / 480.0];
/// Rays along each side of a pixel.
const RAYS: usize = 2;
/// Where the light is.
const LIGHT: Vector = [3.0, -8.0, 9.0];
/// What a surface shows without light.
const AMBIENT: f32 = 0.4;
/// The brightness of the plane, and of what is above the horizon.
const PLANE: f32 = 0.7;
const SKY: f32 = 0.8;
/// The distance from a surface at which a ray from it begins.
const GAP: f32 = 1e-3;

/// A picture of a scene as a square of this side: the published pictures squeezed.
pub(super) fn draw(scene: &Scene, side: usize) -> Raster {
    let camera = Camera::new(scene);
    let solids: Vec<Solid> = scene.objects.iter().map(Solid::new).collect();
    let rays = (side * RAYS) as f32;
    let mut pixels = Vec::with_capacity(3 * side * side);
    for (row, column) in (0..side).flat_map(|row| (0..side).map(move |column| (row, column))) {
        let mut sum = [0.0; 3];
        for (i, j) in (0..RAYS).flat_map(|i| (0..RAYS).map(move |j| (i, j))) {
            let place = |pixel: usize, ray: usize| ((pixel * RAYS + ray) as f32 + 0.5) / rays * 2.0 - 1.0;
            let colour = trace(&solids, &camera.ray(place(column, j), place(row, i)), true);
            sum = array::from_fn(|channel| sum[channel] + colour[channel]);
        }
        let byte = |x: f32| (255.0 * x / (RAYS * RAYS) as f32).round().clamp(0.0, 255.0) as u8;
        pixels.extend(sum.map(byte));
    }
    Raster::new([side, side, 3], pixels)
}

/// Where the camera stands, and the directions ahead, to the right and down.
struct Camera {
    place: Vector,
    ahead: Vector,
    right: Vector,
    down: Vector,
}

impl Camera {
    /// It stands in front, as the directions of the scene say, and looks at the middle.
    fn new(scene: &Scene) -> Self {
        let name = Relation::Front.name();
        let front = scene.directions.iter().find(|(direction, _)| direction == name);
        let distance = CAMERA[0].hypot(CAMERA[1]);
        let [x, y] = front.map_or(CAMERA, |(_, [x, y, _])| {
            let norm = x.hypot(*y).max(f32::MIN_POSITIVE);
            [x, y].map(|coordinate| coordinate / norm * distance)
        });
        let place = [x, y, CAMERA_HEIGHT];
        let ahead = unit(place.map(|x| -x));
        let right = unit([ahead[1], -ahead[0], 0.0]);
        Camera { place, ahead, right, down: cross(ahead, right) }
    }

    /// The ray to a place in the picture, from −1 to 1 in both directions.
    fn ray(&self, x: f32, y: f32) -> Ray {
        let direction = |i: usize| self.ahead[i] + x * VIEW[0] * self.right[i] + y * VIEW[1] * self.down[i];
        Ray { start: self.place, direction: unit(array::from_fn(direction)) }
    }
}

/// A half-line; the direction has length 1.
struct Ray {
    start: Vector,
    direction: Vector,
}

impl Ray {
    fn point(&self, distance: f32) -> Vector {
        array::from_fn(|i| self.start[i] + distance * self.direction[i])
    }
}

/// An object as rays need it.
struct Solid {
    shape: AttributeValue,
    is_metal: bool,
    colour: [f32; 3],
    centre: Vector,
    radius: f32,
    /// Sine and cosine of the angle by which it is turned.
    turn: (f32, f32),
}

impl Solid {
    fn new(object: &Object) -> Self {
        Solid {
            shape: object.value(Attribute::Shape),
            is_metal: object.value(Attribute::Material) == AttributeValue::Metal,
            colour: object.colour(),
            centre: object.position,
            radius: object.radius(),
            turn: object.rotation.to_radians().sin_cos(),
        }
    }
}

/// Where a ray meets a surface.
#[derive(Clone, Copy)]
struct Hit<'a> {
    distance: f32,
    normal: Vector,
    /// The object; `None` is the plane.
    solid: Option<&'a Solid>,
}

/// What a ray sees. Metal is a mirror if it `reflects`.
fn trace(solids: &[Solid], ray: &Ray, reflects: bool) -> [f32; 3] {
    let Some(hit) = first_hit(solids, ray) else { return [SKY; 3] };
    let point = ray.point(hit.distance);
    let start = array::from_fn(|i| point[i] + GAP * hit.normal[i]);
    let to_light = array::from_fn(|i| LIGHT[i] - start[i]);
    let light = unit(to_light);
    let shadow = Ray { start, direction: light };
    let lit = first_hit(solids, &shadow).is_none_or(|between| between.distance > dot(to_light, light));
    let bright = if lit { dot(hit.normal, light).max(0.0) } else { 0.0 };
    let Some(solid) = hit.solid else {
        return [PLANE * (AMBIENT + (1.0 - AMBIENT) * bright); 3];
    };
    let colour = solid.colour;
    let along = dot(ray.direction, hit.normal);
    let mirrored: Vector = array::from_fn(|i| ray.direction[i] - 2.0 * along * hit.normal[i]);
    let glance = if lit { dot(mirrored, light).max(0.0) } else { 0.0 };
    let diffuse = AMBIENT + (1.0 - AMBIENT) * bright;
    if !solid.is_metal {
        return colour.map(|x| x * diffuse + 0.08 * glance.powi(6));
    }
    let seen = if reflects { trace(solids, &Ray { start, direction: mirrored }, false) } else { [SKY; 3] };
    array::from_fn(|i| colour[i] * (0.45 * diffuse + 0.6 * seen[i]) + 0.7 * glance.powi(40))
}

/// The surface that a ray meets first.
fn first_hit<'a>(solids: &'a [Solid], ray: &Ray) -> Option<Hit<'a>> {
    let plane = -ray.start[2] / ray.direction[2];
    let plane = (plane > GAP).then_some(Hit { distance: plane, normal: [0.0, 0.0, 1.0], solid: None });
    let hits = solids.iter().filter_map(|solid| meet(solid, ray));
    hits.chain(plane).min_by(|a, b| a.distance.total_cmp(&b.distance))
}

/// Where a ray meets an object first.
fn meet<'a>(solid: &'a Solid, ray: &Ray) -> Option<Hit<'a>> {
    let Solid { radius, turn: (sin, cos), .. } = *solid;
    let from: Vector = array::from_fn(|i| ray.start[i] - solid.centre[i]);
    // The ball around the object, which has √3 times the radius around a cube.
    let (middle, reach) = (-dot(from, ray.direction), dot(from, from));
    let beside = reach - middle * middle;
    if beside > 3.0 * radius * radius {
        return None;
    }
    let [inward, outward] =
        [-sin, sin].map(|sin| move |[x, y, z]: Vector| [cos * x - sin * y, sin * x + cos * y, z]);
    let local = Ray { start: inward(from), direction: inward(ray.direction) };
    let (distance, normal) = match solid.shape {
        AttributeValue::Sphere => {
            let half = (radius * radius - beside).max(0.0).sqrt();
            let distance = middle - half;
            let inside = beside <= radius * radius && distance > GAP;
            inside.then(|| (distance, local.point(distance).map(|x| x / radius)))?
        }
        AttributeValue::Cube => meet_cube(&local, radius)?,
        _ => meet_cylinder(&local, radius)?,
    };
    Some(Hit { distance, normal: outward(normal), solid: Some(solid) })
}

/// Where a ray from outside enters a cube around the origin, and the normal there.
fn meet_cube(ray: &Ray, radius: f32) -> Option<(f32, Vector)> {
    let (mut enters, mut leaves, mut side) = (f32::NEG_INFINITY, f32::INFINITY, 0);
    for axis in 0..3 {
        let ends = [-radius, radius].map(|end| (end - ray.start[axis]) / ray.direction[axis]);
        let [first, last] = [ends[0].min(ends[1]), ends[0].max(ends[1])];
        if first > enters {
            (enters, side) = (first, axis);
        }
        leaves = leaves.min(last);
    }
    let mut normal = [0.0; 3];
    normal[side] = -ray.direction[side].signum();
    (enters > GAP && enters <= leaves).then_some((enters, normal))
}

/// Where a ray from outside enters an upright cylinder around the origin, and the normal there. It is as high
/// as it is wide.
fn meet_cylinder(ray: &Ray, radius: f32) -> Option<(f32, Vector)> {
    let ([x, y, z], [dx, dy, dz]) = (ray.start, ray.direction);
    let (square, half) = (dx * dx + dy * dy, x * dx + y * dy);
    let round = half * half - square * (x * x + y * y - radius * radius);
    let wall = (round >= 0.0).then(|| (-half - round.sqrt()) / square);
    let wall = wall.filter(|&distance| distance > GAP && (z + distance * dz).abs() <= radius);
    let wall = wall.map(|distance| {
        let [x, y, _] = ray.point(distance);
        (distance, [x / radius, y / radius, 0.0])
    });
    let end = -dz.signum() * radius;
    let lid = (end - z) / dz;
    let [x, y, _] = ray.point(lid);
    let lid = (lid > GAP && x.hypot(y) <= radius).then_some((lid, [0.0, 0.0, end / radius]));
    [wall, lid].into_iter().flatten().min_by(|a, b| a.0.total_cmp(&b.0))
}

fn dot(a: Vector, b: Vector) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn cross([a, b, c]: Vector, [d, e, f]: Vector) -> Vector {
    [b * f - c * e, c * d - a * f, a * e - b * d]
}

fn unit(vector: Vector) -> Vector {
    let norm = dot(vector, vector).sqrt();
    vector.map(|x| x / norm)
}
