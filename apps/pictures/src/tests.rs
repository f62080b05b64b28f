//! Directories of pictures in every form, and what is wrong with bad ones.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::{DynamicImage, ImageFormat};
use tempfile::TempDir;

use super::{Fit, PictureData, Pictures, Raster, Reading, Region, codec, sheet};

const READING: Reading =
    Reading { side: None, folder_side: 4, held_out: 0.25, seed: 0, white: None, lazy: false };

fn grey(shade: u8, width: usize, height: usize) -> Raster {
    let pixels = (0..width * height).map(|i| shade.wrapping_add(i as u8)).collect();
    Raster::new([height, width, 1], pixels)
}

/// Writes a file below a directory.
fn write(directory: &TempDir, name: &str, content: &[u8]) -> PathBuf {
    let path = directory.path().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, content).unwrap();
    path
}

/// The error of reading a directory, without the directory.
#[track_caller]
fn fails(directory: &TempDir, reading: &Reading) -> String {
    let message = PictureData::read(directory.path(), reading).unwrap_err().to_string();
    message.replace(directory.path().to_str().unwrap(), "D")
}

fn idx(shape: &[u32], elements: &[u8]) -> Vec<u8> {
    let extents: Vec<u8> = shape.iter().flat_map(|extent| extent.to_be_bytes()).collect();
    [&[0, 0, 8, shape.len() as u8][..], &extents, elements].concat()
}

fn npy(kind: &str, shape: &str, elements: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}}}\n");
    [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), elements].concat()
}

/// Twelve grey pictures of 2 x 2 pixels in three classes.
fn arrays() -> (Vec<u8>, Vec<u8>) {
    ((0..48).collect(), (0..12).map(|i| i % 3).collect())
}

#[test]
fn folders_are_classes() {
    let d = TempDir::new().unwrap();
    for (part, count) in [("train", 3), ("test", 2)] {
        for class in ["b", "a"] {
            for i in 0..count {
                let shade = if class == "a" { 10 * i } else { 100 + 10 * i };
                write(&d, &format!("{part}/{class}/{i}.PNG"), &codec::png(&grey(shade, 4, 4)));
            }
        }
    }
    for ignored in ["train/a/notes.txt", "train/a/.hidden.png", ".cache/x/1.png", "train/readme.md"] {
        write(&d, ignored, b"no picture");
    }
    let data = PictureData::read(d.path(), &READING).unwrap();
    assert_eq!(
        (&data.classes[..], &data.held_out[..]),
        (&["a".to_owned(), "b".to_owned()][..], &["validation"][..])
    );
    assert_eq!((data.train.side, data.train.channels, data.test.len()), (4, 1, 4));
    // A quarter of six pictures is two.
    assert_eq!((data.train.len(), data.validation.len()), (4, 2));
    assert_eq!(data.test.labels, [0, 0, 1, 1]);
    let shades: Vec<u8> = (0..4).map(|i| data.test.picture(i).unwrap()[0]).collect();
    assert_eq!(shades, [0, 10, 100, 110]);
    // The same pictures for every reader of this seed, others for another one.
    assert_eq!(PictureData::read(d.path(), &READING).unwrap(), data);
    let mut others = (1..9).map(|seed| PictureData::read(d.path(), &Reading { seed, ..READING }).unwrap());
    assert!(others.any(|other| other.fingerprint() != data.fingerprint()));
    // One coloured picture makes all of them coloured; others are brought to the size.
    let red = Raster::new([20, 40, 3], [200, 0, 0].repeat(800));
    write(&d, "test/b/9.png", &codec::png(&red));
    let coloured = PictureData::read(d.path(), &READING).unwrap();
    assert_eq!((coloured.train.channels, coloured.test.len()), (3, 5));
    assert_eq!(*coloured.test.picture(4).unwrap(), [200, 0, 0].repeat(16));
    assert_eq!(coloured.test.picture(1).unwrap()[..3], [10; 3]);
    assert_eq!(coloured.train.clone().in_channels(1), data.train);
    let known = ["b", "a"].map(str::to_owned);
    let error = data.has_classes(d.path(), &known).unwrap_err().to_string();
    assert!(error.ends_with("the classes are those of the model, but in another order"), "{error}");
    // Without a folder for training, the directory's own folders are the classes.
    let own = Reading { held_out: 0.2, ..READING };
    let data = PictureData::read(&d.path().join("test"), &own).unwrap();
    assert_eq!((data.train.len(), data.validation.len(), data.test.len()), (3, 1, 1));
    assert_eq!(data.held_out, ["validation", "test"]);
}

