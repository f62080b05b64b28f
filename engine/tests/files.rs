//! Tensors in and out of files: fixtures by the formats' specifications, round trips to the bit, and hostile files,
//! which must end in an error that names the file, without a panic and without a large allocation.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};

use cotangent_engine::files::{FileError, npy, safetensors};
use cotangent_engine::{Float, Tensor};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use tempfile::TempDir;

/// The system's allocator, remembering the largest request of each thread.
struct Watched;

thread_local! {
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

fn watch(size: usize) {
    LARGEST.set(LARGEST.get().max(size));
}

// SAFETY: every call goes to the system's allocator as it came; a constant thread-local without a destructor neither
// allocates nor panics.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        watch(layout.size());
        // SAFETY: the caller's contract is the same.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        watch(layout.size());
        // SAFETY: the caller's contract is the same.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        watch(size);
        // SAFETY: the caller's contract is the same.
        unsafe { System.realloc(old, layout, size) }
    }
    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: the caller's contract is the same.
        unsafe { System.dealloc(old, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Watched = Watched;

/// A file in a directory of its own.
struct Scratch(TempDir);

impl Scratch {
    fn new() -> Self {
        Scratch(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("file")
    }

    /// Reads a file of these bytes, watching what is allocated; an error as its message without the file's name.
    fn read<R>(&self, bytes: &[u8], read: impl Fn(&Path) -> Result<R, FileError>) -> Result<R, String> {
        let path = self.path();
        // Some file systems wait for the disk where a file is written over, but not where it is new.
        let _ = fs::remove_file(&path);
        fs::write(&path, bytes).unwrap();
        LARGEST.set(0);
        let result = read(&path);
        let largest = LARGEST.get();
        assert!(largest >= bytes.len(), "the allocator is not watched");
        assert!(largest <= 32 * bytes.len() + (16 << 10), "{largest} bytes for a file of {}", bytes.len());
        result.map_err(|error| {
            assert!(matches!(error, FileError::Content { .. }), "{error:?}");
            let (message, name) = (error.to_string(), format!("{}: ", path.display()));
            message.strip_prefix(&name).unwrap_or_else(|| panic!("no file named: {message}")).to_owned()
        })
    }

    /// The bytes that a function writes.
    fn written(&self, write: impl FnOnce(&Path) -> Result<(), FileError>) -> Vec<u8> {
        write(&self.path()).unwrap();
        fs::read(self.path()).unwrap()
    }

    /// Reads bytes in both formats and both element types. What can be read must agree with itself.
    fn survives(&self, bytes: &[u8]) {
        self.survives_as::<f32>(bytes);
        self.survives_as::<f64>(bytes);
    }

    fn survives_as<T: Float>(&self, bytes: &[u8]) {
        let mut tensors = Vec::new();
        if let Ok(tensor) = self.read(bytes, npy::read::<T>) {
            tensors.push(tensor);
        }
        if let Ok((named, _)) = self.read(bytes, safetensors::read::<T>) {
            tensors.extend(named.into_values());
        }
        assert!(4 * tensors.iter().map(Tensor::len).sum::<usize>() <= bytes.len());
        for tensor in tensors {
            assert_eq!(tensor.shape().iter().product::<usize>(), tensor.data().len());
            assert!(tensor.to_string().len() < 1 << 16);
            let again = (tensor.shape().to_vec(), bits(&tensor));
            let bytes = npy_by_specification(&again, (size_of::<T>() == 8, false, false), 2);
            same_bits(&self.read(&bytes, npy::read::<T>).unwrap(), &tensor);
        }
    }
}

/// The bits of an element, in the lower half where it is `f32`.
fn to_bits<T: Float>(x: T) -> u64 {
    let mut bytes = Vec::new();
    x.write_le(&mut bytes);
    bytes.resize(8, 0);
    u64::from_le_bytes(bytes.try_into().unwrap())
}

fn bits<T: Float>(tensor: &Tensor<T>) -> Vec<u64> {
    tensor.data().iter().map(|&x| to_bits(x)).collect()
}

#[track_caller]
fn same_bits<T: Float>(a: &Tensor<T>, b: &Tensor<T>) {
    assert_eq!((a.shape(), bits(a)), (b.shape(), bits(b)));
}

/// A `.npy` file without padding.
fn npy_file(version: u8, header: impl AsRef<[u8]>, data: &[u8]) -> Vec<u8> {
    let header = header.as_ref();
    let length = header.len() as u32;
    let length =
        if version == 1 { length.to_le_bytes()[..2].to_vec() } else { length.to_le_bytes().to_vec() };
    [b"\x93NUMPY", &[version, 0][..], &length, header, data].concat()
}

fn safetensors_file(header: impl AsRef<[u8]>, data: &[u8]) -> Vec<u8> {
    let header = header.as_ref();
    [&(header.len() as u64).to_le_bytes(), header, data].concat()
}

fn little_endian(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn big_endian(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_be_bytes()).collect()
}

const MATRIX: &str = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";

#[test]
fn npy_is_written_to_the_letter() {
    let scratch = Scratch::new();
    let numbers = [1.0, -2.5, 0.0, f32::INFINITY, 1e-40, 6.0];
    let bytes = scratch.written(|path| npy::write(path, &Tensor::new([2, 3], numbers.to_vec())));
    let mut expected = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    expected.extend(MATRIX.bytes());
    expected.resize(127, b' ');
    expected.push(b'\n');
    expected.extend(little_endian(&numbers));
    assert!(bytes == expected, "{}", String::from_utf8_lossy(&bytes));

    for (axes, literal) in [(&[][..], "()"), (&[1], "(1,)"), (&[0, 7], "(0, 7)"), (&[1; 40], "1, 1)")] {
        let bytes = scratch.written(|path| npy::write(path, &Tensor::<f64>::zeros(axes)));
        let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
        let header = std::str::from_utf8(&bytes[10..start]).unwrap();
        assert!(header.starts_with("{'descr': '<f8', 'fortran_order': False, 'shape': ("), "{header}");
        assert!(header.trim_end_matches(' ').ends_with('\n') && header.contains(literal), "{header}");
        assert_eq!(start % 64, 0);
        same_bits(&npy::read(&scratch.path()).unwrap(), &Tensor::<f64>::zeros(axes));
    }
}

#[test]
fn npy_of_other_writers_is_read() {
    let scratch = Scratch::new();
    let expected = Tensor::from_fn([2, 3], |i| i as f32);
    let rows = little_endian(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    for version in 1..=3 {
        assert_eq!(scratch.read(&npy_file(version, MATRIX, &rows), npy::read).as_ref(), Ok(&expected));
    }
    let header = b"  {\"shape\":(2 ,3,) , 'fortran_order':False,\n'descr':\"<f4\"}\t\n";
    assert_eq!(scratch.read(&npy_file(1, header, &rows), npy::read).as_ref(), Ok(&expected));

    let header = "{'descr': '>f8', 'fortran_order': True, 'shape': (2, 3), }";
    let columns = npy_file(2, header, &big_endian(&[0.0, 3.0, 1.0, 4.0, 2.0, 5.0]));
    assert_eq!(scratch.read(&columns, npy::read).as_ref(), Ok(&expected));
    assert_eq!(scratch.read(&columns, npy::read::<f64>), Ok(expected.cast()));

    let header = "{'descr': '>f8', 'fortran_order': True, 'shape': (), }";
    let scalar = npy_file(1, header, &big_endian(&[0.1]));
    assert_eq!(scratch.read(&scalar, npy::read), Ok(Tensor::scalar(0.1_f64)));
    assert_eq!(scratch.read(&scalar, npy::read), Ok(Tensor::scalar(0.1_f32)));

    let header = "{'descr': '<f4', 'fortran_order': True, 'shape': (1099511627776, 0, 2)}";
    let empty = scratch.read(&npy_file(1, header, b""), npy::read::<f32>).unwrap();
    assert_eq!((empty.shape().axes(), empty.len()), (&[1 << 40, 0, 2][..], 0));
}

#[test]
fn what_is_wrong_with_a_npy_file_is_named() {
    let scratch = Scratch::new();
    let with = |descr: &str, order: &str, shape: &str| {
        npy_file(1, format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}}}"), &[0; 24])
    };
    let float = |shape| with("'<f4'", "False", shape);
    assert!(scratch.read(&float("(2, 3)"), npy::read::<f32>).is_ok());
    let header = |text: &[u8]| npy_file(1, text, &[0; 24]);
    let cases = [
        (b"".to_vec(), "not a .npy file"),
        (b"PK\x03\x04 and more".to_vec(), "not a .npy file"),
        (b"\x93NUMPY\x01".to_vec(), "truncated .npy file"),
        (npy_file(4, MATRIX, &[0; 24]), "version 4.0"),
        (b"\x93NUMPY\x02\x00\xf0\xff\xff\xff{}".to_vec(), "truncated .npy file"),
        (header(b"{'descr': '<f4\xff'}"), "header: invalid utf-8"),
        (header(b""), "header: { expected, not \"\""),
        (header(b"{} {}"), "header: the end expected"),
        (header(b"{}"), "header: no key \"descr\""),
        (header(b"{'descr': '<f4', 'fortran_order': True}"), "header: no key \"shape\""),
        (header(b"{'descr': '<f4', 'shape': ()}"), "header: no key \"fortran_order\""),
        (header(b"{'descr': '<f4', 'descr': '<f8'}"), "\"descr\" is there twice"),
        (header(b"{'description': '<f4'}"), "\"description\" is none of"),
        (header(b"{'descr': '<f4"), "a closed string expected"),
        (header(b"{'descr' '<f4'}"), ": expected"),
        (header(&b"(".repeat(60_000)), "{ expected"),
        (with("'<i4'", "False", "(6,)"), "element type \"<i4\"; f4 or f8 is needed"),
        (with("'|O'", "False", "(6,)"), "element type \"|O\""),
        (with("[('x', '<f4')]", "False", "(6,)"), "a string expected, not \"[('x', '<f4')]"),
        (with("'<f4'", "0", "(6,)"), "True or False expected"),
        (float("(6)"), ", expected"),
        (float("[6]"), "( expected"),
        (float("(-6,)"), "an extent expected, not \"-6,)}\""),
        (float("(18446744073709551616,)"), "an extent expected"),
        (
            float("(4294967296, 4294967296, 4294967296)"),
            "shape [4294967296, 4294967296, 4294967296] overflows",
        ),
        // 2^64 bytes: zero, were the product to wrap.
        (float("(4611686018427387904,)"), "overflows"),
        (float("(4611686018427387910,)"), "overflows"),
        (float("(0, 4294967296, 4294967296)"), "overflows"),
        // Bytes of f32 could still be counted, those of f64 not.
        (float("(0, 4611686018427387903)"), "overflows"),
        (float("(1000000000000, 1)"), "needs 4000000000000 bytes of elements, 24 are there"),
        (float("(7,)"), "shape [7] needs 28 bytes of elements, 24 are there"),
        (float("(5,)"), "shape [5] needs 20 bytes of elements, 24 are there"),
        (float("(0,)"), "shape [0] needs 0 bytes of elements, 24 are there"),
    ];
    for (bytes, expected) in cases {
        let error = scratch.read(&bytes, npy::read::<f32>).unwrap_err();
        assert!(error.contains(expected), "{error}, not {expected}");
        assert!(error.len() < 200 && !error.contains('\n'), "{error}");
    }
    let axes = Tensor::<f32>::zeros(&[1; 30_000][..]);
    let error = npy::write(&scratch.path(), &axes).unwrap_err().to_string();
    assert!(error.contains("30000 axes do not fit"), "{error}");
}

#[test]
fn safetensors_are_written_to_the_letter() {
    let scratch = Scratch::new();
    let (a, b) = (Tensor::new([2], vec![1.0_f32, -2.5]), Tensor::scalar(3.0));
    let plain = scratch.written(|path| safetensors::write(path, &[("b", &b), ("a", &a)], None));
    let header = "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},\
                  \"b\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[8,12]}}";
    let header = format!("{header:width$}", width = header.len().next_multiple_of(8));
    assert_eq!(plain, safetensors_file(header, &little_endian(&[1.0, -2.5, 3.0])));

    let (tensors, metadata) = scratch.read(&plain, safetensors::read::<f32>).unwrap();
    assert!(tensors.len() == 2 && tensors["a"] == a && tensors["b"] == b && metadata.is_empty());
    let write = |path: &Path| safetensors::write(path, &[("a", &a)], Some(("kappa", "-1 \"\u{3ba}\"")));
    let described = scratch.written(write);
    let (tensors, metadata) = scratch.read(&described, safetensors::read::<f64>).unwrap();
    assert_eq!((&tensors["a"], metadata["kappa"].as_str()), (&a.cast(), "-1 \"\u{3ba}\""));
    assert_eq!(described, scratch.written(write));
}

#[test]
fn what_is_wrong_with_a_safetensors_file_is_named() {
    let scratch = Scratch::new();
    let entry = |name: &str, dtype: &str, shape: &str, offsets: &str| {
        format!("\"{name}\":{{\"dtype\":\"{dtype}\",\"shape\":{shape},\"data_offsets\":{offsets}}}")
    };
    let file = |entries: &[String]| safetensors_file(format!("{{{}}}", entries.join(",")), &[0; 24]);
    let one = |shape, offsets| file(&[entry("a", "F32", shape, offsets)]);
    let two = |shape, offsets| file(&[entry("b", "F32", shape, offsets), entry("a", "F32", "[2]", "[0,8]")]);
    assert!(scratch.read(&one("[2,3]", "[0,24]"), safetensors::read::<f32>).is_ok());
    assert!(scratch.read(&two("[4]", "[8,24]"), safetensors::read::<f32>).is_ok());
    let header = |text: &[u8]| safetensors_file(text, &[0; 24]);
    let deep = [b"{\"a\":{\"x\":".to_vec(), b"[".repeat(100_000)].concat();
    let cases = [
        (b"".to_vec(), "not a safetensors file"),
        (b"\x08\x00\x00".to_vec(), "not a safetensors file"),
        (u64::MAX.to_le_bytes().to_vec(), "not a whole safetensors file: a header of 18446744073709551615"),
        (b"not tensors, but text".to_vec(), "not a whole safetensors file"),
        (header(b"{\"a\xff\":0}"), "header: invalid utf-8"),
        (header(b""), "header: EOF"),
        (header(b"[]"), "an object of tensors"),
        (header(b"{} x"), "header: trailing characters"),
        (header(&deep), "header: \"a\": EOF"),
        (header(b"{\"a\":{\"dtype\":\"F32\",\"shape\":[6]}}"), "header: \"a\": missing field `data_offsets`"),
        (header(b"{\"__metadata__\":{\"k\":1}}"), "header: \"__metadata__\": invalid type"),
        (header(b"{\"__metadata__\":{},\"__metadata__\":{}}"), "header: \"__metadata__\" is there twice"),
        (file(&[entry("a", "F31", "[6]", "[0,24]")]), "header: \"a\": unknown variant `F31`"),
        (file(&[entry("a", "I32", "[6]", "[0,24]")]), "tensor \"a\": it holds I32; F32 or F64 is needed"),
        (one("[-6]", "[0,24]"), "header: \"a\": invalid value: integer `-6`"),
        (one("[6.0]", "[0,24]"), "header: \"a\": invalid type"),
        (one("[18446744073709551616]", "[0,24]"), "header: \"a\": invalid type"),
        (one("[6]", "[0,25]"), "tensor \"a\": its range 0..25 is not in the 24 bytes of elements"),
        (one("[6]", "[0,18446744073709551615]"), "tensor \"a\": its range"),
        (one("[6]", "[4,24]"), "tensor \"a\": its range 4..24 leaves a gap: the last one ended at 0"),
        (one("[5]", "[0,20]"), "4 bytes after the last tensor"),
        (one("[7]", "[0,24]"), "tensor \"a\": shape [7] needs 28 bytes of elements, 24 are there"),
        (one("[0]", "[0,24]"), "tensor \"a\": shape [0] needs 0 bytes"),
        (one("[4611686018427387910]", "[0,24]"), "tensor \"a\": shape [4611686018427387910] overflows"),
        (
            one("[4294967296,4294967296,0]", "[0,0]"),
            "tensor \"a\": shape [4294967296, 4294967296, 0] overflows",
        ),
        (
            two("[5]", "[4,24]"),
            "tensor \"b\": its range 4..24 overlaps another tensor: the last one ended at 8",
        ),
        (two("[3]", "[12,24]"), "tensor \"b\": its range 12..24 leaves a gap"),
        (two("[4]", "[24,8]"), "tensor \"b\": its range 24..8 leaves a gap"),
        (two("[0]", "[8,4]"), "tensor \"b\": its range 8..4 is not in"),
        (
            file(&[entry("a", "F32", "[6]", "[0,24]"), entry("a", "F32", "[6]", "[0,24]")]),
            "\"a\" is there twice",
        ),
    ];
    for (bytes, expected) in cases {
        let error = scratch.read(&bytes, safetensors::read::<f32>).unwrap_err();
        assert!(error.contains(expected), "{error}, not {expected}");
        assert!(error.len() < 400 && !error.contains('\n'), "{error}");
    }
}

#[test]
fn a_refused_write_leaves_the_old_file() {
    let scratch = Scratch::new();
    let (path, a) = (scratch.path(), Tensor::scalar(1.0_f32));
    fs::write(&path, "old").unwrap();
    for names in [["a", "a"], ["a", "__metadata__"]] {
        let error = safetensors::write(&path, &names.map(|name| (name, &a)), None).unwrap_err();
        assert!(error.to_string().contains(&format!("tensor {:?}: the name is taken", names[1])), "{error}");
    }
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(fs::read_dir(scratch.0.path()).unwrap().count(), 1);

    let nowhere = path.join("file");
    let name = format!("{}: ", nowhere.display());
    let errors = [
        npy::write(&nowhere, &a).unwrap_err(),
        npy::read::<f32>(&nowhere).unwrap_err(),
        safetensors::write(&nowhere, &[("a", &a)], None).unwrap_err(),
        safetensors::read::<f32>(&nowhere).unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(error, FileError::Io { .. }) && error.to_string().starts_with(&name), "{error}");
    }
}

#[test]
fn every_cut_and_every_addition_is_noticed() {
    let scratch = Scratch::new();
    let (a, b) = (Tensor::from_fn([2, 3], |i| i as f64), Tensor::zeros([0, 2]));
    let named = scratch.written(|path| safetensors::write(path, &[("a", &a), ("b", &b)], Some(("k", "v"))));
    let single = scratch.written(|path| npy::write(path, &a));
    for extra in [&[0][..], b"\n", &[0; 64]] {
        assert!(scratch.read(&[&named, extra].concat(), safetensors::read::<f64>).is_err());
        assert!(scratch.read(&[&single, extra].concat(), npy::read::<f64>).is_err());
    }
    for cut in 0..named.len() {
        assert!(scratch.read(&named[..cut], safetensors::read::<f64>).is_err(), "{cut}");
    }
    for cut in 0..single.len() {
        assert!(scratch.read(&single[..cut], npy::read::<f64>).is_err(), "{cut}");
    }
}

/// Shapes with, sometimes, no axes or no elements.
fn shape() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(prop_oneof![1 => Just(0_usize), 8 => 1..5_usize], 0..5)
}

