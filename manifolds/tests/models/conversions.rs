//! Conversions between the models of one space: against values of 80 digits, and against the laws that
//! make them isometries.

use cotangent_engine::{Float, Row, Storage, Tape, Tensor, check, rng};
use cotangent_manifolds::{
    ConstantCurvature, HalfSpace, Hyperbolic, Isometric, Klein, Lorentz, Manifold, PoincareBall, Point,
    ProjectedSphere, Sphere, Stereographic, Tangent,
};

use crate::common::Worst;
use crate::weighted;

const KAPPAS: [f64; 4] = [-2.5, -1.0, -0.37, -1e-6];

fn ball(kappa: f64) -> PoincareBall {
    PoincareBall::new(kappa)
}

fn largest(row: &[f64]) -> f64 {
    row.iter().fold(0.0, |m: f64, x| m.max(x.abs()))
}

fn difference<T: Float>(x: &Row<T>, y: &Row<T>) -> Row<T> {
    let mut d = x.clone();
    d.iter_mut().zip(y.iter()).for_each(|(d, y)| *d = *d - *y);
    d
}

fn table(rows: &[Row<f64>]) -> Tensor<f64> {
    let data: Vec<f64> = rows.iter().flat_map(|row| row.iter().copied()).collect();
    Tensor::new([rows.len(), rows[0].len()], data)
}

#[track_caller]
fn assert_close(what: &str, got: &Row<f64>, want: &[f64]) {
    let error = got.iter().zip(want).fold(0.0, |m: f64, (g, w)| m.max((g - w).abs()));
    assert!(error <= 1e-15 * largest(want), "{what}: {got:?}, not {want:?}");
}

/// A point of one model and the same point in others, from exact arithmetic on the `f64` coordinates of
/// the first.
struct Entry {
    kappa: f64,
    point: [f64; 3],
    lorentz: [f64; 4],
    /// In the Klein model; in the ball for points given in another.
    other: [f64; 3],
    half_space: [f64; 3],
}

