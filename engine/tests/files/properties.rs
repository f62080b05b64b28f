//! Round trips that keep every bit, and files that are damaged or wrong from the start.

use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::*;

/// Shapes, some of which have no axes or no elements.
fn shape() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(prop_oneof![1 => Just(0_usize), 8 => 1..5_usize], 0..5)
}

/// Bits of an element; `f32` uses the lower half. Zeros, subnormals, infinities and NaNs of any payload are
/// as likely as other numbers.
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

/// A file by the specification, written element by element and not by the code under test.
pub(crate) fn npy_by_specification(
    (shape, bits): &(Vec<usize>, Vec<u64>),
    (double, big, columns): (bool, bool, bool),
    version: u8,
) -> Vec<u8> {
    let mut data = Vec::new();
    for position in 0..bits.len() {
        // The index of the element at this position of the file, then its row-major number.
        let (mut outer, mut index) = (position, vec![0; shape.len()]);
        let mut axes: Vec<usize> = (0..shape.len()).collect();
        if !columns {
            axes.reverse();
        }
        for axis in axes {
            index[axis] = outer % shape[axis];
            outer /= shape[axis];
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
        // A digit turns a number into another number.
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
    let small = (0..5_u8).prop_map(|n| n.to_string());
    prop_oneof![8 => small, 2 => large, 1 => select(&ODD[..]).prop_map(str::to_owned)]
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
    // Ranges without gap or overlap, with shapes that need not fit them.
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
    // Few cases, because every write waits for the disk.
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
        let bytes = safetensors_by_specification(&[&a, &b]);
        let (named, _) = scratch.read(&bytes, safetensors::read::<f32>).unwrap();
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
    fn any_dictionary_is_survived(
        npy in npy_dictionary(), named in safetensors_dictionary(), n in 0..9_usize,
    ) {
        let scratch = Scratch::new();
        for data in [&[][..], &vec![1; 4 * n]] {
            scratch.survives(&npy_file(1, &npy, data));
            scratch.survives(&safetensors_file(&named, data));
        }
    }
}