/// Bits of an element, of which `f32` takes the lower half: zeros, subnormals, infinities and NaNs of any payload are
/// as likely as numbers.
fn element() -> impl Strategy<Value = u64> {
    const SPECIAL: [u64; 12] = [
        0x0000_0000_0000_0000,
        0x8000_0000_8000_0000,
        0x0000_0000_0000_0001,
        0x000f_ffff_807f_ffff,
        0x7ff0_0000_7f80_0000,
        0xfff0_0000_ff80_0000,
        0x7ff8_0000_7fc0_0000,
        0x7ff0_0000_7f80_0001, // signalling
        0xfff8_dead_ffc0_beef,
        0x7fef_ffff_7f7f_ffff,
        0x47ef_ffff_f000_0000, // rounds to infinity as f32
        0x3690_0000_0000_0000, // half the least f32
    ];
    prop_oneof![any::<u64>(), select(&SPECIAL[..])]
}

fn tensor() -> impl Strategy<Value = (Vec<usize>, Vec<u64>)> {
    shape().prop_flat_map(|shape| {
        let n = shape.iter().product::<usize>();
        (Just(shape), prop::collection::vec(element(), n))
    })
}

fn from_bits<T: Float>((shape, bits): &(Vec<usize>, Vec<u64>)) -> Tensor<T> {
    let elements = bits.iter().map(|bits| T::read_le(&bits.to_le_bytes()[..size_of::<T>()]));
    Tensor::new(&shape[..], elements.collect())
}

