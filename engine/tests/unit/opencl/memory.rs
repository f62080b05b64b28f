use cotangent_engine::internal::Queue;

/// A new queue on the first device, if there is one.
fn queue() -> Option<Queue> {
    Queue::new(0, false).inspect_err(|error| cotangent_engine::skipped(format_args!("{error}"))).ok()
}

#[test]
fn what_is_uploaded_is_read_back_and_memory_is_reused() {
    let Some(queue) = queue() else { return };
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let memory = queue.upload(&bytes);
    let mut back = vec![0; bytes.len()];
    queue.read(&memory, &mut back);
    assert_eq!(back, bytes);
    // No other test takes so much.
    let large = queue.take(200 << 20);
    let address = large.mem().as_ptr();
    drop(large);
    assert_eq!(queue.take(150 << 20).mem().as_ptr(), address);
}

#[test]
fn memory_that_is_not_there_is_refused_with_the_sizes() {
    let Some(queue) = queue() else { return };
    let refused = std::panic::catch_unwind(|| queue.take(1 << 50)).expect_err("a pebibyte");
    let message = refused.downcast_ref::<String>().expect("a message");
    assert!(message.contains("out of memory: 1125899906842624 bytes"), "{message}");
    assert!(message.contains(" in use, of "), "{message}");
}
