//! Where tensors are and a tape computes: the processor, or an OpenCL device with its queue, memory and
//! programs.
//!
//! | file | what |
//! |---|---|
//! | `queue.rs` | a device with its queue; launches |
//! | `program.rs` | programs, compiled once per process; errors with the source line and the build log |
//! | `memory.rs` | device memory, pooled; uploads and read-backs |
//! | `copies.rs` | copies from place to place on a device |
//!
//! Everything goes through one in-order queue. Only a read-back waits for it, so memory may be reused as
//! soon as the last launch that reads it is enqueued.

#[cfg(feature = "opencl")]
pub(crate) mod copies;
#[cfg(feature = "opencl")]
pub(crate) mod memory;
#[cfg(feature = "opencl")]
pub(crate) mod program;
#[cfg(feature = "opencl")]
pub(crate) mod queue;

use std::str::FromStr;
use std::sync::OnceLock;

use thiserror::Error;

use crate::numbers::storage::Storage;

/// The processor, or an OpenCL device (feature `opencl`).
///
/// A [`Tape`](crate::Tape) made on a device keeps its values there. They are read back when the host
/// needs them. A [`Tensor`](crate::Tensor) put on such a tape is uploaded once, and stays on the device
/// until it is written to on the host.
///
/// Every operation of the engine has a device form except row functions
/// ([`RowFunction`](crate::RowFunction)), which are host code (factorisations of matrices, for example),
/// and the derivatives of formulas in forward mode ([`Tape::jvp`](crate::Tape::jvp)). These, and an
/// [`Operation`](crate::Operation) of your own, are computed on the host: what they read is read back
/// and their results are uploaded.
///
/// A device without `f64` computes in `f32` only: a tape of `f64` panics there. The inner products,
/// margins and coefficients of rows, elsewhere in `f64`, are then sums of two `f32`, exact to about
/// 2⁻⁴⁰, so that operations of manifolds are within an ulp of the processor's. Other sums are
/// accumulated in `f32`. Squares of coordinates must stay in the range of `f32`; they have all their
/// digits from coordinates of 10⁻¹² up.
///
/// For tests, the environment variable `COTANGENT_DEVICE` names the device of tapes that are made
/// without one.
///
/// ```
/// use cotangent_engine::{Device, Tape, Tensor};
/// let device: Device = "cpu".parse().unwrap();
/// let tape = Tape::<f64>::with_device(device);
/// let x = tape.constant(&Tensor::new([2], vec![3.0, 4.0]));
/// assert_eq!(x.square().sum().item(), 25.0);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Device(Kind);

#[derive(Clone, Debug, Default, PartialEq)]
enum Kind {
    #[default]
    Cpu,
    #[cfg(feature = "opencl")]
    OpenCl(self::queue::Queue),
}

/// Bytes that went between the host and a device. See [`Device::transfers`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfers {
    /// To the device.
    pub uploaded: u64,
    /// From the device.
    pub read_back: u64,
}

/// Why a device cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DeviceError {
    /// The text names no device.
    #[error("{0:?}: cpu, opencl or opencl:N is needed")]
    Name(String),
    /// The feature `opencl` is off.
    #[error("OpenCL is not in this build: build with --features opencl")]
    NotBuilt,
    /// There is no platform or no device.
    #[error(
        "no OpenCL device was found ({0}): install the driver of your GPU, or PoCL, which computes on the \
         processor (Debian: apt install pocl-opencl-icd)"
    )]
    NotFound(String),
    /// No device has this number.
    #[error("there is no OpenCL device {index}; there are:\n{found}")]
    Index {
        /// The number asked for.
        index: usize,
        /// All devices, one a line.
        found: String,
    },
    /// The device's driver fails.
    #[error("OpenCL device {index}, {name}: {message}")]
    Unfit {
        /// The device's number.
        index: usize,
        /// The device's name.
        name: String,
        /// What is wrong.
        message: String,
    },
    /// The device does not compute in `f64`.
    #[error("{0} has no f64: a computation in f32, or another device, is needed")]
    NoF64(String),
}

