//! The pictures of the guide: `cargo run --release --example 15_pictures -- DIRECTORY`
//!
//! Models of the hyperbolic plane, cones, hyperplanes, the error of distances by radius. The directory is
//! `runs/pictures` if none is named.

use std::fmt::Write;

use cotangent::prelude::*;

const BLUE: &str = "#3563c9";
const RED: &str = "#c8432b";
const GREEN: &str = "#23907a";
const GREY: &str = "#777";
/// Half the side of a panel in pixels.
const HALF: f64 = 210.0;

/// A picture with a white ground, so that it can be read on a dark page too.
struct Picture(String);

impl Picture {
    fn new(width: f64, height: f64) -> Self {
        Picture(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"22\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
        ))
    }

    fn add(&mut self, element: std::fmt::Arguments<'_>) {
        writeln!(self.0, "{element}").expect("a string can be written");
    }

    fn text(&mut self, [x, y]: [f64; 2], anchor: &str, colour: &str, text: &str) {
        let start = format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"{colour}\">");
        self.add(format_args!("{start}{text}</text>"));
    }

    fn line(&mut self, points: impl Iterator<Item = [f64; 2]>, style: &str) {
        let points: Vec<String> = points.map(|[x, y]| format!("{x:.1},{y:.1}")).collect();
        self.add(format_args!("<polyline points=\"{}\" {style}/>", points.join(" ")));
    }

    fn dot(&mut self, [x, y]: [f64; 2], colour: &str) {
        self.add(format_args!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"6\" fill=\"{colour}\"/>"));
    }

    /// Opens a square panel around `centre` that cuts off what is outside, up to [`end`](Self::end).
    fn panel(&mut self, [x, y]: [f64; 2]) {
        let (left, top, side) = (x - HALF, y - HALF, 2.0 * HALF);
        let rect = format!("<rect x=\"{left}\" y=\"{top}\" width=\"{side}\" height=\"{side}\"/>");
        self.add(format_args!("<clipPath id=\"c{x:.0}-{y:.0}\">{rect}</clipPath>"));
        self.add(format_args!("<g clip-path=\"url(#c{x:.0}-{y:.0})\">"));
    }

    fn end(&mut self) {
        self.add(format_args!("</g>"));
    }

    fn disk(&mut self, [x, y]: [f64; 2], radius: f64) {
        let style = "fill=\"#f6f7fb\" stroke=\"#333\" stroke-width=\"2\"";
        self.add(format_args!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" {style}/>"));
    }

    /// A half-plane whose boundary is `below` pixels under the centre of its panel.
    fn half_plane(&mut self, [x, y]: [f64; 2], below: f64) {
        let (left, top, right, floor) = (x - HALF, y - HALF, x + HALF, y + below);
        let (width, height) = (right - left, floor - top);
        let size = format!("width=\"{width}\" height=\"{height}\"");
        self.add(format_args!("<rect x=\"{left}\" y=\"{top}\" {size} fill=\"#f6f7fb\"/>"));
        self.line([[left, floor], [right, floor]].into_iter(), "stroke=\"#333\" stroke-width=\"3\"");
    }

    fn save(mut self, directory: &std::path::Path, name: &str) -> std::io::Result<()> {
        self.0.push_str("</svg>\n");
        std::fs::write(directory.join(name), self.0)
    }
}

fn stroke(colour: &str, width: f64) -> String {
    format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"")
}

/// Numbers from `from` to `to`.
fn steps(from: f64, to: f64, n: usize) -> impl Iterator<Item = f64> + Clone {
    (0..=n).map(move |i| from + (to - from) * i as f64 / n as f64)
}

/// The point of the disk in this direction at this distance from the origin.
fn polar(ball: PoincareBall, angle: f64, distance: f64) -> Point<PoincareBall, Row<f64>> {
    let v = Row::from([angle.cos(), angle.sin()].map(|c| c * distance / 2.0)); // λ₀ = 2
    Point::new(ball, ball.exp0(&v))
}

