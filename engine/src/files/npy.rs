//! One tensor, or an array of integers, in a `.npy` file, NumPy's own format.
//!
//! Source: <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>. A file is the magic
//! `\x93NUMPY`, the version in two bytes, the header's length (`u16` in version 1.0, `u32` in 2.0 and
//! 3.0, little-endian), the header, and the elements. The header is a Python dictionary literal of
//! element type, order and shape, padded with spaces and a newline so that the elements start at a
//! multiple of 64 bytes.

use std::borrow::Cow;
use std::io;
use std::path::Path;

use super::{FileError, atomic, elements};
use crate::tape::float::Float;
use crate::tensor::Tensor;

const MAGIC: &[u8; 6] = b"\x93NUMPY";
const ALIGNMENT: usize = 64;

/// Writes a tensor, atomically: version 1.0, little-endian, row-major. The same tensor gives the same bytes.
///
/// # Errors
/// If the file cannot be written, or the shape has so many axes (thousands) that it does not fit the header.
pub fn write<T: Float>(path: &Path, tensor: &Tensor<T>) -> Result<(), FileError> {
    write_in_pieces(path, tensor.shape().axes(), |put| put(tensor.data()))
}

/// Same as [`write()`], for a tensor that is never whole in memory: `pieces` calls its argument with one
/// piece of the elements after another.
///
/// # Errors
/// As [`write()`]; if `pieces` has one.
///
/// # Panics
/// If the pieces are not as many elements as the shape says.
pub fn write_in_pieces<T: Float>(
    path: &Path,
    shape: &[usize],
    pieces: impl FnOnce(&mut dyn FnMut(&[T]) -> io::Result<()>) -> io::Result<()>,
) -> Result<(), FileError> {
    let (elements, rank) = (shape.iter().product::<usize>(), shape.len());
    let shape = match shape {
        [n] => format!("({n},)"),
        axes => format!("({})", axes.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    };
    let width = size_of::<T>();
    let mut header = format!("{{'descr': '<f{width}', 'fortran_order': False, 'shape': {shape}, }}");
    let start = MAGIC.len() + 2 + size_of::<u16>();
    let padded = (start + header.len() + 1).next_multiple_of(ALIGNMENT) - start;
    let length = u16::try_from(padded)
        .map_err(|_| FileError::content(path)(format!("{rank} axes do not fit the header")))?;
    header.extend(std::iter::repeat_n(' ', padded - 1 - header.len()));
    atomic::write(path, |w| {
        w.write_all(MAGIC)?;
        w.write_all(&[1, 0])?;
        w.write_all(&length.to_le_bytes())?;
        writeln!(w, "{header}")?;
        let mut written = 0;
        pieces(&mut |piece| {
            written += piece.len();
            piece.chunks(1 << 16).try_for_each(|chunk| w.write_all(&elements::encode(chunk)))
        })?;
        assert_eq!(written, elements, "the shape says how many elements there are");
        Ok(())
    })
    .map_err(FileError::io(path))
}

/// Reads a tensor: versions 1.0 to 3.0, `f4` or `f8` of either byte order, row-major or column-major.
/// Elements of the other float type are converted.
///
/// # Errors
/// If the file cannot be read, is not in the format, holds another element type, or is longer or shorter
/// than its header says.
pub fn read<T: Float>(path: &Path) -> Result<Tensor<T>, FileError> {
    let bytes = std::fs::read(path).map_err(FileError::io(path))?;
    parse(&bytes).map_err(FileError::content(path))
}

/// Reads integers from the content of a file: versions 1.0 to 3.0, `i1` to `i8` or `u1` to `u8` of either
/// byte order, row-major or column-major. Returns the shape and the elements. `path` is for errors.
///
/// ```
/// use cotangent_engine::files::npy;
/// let file = b"\x93NUMPY\x01\x00\x38\x00{'descr': '|u1', 'fortran_order': False, 'shape': (2,)}\n\x05\xff";
/// let (shape, labels) = npy::integers::<u32>("labels.npy".as_ref(), file)?;
/// assert_eq!((shape, labels), (vec![2], vec![5, 255]));
/// # Ok::<(), cotangent_engine::files::FileError>(())
/// ```
///
/// # Errors
/// If the content is not in the format, holds another element type or a number that `N` cannot hold, or is
/// longer or shorter than its header says.
pub fn integers<N: TryFrom<i128> + Copy>(
    path: &Path,
    bytes: &[u8],
) -> Result<(Vec<usize>, Vec<N>), FileError> {
    parse_integers(bytes, |integer| N::try_from(integer).ok()).map_err(FileError::content(path))
}

/// Reads numbers from the content of a file: floats as [`read`] does, or integers as [`integers`] does, which
/// become the nearest floats. `path` is for errors.
///
/// # Errors
/// As [`read`] and [`integers`]; if the elements are no numbers.
pub fn numbers<T: Float>(path: &Path, bytes: &[u8]) -> Result<Tensor<T>, FileError> {
    parse_numbers(bytes).map_err(FileError::content(path))
}

fn parse_numbers<T: Float>(bytes: &[u8]) -> Result<Tensor<T>, String> {
    let (Header { element, .. }, _) = split(bytes)?;
    match element.kind {
        'f' => parse(bytes),
        'i' | 'u' => {
            let nearest =
                |integer: i128| if size_of::<T>() == 4 { f64::from(integer as f32) } else { integer as f64 };
            let (shape, numbers) = parse_integers(bytes, |integer| Some(T::nearest(nearest(integer))))?;
            Ok(Tensor::new(&shape[..], numbers))
        }
        _ => Err(element.is_not("numbers")),
    }
}

fn parse<T: Float>(bytes: &[u8]) -> Result<Tensor<T>, String> {
    let (Header { element, column_major, shape }, data) = split(bytes)?;
    let Element { kind: 'f', width: width @ (4 | 8), .. } = element else {
        return Err(element.is_not("f4 or f8"));
    };
    elements::check_size(&shape, width, data.len())?;
    let elements = elements::decode(&element.little_endian(data), width);
    let elements = if column_major { row_major(&shape, &elements) } else { elements };
    Ok(Tensor::new(&shape[..], elements))
}

/// The shape, and the elements as `convert` makes them.
fn parse_integers<N: Copy>(
    bytes: &[u8],
    convert: impl Fn(i128) -> Option<N>,
) -> Result<(Vec<usize>, Vec<N>), String> {
    let (Header { element, column_major, shape }, data) = split(bytes)?;
    let Element { kind: kind @ ('i' | 'u'), width, .. } = element else {
        return Err(element.is_not("integers"));
    };
    elements::check_size(&shape, width, data.len())?;
    let integer = |(i, bytes): (usize, &[u8])| {
        let is_negative = kind == 'i' && bytes[width - 1] >= 0x80;
        let mut wide = [if is_negative { 0xff } else { 0 }; size_of::<i128>()];
        wide[..width].copy_from_slice(bytes);
        let integer = i128::from_le_bytes(wide);
        let unfit = || format!("element {i} is {integer}, which {} cannot hold", std::any::type_name::<N>());
        convert(integer).ok_or_else(unfit)
    };
    let data = element.little_endian(data);
    let elements = data.chunks_exact(width).enumerate().map(integer).collect::<Result<Vec<N>, _>>()?;
    let elements = if column_major { row_major(&shape, &elements) } else { elements };
    Ok((shape, elements))
}

/// The header of a file, and the bytes of its elements.
fn split(bytes: &[u8]) -> Result<(Header<'_>, &[u8]), String> {
    let truncated = || "truncated .npy file: no whole header".to_owned();
    let bytes = bytes.strip_prefix(MAGIC).ok_or("not a .npy file")?;
    let (&version, bytes) = bytes.split_first_chunk::<2>().ok_or_else(truncated)?;
    let (length, bytes) = match version {
        [1, 0] => bytes.split_first_chunk().map(|(&n, bytes)| (u16::from_le_bytes(n).into(), bytes)),
        [2 | 3, 0] => bytes.split_first_chunk().map(|(&n, bytes)| (u32::from_le_bytes(n), bytes)),
        [major, minor] => return Err(format!(".npy file of version {major}.{minor}: 1.0 to 3.0 are read")),
    }
    .ok_or_else(truncated)?;
    let (header, data) = bytes.split_at_checked(length as usize).ok_or_else(truncated)?;
    let header = std::str::from_utf8(header).map_err(|e| format!("header: {e}"))?;
    Ok((Header::parse(header).map_err(|e| format!("header: {e}"))?, data))
}

/// Elements in row-major order from those in column-major order.
fn row_major<T: Copy>(shape: &[usize], columns: &[T]) -> Vec<T> {
    // Axes of extent 1 do not matter. Without them, there are no more axes than bits in a length.
    let shape: Vec<usize> = shape.iter().copied().filter(|&n| n != 1).collect();
    let mut index = vec![0; shape.len()];
    let mut next = || {
        let at = index.iter().zip(&shape).rev().fold(0, |at, (i, n)| at * n + i);
        for (i, &n) in index.iter_mut().zip(&shape).rev() {
            *i = (*i + 1) % n;
            if *i != 0 {
                break;
            }
        }
        columns[at]
    };
    (0..columns.len()).map(|_| next()).collect()
}

/// The type of elements.
#[derive(Clone, Copy)]
struct Element<'a> {
    /// As the header says it: `<f4`.
    name: &'a str,
    big_endian: bool,
    /// `f`, `i`, `u`, or another letter.
    kind: char,
    /// Bytes of an element.
    width: usize,
}

