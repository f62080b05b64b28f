//! Programs: compiled once per process.

use std::any::TypeId;
use std::ffi::CString;
use std::sync::Arc;

use ocl::core::{self, ProgramBuildInfo};

use crate::numbers::storage::Storage;
use crate::numbers::trace::prelude;
use crate::tensor::device::queue::{Queue, lock};

/// A compiled program.
pub struct Program(pub(crate) core::Program);

/// What identifies a program: a skeleton, the formula in it, and the type of its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    pub(crate) skeleton: &'static str,
    pub(crate) formula: Option<TypeId>,
    /// Identifies an expression that does not belong to a formula.
    pub(crate) fingerprint: u64,
    pub(crate) element: &'static str,
}

impl Key {
    /// The key of a skeleton, with or without a formula in it.
    pub fn new<T: Storage>(skeleton: &'static str, formula: Option<TypeId>) -> Self {
        Key { skeleton, formula, fingerprint: 0, element: T::NAME }
    }
}

/// The name of an element type in OpenCL C.
pub(crate) fn c_type<T: Storage>() -> &'static str {
    if T::NAME == "f32" { "float" } else { "double" }
}

/// Declares the type of the elements, the widest type that the device has, and how an operand is read
/// over an output: [`Broadcast::at`](crate::Broadcast::at).
fn heading<T: Storage>(queue: &Queue) -> String {
    let (elem, wide) = (c_type::<T>(), if queue.has_f64() { "double" } else { "float" });
    let types = format!("typedef {elem} elem;\ntypedef {wide} wide;\n");
    format!("#pragma OPENCL FP_CONTRACT OFF\n{types}#define EPSILON {:e}\n{HEADING}", T::EPSILON)
}

const HEADING: &str = include_str!("heading.cl");

impl Queue {
    /// The program of a key: compiled from `source` the first time.
    ///
    /// # Panics
    /// If it does not compile. The message has the lines that the compiler complains of, and its log.
    pub fn program<T: Storage>(&self, key: Key, source: impl FnOnce() -> String) -> Arc<Program> {
        if let Some(program) = lock(&self.0.programs).get(&key) {
            return Arc::clone(program);
        }
        let program = Arc::new(self.compile(key.skeleton, heading::<T>(self) + &source()));
        lock(&self.0.programs).entry(key).or_insert(program).clone()
    }

    #[track_caller]
    fn compile(&self, what: &str, source: String) -> Program {
        let rounding = if self.0.rounds { " -cl-fp32-correctly-rounded-divide-sqrt" } else { "" };
        let text = |text: &str| CString::new(text).expect("sources have no NUL in them");
        let program = core::create_program_with_source(&self.0.context, &[text(&source)]);
        let program = self.expect(what, program);
        // Without f64, a constant without a suffix is an f32.
        let constants = if self.has_f64() { "" } else { " -cl-single-precision-constant" };
        debug_assert!(self.has_f64() || !names_double(&source), "{what} needs f64:\n{source}");
        let options = text(&format!("-w -cl-std=CL1.2{rounding}{constants}"));
        if let Err(error) = core::build_program(&program, Some(&[self.0.device]), &options, None, None) {
            let log = core::get_program_build_info(&program, self.0.device, ProgramBuildInfo::BuildLog);
            let log = log.map_or_else(|_| error.to_string(), |log| log.to_string());
            panic!("{self:?}: the kernel {what} does not compile\n{}{log}", complaints(&source, &log))
        }
        Program(program)
    }
}

/// Whether a program has the word `double` in it, or asks for the extension that has it.
pub fn names_double(source: &str) -> bool {
    let mut words = source.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.any(|word| word == "double" || word == "cl_khr_fp64")
}

/// The source lines that a build log names as `:line:column:`.
pub fn complaints(source: &str, log: &str) -> String {
    let lines: Vec<&str> = source.lines().collect();
    let number = |field: &&str| field.trim().parse::<usize>().ok();
    let place = |line: &str| {
        let fields: Vec<&str> = line.split(':').collect();
        fields.windows(2).find_map(|pair| number(&pair[0]).filter(|_| number(&pair[1]).is_some()))
    };
    let mut named: Vec<usize> = log.lines().filter_map(place).collect();
    named.dedup();
    named.truncate(8);
    let text = |&n: &usize| lines.get(n.wrapping_sub(1)).map(|line| format!("line {n}: {}\n", line.trim()));
    named.iter().filter_map(text).collect()
}

/// Elementary functions and expressions over them, for a type of number.
pub(crate) fn functions(real: &str, expressions: &[(&str, crate::numbers::trace::Expression)]) -> String {
    let mut source = format!("typedef {real} real;\n");
    source += &if real == "float" { prelude::<f32>() } else { prelude::<f64>() };
    for (name, expression) in expressions {
        source += "static ";
        source += &expression.to_c(name, "real");
    }
    source
}
