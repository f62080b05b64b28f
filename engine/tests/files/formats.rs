//! Each format byte for byte, written and read, and the message of each error.

use super::*;

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
fn npy_columns_become_rows() {
    let shape = [2, 1, 3, 4];
    let element = |i: usize, j: usize, k: usize| (100 * i + 10 * j + k) as f64;
    let mut columns = Vec::new();
    let mut rows = Vec::new();
    for k in 0..4 {
        for j in 0..3 {
            (0..2).for_each(|i| columns.push(element(i, j, k)));
        }
    }
    for i in 0..2 {
        for j in 0..3 {
            (0..4).for_each(|k| rows.push(element(i, j, k)));
        }
    }
    let header = "{'descr': '>f8', 'fortran_order': True, 'shape': (2, 1, 3, 4)}";
    let file = npy_file(1, header, &big_endian(&columns));
    assert_eq!(Scratch::new().read(&file, npy::read), Ok(Tensor::new(shape, rows)));
}

#[test]
fn what_is_wrong_with_a_npy_file_is_named() {
    let scratch = Scratch::new();
    let with = |descr: &str, order: &str, shape: &str| {
        npy_file(1, format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}}}"), &[0; 24])
    };
    let float = |shape| with("'<f4'", "False", shape);
    for shape in ["(2, 3)", "(2, 3,)", "(6,)", " ( 6 , ) "] {
        assert!(scratch.read(&float(shape), npy::read::<f32>).is_ok(), "{shape}");
    }
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
        (header(b"{'descr': '<f4', 'descr': '<f8'}"), "\"descr\" occurs twice"),
        (header(b"{'description': '<f4'}"), "\"description\" is none of"),
        (header(b"{'descr': '<f4"), "a closed string expected"),
        (header(b"{'descr' '<f4'}"), ": expected"),
        (header(&b"(".repeat(60_000)), "{ expected"),
        (with("'<i4'", "False", "(6,)"), "element type \"<i4\"; f4 or f8 is needed"),
        (with("'|O'", "False", "(6,)"), "element type \"|O\""),
        (with("[('x', '<f4')]", "False", "(6,)"), "a string expected, not \"[('x', '<f4')]"),
        (with("'<f4'", "0", "(6,)"), "True or False expected"),
        (float("(6)"), ", expected"),
        (float("6"), "( expected"),
        (float("[6]"), "( expected"),
        (float("(,)"), "an extent expected"),
        (float("(6,,)"), "an extent expected"),
        (float("(2, 3"), ") expected"),
        (float("(2 3)"), ", expected"),
        (float("(-6,)"), "an extent expected, not \"-6,)}\""),
        (float("(18446744073709551616,)"), "an extent expected"),
        (
            float("(4294967296, 4294967296, 4294967296)"),
            "shape [4294967296, 4294967296, 4294967296] overflows",
        ),
        // 2^64 bytes, which would be zero if the product wrapped.
        (float("(4611686018427387904,)"), "overflows"),
        (float("(4611686018427387910,)"), "overflows"),
        (float("(0, 4294967296, 4294967296)"), "overflows"),
        // The number of bytes overflows for f64, but not for f32.
        (float("(0, 4611686018427387903)"), "overflows"),
        (float("(1000000000000, 1)"), "needs 4000000000000 bytes of elements, not 24"),
        (float("(7,)"), "shape [7] needs 28 bytes of elements, not 24"),
        (float("(5,)"), "shape [5] needs 20 bytes of elements, not 24"),
        (float("(0,)"), "shape [0] needs 0 bytes of elements, not 24"),
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

/// Signed and unsigned, of either byte order; numbers that do not fit are named.
#[test]
fn npy_of_integers_is_read() {
    let file = |descr: &str, order: &str, shape: &str, data: &[u8]| {
        let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}}}");
        npy_file(1, header, data)
    };
    let read = |bytes: &[u8]| npy::integers::<i64>("a.npy".as_ref(), bytes).map_err(|e| e.to_string());
    assert_eq!(read(&file("|u1", "False", "(2, 1)", &[5, 255])), Ok((vec![2, 1], vec![5, 255])));
    assert_eq!(read(&file("|i1", "False", "(2,)", &[5, 255])), Ok((vec![2], vec![5, -1])));
    assert_eq!(read(&file("<i2", "False", "(2,)", &[0, 1, 0, 255])), Ok((vec![2], vec![256, -256])));
    assert_eq!(read(&file(">u4", "False", "(1,)", &[255, 0, 0, 1])), Ok((vec![1], vec![0xff00_0001])));
    assert_eq!(read(&file("|u1", "True", "(2, 2)", &[1, 2, 3, 4])), Ok((vec![2, 2], vec![1, 3, 2, 4])));
    let largest = file("<u8", "False", "(1,)", &[255; 8]);
    let message = "a.npy: element 0 is 18446744073709551615, which i64 cannot hold";
    assert_eq!(read(&largest).unwrap_err(), message);
    let message = "a.npy: element type \"<f4\"; integers are needed";
    assert_eq!(read(&file("<f4", "False", "(1,)", &[0; 4])).unwrap_err(), message);
    let message = "a.npy: shape [3] needs 3 bytes of elements, not 2";
    assert_eq!(read(&file("|u1", "False", "(3,)", &[1, 2])).unwrap_err(), message);
    assert!(npy::integers::<u8>("a.npy".as_ref(), &file("|i1", "False", "(1,)", &[255])).is_err());
}

