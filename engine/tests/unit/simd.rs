//! Every instruction set computes the same bits.

use std::fmt::{Display, Write};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::process::Command;

use cotangent_engine::{Float, simd};

use crate::kernels::{gram, line, pairings};

/// The bits of some elements, the same for every NaN.
pub(crate) fn bits<T: Float>(x: &[T]) -> Vec<u64> {
    x.iter().map(|x| if x.is_nan() { f64::NAN } else { x.to_f64() }.to_bits()).collect()
}

/// Hashes of results, line by line.
#[derive(Default)]
pub(crate) struct Digest(String);

impl Digest {
    /// Adds a line: what was computed, and a hash of each result.
    pub(crate) fn line<T: Float>(&mut self, name: impl Display, results: &[Vec<T>]) {
        let hash = |x: &Vec<T>| {
            let mut hasher = DefaultHasher::new();
            bits(x).hash(&mut hasher);
            hasher.finish()
        };
        writeln!(self.0, "{name}: {:x?}", results.iter().map(hash).collect::<Vec<_>>()).unwrap();
    }

    /// The digest of all kernels with the instruction set in use.
    fn compute() -> String {
        let mut digest = Digest::default();
        gram::digest::<f32>(&mut digest);
        gram::digest::<f64>(&mut digest);
        line::digest::<f32>(&mut digest);
        line::digest::<f64>(&mut digest);
        pairings::digest(&mut digest);
        digest.0
    }
}

/// A process chooses its instruction set once, so this test runs itself in a child process for each of the
/// others. Baseline code uses lanes in place of registers, and computes one row at a time.
#[test]
fn every_instruction_set_computes_the_same_bits() {
    const TO: &str = "COTANGENT_TEST_DIGEST";
    if let Some(to) = std::env::var_os(TO) {
        return std::fs::write(to, simd::level().to_owned() + "\n" + &Digest::compute()).unwrap();
    }
    let own = Digest::compute();
    let dir = tempfile::tempdir().unwrap();
    for level in ["baseline", "avx2+fma"] {
        let file = dir.path().join(level);
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "simd::every_instruction_set_computes_the_same_bits"]);
        let output = child.env("COTANGENT_SIMD", level).env(TO, &file).output().unwrap();
        assert!(output.status.success(), "{level}: {}", String::from_utf8_lossy(&output.stdout));
        let written = std::fs::read_to_string(&file).unwrap();
        let (used, other) = written.split_once('\n').unwrap();
        // A processor without the named instruction set uses what it has.
        assert!(used == level || used == "baseline");
        for (own, other) in own.lines().zip(other.lines()) {
            assert_eq!(own, other, "{} and {used}", simd::level());
        }
        assert_eq!(own.len(), other.len());
    }
}
