use cotangent_engine::domain::margin;
use cotangent_engine::{Domain, Float, RowUpdate, Scalar, update_rows};

/// x ← x − 2⟨x, g⟩ g, and the number with ⟨g, g⟩ added.
struct Reflect;

impl RowUpdate<2, 1, 1> for Reflect {
    const DOMAIN: Domain = Domain::Ball;
    fn kappa(&self) -> f64 {
        -1.0
    }
    fn eval<S: Scalar>(
        &self,
        _: S,
        products: [[S; 2]; 2],
        _: [[S; 2]; 2],
        [n]: [S; 1],
    ) -> ([[S; 2]; 1], [S; 1]) {
        ([[S::one(), S::constant(-2.0) * products[0][1]]], [n + products[1][1]])
    }
}

/// Rows before a bad row are rewritten; the bad row and those after it are not, wherever it stands.
#[test]
fn rows_from_the_first_bad_one_on_are_unchanged() {
    let (n, width) = (37, 3);
    let x: Vec<f64> = (0..n * width).map(|i| (i as f64).sin() / 2.0).collect();
    let g: Vec<f64> = (0..n * width).map(|i| (i as f64).cos()).collect();
    let update = |g: &[f64]| {
        let (mut x, mut numbers) = (x.clone(), vec![1.0; n]);
        let result = update_rows(&Reflect, [&mut x], [g], [&mut numbers], width);
        (result, x, numbers)
    };
    let (result, new, numbers) = update(&g);
    assert_eq!(result, Ok(()));
    assert!(numbers.iter().all(|&n| n > 1.0) && new.iter().zip(&x).any(|(new, x)| new != x));
    for bad in 0..n {
        let mut g = g.clone();
        (bad..n).step_by(2).for_each(|row| g[row * width + row % width] = f64::NAN);
        let (result, rewritten, kept) = update(&g);
        assert_eq!(result, Err(bad));
        assert_eq!(rewritten, [&new[..bad * width], &x[bad * width..]].concat(), "{bad}");
        assert_eq!(kept, [&numbers[..bad], &vec![1.0; n - bad]].concat(), "{bad}");
    }
}

/// x ← n x.
struct Scale(f64);

impl RowUpdate<1, 1, 1> for Scale {
    const DOMAIN: Domain = Domain::Ball;
    fn kappa(&self) -> f64 {
        self.0
    }
    fn eval<S: Scalar>(&self, _: S, _: [[S; 1]; 1], _: [[S; 1]; 1], [n]: [S; 1]) -> ([[S; 1]; 1], [S; 1]) {
        ([[n]], [n])
    }
}

/// Rows that leave the ball are settled wherever they stand in a group. Those that stay inside are only
/// multiplied.
fn settled<T: Float>(kappa: f64) {
    let (n, width) = (61, 3);
    let unit = kappa.abs().sqrt().recip() / (width as f64).sqrt();
    let x: Vec<T> =
        (0..n * width).map(|i| T::nearest(if i % 2 == 0 { 0.8 * unit } else { -0.8 * unit })).collect();
    let norms = [0.1, 0.9, 0.9999, 1.0 - 1e-7, 1.0, 1.0 + 1e-7, 1.3, 1e3, 0.5];
    let mut numbers: Vec<T> = (0..n).map(|row| T::nearest(norms[row * 5 % 9] / 0.8)).collect();
    let (mut rows, factors) = (x.clone(), numbers.clone());
    assert_eq!(update_rows(&Scale(kappa), [&mut rows], [], [&mut numbers], width), Ok(()));
    assert_eq!(numbers, factors);
    for (row, (new, old)) in rows.chunks(width).zip(x.chunks(width)).enumerate() {
        let margin = margin(new, kappa);
        assert!(margin > 0.0, "{kappa}, {} times {old:?} is {new:?}: {margin:e}", factors[row]);
        if kappa > 0.0 || norms[row * 5 % 9] < 1.0 - 1e-6 {
            for (new, old) in new.iter().zip(old) {
                assert_eq!(*new, T::nearest(factors[row].to_f64() * old.to_f64()));
            }
        }
    }
}

#[test]
fn rows_that_leave_the_ball_are_settled() {
    for kappa in [-1.0, -2.7, 0.6] {
        settled::<f32>(kappa);
        settled::<f64>(kappa);
    }
    // Results that overflow.
    for (rows, numbers) in [([1.0, 1e200, 1.0], [1.0, 1e200, 1.0]), ([1.0, 1e38, 1.0], [1.0, 1e300, 1.0])] {
        let (mut rows, mut numbers) = (rows.map(f64::sqrt), numbers);
        assert_eq!(update_rows(&Scale(0.5), [&mut rows], [], [&mut numbers], 1), Err(1));
    }
}
