//! How the rows of a parameter are stepped: in the host's memory, and on a device.

pub(crate) mod device;
pub(crate) mod host;