const BALL: [Entry; 12] = [
    Entry {
        kappa: -1.0,
        point: [0.042450158542511364, 0.5602875333351154, -0.4174636080294516],
        lorentz: [2.9215686274509802, 0.1664712099706328, 2.1972060130788837, -1.6371121883507904],
        other: [0.056980078580552165, 0.752063803134383, -0.5603538362811431],
        half_space: [0.036517408587500376, 0.4819828590461304, 0.21936170581052672],
    },
    Entry {
        kappa: -1.0,
        point: [0.9374632407413312, -0.24481400121513353, -0.24704005154589248],
        lorentz: [9999.500024991445, 9375.101162462244, -2448.2624252701985, -2470.5240416585857],
        other: [0.9375569917527217, -0.24483848383932505, -0.24706475678624734],
        half_space: [0.7518109918917573, -0.19633181236737612, 8.019230714032148e-05],
    },
    Entry {
        kappa: -1.0,
        point: [9.9999999e-10, 1.99999998e-09, 0.99999999],
        lorentz: [99999999.02252407, 0.09999999902252407, 0.19999999804504814, 99999999.02252407],
        other: [1e-09, 2e-09, 1.0],
        half_space: [19047618.692979258, 38095237.385958515, 190476188.79165146],
    },
    Entry {
        kappa: -1.0,
        point: [0.9963266922989528, 0.08262162496575867, -0.02251198122435309],
        lorentz: [1000103002429.1161, 996429316369.4491, 82630135193.9103, -22514300013.125927],
        other: [0.996326692299949, 0.08262162496584129, -0.0225119812243756],
        half_space: [0.9743912155502845, 0.08080259838804876, 9.778829261071303e-13],
    },
    Entry {
        kappa: -1.0,
        point: [-1.999999999998e-13, 9.99999999999e-14, 0.999999999999],
        lorentz: [1000022122209.0278, -0.20000442444180555, 0.10000221222090278, 1000022122209.0278],
        other: [-2e-13, 1e-13, 1.0],
        half_space: [-380968433492.69055, 190484216746.34528, 1904800029079.0532],
    },
    Entry {
        kappa: -1.0,
        point: [0.26726124191215717, 0.5345224838243143, -0.8017837257364714],
        lorentz: [1000069686944.9736, 267279866531.88315, 534559733063.7663, -801839599595.6493],
        other: [0.2672612419124244, 0.5345224838248488, -0.8017837257372731],
        half_space: [0.1483314773547883, 0.2966629547095766, 5.549668939882317e-13],
    },
    Entry {
        kappa: -0.37,
        point: [0.625220833463215, 0.9657766077012245, -0.02643440457059313],
        lorentz: [4.803029236960437, 2.4518464057380975, 3.787359245887154, -0.1036643316493848],
        other: [0.8392225952526376, 1.2963444398674155, -0.035482422242406886],
        half_space: [0.4996942180012194, 0.7718760491008612, 0.33505044691823965],
    },
    Entry {
        kappa: -0.37,
        point: [0.8087267659867541, -1.3392607609018168, -0.5044837177496236],
        lorentz: [16439.076776702997, 8087.672043470695, -13393.277272883435, -5045.089431968447],
        other: [0.8088076427069866, -1.3393946936742107, -0.5045341686438172],
        half_space: [0.3764480299080142, -0.6234022369217027, 7.652099956246034e-05],
    },
    Entry {
        kappa: -0.37,
        point: [1.6439898566136744e-09, 3.2879797132273488e-09, 1.6439898566136741],
        lorentz: [164398986.22882795, 0.16439898622882795, 0.3287979724576559, 164398986.22882795],
        other: [1.643989873053573e-09, 3.287979746107146e-09, 1.643989873053573],
        half_space: [19047618.81004001, 38095237.62008002, 190476189.34769002],
    },
    Entry {
        kappa: -0.37,
        point: [-0.349690540245032, -1.0633649826020564, -1.204024145329388],
        lorentz: [1643997569354.1626, -349692177313.5627, -1063369960721.7059, -1204029781941.797],
        other: [-0.34969054024538165, -1.0633649826031197, -1.204024145330592],
        half_space: [-0.12278399543966442, -0.3733706982265576, 5.772380915883745e-13],
    },
    Entry {
        kappa: -0.37,
        point: [-3.2879797461038583e-13, 1.6439898730519291e-13, 1.6439898730519291],
        lorentz: [1644199107552.0508, -0.32883982151041014, 0.16441991075520507, 1644199107552.0508],
        other: [-3.287979746107146e-13, 1.643989873053573e-13, 1.643989873053573],
        half_space: [-381044737547.75415, 190522368773.87708, 1904981236249.191],
    },
    Entry {
        kappa: -0.37,
        point: [0.43937477516330753, 0.8787495503266151, -1.3181243254899224],
        lorentz: [1644243167203.0193, 439442470872.697, 878884941745.394, -1318327412618.0908],
        other: [0.43937477516374684, 0.8787495503274937, -1.3181243254912403],
        half_space: [0.1483314773547883, 0.2966629547095766, 5.549200698377429e-13],
    },
];
const KLEIN: [Entry; 6] = [
    Entry {
        kappa: -1.0,
        point: [-0.5904097567652277, -0.08660757995152252, -0.0625735264418205],
        lorentz: [1.2499999999999998, -0.7380121959565346, -0.10825947493940313, -0.07821690805227562],
        other: [-0.3280054204251265, -0.048115322195290286, -0.03476307024545583],
        half_space: [-0.5556413199398061, -0.08150737600393677, 0.7528890755248858],
    },
    Entry {
        kappa: -1.0,
        point: [-0.23293824148748615, 0.05026717625544845, -0.9711904996678156],
        lorentz: [707.1069579636131, -164.71225133160982, 35.54427008741092, -686.7355598232705],
        other: [-0.2326092823678676, 0.05019618814314405, -0.9698189688718737],
        half_space: [-0.11817134951022787, 0.025500922546004286, 0.0007174411651524168],
    },
    Entry {
        kappa: -1.0,
        point: [-0.10035013191096807, 0.3006758566797322, 0.9484323277036482],
        lorentz: [707069.6993949752, -70954.5376045343, 212598.78759786487, 670607.760845895],
        other: [-0.10034998998720855, 0.30067543143815884, 0.9484309863493415],
        half_space: [-1.9459891719422704, 5.830704456695121, 2.742585939729827e-05],
    },
    Entry {
        kappa: -0.37,
        point: [-0.37567001182256793, -0.1775176682215721, -0.8946130407384973],
        lorentz: [2.054987341316966, -0.46958751477820987, -0.22189708527696514, -1.1182663009231215],
        other: [-0.20870556212364885, -0.09862092678976228, -0.49700724485472075],
        half_space: [-0.1479829751165794, -0.06992730814934851, 0.5180770459600056],
    },
    Entry {
        kappa: -0.37,
        point: [-0.31087699371663624, -1.355904481813125, -0.8761140498113179],
        lorentz: [1162.4766781415992, -219.82328534367167, -958.7694934931415, -619.5063406358682],
        other: [-0.3104379682414618, -1.3539896517631351, -0.8748767875024319],
        half_space: [-0.12335879917333994, -0.538035145896568, 0.000922562031023974],
    },
    Entry {
        kappa: -0.37,
        point: [0.6996956319394132, -1.398505759371662, 0.5072576922497026],
        lorentz: [1162556.6405174125, 494793.6824825469, -988961.1754964811, 358710.11631177645],
        other: [0.6996946424900682, -1.3985037817251764, 0.5072569749295303],
        half_space: [0.6155325271469001, -1.2302860629692667, 2.0451539237271314e-06],
    },
];
const HALF_SPACE: [Entry; 10] = [
    Entry {
        kappa: -1.0,
        point: [0.3, -0.2, 0.7],
        lorentz: [1.1571428571428573, 0.4285714285714286, -0.28571428571428575, -0.2714285714285715],
        other: [0.19867549668874174, -0.13245033112582782, -0.12582781456953646],
        half_space: [0.3, -0.2, 0.7],
    },
    Entry {
        kappa: -1.0,
        point: [100000.0, 30000.0, 1e-07],
        lorentz: [5.4500000005e+16, 1000000000000.0, 300000000000.0, 5.4499999995e+16],
        other: [1.834862385152765e-05, 5.504587155458295e-06, 0.9999999998165138],
        half_space: [100000.0, 30000.0, 1e-07],
    },
    Entry {
        kappa: -1.0,
        point: [0.6, -0.8, 1e-12],
        lorentz: [1000000000000.0, 600000000000.0, -800000000000.0, 2.2204460992503132e-05],
        other: [0.5999999999994, -0.7999999999992, 2.2204460992480927e-17],
        half_space: [0.6, -0.8, 1e-12],
    },
    Entry {
        kappa: -1.0,
        point: [1e-09, 2e-09, 100000000.0],
        lorentz: [50000000.00000001, 1e-17, 2e-17, 49999999.99999999],
        other: [1.9999999600000007e-25, 3.9999999200000015e-25, 0.9999999800000002],
        half_space: [1e-09, 2e-09, 100000000.0],
    },
    Entry {
        kappa: -1.0,
        point: [3.0, 4.0, 1e-05],
        lorentz: [1300000.0000049998, 300000.0, 399999.99999999994, 1200000.0000049998],
        other: [0.23076905325368685, 0.3076920710049158, 0.9230762130185935],
        half_space: [3.0, 4.0, 1e-05],
    },
    Entry {
        kappa: -0.37,
        point: [0.3, -0.2, 0.7],
        lorentz: [1.9023311388191344, 0.7045670884515313, -0.4697113923010209, -0.4462258226859699],
        other: [0.32662050458018005, -0.21774700305345338, -0.20685965290078073],
        half_space: [0.3, -0.2, 0.7],
    },
    Entry {
        kappa: -0.37,
        point: [100000.0, 30000.0, 1e-07],
        lorentz: [8.959744808963968e+16, 1643989873053.573, 493196961916.0719, 8.959744807319978e+16],
        other: [3.0164951796380698e-05, 9.04948553891421e-06, 1.6439898727519233],
        half_space: [100000.0, 30000.0, 1e-07],
    },
    Entry {
        kappa: -0.37,
        point: [0.6, -0.8, 1e-12],
        lorentz: [1643989873053.573, 986393923832.1437, -1315191898442.8584, 3.650390900828824e-05],
        other: [0.9863939238311573, -1.3151918984415432, 3.650390900825173e-17],
        half_space: [0.6, -0.8, 1e-12],
    },
    Entry {
        kappa: -0.37,
        point: [1e-09, 2e-09, 100000000.0],
        lorentz: [82199493.65267865, 1.643989873053573e-17, 3.287979746107146e-17, 82199493.65267864],
        other: [3.287979680347552e-25, 6.575959360695104e-25, 1.6439898401737758],
        half_space: [1e-09, 2e-09, 100000000.0],
    },
    Entry {
        kappa: -0.37,
        point: [3.0, 4.0, 1e-05],
        lorentz: [2137186.8349778648, 493196.9619160718, 657595.9492214291, 1972787.8476725072],
        other: [0.37938198656322186, 0.5058426487509624, 1.5175279462592104],
        half_space: [3.0, 4.0, 1e-05],
    },
];

