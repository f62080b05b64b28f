//! The option `--device`: where an application trains.

use cotangent::prelude::Device;

use crate::error::{AppError, Result};

/// `--device`, to be flattened into the options of an application.
#[derive(clap::Args, Clone, Debug)]
pub struct DeviceOption {
    /// Where to train: cpu, opencl or opencl:N; list shows the devices there are.
    #[arg(long, default_value = "cpu")]
    device: String,
}

impl DeviceOption {
    /// The device; `None` if they were to be listed, which is done.
    ///
    /// # Errors
    /// If there is no such device: what is missing, and how to install it.
    pub fn choose(&self) -> Result<Option<Device>> {
        if self.device == "list" {
            println!("cpu       the processor");
            Device::list()?.iter().for_each(|line| println!("{line}"));
            return Ok(None);
        }
        Ok(Some(self.device.parse()?))
    }
}

impl From<cotangent::engine::DeviceError> for AppError {
    fn from(error: cotangent::engine::DeviceError) -> Self {
        AppError::usage(format!("--device: {error}"))
    }
}
