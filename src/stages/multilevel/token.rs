//! Tokens of codes.

use super::code::{CODES, EXACT};
use super::params::{EXACT as EXACT_TOKEN, PATTERN};

/// The token of a code. The function has no branches, so that the compiler vectorizes loops over it.
#[inline(always)]
pub(super) fn token(code: u32) -> u32 {
    // f32 represents codes exactly, since they are below 2^24. The exponent of 0 is not used.
    let e = ((code as i32 as f32).to_bits() >> 23).wrapping_sub(127);
    // The token contains the 2 bits after the highest one of the code, from 256 on 1 bit.
    let fine = 4 * e.min(7) + (code >> (e.wrapping_sub(2) & 31) & 3);
    let coarse = 16u32.wrapping_add(e.wrapping_mul(2)) + (code >> (e.wrapping_sub(1) & 31) & 1);
    let token = if code < 256 { fine } else { coarse };
    let token = if code < 16 { code } else { token };
    if code < CODES { token } else { PATTERN.wrapping_sub(CODES).wrapping_add(code) }
}

/// The code of a token without its raw bits, and the number of raw bits, which is `exact` for an exact value.
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
    fn codes_are_restored() {
        for u in (0..5000).chain((1..4000).map(|i| CODES / 4000 * i)).chain([CODES - 1]) {
            let t = token(u);
            let (first, bits) = code(t as u8, 32);
            assert_eq!(first, u >> bits << bits, "{u}");
            assert!(t < PATTERN && bits <= 19);
        }
        assert_eq!((token(CODES + 3), token(EXACT)), (61, 62));
        assert_eq!((code(61, 32), code(62, 32)), ((CODES + 3, 0), (EXACT, 32)));
    }
}