/// 1 − √c‖x‖ from 0.7 down to 1e-12, also beside the pole that the half-space has at infinity.
#[test]
fn conversions_of_given_points_are_exact_to_a_few_units() {
    for Entry { kappa, point, lorentz, other, half_space } in BALL {
        let p = Point::new(ball(kappa), Row::from(point));
        assert_close("ball to hyperboloid", p.to::<Lorentz>().coordinates(), &lorentz);
        assert_close("ball to Klein", p.to::<Klein>().coordinates(), &other);
        let h = p.to::<HalfSpace>();
        for (got, want) in h.coordinates().iter().zip(half_space) {
            assert!((got / want - 1.0).abs() < 4e-15, "ball to half-space: {h:?}, not {half_space:?}");
        }
    }
    for Entry { kappa, point, lorentz, other, half_space } in KLEIN {
        let q = Point::new(Klein::new(kappa), Row::from(point));
        assert_close("Klein to hyperboloid", q.to::<Lorentz>().coordinates(), &lorentz);
        assert_close("Klein to ball", q.to::<PoincareBall>().coordinates(), &other);
        assert_close("Klein to half-space", q.to::<HalfSpace>().coordinates(), &half_space);
    }
    for Entry { kappa, point, lorentz, other, half_space } in HALF_SPACE {
        let h = Point::new(HalfSpace::new(kappa), Row::from(point));
        assert_close("half-space to hyperboloid", h.to::<Lorentz>().coordinates(), &lorentz);
        assert_close("half-space to ball", h.to::<PoincareBall>().coordinates(), &other);
        let x = Point::new(Lorentz::new(kappa), Row::from(lorentz));
        assert_close("hyperboloid to half-space", x.to::<HalfSpace>().coordinates(), &half_space);
    }
}

