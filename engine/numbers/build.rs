//! Decides whether kernels are compiled for processors without vector instructions too: the cfg `portable`.
//!
//! On x86-64 nearly every processor since 2013 has AVX2 and FMA, and code without them would be a quarter of
//! what is compiled. So it is compiled if this machine needs it, or with the feature `portable`. On other
//! processors there is no other code.

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
