//! Bytes of chunks of codes after stages `bitshuffle` and `rze`.

/// Elements of a chunk of stages `bitshuffle` and `rze`.
pub(super) const CHUNK: usize = 8192;
/// Bits of a code.
pub(super) const BITS: usize = 16;

/// A bit for each byte of a chunk.
pub(super) type Map = [u8; 2 * CHUNK / 8];

/// Marks the bytes of the codes that are not 0.
pub(super) fn byte_map(codes: &[u32]) -> Map {
    let mut map: Map = [0; 2 * CHUNK / 8];
    for (marks, four) in map.iter_mut().zip(codes.chunks(4)) {
        for (k, code) in four.iter().enumerate().filter(|(_, code)| **code >> BITS == 0) {
            *marks |= u8::from(code & 0xff != 0) << (2 * k) | u8::from(code >> 8 != 0) << (2 * k + 1);
        }
    }
    map
}

/// Marks the bytes of codes after stage `bitshuffle`, of which one is one bit of eight consecutive codes. The codes begin with number
/// 64 `first` of their chunk.
#[inline(always)]
pub(super) fn put_planes(codes: &[u32], first: usize, map: &mut Map) {
    for (j, part) in codes.chunks(64).enumerate() {
        let mut short = [0u16; 64];
        for (short, &code) in short.iter_mut().zip(part) {
            *short = if code >> BITS == 0 { code as u16 } else { 0 };
        }
        // The low and the high bytes of the disjunctions of eight codes each.
        let (mut low, mut high) = (0, 0);
        let fours: [u64; 16] = bytemuck::cast(short);
        for k in 0..8 {
            let two = (fours[2 * k] | fours[2 * k + 1]) | (fours[2 * k] | fours[2 * k + 1]) >> 32;
            let any = two | two >> 16;
            low |= (any & 0xff) << (8 * k);
            high |= (any >> 8 & 0xff) << (8 * k);
        }
        for (low_bit, bytes) in [(0, low), (8, high)].into_iter().filter(|(_, bytes)| *bytes != 0) {
            for (bit, byte) in transposed(bytes).to_le_bytes().into_iter().enumerate() {
                map[(low_bit + bit) * (CHUNK / 64) + first + j] = byte;
            }
        }
    }
}

/// Bit i of byte k becomes bit k of byte i.
#[inline(always)]
fn transposed(mut x: u64) -> u64 {
    for (distance, mask) in
        [(7, 0x00aa_00aa_00aa_00aa), (14, 0x0000_cccc_0000_cccc), (28, 0x0000_0000_f0f0_f0f0)]
    {
        let t = (x ^ x >> distance) & mask;
        x ^= t ^ t << distance;
    }
    x
}

/// Bytes of a number of codes, at most [`CHUNK`], after stage `rze`.
#[inline(always)]
pub(super) fn zero_free(mut map: Map, codes: usize) -> usize {
    /// Number of stored bytes and their length; the last bitmap, if a byte is stored.
    const FRAME: usize = 6;
    const LAST: usize = 4;
    let eight = |map: &Map, i: usize| map[8 * i..].first_chunk().map_or(0, |all| u64::from_le_bytes(*all));
    let mut bytes = (0..map.len() / 8).map(|i| eight(&map, i).count_ones()).sum::<u32>() as usize;
    if bytes == 0 {
        return FRAME;
    }
    // Three times: a byte is stored if it differs from the one before it, and a bitmap marks these bytes.
    let mut len = map.len();
    for _ in 0..3 {
        let mut before = 0;
        for i in 0..len / 8 {
            let own = eight(&map, i);
            let marks = nonzero(own ^ (own << 8 | before));
            before = own >> 56;
            bytes += marks.count_ones() as usize;
            map[i] = marks;
        }
        len /= 8;
    }
    (bytes + FRAME + LAST).min(2 * codes + FRAME)
}

/// Bit k is set if byte k is not 0.
#[inline(always)]
fn nonzero(x: u64) -> u8 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    // The highest bits of the bytes, as the lowest ones.
    let any = (((x & LOW) + LOW) | x) >> 7 & 0x0101_0101_0101_0101;
    (any.wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_have_a_bit_of_every_eight_codes() {
        let codes: Vec<u32> = (0..1000u32).map(|i| i.wrapping_mul(0x9e37_79b9) >> (14 + i % 18)).collect();
        let mut map: Map = [0; 2 * CHUNK / 8];
        put_planes(&codes[..512], 0, &mut map);
        put_planes(&codes[512..], 8, &mut map);
        for (i, eight) in codes.chunks(8).enumerate() {
            for bit in 0..BITS {
                let is_set = eight.iter().any(|code| code >> BITS == 0 && code >> bit & 1 > 0);
                assert_eq!(map[bit * (CHUNK / 64) + i / 8] >> (i % 8) & 1 > 0, is_set, "{i} {bit}");
            }
        }
    }

    #[test]
    fn bytes_that_are_not_zero_have_a_bit() {
        for marks in 0..=u8::MAX {
            for value in [1u64, 0x40, 0x80, 0xff] {
                let x = (0..8).filter(|k| marks >> k & 1 > 0).map(|k| value << (8 * k)).sum();
                assert_eq!(nonzero(x), marks);
            }
        }
    }

    #[test]
    fn bitmaps_mark_bytes_that_differ_from_the_one_before() {
        let mut state = 9u64;
        for round in 0..100 {
            let map: Map = std::array::from_fn(|i| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                if i % (1 + round) < 1 + round / 3 { (state >> 56) as u8 & (round as u8 | 1) } else { 0 }
            });
            let mut bytes = map.iter().map(|marks| marks.count_ones() as usize).sum::<usize>();
            let mut level = map.to_vec();
            if bytes > 0 {
                for _ in 0..3 {
                    let differs = |i: usize| level[i] != if i > 0 { level[i - 1] } else { 0 };
                    let next: Vec<u8> = (0..level.len() / 8)
                        .map(|i| (0..8).map(|k| u8::from(differs(8 * i + k)) << k).sum())
                        .collect();
                    bytes += next.iter().map(|marks| marks.count_ones() as usize).sum::<usize>();
                    level = next;
                }
                bytes += 4;
            }
            assert_eq!(zero_free(map, CHUNK), (bytes + 6).min(2 * CHUNK + 6), "{round}");
        }
    }
}