fn round_trips<T: Float, U: Float>(scratch: &Scratch, a: &Tensor<T>, b: &Tensor<T>) {
    let bytes = scratch.written(|path| npy::write(path, a));
    same_bits(&scratch.read(&bytes, npy::read::<T>).unwrap(), a);
    same_bits(&scratch.read(&bytes, npy::read::<U>).unwrap(), &a.cast());

    let tensors = [("a", a), ("", b)];
    let bytes = scratch.written(|path| safetensors::write(path, &tensors, Some(("key", "value"))));
    let (named, metadata) = scratch.read(&bytes, safetensors::read::<T>).unwrap();
    assert_eq!((named.len(), metadata.len(), metadata["key"].as_str()), (2, 1, "value"));
    same_bits(&named["a"], a);
    same_bits(&named[""], b);
    same_bits(&scratch.read(&bytes, safetensors::read::<U>).unwrap().0["a"], &a.cast());
}

/// A file by the specification, written element by element: not by the code under test.
fn npy_by_specification(
    (shape, bits): &(Vec<usize>, Vec<u64>),
    (double, big, columns): (bool, bool, bool),
    version: u8,
) -> Vec<u8> {
    let mut data = Vec::new();
    for position in 0..bits.len() {
        // The index of the element at this position of the file, then its row-major number.
        let (mut rest, mut index) = (position, vec![0; shape.len()]);
        let mut axes: Vec<usize> = (0..shape.len()).collect();
        if !columns {
            axes.reverse();
        }
        for axis in axes {
            index[axis] = rest % shape[axis];
            rest /= shape[axis];
        }
        let row_major = index.iter().zip(shape).fold(0, |number, (i, n)| number * n + i);
        let mut element = bits[row_major].to_le_bytes()[..if double { 8 } else { 4 }].to_vec();
        if big {
            element.reverse();
        }
        data.extend(element);
    }
    let descr = format!("{}f{}", if big { '>' } else { '<' }, if double { 8 } else { 4 });
    let order = if columns { "True" } else { "False" };
    let extents: String = shape.iter().map(|n| format!("{n},")).collect();
    npy_file(version, format!("{{'descr':'{descr}','fortran_order':{order},'shape':({extents})}}"), &data)
}