/// To the other model and back, for points up to a radius. The error is a distance, in units of u times the
/// distance that an ulp of a coordinate moves a point.
fn roundtrip<M, N, T>(m: M, radius: f64, condition: impl Fn(f64) -> f64)
where
    M: Isometric<N>,
    N: ConstantCurvature + Isometric<M>,
    T: Float,
{
    let (mut rng, mut worst) = (rng::stream(1, 0, 0), Worst::default());
    for i in 0..300 {
        let x = m.random_point::<T>(1 + i % 5, radius, &mut rng);
        let p = Point::new(m, x.clone());
        let image: Point<N, Row<T>> = p.to();
        image.manifold().contains(image.coordinates()).unwrap();
        let back: Point<M, Row<T>> = image.to();
        m.contains(back.coordinates()).unwrap();
        let r = m.dist(&m.origin(1 + i % 5), &x);
        let bound = 8.0 * T::EPSILON * condition(r);
        worst.see("round trip", m.dist(&x, back.coordinates()), bound, &(m, N::NAME, r, &x));
    }
    worst.report(&format!("round trip, {} to {}, kappa {}, {}", M::NAME, N::NAME, m.kappa(), T::NAME));
}

#[test]
fn conversions_go_out_and_back() {
    for kappa in KAPPAS {
        let c = (-kappa).sqrt();
        // An ulp of a coordinate is a distance of u cosh r in the ball, u cosh²r in the Klein model.
        let plain = |r: f64| (c * r).cosh() / c;
        let klein = |r: f64| (c * r).cosh().powi(2) / c;
        let (b, l, k, h) = (ball(kappa), Lorentz::new(kappa), Klein::new(kappa), HalfSpace::new(kappa));
        roundtrip::<_, Lorentz, f64>(b, 36.0 / c, plain);
        roundtrip::<_, HalfSpace, f64>(b, 36.0 / c, plain);
        roundtrip::<_, Klein, f64>(b, 17.0 / c, klein);
        roundtrip::<_, PoincareBall, f64>(k, 17.0 / c, klein);
        roundtrip::<_, Lorentz, f64>(k, 17.0 / c, klein);
        roundtrip::<_, PoincareBall, f64>(l, 17.0 / c, klein);
        roundtrip::<_, HalfSpace, f64>(l, 17.0 / c, klein);
        roundtrip::<_, Lorentz, f64>(h, 17.0 / c, klein);
        roundtrip::<_, Lorentz, f32>(b, 16.0 / c, plain);
        roundtrip::<_, HalfSpace, f32>(b, 16.0 / c, plain);
        roundtrip::<_, Klein, f32>(b, 7.5 / c, klein);
        roundtrip::<_, PoincareBall, f32>(k, 7.5 / c, klein);
        roundtrip::<_, PoincareBall, f32>(h, 7.5 / c, klein);
    }
    for kappa in [0.4, 1.0, 1.7] {
        // Nearly to the antipode of the origin. An ulp of a coordinate is a distance of at most u/√κ on
        // the sphere, and in its projection, where λ‖x‖ is at most 1/√κ.
        let (unit, reach) = (f64::sqrt(kappa).recip(), 3.0 / f64::sqrt(kappa));
        let plain = |_: f64| unit;
        roundtrip::<_, Sphere, f64>(Stereographic::new(kappa), reach, plain);
        roundtrip::<_, Sphere, f64>(ProjectedSphere::new(kappa), reach, plain);
        roundtrip::<_, Stereographic, f64>(Sphere::new(kappa), reach, plain);
        roundtrip::<_, Stereographic, f32>(Sphere::new(kappa), reach, plain);
        roundtrip::<_, ProjectedSphere, f64>(Sphere::new(kappa), reach, plain);
    }
}

