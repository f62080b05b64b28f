//! Device memory: size classes that are reused, uploads that do not wait, and read-backs, which do.

use std::sync::{Arc, Mutex};

use ocl::core::{self, Event, Mem};

use crate::tensor::device::Transfers;
use crate::tensor::device::queue::{Queue, lock};
use crate::tensor::shape::elements;

/// Memory of a device; dropping it gives it back to the device's pool.
pub struct Memory {
    /// `None` once it is given back.
    mem: Option<Mem>,
    class: u32,
    queue: Queue,
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes of {:?}", 1_u64 << self.class, self.queue)
    }
}

impl Memory {
    /// Its OpenCL object.
    pub fn mem(&self) -> &Mem {
        self.mem.as_ref().expect("given back when it is dropped, not before")
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let mut pool = lock(&self.queue.0.pool);
        pool.in_use -= 1 << self.class;
        // The queue is in order: whoever takes this memory next computes after everything that is
        // enqueued now.
        pool.classes.entry(self.class).or_default().extend(self.mem.take());
    }
}

/// Memory that waits for reuse, by size class (powers of two of bytes), and what uploads still read.
#[derive(Default)]
pub(crate) struct Pool {
    classes: std::collections::BTreeMap<u32, Vec<Mem>>,
    in_use: u64,
    held: u64,
    /// Host memory that uploads read. The next read-back waits for them; then it can be freed.
    staged: Vec<Box<[u8]>>,
    staged_bytes: usize,
    transfers: Transfers,
}

/// Uploads wait for the queue when more bytes than this are staged.
const STAGED: usize = 64 << 20;

/// The smallest class, 256 bytes.
const SMALLEST: u32 = 8;

impl Queue {
    /// Memory for elements of a type, of unspecified content. Their number is the product of `sizes`.
    #[track_caller]
    pub(crate) fn take_for<T>(&self, sizes: &[usize]) -> Arc<Memory> {
        self.take(elements(sizes) * size_of::<T>())
    }

    /// As [`take_for`](Self::take_for), for elements of type `wide`.
    #[track_caller]
    pub(crate) fn take_wide(&self, sizes: &[usize]) -> Arc<Memory> {
        self.take(elements(sizes) * self.wide())
    }

    /// Memory of at least `bytes` bytes, of unspecified content.
    #[track_caller]
    pub fn take(&self, bytes: usize) -> Arc<Memory> {
        let class = bytes.next_power_of_two().trailing_zeros().max(SMALLEST);
        let mut pool = lock(&self.0.pool);
        pool.in_use += 1 << class;
        let waiting = pool.classes.get_mut(&class).and_then(Vec::pop);
        let mem = waiting.or_else(|| self.create(&mut pool, class)).or_else(|| {
            // Memory that waits for reuse in other classes is given up.
            let mut waiting = std::mem::take(&mut pool.classes);
            pool.held -= waiting.iter().map(|(class, mems)| (mems.len() as u64) << class).sum::<u64>();
            waiting.clear();
            let _ = core::finish(&self.0.queue);
            self.create(&mut pool, class)
        });
        let Some(mem) = mem else {
            pool.in_use -= 1 << class;
            let (in_use, all) = (pool.in_use, self.0.global);
            drop(pool);
            panic!(
                "{self:?}: out of memory: {} bytes for {bytes} are needed beside {in_use} in use, of {all}",
                1_u64 << class
            )
        };
        drop(pool);
        Arc::new(Memory { mem: Some(mem), class, queue: self.clone() })
    }

    fn create(&self, pool: &mut Pool, class: u32) -> Option<Mem> {
        // Many drivers hand out more than they have and fail at the first use.
        if self.0.global > 0 && pool.held + (1 << class) > self.0.global {
            return None;
        }
        // SAFETY: no host memory is given with it.
        let mem =
            unsafe { core::create_buffer::<_, u8>(&self.0.context, core::MEM_READ_WRITE, 1 << class, None) };
        pool.held += u64::from(mem.is_ok()) << class;
        mem.ok()
    }

