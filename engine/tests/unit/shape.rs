use cotangent_engine::Broadcast;

#[test]
fn kinds() {
    let b = |operand: &[usize], output: &[usize]| Broadcast::new(operand, output).map(|b| (b.repeat, b.len));
    assert_eq!(b(&[3, 4], &[3, 4]), Some((1, 12)));
    assert_eq!(b(&[], &[3, 4]), Some((1, 1)));
    assert_eq!(b(&[1], &[3, 4]), Some((1, 1)));
    assert_eq!(b(&[4], &[3, 4]), Some((1, 4)));
    assert_eq!(b(&[3, 1], &[3, 4]), Some((4, 3)));
    assert_eq!(b(&[3, 1], &[2, 3, 4]), Some((4, 3)));
    assert_eq!(b(&[2, 1, 4, 1, 2], &[2, 3, 4, 5, 2]), None);
    assert_eq!(b(&[5], &[3, 4]), None);
    assert_eq!(b(&[0, 4], &[0, 4]), Some((1, 0)));
}

#[test]
fn common_shapes() {
    let c = |shapes: &[&[usize]]| Broadcast::common(shapes).map(|s| s.axes().to_vec());
    assert_eq!(c(&[&[3, 1], &[3, 4]]), Some(vec![3, 4]));
    assert_eq!(c(&[&[3, 1], &[1, 4]]), Some(vec![3, 4]));
    assert_eq!(c(&[&[], &[4]]), Some(vec![4]));
    assert_eq!(c(&[&[3], &[4]]), None);
}

/// Compares the operand position that is read with the one that follows from the axes.
#[test]
fn every_kind_reads_by_axes() {
    let output = [2, 3, 4, 2];
    for mask in 0..16 {
        let operand: Vec<usize> = (0..4).map(|i| if mask >> i & 1 == 1 { output[i] } else { 1 }).collect();
        let Some(read) = Broadcast::new(&operand, &output) else { panic!("at most two runs: {operand:?}") };
        for p in 0..48 {
            let at = [p / 24, p / 8 % 3, p / 2 % 4, p % 2];
            let want = (0..4).fold(0, |q, i| q * operand[i] + if operand[i] == 1 { 0 } else { at[i] });
            assert_eq!(read.at(p), want, "{operand:?} at {p}");
            if read.consecutive(p, 2) && p + 1 < 48 {
                assert_eq!(read.at(p + 1), want + 1, "{operand:?} at {p}");
            }
            if read.in_step(p + 1) {
                assert_eq!(read.at(p), p, "{operand:?} at {p}");
            } else {
                assert_ne!(operand, output, "{p}");
            }
            for end in p..=48 {
                let runs = read.runs(p..end).flat_map(|(first, count)| {
                    (0..count).map(move |i| if read.holds() { first } else { first + i })
                });
                assert!(runs.eq((p..end).map(|p| read.at(p))), "{operand:?} from {p} to {end}");
            }
        }
    }
}

#[test]
fn positions() {
    let column = Broadcast::new(&[3, 1], &[2, 3, 4]).unwrap();
    let read: Vec<usize> = (0..24).map(|p| column.at(p)).collect();
    assert_eq!(read[..13], [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 0]);
}
