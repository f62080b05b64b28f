//! A formula's kernels for each element type.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Mutex, PoisonError};

pub(crate) use crate::numbers::per_type::Each;
pub use crate::numbers::per_type::PerFloat;
use crate::numbers::storage::Storage;

/// A formula's kernels for both element types.
pub struct Compiled<K: PerFloat>(pub(crate) Each<K>);

impl<K: PerFloat> Compiled<K> {
    pub(crate) fn for_type<T: Storage>(&self) -> K::Of<T> {
        T::pick(&self.0)
    }
}

type Kept = &'static (dyn Any + Send + Sync);

/// Half of the id of a type, which is a hash already.
#[derive(Default)]
struct HalfId(u64);

impl Hasher for HalfId {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.0 = self.0.rotate_left(8) ^ u64::from(byte));
    }
    fn write_u64(&mut self, half: u64) {
        self.0 = half;
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

type Table = HashMap<TypeId, Kept, BuildHasherDefault<HalfId>>;

/// What was made for each formula, in this process.
static MADE: Mutex<Option<Table>> = Mutex::new(None);

thread_local! {
    /// The same, of what this thread has asked for.
    static KNOWN: RefCell<Table> = RefCell::default();
}

/// What was made for the formula `F` before; else makes it. `F` is the key: a type for each formula and its
/// counts of arguments.
pub(crate) fn made_once<F: 'static, V: Any + Send + Sync>(make: fn() -> V) -> &'static V {
    fn find(formula: TypeId, make: &mut dyn FnMut() -> Kept) -> Kept {
        if let Some(known) = KNOWN.with_borrow(|known| known.get(&formula).copied()) {
            return known;
        }
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = *made.get_or_insert_default().entry(formula).or_insert_with(make);
        KNOWN.with_borrow_mut(|known| known.insert(formula, kept));
        kept
    }
    let kept = find(TypeId::of::<F>(), &mut || Box::leak(Box::new(make())));
    kept.downcast_ref().expect("one type of value for a formula")
}