#[test]
fn arrays_are_read_in_every_form() {
    let (pixels, labels) = arrays();
    let gzip = |bytes: &[u8]| {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(bytes).unwrap();
        gzip.finish().unwrap()
    };
    let wide: Vec<u8> = labels.iter().flat_map(|&label| i64::from(label).to_le_bytes()).collect();
    let forms = [
        (
            "train-images-idx3-ubyte",
            idx(&[12, 2, 2], &pixels),
            "train-labels-idx1-ubyte",
            idx(&[12], &labels),
        ),
        (
            "train-images.idx3-ubyte",
            idx(&[12, 2, 2], &pixels),
            "train-labels.idx1-ubyte",
            idx(&[12], &labels),
        ),
        (
            "train-images-idx4-ubyte",
            idx(&[12, 2, 2, 1], &pixels),
            "train-labels-idx1-ubyte.gz",
            gzip(&idx(&[12], &labels)),
        ),
        (
            "train_images.npy.gz",
            gzip(&npy("|u1", "(12, 2, 2)", &pixels)),
            "train_labels.npy",
            npy("<i8", "(12,)", &wide),
        ),
        (
            "train_images.npy",
            npy("|u1", "(12, 2, 2, 1)", &pixels),
            "train_labels.npy",
            npy("|u1", "(12,)", &labels),
        ),
    ];
    let mut read = Vec::new();
    for (images, content, names, numbers) in forms {
        let d = TempDir::new().unwrap();
        write(&d, images, &content);
        write(&d, names, &numbers);
        let mut data = PictureData::read(d.path(), &READING).unwrap();
        data.name.clear();
        assert_eq!((data.classes.join(" "), data.train.side), ("0 1 2".to_owned(), 2));
        assert_eq!([data.train.len(), data.validation.len(), data.test.len()], [6, 3, 3]);
        read.push(data);
    }
    assert!(read.iter().all(|data| *data == read[0]));

    let d = TempDir::new().unwrap();
    write(&d, "train_images.npy", &npy("|u1", "(4, 1, 2, 3)", &[7; 24]));
    write(&d, "train_labels.npy", &npy("|u1", "(4,)", &[0, 1, 0, 1]));
    write(&d, "val_images.npy", &npy("|u1", "(1, 1, 2, 3)", &[9; 6]));
    write(&d, "val_labels.npy", &npy("|u1", "(1,)", &[1]));
    write(&d, "classes.txt", b"cat\ndog\ncow\n");
    assert!(fails(&d, &READING).ends_with("pictures of 1 x 2 pixels; --image-size makes them squares"));
    let data = PictureData::read(d.path(), &Reading { side: Some(2), ..READING }).unwrap();
    assert_eq!(
        (data.classes.join(" "), data.train.side, data.train.channels),
        ("cat dog cow".to_owned(), 2, 3)
    );
    // What is there for validation is the test, if there is no other.
    assert_eq!((data.test.pixels(), data.held_out), (&[9; 12][..], vec!["validation"]));
}

