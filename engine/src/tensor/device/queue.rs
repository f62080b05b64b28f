//! Devices, their queues, and launches of kernels.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ocl::core::{self, ArgVal, DeviceId, DeviceInfo, Event, PlatformInfo};
use ocl::prm::Ulong4;
use smallvec::SmallVec;

use crate::numbers::simd::LANES;
use crate::tensor::device::DeviceError;
use crate::tensor::device::memory::{Memory, Pool};
use crate::tensor::device::program::{Key, Program};
use crate::tensor::shape::Broadcast;

/// A device with its queue, memory and programs. Clones are the same device.
#[derive(Clone)]
pub struct Queue(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) index: usize,
    pub(crate) name: String,
    pub(crate) device: DeviceId,
    pub(crate) context: core::Context,
    pub(crate) queue: core::CommandQueue,
    /// How many kernels were enqueued.
    launches: AtomicUsize,
    /// Bytes of the device's memory.
    pub(crate) global: u64,
    /// Whether it computes in `f64`.
    pub(crate) f64: bool,
    /// Whether `f32` division and root can be rounded correctly on request.
    pub(crate) rounds: bool,
    /// Work-items of a row.
    pub(crate) items: usize,
    pub(crate) pool: Mutex<Pool>,
    pub(crate) programs: Mutex<HashMap<Key, Arc<Program>>>,
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "OpenCL device {}, {}", self.0.index, self.0.name)
    }
}

impl PartialEq for Queue {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Locks even after a panic while the lock was held: what it guards is only added to, so nothing is left
/// half done.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All devices of all platforms, with the names of both.
fn devices() -> Result<Vec<(String, DeviceId)>, DeviceError> {
    // While another thread asks a driver for the first time, the driver may answer with devices that
    // have no name yet: PoCL does.
    static ASKED: Mutex<()> = Mutex::new(());
    let _one_at_a_time = lock(&ASKED);
    if !has_platform() {
        return Err(DeviceError::NotFound("no driver is installed".into()));
    }
    let platforms = core::get_platform_ids().map_err(|e| DeviceError::NotFound(brief(&e)))?;
    let mut all = Vec::new();
    for platform in platforms {
        let platform_name = core::get_platform_info(platform, PlatformInfo::Name)
            .map_or_else(|_| "unnamed platform".to_owned(), |name| name.to_string());
        // A platform may be without a device.
        let devices = core::get_device_ids(platform, Some(core::DEVICE_TYPE_ALL), None).unwrap_or_default();
        for device in devices {
            let name = core::get_device_info(device, DeviceInfo::Name)
                .map_or_else(|_| "unnamed device".to_owned(), |name| name.to_string());
            all.push((format!("{} ({})", name.trim(), platform_name.trim()), device));
        }
    }
    if all.is_empty() { Err(DeviceError::NotFound("no platform has a device".into())) } else { Ok(all) }
}

/// Whether a driver is installed. `get_platform_ids` would wait ten seconds for one.
fn has_platform() -> bool {
    let mut count = 0;
    // SAFETY: no platforms are asked for, so the null pointer is not written to; the count outlives the call.
    let status = unsafe { core::ffi::clGetPlatformIDs(0, std::ptr::null_mut(), &mut count) };
    status == core::Status::CL_SUCCESS as i32 && count > 0
}

/// The first line of an error's text that is not empty or a rule of `#`.
fn brief(error: &core::Error) -> String {
    let text = error.to_string();
    let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    line.unwrap_or("unknown error").to_owned()
}

/// See [`Device::list`](crate::Device::list).
pub(crate) fn list() -> Result<Vec<String>, DeviceError> {
    let lines = devices()?.into_iter().enumerate().map(|(i, (name, _))| format!("opencl:{i}  {name}"));
    Ok(lines.collect())
}

/// The value of the environment variable `COTANGENT_ROW_ITEMS`, for tests: it makes a processor split rows
/// over work-items as a GPU does.
fn named_items() -> Option<usize> {
    let named = std::env::var("COTANGENT_ROW_ITEMS").ok()?;
    match named.parse() {
        Ok(items @ (1 | LANES)) => Some(items),
        _ => panic!("COTANGENT_ROW_ITEMS={named}: 1 or {LANES} is needed"),
    }
}

/// Whether the environment variable `COTANGENT_DEVICE_F64` says, for tests, that a device must do
/// without `f64`.
fn without_f64() -> bool {
    match std::env::var("COTANGENT_DEVICE_F64").as_deref() {
        Ok("0") => true,
        Ok("1") | Err(_) => false,
        Ok(named) => panic!("COTANGENT_DEVICE_F64={named}: 0 or 1 is needed"),
    }
}

impl Queue {
    /// The device with this number; opened once per process.
    pub(crate) fn open(index: usize) -> Result<Self, DeviceError> {
        static OPEN: Mutex<Vec<Queue>> = Mutex::new(Vec::new());
        let mut open = lock(&OPEN);
        if let Some(queue) = open.iter().find(|queue| queue.0.index == index) {
            return Ok(queue.clone());
        }
        let queue = Self::new(index, without_f64())?;
        open.push(queue.clone());
        Ok(queue)
    }