/// The same for `f32` tensors in a safetensors file.
fn safetensors_by_specification(tensors: &[&(Vec<usize>, Vec<u64>)]) -> Vec<u8> {
    let (mut header, mut data) = ("{\"__metadata__\":{\"k\":\"v\"}".to_owned(), Vec::new());
    for (i, (shape, bits)) in tensors.iter().enumerate() {
        let start = data.len();
        bits.iter().for_each(|bits| data.extend(&bits.to_le_bytes()[..4]));
        let offsets = [start, data.len()];
        header += &format!(",\"{i}\":{{\"dtype\":\"F32\",\"shape\":{shape:?},\"data_offsets\":{offsets:?}}}");
    }
    safetensors_file(header + "}", &data)
}

/// One change to a file: its kind, where, and with what.
type Change = (u8, Index, u8);

fn change(bytes: &mut Vec<u8>, &(kind, at, byte): &Change) {
    if bytes.is_empty() {
        return;
    }
    let at = at.index(bytes.len());
    match kind {
        0 => bytes[at] = byte,
        1 => bytes[at] ^= 1 << (byte % 8),
        2 => bytes.insert(at, byte),
        3 => drop(bytes.remove(at)),
        4 => bytes.truncate(at),
        // A digit makes another number of a number.
        5 => bytes[at] = b'0' + byte % 10,
        6 => bytes.insert(at, b'0' + byte % 10),
        _ => bytes.extend_from_within(at..),
    }
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    prop::collection::vec((0..8_u8, any::<Index>(), any::<u8>()), 1..5)
}

