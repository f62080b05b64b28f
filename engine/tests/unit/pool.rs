use cotangent_engine::{Device, Memory, Tape};

#[test]
fn buffers_are_reused_and_counted() {
    let mut tape = Tape::<f32>::with_device(Device::cpu());
    let address = |tape: &Tape<f32>, len: usize| tape.zeros([len]).with_data(|x| x.as_ptr().addr());
    let first = address(&tape, 1000);
    assert_eq!(first % 64, 0);
    assert_eq!(tape.memory(), Memory { in_use: 4096, peak: 4096, held: 4096 });
    tape.reset();
    assert_eq!(tape.memory(), Memory { in_use: 0, peak: 4096, held: 4096 });
    assert_eq!(address(&tape, 600), first);
    // A buffer for no elements has room for one.
    tape.zeros([0]);
    assert_eq!(tape.memory(), Memory { in_use: 4100, peak: 4100, held: 4100 });
}
