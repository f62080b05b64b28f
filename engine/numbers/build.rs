//! Decides whether kernels are compiled for processors without vector instructions too: the cfg `portable`.
//!
//! On x86-64 nearly every processor since 2013 has AVX2 and FMA, and the third form of each kernel would be a
//! quarter of all that is compiled. So it is there where this machine needs it, or where it is asked for: with the
//! feature `portable`. On other processors it is the only form.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(portable)");
    let is_x86_64 = env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|target| target == "x86_64");
    if !is_x86_64 || env::var_os("CARGO_FEATURE_PORTABLE").is_some() || !has_vectors() {
        println!("cargo::rustc-cfg=portable");
    }
}

/// Whether this machine has the vector instructions.
#[cfg(target_arch = "x86_64")]
fn has_vectors() -> bool {
    std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_vectors() -> bool {
    false
}