/// Distances, inner products, exp, log and transport are the same before and after, up to the last
/// radius that storage holds. Laws 29 to 34. `condition` says how much the rounding of points and
/// vectors at a radius is amplified in the worse model.
fn isometry<M, N, T>(m: M, radius: f64, condition: impl Fn(f64) -> f64)
where
    M: Isometric<N>,
    N: ConstantCurvature + Isometric<M>,
    T: Float,
{
    let (mut rng, mut worst, mut seen) = (rng::stream(2, 0, 0), Worst::default(), 0);
    let length = m.kappa().abs().sqrt().recip();
    for (i, dim) in [1, 2, 3, 5, 17].into_iter().cycle().enumerate().take(100) {
        let reach = radius * (i + 1) as f64 / 100.0;
        let [x, y] = [0, 0].map(|_| Point::new(m, m.random_point::<T>(dim, reach, &mut rng)));
        let [u, v] = [0, 0].map(|_| Tangent::new(m, m.random_tangent(x.coordinates(), &mut rng)));
        let (fx, fy): (Point<N, _>, Point<N, _>) = (x.to(), y.to());
        let (fu, fv): (Tangent<N, _>, Tangent<N, _>) = (u.to(&x), v.to(&x));
        let n = *fx.manifold();
        assert_eq!(n.kappa(), m.kappa());
        n.contains(fx.coordinates()).unwrap();
        let r = |p: &Point<M, Row<T>>| m.dist(&m.origin(dim), p.coordinates());
        let unit = 8.0 * T::EPSILON * condition(r(&x).max(r(&y)));
        let norm = |w: &Row<T>| m.norm(x.coordinates(), w);
        let norm_of_image = |point: &Point<N, Row<T>>, w: &Row<T>| n.norm(point.coordinates(), w);
        let (d, image) = (x.dist(&y), fx.dist(&fy));
        let mut see = |what: &str, error: f64, size: f64, amplified: f64| {
            let bound = unit * amplified;
            if bound < 0.1 {
                seen += 1;
                let context = (m, n.kappa(), N::NAME, reach, &x, &y, &u);
                worst.see(what, error, bound * size, &context);
            }
        };
        see("dist", (image - d).abs(), length + d, 1.0);
        let size = norm(u.coordinates()) * norm(v.coordinates());
        see("inner", (fx.inner(&fu, &fv) - x.inner(&u, &v)).abs(), size, 1.0);
        let back = fu.to::<M>(&fx);
        let size = norm(u.coordinates());
        see("tangent", norm(&difference(back.coordinates(), u.coordinates())), size, 1.0);
        let want = x.log_map(&y).to::<N>(&x);
        let miss = difference(fx.log_map(&fy).coordinates(), want.coordinates());
        see("log", norm_of_image(&fx, &miss), length + d, 1.0);
        let want = x.transport(&y, &u).to::<N>(&y);
        let miss = difference(fx.transport(&fy, &fu).coordinates(), want.coordinates());
        see("transport", norm_of_image(&fy, &miss), size, 1.0);
        // Geodesics part exponentially.
        let short = Tangent::new(m, x.log_map(&y).coordinates().clone());
        let (end, want) = (fx.exp_map(&short.to(&x)), x.exp_map(&short).to::<N>());
        see("exp", end.dist(&want), length + d, (d / length).cosh());
    }
    // There are six identities for each draw. Beyond some radius rounding leaves nothing to compare.
    assert!(seen > 400, "{seen} comparisons");
    worst.report(&format!("{} to {}, kappa {}, {}", M::NAME, N::NAME, m.kappa(), T::NAME));
}