impl<'a> Element<'a> {
    fn new(name: &'a str) -> Self {
        let (big_endian, kind, width) = match *name.as_bytes() {
            [order @ (b'<' | b'>'), kind, width @ (b'1' | b'2' | b'4' | b'8')] => {
                (order == b'>', kind, width)
            }
            [b'|', kind, width @ b'1'] => (false, kind, width),
            _ => (false, b'?', b'0'),
        };
        Element { name, big_endian, kind: kind.into(), width: (width - b'0').into() }
    }

    fn is_not(self, needed: &str) -> String {
        let verb = if needed.ends_with('s') { "are" } else { "is" };
        format!("element type {:?}; {needed} {verb} needed", self.name)
    }

    /// The bytes of elements, each with its lowest byte first.
    fn little_endian(self, data: &[u8]) -> Cow<'_, [u8]> {
        if !self.big_endian {
            return data.into();
        }
        let mut swapped = data.to_vec();
        swapped.chunks_exact_mut(self.width).for_each(<[u8]>::reverse);
        swapped.into()
    }
}

struct Header<'a> {
    element: Element<'a>,
    column_major: bool,
    shape: Vec<usize>,
}

impl<'a> Header<'a> {
    /// Reads the dictionary: each of the three keys once, in any order.
    fn parse(text: &'a str) -> Result<Self, String> {
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        let mut text = Literal(text);
        text.expect("{")?;
        while !text.eat("}") {
            let key = text.string()?;
            text.expect(":")?;
            let repeated = match key {
                "descr" => descr.replace(text.string()?).is_some(),
                "fortran_order" => fortran_order.replace(text.boolean()?).is_some(),
                "shape" => shape.replace(text.tuple()?).is_some(),
                _ => return Err(format!("key {key:?} is none of descr, fortran_order, shape")),
            };
            if repeated {
                return Err(format!("key {key:?} occurs twice"));
            }
            if !text.eat(",") {
                text.expect("}")?;
                break;
            }
        }
        text.end()?;
        let missing = |key: &str| format!("no key {key:?}");
        Ok(Header {
            element: Element::new(descr.ok_or_else(|| missing("descr"))?),
            column_major: fortran_order.ok_or_else(|| missing("fortran_order"))?,
            shape: shape.ok_or_else(|| missing("shape"))?,
        })
    }
}

