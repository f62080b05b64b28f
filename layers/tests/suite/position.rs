//! Learned positions.

use cotangent_engine::{Row, Tape, check, rng};
use cotangent_layers::PositionEmbedding;
use cotangent_manifolds::{Euclidean, Module, Point};

use super::{points, scatter, space};

/// López & Strube 2020, section 4.1: r_i = x_i ⊕ p_i. In flat space it is the sum.
#[test]
fn places_are_added_to_words() {
    let mut rng = rng::stream(1, 0, 0);
    for kappa in [-1.0, 0.0, 0.5] {
        let m = space(kappa);
        let mut positions = PositionEmbedding::new(m, 7, 3, 1e-4, &mut rng);
        scatter(&mut positions, 0.5, 2);
        let words = points(&m, 2 * 4, 3, 0.8, &mut rng).reshape([2, 4, 3]);
        let tape = Tape::new();
        let placed = positions.forward(Point::new(m, tape.constant(&words)), 2).coordinates().to_tensor();
        for (i, (placed, word)) in placed.rows().zip(words.rows()).enumerate() {
            let want = m.add(&Row::from(word), &Row::from(positions.points.value().row(2 + i % 4)));
            assert!(placed.iter().zip(want.iter()).all(|(a, b)| (a - b).abs() < 1e-15), "{kappa} {i}");
        }
    }
    let positions = PositionEmbedding::new(Euclidean, 4, 3, 0.1, &mut rng);
    let words = points(&Euclidean, 4, 3, 0.8, &mut rng);
    let tape = Tape::new();
    let placed = positions.forward(Point::new(Euclidean, tape.constant(&words)), 0).coordinates().to_tensor();
    let table = positions.points.value().data();
    assert!(placed.data().iter().zip(words.data()).zip(table).all(|((r, x), p)| *r == x + p));
}

/// Both words and places have the right gradients. Places that no word has get none.
#[test]
fn places_are_learned() {
    let (m, mut rng) = (space(-1.0), rng::stream(3, 0, 0));
    let mut positions = PositionEmbedding::new(m, 5, 2, 0.3, &mut rng);
    let words = points(&m, 3, 2, 0.8, &mut rng);
    let table = positions.points.value().clone();
    let worst = check::gradients(&[words, table], |v| {
        // The table is a variable here, in place of the parameter.
        let placed = m.add(&v[0], &v[1].slice(0, 1..4));
        (placed * placed).sum()
    });
    assert!(worst.relative < 1e-8, "{worst:?}");
    scatter(&mut positions, 0.5, 4);
    let tape = Tape::new();
    let words = tape.constant(&points(&m, 3, 2, 0.8, &mut rng));
    let placed = *positions.forward(Point::new(m, words), 1).coordinates();
    let gradients = tape.backward((placed * placed).sum());
    let of_places = gradients.wrt(&positions.points).data().to_vec();
    let none = |row: usize| of_places[2 * row..2 * row + 2].iter().all(|&g| g == 0.0);
    assert_eq!([0, 1, 2, 3, 4].map(none), [true, false, false, false, true]);
    assert_eq!(positions.state().len(), 1);
}

#[test]
#[should_panic(expected = "positions: places 2..5 of 4")]
fn there_are_only_so_many_places() {
    let m = space(-1.0);
    let positions = PositionEmbedding::new(m, 4, 2, 0.3, &mut rng::stream(5, 0, 0));
    let tape = Tape::new();
    let words = tape.constant(&points(&m, 3, 2, 0.8, &mut rng::stream(6, 0, 0)));
    let _ = positions.forward(Point::new(m, words), 2);
}