#[test]
fn conversions_are_isometries() {
    for kappa in KAPPAS {
        let c = (-kappa).sqrt();
        let plain = |r: f64| (c * r).cosh();
        let klein = |r: f64| (c * r).cosh().powi(2);
        let (b, l) = (ball(kappa), Lorentz::new(kappa));
        let (k, h) = (Klein::new(kappa), HalfSpace::new(kappa));
        isometry::<_, HalfSpace, f64>(b, 36.0 / c, plain);
        isometry::<_, HalfSpace, f32>(b, 16.0 / c, plain);
        isometry::<_, PoincareBall, f64>(h, 36.0 / c, plain);
        isometry::<_, Lorentz, f64>(b, 17.0 / c, klein);
        isometry::<_, Klein, f64>(b, 17.0 / c, klein);
        isometry::<_, Klein, f64>(l, 17.0 / c, klein);
        isometry::<_, HalfSpace, f64>(l, 17.0 / c, klein);
        isometry::<_, Lorentz, f64>(k, 17.0 / c, klein);
        isometry::<_, HalfSpace, f64>(k, 17.0 / c, klein);
        isometry::<_, Lorentz, f32>(b, 7.5 / c, klein);
        isometry::<_, Klein, f32>(b, 7.5 / c, klein);
        isometry::<_, HalfSpace, f32>(l, 7.5 / c, klein);
    }
    for kappa in [0.4, 1.0, 1.7] {
        let radius = 1.4 / f64::sqrt(kappa);
        isometry::<_, Sphere, f64>(Stereographic::new(kappa), radius, |_| 1.0);
        isometry::<_, Stereographic, f64>(Sphere::new(kappa), radius, |_| 1.0);
        isometry::<_, Stereographic, f32>(Sphere::new(kappa), radius, |_| 1.0);
    }
}