#[test]
fn what_is_wrong_with_arrays_is_named() {
    let (pixels, labels) = arrays();
    let wrong = |name: &str, content: &[u8]| {
        let d = TempDir::new().unwrap();
        for part in ["train", "t10k"] {
            write(&d, &format!("{part}-images-idx3-ubyte"), &idx(&[12, 2, 2], &pixels));
            write(&d, &format!("{part}-labels-idx1-ubyte"), &idx(&[12], &labels));
        }
        assert!(PictureData::read(d.path(), &READING).is_ok());
        let path = write(&d, name, content);
        if content.is_empty() {
            fs::remove_file(path).unwrap();
        }
        fails(&d, &READING)
    };
    let images = idx(&[12, 2, 2], &pixels);
    for (name, content, message) in [
        (
            "t10k-images-idx3-ubyte",
            images[..60].to_vec(),
            "cut off at byte 60; the shape [12, 2, 2] needs 64",
        ),
        (
            "train-images-idx3-ubyte",
            idx(&[12, 4], &pixels),
            "an array of shape [12, 4]; [n, height, width], or \
            [n, height, width, 1 or 3], is needed",
        ),
        ("train-images-idx3-ubyte", idx(&[0, 2, 2], &[]), "an array of shape [0, 2, 2] has no pictures"),
        (
            "t10k-images-idx3-ubyte",
            idx(&[12, 1, 1], &pixels[..12]),
            "pictures of 1 x 1 pixels with 1 channels; \
            those for training have 2 x 2 pixels with 1 channels",
        ),
        ("train-labels-idx1-ubyte", idx(&[11], &labels[..11]), "labels of shape [11] for 12 pictures"),
        ("train-labels-idx1-ubyte", idx(&[12, 1], &labels), "labels of shape [12, 1] for 12 pictures"),
        (
            "t10k-labels-idx1-ubyte",
            idx(&[12], &[0, 1, 2, 1, 3, 1, 1, 1, 1, 1, 1, 1]),
            "label 4, counted from 0, is 3; classes are 0 to 2",
        ),
        ("t10k-labels-idx1-ubyte", Vec::new(), "No such file or directory (os error 2)"),
    ] {
        let expected = match content.is_empty() {
            true => format!("D/{name}.gz: {message}"),
            false => format!("D/{name}: {message}"),
        };
        assert_eq!(wrong(name, &content), expected);
    }
    let names = wrong("classes.txt", b"a\nb\n");
    assert_eq!(names, "D/train-labels-idx1-ubyte: label 2, counted from 0, is 2; classes are 0 to 1");
    assert_eq!(wrong("classes.txt", b"a\n\nb\n"), "D/classes.txt:2: a class without a name");

    let d = TempDir::new().unwrap();
    write(&d, "train_images.npy", &npy("|u1", "(12, 2, 2)", &pixels));
    let numbers =
        |labels: [u32; 12]| labels.iter().flat_map(|label| label.to_le_bytes()).collect::<Vec<u8>>();
    write(&d, "train_labels.npy", &npy("<u4", "(12,)", &numbers([u32::MAX; 12])));
    let message = "label 0, counted from 0, is 4294967295; classes are 0 to 65535";
    assert_eq!(fails(&d, &READING), format!("D/train_labels.npy: {message}"));
    write(&d, "train_labels.npy", &npy("<i4", "(12,)", &numbers([u32::MAX; 12])));
    assert_eq!(fails(&d, &READING), "D/train_labels.npy: element 0 is -1, which u32 cannot hold");
    write(&d, "train_labels.npy", &npy("<u4", "(12,)", &[0; 47]));
    assert_eq!(fails(&d, &READING), "D/train_labels.npy: shape [12] needs 48 bytes of elements, not 47");
    write(&d, "train_images.npy", &npy("<f4", "(3, 2, 2)", &pixels));
    assert_eq!(fails(&d, &READING), "D/train_images.npy: element type \"<f4\"; integers are needed");
}

