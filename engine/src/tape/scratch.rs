//! Scratch memory of kernels: each thread keeps its own, so the steady state allocates nothing.

use std::cell::RefCell;
use std::thread::LocalKey;

use crate::tape::Tape;
use crate::tape::float::Float;

/// Buffers of a thread that are not in use.
pub(crate) type Buffers<T> = LocalKey<RefCell<Vec<Vec<T>>>>;

/// Calls `work` with `len` elements of unspecified content.
pub(crate) fn with<T: Copy, R>(
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

/// Calls `work` with an empty tape of this thread. Its memory is reused from earlier calls.
pub(crate) fn with_tape<T: Float, R>(
    tapes: &'static LocalKey<RefCell<Vec<Tape<T>>>>,
    work: impl FnOnce(&Tape<T>) -> R,
) -> R {
    let mut tape = tapes.with_borrow_mut(Vec::pop).unwrap_or_default();
    let result = work(&tape);
    tape.reset();
    tapes.with_borrow_mut(|tapes| tapes.push(tape));
    result
}

thread_local! {
    pub(crate) static TAPES_F32: RefCell<Vec<Tape<f32>>> = const { RefCell::new(Vec::new()) };
    pub(crate) static TAPES_F64: RefCell<Vec<Tape<f64>>> = const { RefCell::new(Vec::new()) };
    pub(crate) static OF_F32: RefCell<Vec<Vec<f32>>> = const { RefCell::new(Vec::new()) };
    pub(crate) static OF_F64: RefCell<Vec<Vec<f64>>> = const { RefCell::new(Vec::new()) };
}