    /// The device with this number, opened anew.
    pub fn new(index: usize, without_f64: bool) -> Result<Self, DeviceError> {
        let all = devices()?;
        let Some((name, device)) = all.into_iter().nth(index) else {
            return Err(DeviceError::Index { index, found: list()?.join("\n") });
        };
        let unfit = |message: String| DeviceError::Unfit { index, name: name.clone(), message };
        let failed = |error: core::Error| unfit(error.to_string());
        let number = |info| match core::get_device_info(device, info) {
            Ok(core::DeviceInfoResult::GlobalMemSize(bytes)) => bytes,
            Ok(
                core::DeviceInfoResult::SingleFpConfig(config)
                | core::DeviceInfoResult::DoubleFpConfig(config),
            ) => config.bits(),
            _ => 0,
        };
        let context = core::create_context(None, &[device], None, None).map_err(failed)?;
        let queue = core::create_command_queue(&context, device, None).map_err(failed)?;
        let kind = core::get_device_info(device, DeviceInfo::Type);
        let is_cpu =
            matches!(kind, Ok(core::DeviceInfoResult::Type(kind)) if kind.contains(core::DEVICE_TYPE_CPU));
        let rounds = core::FP_CORRECTLY_ROUNDED_DIVIDE_SQRT.bits();
        Ok(Queue(Arc::new(Inner {
            index,
            device,
            context,
            queue,
            launches: AtomicUsize::new(0),
            global: number(DeviceInfo::GlobalMemSize),
            f64: number(DeviceInfo::DoubleFpConfig) != 0 && !without_f64,
            rounds: number(DeviceInfo::SingleFpConfig) & rounds != 0,
            items: named_items().unwrap_or(if is_cpu { 1 } else { LANES }),
            pool: Mutex::default(),
            programs: Mutex::default(),
            name,
        })))
    }

    pub(crate) fn index(&self) -> usize {
        self.0.index
    }

    /// Whether the device computes in `f64`.
    pub(crate) fn has_f64(&self) -> bool {
        self.0.f64
    }

    /// Bytes of a `wide`: an `f64`, if the device has it, else an `f32`.
    pub(crate) fn wide(&self) -> usize {
        if self.has_f64() { size_of::<f64>() } else { size_of::<f32>() }
    }

    /// Panics on an error: a step cannot go on after its device has failed.
    #[track_caller]
    pub(crate) fn expect<R>(&self, what: &str, result: Result<R, core::Error>) -> R {
        match result {
            Ok(result) => result,
            Err(error) => panic!("{self:?}: {what}: {error}"),
        }
    }