/// The point at this distance from x in the direction v.
fn along(ball: PoincareBall, x: &Row<f64>, v: &[f64], length: f64) -> Row<f64> {
    let scale = length / ball.norm(x, &Row::from(v));
    ball.exp(x, &Row::from(&v.iter().map(|c| c * scale).collect::<Vec<_>>()[..]))
}

/// The same circles, triangle and geodesics in one model; `place` gives the place of a point.
fn configuration(picture: &mut Picture, place: impl Fn(Point<PoincareBall, Row<f64>>) -> [f64; 2]) {
    let ball = PoincareBall::new(-1.0);
    let turn = 2.0 * std::f64::consts::PI;
    for radius in [0.5, 1.0, 1.5] {
        let circle = steps(0.0, turn, 360).map(|angle| place(polar(ball, angle, radius)));
        picture.line(circle, &(stroke(GREY, 1.5) + " stroke-dasharray=\"5 4\""));
    }
    let corners = [0.25, 0.25 + 1.0 / 3.0, 0.25 + 2.0 / 3.0].map(|part| polar(ball, part * turn, 1.5));
    for (from, to) in [(0, 1), (1, 2), (2, 0)] {
        let along = |t: f64| place(corners[from].geodesic(&corners[to], &t));
        picture.line(steps(-3.0, 4.0, 280).map(along), &stroke(BLUE, 2.5));
        picture.line(steps(0.0, 1.0, 60).map(along), &stroke(RED, 4.5));
    }
    picture.dot(place(polar(ball, 0.0, 0.0)), "#222");
}

fn models() -> Picture {
    let mut picture = Picture::new(960.0, 1000.0);
    let [left, right, top, bottom] = [245.0, 715.0, 250.0, 735.0];
    let title = |picture: &mut Picture, [x, y]: [f64; 2], text| {
        picture.text([x, y - HALF - 14.0], "middle", "#222", text);
    };

    title(&mut picture, [left, top], "Poincaré ball");
    picture.panel([left, top]);
    picture.disk([left, top], 205.0);
    configuration(&mut picture, |x| {
        let p = x.coordinates();
        [left + 205.0 * p[0], top - 205.0 * p[1]]
    });
    picture.end();

    title(&mut picture, [right, top], "Klein model");
    picture.panel([right, top]);
    picture.disk([right, top], 205.0);
    configuration(&mut picture, |x| {
        let klein = x.to::<Klein>();
        let p = klein.coordinates();
        [right + 205.0 * p[0], top - 205.0 * p[1]]
    });
    picture.end();

    title(&mut picture, [left, bottom], "half-space");
    picture.panel([left, bottom]);
    picture.half_plane([left, bottom], 200.0);
    configuration(&mut picture, |x| {
        let half_space = x.to::<HalfSpace>();
        let p = half_space.coordinates();
        [left + 78.0 * p[0], bottom + 200.0 - 78.0 * p[1]]
    });
    picture.end();

    title(&mut picture, [right, bottom], "hyperboloid");
    picture.panel([right, bottom]);
    // Seen obliquely from above.
    let place = |x: Point<PoincareBall, Row<f64>>| {
        let lorentz = x.to::<Lorentz>();
        let p = lorentz.coordinates();
        [right + 95.0 * p[1], bottom + 255.0 - 87.0 * p[0] - 70.0 * p[2]]
    };
    let ball = PoincareBall::new(-1.0);
    for sixth in 0..12 {
        let angle = std::f64::consts::PI * f64::from(sixth) / 6.0;
        picture.line(steps(0.0, 2.5, 60).map(|r| place(polar(ball, angle, r))), &stroke("#ccd2e4", 1.5));
    }
    configuration(&mut picture, place);
    picture.end();

    let caption = "circles of radius 0.5, 1, 1.5; a triangle, its sides prolonged in blue";
    picture.text([480.0, 980.0], "middle", "#222", caption);
    picture
}