/// The origins of the models are the same point.
#[test]
fn origins_correspond() {
    for kappa in KAPPAS {
        let o = Point::new(ball(kappa), ball(kappa).origin::<f64>(3));
        assert_eq!(*o.to::<Lorentz>().coordinates(), Lorentz::new(kappa).origin(3));
        assert_eq!(*o.to::<Klein>().coordinates(), Klein::new(kappa).origin(3));
        assert_close("half-space", o.to::<HalfSpace>().coordinates(), &[0.0, 0.0, 1.0]);
    }
    let m = Stereographic::new(0.7);
    let o = Point::new(m, m.origin::<f64>(3)).to::<Sphere>();
    assert_eq!(*o.coordinates(), Sphere::new(0.7).origin(3));
}

/// Between models with the same coordinates points and tangent vectors are copied, at any radius.
#[test]
fn the_same_coordinates_are_kept_exactly() {
    fn check<M: Hyperbolic, N: Hyperbolic>(m: M, radius: f64) {
        let mut rng = rng::stream(4, 0, 0);
        for i in 1..=40 {
            let x = Point::new(m, m.random_point::<f64>(3, radius * f64::from(i) / 40.0, &mut rng));
            let v = Tangent::new(m, m.random_tangent(x.coordinates(), &mut rng));
            assert_eq!(x.to::<N>().coordinates(), x.coordinates(), "{m:?}");
            assert_eq!(v.to::<N>(&x).coordinates(), v.coordinates(), "{m:?}");
        }
    }
    for kappa in KAPPAS {
        let c = (-kappa).sqrt();
        check::<_, Stereographic>(ball(kappa), 36.0 / c);
        check::<_, PoincareBall>(Stereographic::new(kappa), 36.0 / c);
        check::<_, Klein>(Klein::new(kappa), 17.0 / c);
        check::<_, HalfSpace>(HalfSpace::new(kappa), 300.0 / c);
        check::<_, Lorentz>(Lorentz::new(kappa), 300.0 / c);
    }
}

/// The κ-stereographic model of any curvature is a model of hyperbolic space for κ < 0 alone.
#[test]
fn hyperbolic_space_has_negative_curvature() {
    assert_eq!(Stereographic::with_curvature(-0.5), Ok(Stereographic::new(-0.5)));
    for kappa in [0.0, 0.5] {
        let error = Stereographic::with_curvature(kappa).unwrap_err().to_string();
        assert_eq!(error, format!("the stereographic model needs negative curvature, not kappa = {kappa}"));
    }
    assert!(Stereographic::with_curvature(f64::NEG_INFINITY).is_err());
}

/// Half-space points beyond the range of the hyperboloid settle at its end; nothing becomes NaN.
#[test]
fn extreme_points_stay_points() {
    for kappa in [-1.0, -1e-6, -1e6] {
        let h = HalfSpace::new(kappa);
        for row in [
            [0.0, 1e300],
            [0.0, 1e-300],
            [1e300, 1e-300],
            [-1e200, 1.0],
            [1e300, 1e300],
            [1.0, 3e-308],
            [0.0, f64::MAX],
        ] {
            h.contains(&row).unwrap();
            let p = Point::new(h, Row::from(row));
            let (l, b) = (p.to::<Lorentz>(), p.to::<PoincareBall>());
            l.manifold().contains(l.coordinates()).unwrap();
            b.manifold().contains(b.coordinates()).unwrap();
            h.contains(l.to::<HalfSpace>().coordinates()).unwrap();
            let single = Point::new(h, h.project(&Row::from(row.map(|x| x as f32)))).to::<Lorentz>();
            single.manifold().contains(single.coordinates()).unwrap();
        }
    }
}

