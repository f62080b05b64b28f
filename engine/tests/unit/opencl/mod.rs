mod memory;
mod program;
mod scalar;
