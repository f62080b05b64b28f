//! Base64 (RFC 4648, section 4), in which the page holds its numbers.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The text of some bytes, with padding.
pub(super) fn encode(bytes: impl IntoIterator<Item = u8>) -> String {
    let bytes: Vec<u8> = bytes.into_iter().collect();
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, i| bits << 8 | u32::from(group.get(i).copied().unwrap_or(0)));
        for i in 0..4 {
            let sextet = (bits >> (18 - 6 * i) & 63) as usize;
            // A group of k bytes has k + 1 characters.
            text.push(if i <= group.len() { char::from(ALPHABET[sextet]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test vectors of RFC 4648, section 10, and all characters.
    #[test]
    fn encodes_the_vectors_of_the_standard() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(encode(bytes.bytes()), text);
        }
        // The sextets 0, 1, 2, … as bytes.
        let all = (0..64_u32).step_by(4).flat_map(|i| {
            let bits = i << 18 | (i + 1) << 12 | (i + 2) << 6 | (i + 3);
            [(bits >> 16) as u8, (bits >> 8) as u8, bits as u8]
        });
        assert_eq!(encode(all).as_bytes(), ALPHABET);
    }
}
