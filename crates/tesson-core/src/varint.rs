//! Varints: whole numbers of seven bits a byte, the lowest first, as protobuf has them.

/// Takes a number. `None` if there is none of 64 bits; bytes may have been taken then.
pub fn take(from: &mut &[u8]) -> Option<u64> {
    let mut n = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = from.split_first()?;
        *from = rest;
        let part = u64::from(byte & 0x7F);
        if part << shift >> shift != part {
            return None;
        }
        n |= part << shift;
        if byte < 0x80 {
            return Some(n);
        }
    }
    None
}

/// Appends a number.
pub fn put(mut n: u64, into: &mut Vec<u8>) {
    while n >= 0x80 {
        into.push(n as u8 | 0x80);
        n >>= 7;
    }
    into.push(n as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_others_are_refused() {
        for n in [0, 1, 127, 128, 300, 1 << 32, u64::MAX - 1, u64::MAX] {
            let mut bytes = Vec::new();
            put(n, &mut bytes);
            bytes.push(7);
            let mut rest = &bytes[..];
            assert_eq!((take(&mut rest), rest), (Some(n), &[7][..]));
        }
        let beyond = [[0xFF; 9].as_slice(), &[2]].concat();
        assert_eq!(take(&mut &beyond[..]), None);
        assert_eq!(take(&mut &[0x80; 3][..]), None);
    }
}
