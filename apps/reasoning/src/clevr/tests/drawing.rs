//! Pictures of scenes show what questions ask about.

use super::*;
use crate::clevr::attribute::AttributeValue;
use crate::clevr::drawing::draw;
use crate::clevr::placement::random_scene;
use crate::clevr::scene::Relation;

const SIDE: usize = 32;

/// Where a scene of some objects differs from one of others: the pixels, as row and column.
fn differences(scene: &Scene, these: &[usize], those: &[usize]) -> Vec<[f32; 2]> {
    let [a, b] = [these, those].map(|numbers| {
        let objects = numbers.iter().map(|&number| scene.objects[number].clone()).collect();
        draw(&Scene { objects, ..scene.clone() }, SIDE)
    });
    let pixels = a.pixels().chunks_exact(3).zip(b.pixels().chunks_exact(3)).enumerate();
    let differs = |(a, b): (&[u8], &[u8])| a.iter().zip(b).any(|(a, b)| a.abs_diff(*b) > 12);
    let place = |(i, _)| [(i / SIDE) as f32, (i % SIDE) as f32];
    pixels.filter(|&(_, pair)| differs(pair)).map(place).collect()
}

fn mean(places: &[[f32; 2]]) -> [f32; 2] {
    [0, 1].map(|axis| places.iter().map(|place| place[axis]).sum::<f32>() / places.len() as f32)
}

/// What is left in a scene is left in its picture, and what is behind is higher.
#[test]
fn relations_are_those_of_the_picture() {
    let mut compared = 0;
    for number in 0..12 {
        let scene = random_scene(5, number, "new");
        let places: Vec<[f32; 2]> =
            (0..scene.objects.len()).map(|object| mean(&differences(&scene, &[object], &[]))).collect();
        let pairs = (0..places.len()).flat_map(|a| (0..places.len()).map(move |b| (a, b)));
        // Shadows and perspective move the middle of a small difference, so only clear ones are compared.
        for (a, b) in pairs.filter(|(a, b)| a != b) {
            let [[up, left], [down, right]] = [places[a], places[b]];
            let [ahead, beside] =
                [Relation::Behind, Relation::Left].map(|relation| scene.related(relation, b).contains(a));
            if (left - right).abs() > 8.0 {
                assert_eq!(beside, left < right, "scene {number}: {a} and {b}");
                compared += 1;
            }
            if (up - down).abs() > 8.0 {
                assert_eq!(ahead, up < down, "scene {number}: {a} and {b}");
                compared += 1;
            }
        }
    }
    assert!(compared > 100, "{compared}");
}

/// Size, colour, material and shape of an object can each be seen.
#[test]
fn attributes_are_seen() {
    let mut scene = scene();
    for attribute in Attribute::ALL {
        for value in attribute.values() {
            let mut changed = scene.objects[0].clone();
            if changed.value(attribute) == value {
                continue;
            }
            changed.attributes[attribute as usize] = value;
            changed.position[2] = changed.radius();
            scene.objects.truncate(4);
            scene.objects.push(changed);
            let seen = differences(&scene, &[0], &[4]);
            assert!(seen.len() > 4, "{value:?}: {} pixels differ", seen.len());
        }
    }
    // A red ball is red, and brighter on the side of the light.
    let ball = draw(&Scene { objects: vec![scene.objects[1].clone()], ..scene.clone() }, SIDE);
    let reddest = ball.pixels().chunks_exact(3).max_by_key(|pixel| i32::from(pixel[0]) - i32::from(pixel[1]));
    let [red, green, blue] = reddest.unwrap()[..] else { unreachable!("three colours") };
    assert!(red > 2 * green && red > 2 * blue, "{red} {green} {blue}");
    assert_eq!(scene.objects[1].value(Attribute::Colour), AttributeValue::Red);
}

/// An object in front hides one behind it.
#[test]
fn what_is_in_front_hides_what_is_behind() {
    let mut scene = scene();
    scene.directions = vec![("front".to_owned(), [0.0, -1.0, 0.0])];
    // A small ball behind a large cube, from where the camera stands.
    (scene.objects[0].position, scene.objects[1].position) = ([0.0, -1.0, 0.7], [0.0, 0.4, 0.35]);
    let (hidden, alone) = (differences(&scene, &[0, 1], &[0]), differences(&scene, &[1], &[]));
    assert!(alone.len() > 8 && 3 * hidden.len() < alone.len(), "{} of {}", hidden.len(), alone.len());
    scene.objects[1].position = [0.0, -2.4, 0.35];
    let before = differences(&scene, &[0, 1], &[0]);
    assert!(before.len() > 8, "{}", before.len());
}
