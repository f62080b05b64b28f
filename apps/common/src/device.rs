//! The option `--device`: where an application computes.

use cotangent::prelude::Device;

use crate::command_line::RUN;
use crate::error::{AppError, Result, report};
use crate::say;

/// `--device`, to be flattened into the options of an application.
#[derive(clap::Args, Clone, Debug)]
pub struct DeviceOption {
    /// Where to compute: cpu, opencl (the first OpenCL device), opencl:N (device N, from 0), or list, which
    /// shows all devices and ends.
    #[arg(long, default_value = "cpu", value_parser = listed, help_heading = RUN)]
    device: String,
}

/// Returns a device's name unchanged. For `list` it prints the devices and ends the process, as `--help`
/// does, so that no other option is needed.
fn listed(name: &str) -> std::result::Result<String, std::convert::Infallible> {
    if name == "list" {
        std::process::exit(report(list()).into());
    }
    Ok(name.to_owned())
}

fn list() -> Result<()> {
    say!("cpu       the processor");
    Device::list()?.iter().for_each(|line| say!("{line}"));
    Ok(())
}

impl DeviceOption {
    /// The device.
    ///
    /// # Errors
    /// If there is no such device. The message says what is missing, and how to install it.
    pub fn choose(&self) -> Result<Device> {
        Ok(self.device.parse()?)
    }
}

impl From<cotangent::engine::DeviceError> for AppError {
    fn from(error: cotangent::engine::DeviceError) -> Self {
        AppError::usage(format!("--device: {error}"))
    }
}