#[test]
#[should_panic(expected = "the Lorentz model needs negative curvature, not kappa = 0.5")]
fn a_model_that_does_not_exist_is_named() {
    let m = Stereographic::new(0.5);
    Point::new(m, m.origin::<f64>(2)).to::<Lorentz>();
}

/// The gradient flows through points and tangents on the tape, and agrees with differences.
#[test]
fn gradients_flow_through_conversions() {
    fn check_model<M: Isometric<N>, N: ConstantCurvature>(m: M) {
        let mut rng = rng::stream(3, 0, 0);
        let rows: Vec<Row<f64>> = (0..3).map(|_| m.random_point(3, 1.0, &mut rng)).collect();
        let x = table(&rows);
        let tangents: Vec<Row<f64>> = rows.iter().map(|x| m.random_tangent(x, &mut rng)).collect();
        let v = table(&tangents);
        let worst = check::gradients(std::slice::from_ref(&x), |x| {
            weighted(*Point::new(m, x[0]).to::<N>().coordinates())
        });
        assert!(worst.relative < 1e-8, "{m:?} {}: {worst:?}", N::NAME);
        let worst = check::gradients(&[x.clone(), v.clone()], |x| {
            weighted(*Tangent::new(m, x[1]).to::<N>(&Point::new(m, x[0])).coordinates())
        });
        assert!(worst.relative < 1e-8, "tangents, {m:?} {}: {worst:?}", N::NAME);
        // All three levels give the same.
        let tape = Tape::new();
        let on_tape = Point::new(m, tape.constant(&x)).to::<N>().coordinates().to_tensor();
        assert_eq!(on_tape, *Point::new(m, x).to::<N>().coordinates());
        for (i, row) in rows.iter().enumerate() {
            assert_eq!(on_tape.row(i), &Point::new(m, row.clone()).to::<N>().coordinates()[..]);
        }
    }
    for kappa in [-1.0, -0.37] {
        check_model::<_, Lorentz>(ball(kappa));
        check_model::<_, PoincareBall>(Lorentz::new(kappa));
        check_model::<_, Lorentz>(Klein::new(kappa));
        check_model::<_, Klein>(Lorentz::new(kappa));
        check_model::<_, Lorentz>(HalfSpace::new(kappa));
        check_model::<_, HalfSpace>(Lorentz::new(kappa));
    }
    check_model::<_, Sphere>(Stereographic::new(0.7));
    check_model::<_, Stereographic>(Sphere::new(0.7));
}

/// On the axis to the point that goes to infinity, as far out as storage has points, and at heights
/// whose squares overflow.
#[test]
fn tangent_vectors_at_the_ends_of_the_half_space() {
    for kappa in [-1.0_f64, -2.0, -3.7, -0.37] {
        let ball = PoincareBall::new(kappa);
        let half_space: HalfSpace = Isometric::<HalfSpace>::counterpart(&ball);
        for x in [[0.0, 2.0], [0.0, -2.0], [1e-9, 2.0]] {
            let x = ball.project(&Row::from(x.map(|x| x / (-kappa).sqrt())));
            for v in [[0.0, 1.0], [1.0, 0.0], [0.6, -0.8]].map(Row::from) {
                let image = Isometric::<HalfSpace>::convert(&ball, &x);
                let pushed = Isometric::<HalfSpace>::push(&ball, &x, &v);
                let ratio = half_space.norm(&image, &pushed) / ball.norm(&x, &v);
                assert!((ratio - 1.0).abs() < 1e-12, "{kappa}: {x:?} {v:?}: {pushed:?}");
            }
        }
        let x = Row::from([1e150, 1e200]);
        let v = Row::from([0.0, 1e200]);
        let klein = Isometric::<Klein>::push(&half_space, &x, &v);
        assert!(klein.iter().all(|c| c.is_finite()), "{klein:?}");
        assert_eq!(Isometric::<HalfSpace>::push(&half_space, &x, &v), v);
    }
}