impl Device {
    /// The processor.
    pub const fn cpu() -> Self {
        Device(Kind::Cpu)
    }

    /// An OpenCL device by its number in [`list`](Self::list).
    ///
    /// # Errors
    /// If OpenCL is not in this build, there is no driver or no such device, or the driver fails.
    pub fn opencl(index: usize) -> Result<Self, DeviceError> {
        #[cfg(feature = "opencl")]
        return self::queue::Queue::open(index).map(|queue| Device(Kind::OpenCl(queue)));
        #[cfg(not(feature = "opencl"))]
        {
            let _ = index;
            Err(DeviceError::NotBuilt)
        }
    }

    /// The platforms and devices of OpenCL, one device a line, in the order of their numbers.
    ///
    /// # Errors
    /// If OpenCL is not in this build, or there is no driver or no device.
    pub fn list() -> Result<Vec<String>, DeviceError> {
        #[cfg(feature = "opencl")]
        return self::queue::list();
        #[cfg(not(feature = "opencl"))]
        Err(DeviceError::NotBuilt)
    }

    /// The bytes that went to and from the device since this process opened it, for everything that
    /// computes there. Zero for the processor.
    pub fn transfers(&self) -> Transfers {
        match &self.0 {
            Kind::Cpu => Transfers::default(),
            #[cfg(feature = "opencl")]
            Kind::OpenCl(queue) => queue.transfers(),
        }
    }

    /// Whether it computes with elements of a type.
    ///
    /// # Errors
    /// If the elements are `f64` and the device has none.
    pub fn computes<T: Storage>(&self) -> Result<(), DeviceError> {
        #[cfg(feature = "opencl")]
        if let Kind::OpenCl(queue) = &self.0
            && T::NAME == "f64"
            && !queue.has_f64()
        {
            return Err(DeviceError::NoF64(format!("{queue:?}")));
        }
        Ok(())
    }

    /// Whether this is the processor.
    pub fn is_cpu(&self) -> bool {
        self.0 == Kind::Cpu
    }

    /// The device that the environment variable `COTANGENT_DEVICE` names (for tests), else the
    /// processor.
    pub(crate) fn from_environment() -> Self {
        static DEVICE: OnceLock<Device> = OnceLock::new();
        let named = || match std::env::var("COTANGENT_DEVICE") {
            Ok(name) if !name.is_empty() => {
                name.parse().unwrap_or_else(|error| panic!("COTANGENT_DEVICE={name}: {error}"))
            }
            _ => Device::cpu(),
        };
        DEVICE.get_or_init(named).clone()
    }

    #[cfg(feature = "opencl")]
    pub(crate) fn from_queue(queue: self::queue::Queue) -> Self {
        Device(Kind::OpenCl(queue))
    }

    #[cfg(feature = "opencl")]
    pub(crate) fn queue(&self) -> Option<&self::queue::Queue> {
        match &self.0 {
            Kind::Cpu => None,
            Kind::OpenCl(queue) => Some(queue),
        }
    }
}

impl std::fmt::Display for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Kind::Cpu => write!(f, "cpu"),
            #[cfg(feature = "opencl")]
            Kind::OpenCl(queue) => write!(f, "opencl:{}", queue.index()),
        }
    }
}

impl FromStr for Device {
    type Err = DeviceError;

    /// `cpu`, `opencl` (the first device) or `opencl:N`.
    fn from_str(name: &str) -> Result<Self, DeviceError> {
        match name.split_once(':') {
            None if name == "cpu" => Ok(Device::cpu()),
            None if name == "opencl" => Device::opencl(0),
            Some(("opencl", index)) => {
                Device::opencl(index.parse().map_err(|_| DeviceError::Name(name.to_owned()))?)
            }
            _ => Err(DeviceError::Name(name.to_owned())),
        }
    }
}
