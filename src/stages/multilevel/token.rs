//! Tokens of codes.

use super::code::{CODES, EXACT};
use super::params::{EXACT as EXACT_TOKEN, PATTERN};

/// The token of a code, and how many of the low bits of the code follow it. An exact value has no such bits here.
#[inline(always)]
pub(super) fn token(code: u32) -> (u8, u32) {
    if code < 16 {
        return (code as u8, 0);
    }
    if code >= CODES {
        return ((PATTERN + code - CODES) as u8, 0);
    }
    let e = code.ilog2();
    if e < 8 {
        let bits = e - 2;
        return ((16 + 4 * (e - 4) + (code >> bits & 3)) as u8, bits);
    }
    let bits = e - 1;
    ((32 + 2 * (e - 8) + (code >> bits & 1)) as u8, bits)
}

/// The code of a token without its low bits, and how many there are. Of an exact value `exact`.
#[inline(always)]
pub(super) const fn code(token: u8, exact: u32) -> (u32, u32) {
    let t = token as u32;
    match t {
        0..16 => (t, 0),
        16..32 => {
            let bits = (t - 16) / 4 + 2;
            ((4 + (t & 3)) << bits, bits)
        }
        32..PATTERN => {
            let bits = (t - 32) / 2 + 7;
            ((2 + (t & 1)) << bits, bits)
        }
        EXACT_TOKEN => (EXACT, exact),
        _ => (CODES + t - PATTERN, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_come_back() {
        for u in (0..5000).chain((1..4000).map(|i| CODES / 4000 * i)).chain([CODES - 1]) {
            let (t, bits) = token(u);
            assert_eq!(code(t, 32), (u >> bits << bits, bits), "{u}");
            assert!(u32::from(t) < PATTERN && bits <= 19);
        }
        assert_eq!((token(CODES + 3).0, token(EXACT).0), (61, 62));
        assert_eq!((code(61, 32), code(62, 32)), ((CODES + 3, 0), (EXACT, 32)));
    }
}