    /// Launches a kernel of a program: its arguments follow, then [`Launch::over`].
    pub fn launch(&self, program: &Program, name: &'static str) -> Launch<'_> {
        let kernel = self.expect(name, core::create_kernel(&program.0, name));
        Launch { queue: self, kernel, name, arguments: 0, kept: SmallVec::new() }
    }
}

impl Drop for Inner {
    /// Waits: uploads under way read host memory that is freed with the pool.
    fn drop(&mut self) {
        let _ = core::finish(&self.queue);
    }
}

/// A kernel whose arguments are being set. The memory that it is given is borrowed or kept here until
/// the kernel is enqueued. Memory that goes back to the pool earlier may be given to another kernel,
/// which may be enqueued first.
pub struct Launch<'a> {
    pub(crate) queue: &'a Queue,
    kernel: core::Kernel,
    name: &'static str,
    arguments: u32,
    kept: SmallVec<[Arc<Memory>; 4]>,
}

/// After this many launches the host waits for the device, so that the queue stays short. With 250,000
/// kernels in the queue PoCL 3.1 did not come to an end when another thread read a result.
const QUEUED: usize = 1024;

/// Work-items of a group where a kernel does not say how many.
const GROUP: usize = 64;

impl<'a> Launch<'a> {
    pub(crate) fn argument(mut self, value: ArgVal<'_>) -> Self {
        let set = core::set_kernel_arg(&self.kernel, self.arguments, value);
        self.queue.expect(self.name, set);
        self.arguments += 1;
        self
    }

    /// Device memory.
    pub fn memory(self, memory: &'a Memory) -> Self {
        self.argument(ArgVal::mem(memory.mem()))
    }

    /// Device memory that is kept until the kernel is enqueued.
    pub(crate) fn keep(self, memory: Arc<Memory>) -> Self {
        let mut launch = self.argument(ArgVal::mem(memory.mem()));
        launch.kept.push(memory);
        launch
    }

    /// As [`keep`](Self::keep), or a null pointer.
    pub(crate) fn keep_optional(self, memory: Option<Arc<Memory>>) -> Self {
        match memory {
            Some(memory) => self.keep(memory),
            None => self.optional(None),
        }
    }

    /// Device memory, or a null pointer.
    pub(crate) fn optional(self, memory: Option<&'a Memory>) -> Self {
        match memory {
            Some(memory) => self.memory(memory),
            None => self.argument(ArgVal::mem_null()),
        }
    }

    /// Device memory; no argument if there is none.
    pub(crate) fn given(self, memory: Option<&'a Memory>) -> Self {
        match memory {
            Some(memory) => self.memory(memory),
            None => self,
        }
    }

    /// A number of type `ulong`.
    pub fn size(self, number: usize) -> Self {
        self.argument(ArgVal::scalar(&(number as u64)))
    }

    /// A number of type `wide`.
    pub(crate) fn number(self, number: f64) -> Self {
        if self.queue.has_f64() {
            self.argument(ArgVal::scalar(&number))
        } else {
            self.argument(ArgVal::scalar(&(number as f32)))
        }
    }

    /// How an operand is read: `ulong4`.
    pub(crate) fn broadcast(self, read: Broadcast) -> Self {
        let Broadcast { repeat, len, inner, hold } = read;
        self.sizes([repeat, len, inner, hold])
    }

    /// Numbers of type `ulong4`.
    pub fn sizes(self, numbers: [usize; 4]) -> Self {
        let [x, y, z, w] = numbers.map(|number| number as u64);
        self.argument(ArgVal::vector(&Ulong4::new(x, y, z, w)))
    }

    /// Runs over `n` work-items; a kernel leaves those beyond `n` idle.
    pub fn over(self, n: usize) {
        self.in_groups([n.div_ceil(GROUP), 1, 1], [GROUP, 1, 1]);
    }

    /// Runs over work-groups of a size.
    pub(crate) fn in_groups(self, groups: [usize; 3], size: [usize; 3]) {
        if groups.contains(&0) {
            return;
        }
        let global = std::array::from_fn(|i| groups[i] * size[i]);
        let dimensions = 3;
        // SAFETY: every kernel of this module stays within the memory it is given: an element for each
        // position that its sizes name, and memory was made for the shapes that those sizes come from.
        let enqueued = unsafe {
            core::enqueue_kernel(
                &self.queue.0.queue,
                &self.kernel,
                dimensions,
                None,
                &global,
                Some(size),
                None::<Event>,
                None::<&mut Event>,
            )
        };
        self.queue.expect(self.name, enqueued);
        if self.queue.0.launches.fetch_add(1, Ordering::Relaxed) % QUEUED == QUEUED - 1 {
            self.queue.expect("finish", core::finish(&self.queue.0.queue));
        }
    }
}
