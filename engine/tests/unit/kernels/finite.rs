use cotangent_engine::{Float, first_not_finite};

/// Elements that are checked together.
const BLOCK: usize = 4096;
/// Elements that one thread checks.
const PART: usize = 1 << 16;

fn found_where_it_is<T: Float>() {
    for len in [0, 1, 7, 31, 32, 33, 100, BLOCK + 5, 2 * PART + 17] {
        let mut values = vec![T::nearest(T::LARGEST); len];
        assert_eq!(first_not_finite(&values), None);
        for at in [0, 1, 30, len / 2, len.saturating_sub(40), len.saturating_sub(1)] {
            for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                let Some(value) = values.get_mut(at) else { continue };
                *value = T::nearest(bad);
                assert_eq!(first_not_finite(&values), Some(at), "{bad} of {len}");
                let last = len - 1;
                let before = std::mem::replace(&mut values[last], T::nearest(bad));
                assert_eq!(first_not_finite(&values), Some(at), "{bad} of {len}");
                values[last] = before;
                values[at] = T::nearest(T::LARGEST);
            }
        }
    }
}

#[test]
fn what_is_not_finite_is_found_where_it_is() {
    found_where_it_is::<f32>();
    found_where_it_is::<f64>();
}