fn cones() -> Picture {
    let mut picture = Picture::new(960.0, 640.0);
    let [left, right, middle] = [245.0, 715.0, 270.0];
    let shade = |colour: &str| {
        format!("fill=\"{colour}\" fill-opacity=\"0.18\" stroke=\"{colour}\" stroke-width=\"2.5\"")
    };

    // Entailment cones: geodesics from the apex at the half-aperture from the outward direction.
    let ball = PoincareBall::new(-1.0);
    picture.text([left, 40.0], "middle", "#222", "entailment cones, K = 0.1");
    picture.disk([left, middle], 205.0);
    let place = |p: &Row<f64>| [left + 205.0 * p[0], middle - 205.0 * p[1]];
    let apexes = [([0.18_f64, 0.1], BLUE), ([0.52, 0.34], RED), ([-0.25, -0.2], GREEN)];
    for (x, colour) in apexes.map(|(x, colour)| (Row::from(x), colour)) {
        let aperture = ball.cone_aperture(&x, 0.1);
        let outward = x[1].atan2(x[0]);
        let side = |turn: f64| {
            let (x, direction) = (x.clone(), [(outward + turn).cos(), (outward + turn).sin()]);
            steps(0.0, 7.0, 100).map(move |length| along(ball, &x, &direction, length))
        };
        let (one, other): (Vec<_>, Vec<_>) = (side(-aperture).collect(), side(aperture).collect());
        let [first, last] = [&one, &other].map(|side| {
            let end = side.last().expect("a side has points");
            end[1].atan2(end[0])
        });
        let rim = steps(first, last, 40).map(|a| [left + 205.0 * a.cos(), middle - 205.0 * a.sin()]);
        let outline = one.iter().map(place).chain(rim).chain(other.iter().rev().map(place));
        picture.line(outline, &shade(colour));
        picture.dot(place(&x), colour);
        assert_eq!(ball.cone_energy(&x, &one[50], 0.2), 0.0); // the side is inside a wider cone
    }

    // Shadow cones: the slack straight below the apex is the cone's half-width there.
    let half_space = HalfSpace::new(-1.0);
    let apexes = [([-1.0, 0.85], BLUE), ([-0.85, 0.42], RED), ([0.75, 0.6], GREEN)];
    let penumbral = |x: &Row<f64>, y: &Row<f64>| half_space.penumbral_slack(x, y, 1.0);
    let umbral = |x: &Row<f64>, y: &Row<f64>| half_space.umbral_slack(x, y, 0.7);
    type Slack<'a> = &'a dyn Fn(&Row<f64>, &Row<f64>) -> f64;
    let shadows: [(&str, Slack<'_>, f64); 2] = [
        ("penumbral cones, light at height 1", &penumbral, 250.0),
        ("umbral cones, balls of radius 0.7", &umbral, 540.0),
    ];
    for (title, slack, floor) in shadows {
        picture.text([right, floor - 210.0], "middle", "#222", title);
        let (x, y) = (right - 225.0, floor - 195.0);
        let size = "width=\"450\" height=\"195\" fill=\"#f6f7fb\"";
        picture.add(format_args!("<rect x=\"{x}\" y=\"{y}\" {size}/>"));
        picture.line([[x, floor], [x + 450.0, floor]].into_iter(), "stroke=\"#333\" stroke-width=\"3\"");
        for (apex, colour) in apexes.map(|(x, colour)| (Row::from(x), colour)) {
            let edge = |height: f64, sign: f64| {
                let wide = slack(&apex, &Row::from([apex[0], height]));
                [right + 120.0 * (apex[0] + sign * wide), floor - 180.0 * height]
            };
            let heights = steps(1e-9, apex[1], 60);
            let down = heights.clone().map(|h| edge(h, -1.0));
            let up = heights.map(|h| edge(h, 1.0)).collect::<Vec<_>>();
            picture.line(down.chain(up.into_iter().rev()), &shade(colour));
            picture.dot(edge(apex[1], 0.0), colour);
        }
    }
    picture.text(
        [480.0, 610.0],
        "middle",
        "#222",
        "the red point is in the blue point's cone, the green one is not",
    );
    picture
}

/// Hyperplanes: what geodesics from a point p reach at right angles to a normal a. Ganea et al. 2018,
/// Figure 1.
fn hyperplanes() -> Picture {
    let mut picture = Picture::new(960.0, 560.0);
    let [left, right, middle] = [245.0, 715.0, 270.0];
    let ball = PoincareBall::new(-1.0);
    // In the disk, with the points at the same distance from the hyperplane.
    picture.text([left, 40.0], "middle", "#222", "in two dimensions");
    picture.disk([left, middle], 205.0);
    let place = |x: &Row<f64>| [left + 205.0 * x[0], middle - 205.0 * x[1]];
    let (p, normal) = (Row::from([0.3, 0.2]), [0.8, 0.6]);
    let plane: Vec<Row<f64>> =
        steps(-7.0, 7.0, 280).map(|t| along(ball, &p, &[-normal[1], normal[0]], t)).collect();
    for distance in [-1.5, -1.0, -0.5, 0.5, 1.0, 1.5] {
        let beside = plane.iter().map(|x| {
            let across = ball.transport(&p, x, &Row::from(normal));
            place(&along(ball, x, &across, distance))
        });
        picture.line(beside, &(stroke(GREY, 1.5) + " stroke-dasharray=\"5 4\""));
    }
    picture.line(plane.iter().map(place), &stroke(BLUE, 4.0));
    picture.line(steps(0.0, 1.0, 20).map(|t| place(&along(ball, &p, &normal, t))), &stroke(RED, 3.5));
    picture.dot(place(&p), RED);

    // In the ball, seen obliquely from above.
    picture.text([right, 40.0], "middle", "#222", "in three dimensions");
    picture.disk([right, middle], 205.0);
    let place = |x: &Row<f64>| {
        let [turn, tilt] = [0.5_f64, 0.35];
        let [across, away] = [x[0] * turn.cos() + x[1] * turn.sin(), x[1] * turn.cos() - x[0] * turn.sin()];
        [right + 205.0 * across, middle - 205.0 * (x[2] * tilt.cos() + away * tilt.sin())]
    };
    let full = 2.0 * std::f64::consts::PI;
    let equator = steps(0.0, full, 120).map(|angle| place(&Row::from([angle.cos(), angle.sin(), 0.0])));
    picture.line(equator, &stroke("#ccd2e4", 1.5));
    // The normal and two directions at right angles to it.
    let (p, normal) = (Row::from([0.15, -0.1, 0.25]), [0.48, -0.36, 0.8]);
    let (u, v) = ([0.6, 0.8, 0.0], [-0.64, 0.48, 0.6]);
    let reach = |angle: f64, length: f64| {
        let direction = [0, 1, 2].map(|i| u[i] * angle.cos() + v[i] * angle.sin());
        place(&along(ball, &p, &direction, length))
    };
    let rim = steps(0.0, full, 120).map(|angle| reach(angle, 7.0));
    picture.line(rim, &format!("fill=\"{BLUE}\" fill-opacity=\"0.15\" stroke=\"{BLUE}\" stroke-width=\"2\""));
    for length in [0.5, 1.0, 1.5, 2.0, 3.0] {
        picture.line(steps(0.0, full, 120).map(|angle| reach(angle, length)), &stroke(BLUE, 1.0));
    }
    for angle in steps(0.0, full, 24) {
        picture.line(steps(0.0, 7.0, 60).map(|length| reach(angle, length)), &stroke(BLUE, 1.0));
    }
    picture.line(steps(-7.0, 7.0, 140).map(|t| place(&along(ball, &p, &normal, t))), &stroke(RED, 3.0));
    picture.dot(place(&p), RED);

    let caption = "red: the point p and the geodesic along the normal a; dashed: at distance 0.5, 1, 1.5";
    picture.text([480.0, 530.0], "middle", "#222", caption);
    picture
}

/// The textbook's formula in the type that the coordinates are stored in, squared norms clamped.
macro_rules! textbook {
    ($type:ty, $clamp:expr) => {
        |r: f64| {
            let (r, one) = (r as $type, 1.0 as $type);
            let square = (r * r).min(one - $clamp);
            let difference = r * r + r * r;
            let argument = one + 2.0 * difference / ((one - square) * (one - square));
            f64::from(argument.acosh())
        }
    };
}

/// Relative errors of the distance of (r, 0) and (0, r), by their distance from the origin: of each point
/// of the curve the worst of ten nearby radii.
fn errors(single: bool, distance: impl Fn(f64) -> f64) -> Vec<[f64; 2]> {
    let farthest = if single { 17.3 } else { 37.4 };
    let error = |radius: f64| {
        let r = (radius / 2.0_f64).tanh();
        let r = if single { f64::from(r as f32) } else { r };
        // 1 − r has no rounding error, so this is exact to a few ulps: sinh(d/2) = sinh(ρ)/√2.
        let margin = 1.0 - r;
        let exact = 2.0 * (2.0_f64.sqrt() * r / (margin * (2.0 - margin))).asinh();
        (distance(r) / exact - 1.0).abs()
    };
    let worst = |radius: f64| [radius, steps(radius, radius + 0.09, 9).map(&error).fold(0.0, f64::max)];
    steps(0.2, farthest - 0.1, 180).map(worst).collect()
}

fn accuracy() -> Picture {
    let ball = PoincareBall::new(-1.0);
    let double = |r: f64| ball.dist(&Row::from([r, 0.0]), &Row::from([0.0, r]));
    let single = |r: f64| ball.dist(&Row::from([r as f32, 0.0]), &Row::from([0.0, r as f32]));
    let curves = [
        ("textbook, f32", RED, errors(true, textbook!(f32, 1e-5))),
        ("textbook, f64", "#d98c00", errors(false, textbook!(f64, 1e-10))),
        ("here, f32", GREEN, errors(true, single)),
        ("here, f64", BLUE, errors(false, double)),
    ];
    let worst = |i: usize| curves[i].2.iter().map(|point| point[1]).fold(0.0, f64::max);
    assert!(worst(3) < 1e-14 && worst(2) < 1e-9 && worst(0) > 1e-3 && worst(1) > 1e-2);

    let mut picture = Picture::new(960.0, 640.0);
    let place = |[radius, error]: [f64; 2]| [100.0 + 20.5 * radius, 60.0 - 28.0 * error.max(1e-16).log10()];
    for decade in [-16, -12, -8, -4, 0] {
        let y = place([0.0, 10.0_f64.powi(decade)])[1];
        picture.line([[100.0, y], [920.0, y]].into_iter(), &stroke("#dddddd", 1.5));
        picture.text([90.0, y + 8.0], "end", "#222", &format!("1e{decade}"));
    }
    for radius in (0..=40).step_by(10) {
        let [x, y] = place([f64::from(radius), 1e-16]);
        picture.line([[x, 60.0], [x, y]].into_iter(), &stroke("#dddddd", 1.5));
        picture.text([x, y + 28.0], "middle", "#222", &radius.to_string());
    }
    for (i, (name, colour, points)) in curves.iter().enumerate() {
        picture.line(points.iter().map(|&point| place(point)), &stroke(colour, 3.0));
        let y = 210.0 + 36.0 * i as f64;
        picture.line([[660.0, y - 7.0], [700.0, y - 7.0]].into_iter(), &stroke(colour, 5.0));
        picture.text([712.0, y], "start", "#222", name);
    }
    picture.text(
        [510.0, 36.0],
        "middle",
        "#222",
        "relative error of the distance of two points at right angles",
    );
    picture.text([510.0, 622.0], "middle", "#222", "distance of both points from the origin");
    picture
}

fn main() -> std::io::Result<()> {
    let directory = std::env::args().nth(1).unwrap_or_else(|| "runs/pictures".to_owned());
    let directory = std::path::Path::new(&directory);
    std::fs::create_dir_all(directory)?;
    models().save(directory, "models.svg")?;
    cones().save(directory, "cones.svg")?;
    hyperplanes().save(directory, "hyperplanes.svg")?;
    accuracy().save(directory, "accuracy.svg")?;
    println!("models.svg, cones.svg, hyperplanes.svg and accuracy.svg are in {}", directory.display());
    Ok(())
}