/// Extents, often too large.
fn extent() -> impl Strategy<Value = String> {
    const ODD: [&str; 8] =
        ["-1", "1e3", "9223372036854775807", "18446744073709551615", "18446744073709551616", "007", "", "x"];
    let large =
        (0..64_u32, -1..2_i64).prop_map(|(shift, by)| (1_u64 << shift).wrapping_add_signed(by).to_string());
    prop_oneof![8 => (0..5_u8).prop_map(|n| n.to_string()), 2 => large, 1 => select(&ODD[..]).prop_map(str::to_owned)]
}

fn extents() -> impl Strategy<Value = String> {
    prop::collection::vec(extent(), 0..5).prop_map(|extents| extents.join(","))
}

fn one_of(values: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop_oneof![20 => select(values).prop_map(str::to_owned), 1 => "\\PC{0,12}"]
}

fn npy_dictionary() -> impl Strategy<Value = String> {
    let entry = prop_oneof![
        (
            one_of(&["'descr'"]),
            one_of(&["'<f4'", "'<f8'", "'>f4'", "'>f8'", "'<i4'", "'f'", "['<f4']", "None"])
        ),
        (one_of(&["'fortran_order'"]), one_of(&["True", "False", "0", "'True'"])),
        (one_of(&["'shape'"]), extents().prop_map(|e| format!("({e})"))),
        (one_of(&["'shape'"]), extents().prop_map(|e| format!("({e},)"))),
    ];
    let entries = prop::collection::vec(entry, 0..5).prop_map(|entries| {
        let entries: Vec<String> =
            entries.into_iter().map(|(key, value)| format!("{key}: {value}")).collect();
        entries.join(", ")
    });
    let complete = (select(&["<f4", ">f8"][..]), select(&["True", "False"][..]), extents())
        .prop_map(|(t, order, e)| format!("'descr': '{t}', 'fortran_order': {order}, 'shape': ({e},)"));
    prop_oneof![entries, complete].prop_map(|entries| format!("{{{entries}}}"))
}