/// Floats and integers are read alike; what is neither is refused.
#[test]
fn npy_of_any_numbers_is_read() {
    let scratch = Scratch::new();
    let floats = Tensor::new([2, 2], vec![0.5_f64, -3.0, 0.1, 1e300]);
    let bytes = scratch.written(|path| npy::write(path, &floats));
    let read = |bytes: &[u8]| npy::numbers::<f64>("a.npy".as_ref(), bytes).map_err(|e| e.to_string());
    assert_eq!(read(&bytes), Ok(floats));
    let file = |descr: &str, order: &str, data: &[u8]| {
        npy_file(1, format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': (2, 2)}}"), data)
    };
    let columns = read(&file("|i1", "True", &[1, 2, 3, 255]));
    assert_eq!(columns, Ok(Tensor::new([2, 2], vec![1.0, 3.0, 2.0, -1.0])));
    // Rounded to f64 first, it would be halfway between two f32, and go to the lower one.
    let near: Vec<u8> =
        [(1_i64 << 60) + (1 << 36) + 1, 0, 0, 0].iter().flat_map(|x| x.to_le_bytes()).collect();
    let rounded = npy::numbers::<f32>("a.npy".as_ref(), &file("<i8", "False", &near)).unwrap();
    assert_eq!(rounded.data()[0], 2f32.powi(60) + 2f32.powi(37));
    let large: Vec<u8> = [1 << 63, 0, 1, 2].iter().flat_map(|x: &u64| x.to_le_bytes()).collect();
    let want = vec![9223372036854775808.0, 0.0, 1.0, 2.0];
    assert_eq!(read(&file("<u8", "False", &large)), Ok(Tensor::new([2, 2], want)));
    assert_eq!(read(&file("|i1", "False", &[1])).unwrap_err(), read_integers(&file("|i1", "False", &[1])));
    let message = "a.npy: element type \"|b1\"; numbers are needed";
    assert_eq!(read(&file("|b1", "False", &[0, 1, 1, 0])).unwrap_err(), message);
}

fn read_integers(bytes: &[u8]) -> String {
    npy::integers::<i64>("a.npy".as_ref(), bytes).unwrap_err().to_string()
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

/// Headers are limited to 100 MB.
#[test]
fn metadata_can_be_long() {
    let scratch = Scratch::new();
    let a = Tensor::new([2], vec![1.0_f32, -2.5]);
    let long = "\u{3ba}n".repeat(40_000_000);
    let bytes = scratch.written(|path| safetensors::write(path, &[("a", &a)], Some(("names", &long))));
    let (tensors, metadata) = scratch.read(&bytes, safetensors::read::<f32>).unwrap();
    assert!(tensors.len() == 1 && tensors["a"] == a && metadata["names"] == long);
    assert!(scratch.read(&bytes[..bytes.len() - 1], safetensors::read::<f32>).is_err());

    let taken = safetensors::write(&scratch.path(), &[("a", &a)], Some(("a", &long))).unwrap_err();
    assert!(taken.to_string().contains("tensor \"a\": the name is taken"), "{taken}");

    let file = |value: &str, shape: &str, data: &[u8]| {
        let tensor = format!("{{\"dtype\":\"U8\",\"shape\":{shape},\"data_offsets\":[0,{}]}}", data.len());
        safetensors_file(format!("{{\"__metadata__\":{{\"k\":\"{value}\"}},\"k\":{tensor}}}"), data)
    };
    let read =
        |bytes: &[u8]| scratch.read(bytes, safetensors::read::<f32>).map_err(|error| error.to_string());
    assert_eq!(read(&file("", "[2]", b"ab")).unwrap().1["k"], "ab");
    let error = |bytes: &[u8]| read(bytes).unwrap_err();
    assert!(error(&file("", "[2]", b"a\xff")).contains("tensor \"k\": it is metadata: invalid utf-8"));
    assert!(error(&file("", "[3]", b"ab")).contains("needs 3 bytes of elements, not 2"));
    // A tensor of bytes that no empty metadata belong to.
    assert!(error(&file("v", "[2]", b"ab")).contains("it holds U8; F32 or F64 is needed"));
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
        (header(b"{\"__metadata__\":{},\"__metadata__\":{}}"), "header: \"__metadata__\" occurs twice"),
        (file(&[entry("a", "F31", "[6]", "[0,24]")]), "header: \"a\": unknown variant `F31`"),
        (file(&[entry("a", "I32", "[6]", "[0,24]")]), "tensor \"a\": it holds I32; F32 or F64 is needed"),
        (one("[-6]", "[0,24]"), "header: \"a\": invalid value: integer `-6`"),
        (one("[6.0]", "[0,24]"), "header: \"a\": invalid type"),
        (one("[18446744073709551616]", "[0,24]"), "header: \"a\": invalid type"),
        (one("[6]", "[0,25]"), "tensor \"a\": its range 0..25 is not in the 24 bytes of elements"),
        (one("[6]", "[0,18446744073709551615]"), "tensor \"a\": its range"),
        (one("[6]", "[4,24]"), "tensor \"a\": its range 4..24 leaves a gap: the last one ended at 0"),
        (one("[5]", "[0,20]"), "4 bytes after the last tensor"),
        (one("[7]", "[0,24]"), "tensor \"a\": shape [7] needs 28 bytes of elements, not 24"),
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
            "\"a\" occurs twice",
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