    /// Memory with some content.
    pub fn upload(&self, bytes: &[u8]) -> Arc<Memory> {
        let memory = self.take(bytes.len());
        if bytes.is_empty() {
            return memory;
        }
        let mut pool = lock(&self.0.pool);
        pool.transfers.uploaded += bytes.len() as u64;
        pool.stage([bytes.into()]);
        let staged = pool.staged.last().expect("staged above");
        // SAFETY: the staged copy lives until the queue has gone past this upload.
        let enqueued = unsafe {
            let (queue, mem) = (&self.0.queue, memory.mem());
            core::enqueue_write_buffer(queue, mem, false, 0, staged, None::<Event>, None::<&mut Event>)
        };
        self.expect("upload", enqueued);
        if pool.staged_bytes > STAGED {
            self.expect("upload", core::finish(&self.0.queue));
            drop(pool.unstage());
        }
        memory
    }

    /// Waits for all that is enqueued, and reads.
    pub fn read(&self, memory: &Memory, bytes: &mut [u8]) {
        if bytes.is_empty() {
            return;
        }
        // When this has succeeded, everything staged before has been read. The pool is not locked meanwhile.
        let staged = {
            let mut pool = lock(&self.0.pool);
            pool.transfers.read_back += bytes.len() as u64;
            pool.unstage()
        };
        // SAFETY: the call returns when `bytes` is written.
        let enqueued = unsafe {
            let (queue, mem) = (&self.0.queue, memory.mem());
            core::enqueue_read_buffer(queue, mem, true, 0, bytes, None::<Event>, None::<&mut Event>)
        };
        if enqueued.is_err() {
            lock(&self.0.pool).stage(staged);
        }
        self.expect("read-back", enqueued);
    }

    /// See [`Device::transfers`](crate::Device::transfers).
    pub(crate) fn transfers(&self) -> Transfers {
        lock(&self.0.pool).transfers
    }
}

impl Pool {
    /// Keeps what uploads read.
    fn stage(&mut self, staged: impl IntoIterator<Item = Box<[u8]>>) {
        for bytes in staged {
            self.staged_bytes += bytes.len();
            self.staged.push(bytes);
        }
    }

    /// The staged memory, which may be freed once everything that is enqueued now is done.
    fn unstage(&mut self) -> Vec<Box<[u8]>> {
        self.staged_bytes = 0;
        std::mem::take(&mut self.staged)
    }
}

/// The memory of some elements on a device, if they are on one.
#[derive(Default)]
pub(crate) struct Slot(Mutex<Option<Arc<Memory>>>);

impl Slot {
    /// The memory on a device. If there is none yet, it is taken there, and filled with
    /// `content(whether the elements are on another device)` unless that is `None`. If several threads ask
    /// at the same time, one makes it and the others wait.
    pub(crate) fn on<'a>(
        &self,
        queue: &Queue,
        bytes: usize,
        content: impl FnOnce(bool) -> Option<&'a [u8]>,
    ) -> Arc<Memory> {
        let on_queue = |here: &Option<Arc<Memory>>| {
            here.as_ref().filter(|memory| memory.queue == *queue).map(Arc::clone)
        };
        let here = lock(&self.0).clone();
        if let Some(memory) = on_queue(&here) {
            return memory;
        }
        // Called before the lock is taken again: what another device has is read back through this slot.
        let content = content(here.is_some());
        let mut slot = lock(&self.0);
        if let Some(memory) = on_queue(&slot) {
            return memory;
        }
        let memory = match content {
            Some(content) => queue.upload(content),
            None => queue.take(bytes),
        };
        *slot = Some(Arc::clone(&memory));
        memory
    }

    /// The memory and its device, if there is one.
    pub(crate) fn here(&self) -> Option<(Queue, Arc<Memory>)> {
        lock(&self.0).clone().map(|memory| (memory.queue.clone(), memory))
    }

    /// Reads the memory back, if there is any.
    pub(crate) fn read<T: bytemuck::Pod>(&self, to: &mut [T]) {
        if let Some((queue, memory)) = self.here() {
            queue.read(&memory, bytemuck::cast_slice_mut(to));
        }
    }

    pub(crate) fn forget(&mut self) {
        *self.0.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner) = None;
    }
}