fn safetensors_dictionary() -> impl Strategy<Value = String> {
    let name = one_of(&["a", "b", "", "__metadata__"]);
    let dtype = one_of(&["F32", "F64", "F32", "F64", "F16", "F4", "I64", "BOOL"]);
    let entry = (name, dtype, extents(), extent(), extent()).prop_map(|(name, dtype, shape, start, end)| {
        format!("{name:?}:{{\"dtype\":{dtype:?},\"shape\":[{shape}],\"data_offsets\":[{start},{end}]}}")
    });
    let metadata =
        one_of(&["\"__metadata__\":{\"k\":\"v\"}", "\"__metadata__\":{}", "\"__metadata__\":[[[]]]"]);
    // Ranges in a row, as they should be, with shapes that need not fit them.
    let row = prop::collection::vec((0..4_usize, extents()), 0..4).prop_map(|tensors| {
        let mut end = 0;
        let entry = |(i, (n, shape)): (usize, (usize, String))| {
            end += 4 * n;
            let shape = if shape.len() > 3 { shape } else { n.to_string() };
            format!(
                "\"{i}\":{{\"dtype\":\"F32\",\"shape\":[{shape}],\"data_offsets\":[{},{end}]}}",
                end - 4 * n
            )
        };
        tensors.into_iter().enumerate().map(entry).collect::<Vec<_>>()
    });
    prop_oneof![row, prop::collection::vec(prop_oneof![6 => entry.boxed(), 1 => metadata.boxed()], 0..4),]
        .prop_map(|entries| format!("{{{}}}", entries.join(",")))
}