#[test]
fn what_is_wrong_with_folders_is_named() {
    let d = TempDir::new().unwrap();
    let formats = "D: neither folders of PNG or JPEG files by class";
    assert!(fails(&d, &READING).starts_with(formats));
    fs::create_dir_all(d.path().join("train/cat")).unwrap();
    assert_eq!(fails(&d, &READING), "D/train/cat: a class without PNG or JPEG files");
    let png = codec::png(&grey(5, 8, 8));
    write(&d, "train/cat/1.png", &png);
    assert_eq!(fails(&d, &READING), "D: 1 pictures are too few to hold 1 out for each part");
    write(&d, "train/cat/2.png", &png[..png.len() / 2]);
    assert!(fails(&d, &READING).starts_with("D/train/cat/2.png: a damaged picture: "));
    write(&d, "train/cat/2.png", b"GIF89a");
    assert_eq!(fails(&d, &READING), "D/train/cat/2.png: neither a PNG nor a JPEG file");
    write(&d, "train/cat/2.png", &png);
    write(&d, "train/cat/3.jpeg", &png); // what a file is, its content says
    assert_eq!(PictureData::read(d.path(), &READING).unwrap().train.len(), 1);
    write(&d, "test/dog/1.png", &png);
    assert_eq!(fails(&d, &READING), "D/test/dog: a class that training does not have");
    fs::remove_dir_all(d.path().join("train")).unwrap();
    assert_eq!(fails(&d, &READING), "D: D/test is there, but no folder \"train\"");
    fs::create_dir(d.path().join("train")).unwrap();
    assert_eq!(fails(&d, &READING), "D/train: no folders of classes");
    let message = PictureData::read(Path::new("nowhere"), &READING).unwrap_err().to_string();
    assert!(message.starts_with("nowhere: No such file"), "{message}");
}

/// Fashion-MNIST as it is distributed, if it is installed.
#[test]
fn fashion_mnist_has_its_size() {
    let path = Path::new("../../../shared/data/fashion_mnist");
    if !path.exists() {
        cotangent::engine::skipped(format_args!("no {}", path.display()));
        return;
    }
    let data = PictureData::read(path, &READING).unwrap();
    assert_eq!((data.classes.len(), data.train.side, data.train.channels), (10, 28, 1));
    assert_eq!([data.train.len(), data.validation.len(), data.test.len()], [45_000, 15_000, 10_000]);
    let count = |class: u32| data.test.labels.iter().filter(|&&label| label == class).count();
    assert!((0..10).all(|class| count(class) == 1000));
}

/// The largest value is white; the last fifth is the test; classes that are numbers are in their order.
#[test]
fn rows_of_a_table_are_pictures() {
    let d = TempDir::new().unwrap();
    let classes = [10, 2, 2, 10, 2, 10, 2];
    let row = |(i, class): (usize, i32)| format!("{i}\t0\t3.5\t7\t{class}\r\n");
    let text: String = classes.into_iter().enumerate().map(row).collect();
    let path = write(&d, "rows.tsv", text.as_bytes());
    let data = PictureData::read(d.path(), &READING).unwrap();
    assert_eq!(
        (data.classes.join(" "), data.held_out.join(" ")),
        ("2 10".to_owned(), "validation".to_owned())
    );
    assert_eq!((data.counts(), data.train.side, data.train.channels), ([4, 1, 2], 2, 1));
    assert_eq!(data.test.labels, [1, 0]);
    assert_eq!(data.test.pixels(), [182, 0, 128, 255, 219, 0, 128, 255]);
    // What is white in another table, and values beyond it.
    assert_eq!(data.white, Some(7.0));
    let shades = |white| PictureData::read(&path, &Reading { white: Some(white), ..READING }).unwrap().test;
    assert_eq!(shades(14.0).pixels(), [91, 0, 64, 128, 109, 0, 64, 128]);
    assert_eq!(shades(3.5).pixels(), [255, 0, 255, 255, 255, 0, 255, 255]);
    // The file itself, and another size.
    assert_eq!(PictureData::read(&path, &READING).unwrap().train, data.train);
    let large = PictureData::read(&path, &Reading { side: Some(6), ..READING }).unwrap();
    assert_eq!((large.train.side, large.train.size()), (6, 36));
    let wrong = |text: &str| {
        write(&d, "rows.tsv", text.as_bytes());
        fails(&d, &READING)
    };
    assert_eq!(wrong("1\t2\t3\t4\ta\n1\t2\t3\ta\n"), "D/rows.tsv:2: 3 values; 4 are needed");
    assert_eq!(wrong("1\t2\t3\ta\n"), "D/rows.tsv:1: 3 values; a square number is needed");
    assert_eq!(wrong("1\t2\t-3\t4\ta\n"), "D/rows.tsv:1: \"-3\" is no number from 0 on");
    assert_eq!(wrong("1\t2\tnan\t4\ta\n"), "D/rows.tsv:1: \"nan\" is no number from 0 on");
    assert_eq!(wrong("1\t2\t3\t4\t \n"), "D/rows.tsv:1: a class without a name");
    assert_eq!(wrong("\n"), "D/rows.tsv:1: one column; values and a class are needed");
    assert_eq!(wrong("1\ta\n"), "D/rows.tsv: a single row; the last fifth is for testing");
    let text = write(&d, "rows.txt", b"");
    let message = PictureData::read(&text, &READING).unwrap_err().to_string();
    assert!(message.ends_with("rows.txt: neither a directory nor a table, .tsv or .tsv.gz"), "{message}");
    write(&d, "more.tsv", b"");
    assert!(fails(&d, &READING).ends_with("nor one .tsv is there"));
    // A table beside folders of classes says something of them.
    fs::remove_file(d.path().join("more.tsv")).unwrap();
    for (class, number) in ["a", "b"].into_iter().flat_map(|class| [1, 2, 3].map(|number| (class, number))) {
        write(&d, &format!("{class}/{number}.png"), &codec::png(&grey(number, 4, 4)));
    }
    assert_eq!(PictureData::read(d.path(), &READING).unwrap().classes, ["a", "b"]);
}

