use cotangent_engine::Tensor;

#[test]
fn writes_do_not_reach_clones() {
    let mut a = Tensor::new([2], vec![1.0_f32, 2.0]);
    let b = a.clone();
    a.data_mut()[0] = 5.0;
    assert_eq!((a.data(), b.data()), (&[5.0, 2.0][..], &[1.0, 2.0][..]));
}

#[test]
fn display_shows_type_shape_and_an_excerpt() {
    let numbers = |shape: &[usize]| Tensor::from_fn(shape, |i| i as f32).to_string();
    assert_eq!(Tensor::scalar(2.5_f64).to_string(), "f64 [] 2.5");
    assert_eq!(numbers(&[0, 4]), "f32 [0, 4] []");
    assert_eq!(numbers(&[1 << 40, 0]), "f32 [1099511627776, 0] []");
    assert_eq!(numbers(&[7]), "f32 [7] [0, 1, 2, 3, 4, 5, 6]");
    assert_eq!(numbers(&[100]), "f32 [100] [0, 1, 2, …, 97, 98, 99]");
    assert_eq!(numbers(&[3, 4]), "f32 [3, 4]\n[0, 1,  2,  3]\n[4, 5,  6,  7]\n[8, 9, 10, 11]");
    assert_eq!(
        numbers(&[10, 9]),
        "f32 [10, 9]\n\
         [ 0,  1,  2, …,  6,  7,  8]\n\
         [ 9, 10, 11, …, 15, 16, 17]\n\
         [18, 19, 20, …, 24, 25, 26]\n\
         [ …,  …,  …, …,  …,  …,  …]\n\
         [63, 64, 65, …, 69, 70, 71]\n\
         [72, 73, 74, …, 78, 79, 80]\n\
         [81, 82, 83, …, 87, 88, 89]"
    );
    assert_eq!(numbers(&[2, 3, 1, 2]), "f32 [2, 3, 1, 2]\n[0, 0, :, :]\n[0, 1]\n…\n[1, 2, :, :]\n[10, 11]");
    assert_eq!(numbers(&[0, 1, 2, 3]), "f32 [0, 1, 2, 3] []");
    assert!(numbers(&[2; 20]).len() < 300);
    assert_eq!(format!("{:?}", Tensor::scalar(1.0_f32)), "Tensor f32 [] 1");
}

#[test]
fn display_rounds_to_six_digits() {
    let numbers = |numbers: &[f64]| Tensor::new([numbers.len()], numbers.to_vec());
    let shown = |x: f64| Tensor::scalar(x).to_string().split_off("f64 [] ".len());
    assert_eq!(
        [0.1 + 0.2, 1.0 / 3.0, -12.5, -0.0, 123456.7].map(shown),
        ["0.3", "0.333333", "-12.5", "-0", "123457"]
    );
    assert_eq!(
        [1e6, 0.000099, -1.0 / 3e9, f64::MAX].map(shown),
        ["1e6", "9.9e-5", "-3.33333e-10", "1.79769e308"]
    );
    assert_eq!([5e-324, f64::NAN, f64::NEG_INFINITY, 999_999.9].map(shown), ["5e-324", "NaN", "-inf", "1e6"]);
    assert_eq!(Tensor::new([1], vec![0.1_f32]).to_string(), "f32 [1] [0.1]");
    assert_eq!(format!("{:.2?}", numbers(&[0.125, f64::NAN])), "Tensor f64 [2] [0.12, NaN]");
}

#[test]
#[should_panic(expected = "shape [2, 3] needs 6 elements")]
fn wrong_length_panics() {
    let _ = Tensor::new([2, 3], vec![0.0_f32; 5]);
}