proptest! {
    // Every write waits for the disk.
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn what_is_written_is_read_to_the_bit(a in tensor(), b in tensor()) {
        let scratch = Scratch::new();
        round_trips::<f32, f64>(&scratch, &from_bits(&a), &from_bits(&b));
        round_trips::<f64, f32>(&scratch, &from_bits(&a), &from_bits(&b));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn files_by_specification_are_read_to_the_bit(
        a in tensor(), b in tensor(), kind: (bool, bool, bool), version in 1..4_u8,
    ) {
        let scratch = Scratch::new();
        let (named, _) = scratch.read(&safetensors_by_specification(&[&a, &b]), safetensors::read::<f32>).unwrap();
        same_bits(&named["0"], &from_bits(&a));
        same_bits(&named["1"], &from_bits(&b));
        let bytes = npy_by_specification(&a, kind, version);
        if kind.0 {
            same_bits(&scratch.read(&bytes, npy::read::<f64>).unwrap(), &from_bits(&a));
        } else {
            same_bits(&scratch.read(&bytes, npy::read::<f32>).unwrap(), &from_bits(&a));
        }
    }

    #[test]
    fn any_bytes_are_survived(bytes: Vec<u8>, version in 0..5_u8) {
        let scratch = Scratch::new();
        scratch.survives(&bytes);
        scratch.survives(&[b"\x93NUMPY", &bytes[..]].concat());
        scratch.survives(&npy_file(version, &bytes, b""));
        scratch.survives(&safetensors_file(&bytes, b""));
    }

    #[test]
    fn damage_is_survived(a in tensor(), b in tensor(), kind: (bool, bool, bool), changes in changes()) {
        let scratch = Scratch::new();
        for mut bytes in [npy_by_specification(&a, kind, 1), safetensors_by_specification(&[&a, &b])] {
            changes.iter().for_each(|c| change(&mut bytes, c));
            scratch.survives(&bytes);
        }
    }

    #[test]
    fn damaged_headers_are_survived(a in tensor(), kind: (bool, bool, bool), changes in changes()) {
        let scratch = Scratch::new();
        let whole = npy_by_specification(&a, kind, 1);
        let (header, data) = whole.split_at(10 + usize::from(u16::from_le_bytes([whole[8], whole[9]])));
        let mut header = header[10..].to_vec();
        changes.iter().for_each(|c| change(&mut header, c));
        scratch.survives(&npy_file(1, &header, data));

        let whole = safetensors_by_specification(&[&a]);
        let (header, data) = whole.split_at(whole.len() - 4 * a.1.len());
        let mut header = header[8..].to_vec();
        changes.iter().for_each(|c| change(&mut header, c));
        scratch.survives(&safetensors_file(&header, data));
    }

    #[test]
    fn any_dictionary_is_survived(npy in npy_dictionary(), named in safetensors_dictionary(), n in 0..9_usize) {
        let scratch = Scratch::new();
        for data in [&[][..], &vec![1; 4 * n]] {
            scratch.survives(&npy_file(1, &npy, data));
            scratch.survives(&safetensors_file(&named, data));
        }
    }
}