/// The digits, if they are installed.
#[test]
fn digits_have_their_size() {
    let path = Path::new("../../../shared/data/digits");
    if !path.exists() {
        cotangent::engine::skipped(format_args!("no {}", path.display()));
        return;
    }
    let data = PictureData::read(path, &Reading { held_out: 0.1, ..READING }).unwrap();
    assert_eq!((data.classes.join(""), data.train.side), ("0123456789".to_owned(), 8));
    assert_eq!(data.counts(), [1437 - 144, 144, 360]);
    assert_eq!(*data.train.pixels().iter().max().unwrap(), 255);
}

/// Of a picture that is far longer than wide, the middle is taken, and the rest is not enlarged first.
#[test]
fn thin_pictures_are_cut_first() {
    let pixels = (0..1_000_001).map(|row: u32| if row == 500_000 { 200 } else { 0 }).collect();
    let image = Raster::new([1_000_001, 1, 1], pixels);
    let middle = image.square(Fit::Middle, 224);
    assert!(
        [middle.width(), middle.height()] == [224; 2] && middle.pixels().iter().all(|&pixel| pixel == 200)
    );
}

#[test]
fn numbers_and_bytes_are_the_same_pictures() {
    let bytes = Pictures::new([2, 1], vec![0, 1, 100, 255], vec![3]);
    let numbers = bytes.clone().to_numbers();
    assert_eq!((numbers.pixels()[0], numbers.pixels()[3]), (-1.0, 1.0));
    assert_eq!(numbers.to_bytes(), bytes);
    let beyond = Pictures::new([2, 1], vec![-1.5, 1.5, 0.0, -0.999], vec![3]);
    assert_eq!(beyond.to_bytes().pixels(), [0, 255, 128, 0]);
    // Two of three pictures in a row, and one below, each enlarged 32 times, with gaps.
    let three = Pictures::new([2, 1], bytes.pixels().repeat(3), vec![0; 3]);
    let sheet = sheet::sheet(&three, 2);
    assert_eq!([sheet.width(), sheet.height()], [2 * 66 + 2; 2]);
    assert!(sheet::sheet_bytes(2, 1) * 3.0 > (sheet.width() * sheet.height()) as f64);
    let shades = [(0, 0), (2, 2), (35, 35), (68 + 32, 2), (2, 68 + 32), (100, 100)];
    assert_eq!(shades.map(|(x, y)| sheet.pixels()[y * sheet.width() + x]), [255, 0, 255, 1, 100, 255]);
}

