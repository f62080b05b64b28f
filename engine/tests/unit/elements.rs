use cotangent_engine::Tensor;

/// Bytes of a huge page. Large memory is aligned to it.
const HUGE: usize = 2 << 20;

#[test]
fn large_and_small_memory_is_zero_and_copies() {
    for len in [0, 3, 1 << 20] {
        let mut memory = Tensor::<f32>::zeros([len]);
        assert!(memory.len() == len && memory.data().iter().all(|&x| x == 0.0));
        let in_pages = |memory: &Tensor<f32>| memory.data().as_ptr().addr().is_multiple_of(HUGE);
        assert!(len <= 3 || in_pages(&memory));
        memory.data_mut().iter_mut().for_each(|x| *x = 1.0);
        let mut copy = memory.clone();
        // A write copies what is shared.
        let written = copy.data_mut().as_ptr();
        assert!(len == 0 || written != memory.data().as_ptr());
        assert!(len <= 3 || in_pages(&copy));
        assert!(copy == memory && copy.data().iter().sum::<f32>() == len as f32);
    }
}
