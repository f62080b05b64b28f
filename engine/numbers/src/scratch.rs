//! Scratch memory of kernels: each thread keeps its own, so the steady state allocates nothing.

use std::cell::RefCell;
use std::thread::LocalKey;

/// Buffers of a thread that are not in use.
pub type Buffers<T> = LocalKey<RefCell<Vec<Vec<T>>>>;

/// Calls `work` with `len` elements of unspecified content; fresh memory is filled with `zero`.
pub fn with<T: Copy, R>(
    buffers: &'static Buffers<T>,
    zero: T,
    len: usize,
    work: impl FnOnce(&mut [T]) -> R,
) -> R {
    let mut buffer = buffers.with_borrow_mut(Vec::pop).unwrap_or_default();
    if buffer.len() < len {
        buffer.resize(len, zero);
    }
    let result = work(&mut buffer[..len]);
    buffers.with_borrow_mut(|buffers| buffers.push(buffer));
    result
}

thread_local! {
    /// This thread's free buffers of `f32`.
    pub static F32_BUFFERS: RefCell<Vec<Vec<f32>>> = const { RefCell::new(Vec::new()) };
    /// This thread's free buffers of `f64`.
    pub static F64_BUFFERS: RefCell<Vec<Vec<f64>>> = const { RefCell::new(Vec::new()) };
}