/// Pictures that stay in their files are the same ones, but a part of one is of the whole picture, not of the
/// square that memory would have.
#[test]
fn pictures_may_stay_in_their_files() {
    let d = TempDir::new().unwrap();
    for (class, shade) in [("a", 0), ("b", 100)] {
        for i in 0..4 {
            write(&d, &format!("train/{class}/{i}.png"), &codec::png(&grey(shade + i, 12, 6)));
        }
    }
    let memory = PictureData::read(d.path(), &READING).unwrap();
    let lazy = PictureData::read(d.path(), &Reading { lazy: true, ..READING }).unwrap();
    assert_eq!((lazy.counts(), lazy.train.channels), (memory.counts(), 1));
    assert!(lazy.train.is_lazy() && !memory.train.is_lazy());
    for (kept, read) in [(&memory.train, &lazy.train), (&memory.test, &lazy.test)] {
        assert_eq!(kept.labels, read.labels);
        (0..kept.len()).for_each(|i| assert_eq!(kept.picture(i).unwrap(), read.picture(i).unwrap()));
    }
    // As numbers, and in colours.
    let numbers =
        [&memory, &lazy].map(|data| data.test.clone().to_numbers().picture(0).unwrap().into_owned());
    assert_eq!(numbers[0], numbers[1]);
    assert_eq!(lazy.test.clone().in_channels(3).picture(0).unwrap().len(), 3 * 16);
    let size = |pictures: &Pictures| {
        let mut size = [0; 2];
        let whole = |[height, width]: [usize; 2]| {
            size = [height, width];
            Region { top: 0, left: 0, height, width }
        };
        assert_eq!(pictures.resized_part(0, whole).unwrap().len(), 16);
        size
    };
    assert_eq!([size(&lazy.train), size(&memory.train)], [[6, 12], [4, 4]]);
    // Another file of the same name is another picture; one that is gone or damaged is an error then.
    let first = lazy.fingerprint();
    write(&d, "train/a/1.png", &codec::png(&grey(1, 14, 6)));
    let changed = PictureData::read(d.path(), &Reading { lazy: true, ..READING }).unwrap();
    assert!(changed.fingerprint() != first);
    for i in 0..4 {
        write(&d, &format!("train/a/{i}.png"), &codec::png(&grey(9, 12, 6))[..60]);
        fs::remove_file(d.path().join(format!("train/b/{i}.png"))).unwrap();
    }
    let errors = (0..lazy.train.len()).map(|i| lazy.train.picture(i).unwrap_err().to_string());
    assert!(errors.into_iter().all(|e| e.contains("a damaged picture") || e.contains("No such file")));
    assert!(fails(&d, &Reading { lazy: true, ..READING }).contains("train/b: a class without"));
    // The header alone is read at first; what has none is refused there.
    write(&d, "train/b/0.png", b"GIF89a");
    assert_eq!(
        fails(&d, &Reading { lazy: true, ..READING }),
        "D/train/b/0.png: neither a PNG nor a JPEG file"
    );
}

/// A picture of soft colours.
fn colours(height: u32, width: u32) -> DynamicImage {
    let wave = |x: u32, y: u32, phase: f32| {
        (127.0 + 100.0 * (x as f32 / 7.0 + phase).sin() * (y as f32 / 5.0 + phase).cos()) as u8
    };
    image::RgbImage::from_fn(width, height, |x, y| [0.0, 1.0, 2.0].map(|phase| wave(x, y, phase)).into())
        .into()
}