/// The unread part of a Python literal. Spaces before a token are skipped.
struct Literal<'a>(&'a str);

impl<'a> Literal<'a> {
    /// Skips the token if it comes next; returns whether it does.
    fn eat(&mut self, token: &str) -> bool {
        self.0 = self.0.trim_ascii_start();
        match self.0.strip_prefix(token) {
            Some(unread) => {
                self.0 = unread;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        if self.eat(token) { Ok(()) } else { Err(self.unexpected(token)) }
    }

    fn unexpected(&self, wanted: &str) -> String {
        format!("{wanted} expected, not {:?}", self.0.chars().take(20).collect::<String>())
    }

    /// A quoted string without escapes.
    fn string(&mut self) -> Result<&'a str, String> {
        let quote = ["'", "\""].into_iter().find(|quote| self.eat(quote));
        let quote = quote.ok_or_else(|| self.unexpected("a string"))?;
        let (string, unread) = self.0.split_once(quote).ok_or_else(|| self.unexpected("a closed string"))?;
        self.0 = unread;
        Ok(string)
    }

    fn boolean(&mut self) -> Result<bool, String> {
        let value = [("True", true), ("False", false)].into_iter().find(|(token, _)| self.eat(token));
        value.map(|(_, value)| value).ok_or_else(|| self.unexpected("True or False"))
    }

    /// A tuple of extents: `()`, `(3,)`, `(3, 4)`.
    fn tuple(&mut self) -> Result<Vec<usize>, String> {
        self.expect("(")?;
        let mut extents = Vec::new();
        while !self.eat(")") {
            let digits = self.0.bytes().take_while(u8::is_ascii_digit).count();
            let (number, unread) = self.0.split_at(digits);
            extents.push(number.parse().map_err(|_| self.unexpected("an extent"))?);
            self.0 = unread;
            // One number in parentheses is a tuple only with a comma.
            if extents.len() == 1 {
                self.expect(",")?;
            } else if !self.eat(",") {
                self.expect(")")?;
                break;
            }
        }
        Ok(extents)
    }

    fn end(&mut self) -> Result<(), String> {
        if self.0.trim_ascii().is_empty() { Ok(()) } else { Err(self.unexpected("the end")) }
    }
}
