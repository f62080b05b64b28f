//! IDX, the format of MNIST: an array of bytes. LeCun, Cortes, Burges 1998.
//!
//! A file is two zeros, the type of elements (8: unsigned bytes), the number of axes, the extent of each axis
//! in four bytes with the highest first, and the elements.

/// The type of elements that is read.
const BYTES: u8 = 0x08;

/// The shape and the elements of a file's content.
///
/// # Errors
/// If the content is not in the format, or is longer or shorter than its header says.
pub(crate) fn parse(content: &[u8]) -> Result<(Vec<usize>, Vec<u8>), String> {
    let (kind, axes) = match *content {
        [0, 0, kind, axes, ..] => (kind, usize::from(axes)),
        _ => return Err("not an IDX file: it does not begin with two zeros".to_owned()),
    };
    if kind != BYTES {
        return Err(format!("byte 2: elements of type 0x{kind:02x}; unsigned bytes, 0x08, are needed"));
    }
    let start = 4 + 4 * axes;
    let found = content.len();
    let header = content.get(4..start).ok_or_else(|| format!("cut off at byte {found}, in the header"))?;
    let shape: Vec<usize> =
        header.chunks(4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]) as usize).collect();
    let elements = shape.iter().try_fold(1_usize, |product, &extent| product.checked_mul(extent));
    let size = elements.and_then(|elements| elements.checked_add(start));
    let size = size.ok_or_else(|| format!("byte 4: the shape {shape:?} overflows"))?;
    match found {
        _ if found < size => Err(format!("cut off at byte {found}; the shape {shape:?} needs {size}")),
        _ if found > size => {
            Err(format!("byte {size}: {} bytes more than the shape {shape:?} has", found - size))
        }
        _ => Ok((shape, content[start..].to_vec())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_an_idx_file_is_named() {
        let file = [&[0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3][..], &[1, 2, 3, 4, 5, 6]].concat();
        assert_eq!(parse(&file), Ok((vec![2, 3], vec![1, 2, 3, 4, 5, 6])));
        let fails = |bytes: &[u8]| parse(bytes).unwrap_err();
        for cut in 0..file.len() {
            let message = fails(&file[..cut]);
            assert!(
                message.contains(if cut < 4 { "not an IDX file" } else { "cut off at byte" }),
                "{message}"
            );
        }
        assert_eq!(fails(&file[..17]), "cut off at byte 17; the shape [2, 3] needs 18");
        assert_eq!(fails(&[&file[..], &[7]].concat()), "byte 18: 1 bytes more than the shape [2, 3] has");
        let floats = [&[0, 0, 0x0d][..], &file[3..]].concat();
        assert_eq!(fails(&floats), "byte 2: elements of type 0x0d; unsigned bytes, 0x08, are needed");
        let large = [&[0, 0, 8, 3][..], &[0xff; 12]].concat();
        assert!(fails(&large).contains("overflows"), "{}", fails(&large));
        // No elements on an axis, whatever the others say.
        assert_eq!(parse(&[0, 0, 8, 2, 0, 0, 0, 0, 0, 0, 0, 3]), Ok((vec![0, 3], vec![])));
    }
}