/// Files of every kind that another program writes are read as it reads them, and resized as it resizes.
#[test]
fn files_are_read_as_by_another_program() {
    let d = TempDir::new().unwrap();
    let picture = colours(37, 53);
    let sixteen = DynamicImage::from(picture.to_rgb16());
    let kinds = [
        ("rgb.png", picture.clone()),
        ("grey.png", picture.to_luma8().into()),
        ("clear.png", picture.to_rgba8().into()),
        ("grey-clear.png", picture.to_luma_alpha8().into()),
        ("sixteen.png", sixteen),
        ("rgb.jpg", picture.clone()),
        ("grey.jpg", picture.to_luma8().into()),
    ];
    for (name, image) in kinds {
        let path = d.path().join(name);
        image.save(&path).unwrap();
        let (ours, theirs) = (codec::read(&path).unwrap(), image::open(&path).unwrap());
        let channels = if name.starts_with("grey") { 1 } else { 3 };
        assert_eq!(([ours.height(), ours.width()], ours.channels()), ([37, 53], channels), "{name}");
        assert_eq!(codec::read_header(&path).unwrap().channels, channels, "{name}");
        let pixels = |image: &DynamicImage| match channels {
            1 => image.to_luma8().into_raw(),
            _ => image.to_rgb8().into_raw(),
        };
        assert_eq!(ours.pixels(), pixels(&theirs), "{name}");
        let greys = ours.clone().into_pixels(1).into_iter().zip(theirs.to_luma8().into_raw());
        assert!(greys.into_iter().all(|(a, b)| a.abs_diff(b) <= 1), "{name}");
        for side in [8, 37, 64] {
            let part = Region { top: 2, left: 5, height: 30, width: 41 };
            let resized = theirs.crop_imm(5, 2, 41, 30).resize_exact(side, side, FilterType::Triangle);
            let gaps =
                ours.resized(part, side as usize).into_pixels(channels).into_iter().zip(pixels(&resized));
            assert!(gaps.into_iter().all(|(a, b)| a.abs_diff(b) <= 1), "{name} to {side}");
        }
        // What is written is read.
        let written = image::load_from_memory_with_format(&codec::png(&ours), ImageFormat::Png).unwrap();
        assert_eq!(pixels(&written), ours.pixels(), "{name}");
    }
    // Colours of a palette, some of them clear, two in a byte; grey of one bit.
    let palette = |depth: png::BitDepth, colour: png::ColorType, row: &[u8]| {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, 4, 1);
        encoder.set_color(colour);
        encoder.set_depth(depth);
        if colour == png::ColorType::Indexed {
            encoder.set_palette(vec![0, 0, 0, 250, 10, 20, 30, 240, 50]);
            encoder.set_trns(vec![255, 128, 0]);
        }
        encoder.write_header().unwrap().write_image_data(row).unwrap();
        codec::read(&write(&d, "few.png", &file)).unwrap()
    };
    let four = palette(png::BitDepth::Four, png::ColorType::Indexed, &[0x01, 0x21]);
    assert_eq!(four.pixels(), [0, 0, 0, 250, 10, 20, 30, 240, 50, 250, 10, 20]);
    assert_eq!(four.channels(), 3);
    let one = palette(png::BitDepth::One, png::ColorType::Grayscale, &[0b1010_0000]);
    assert_eq!((one.channels(), one.pixels()), (1, &[255, 0, 255, 0][..]));
    // A file that ends within its header, and one that claims more pixels than memory holds.
    let mut jpeg = Vec::new();
    JpegEncoder::new_with_quality(&mut jpeg, 90).encode_image(&picture).unwrap();
    let cut = write(&d, "cut.jpg", &jpeg[..200]);
    assert!(codec::read(&cut).unwrap_err().to_string().contains("cut.jpg: a damaged picture: "));
    let mut large = Vec::new();
    let mut encoder = png::Encoder::new(&mut large, 1 << 20, 1 << 20);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header().unwrap().write_chunk(png::chunk::IDAT, &[0; 20]).unwrap();
    let large = write(&d, "large.png", &large);
    assert!(
        codec::read(&large)
            .unwrap_err()
            .to_string()
            .ends_with("large.png: a damaged picture: too many pixels")
    );
}
