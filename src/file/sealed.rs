//! Bytes that end with their own CRC-32, and numbers in them.

/// Writes the checksum of all bytes before the last four to the last four.
pub(super) fn seal(bytes: &mut [u8]) {
    let end = bytes.len() - 4;
    let sum = crc32fast::hash(&bytes[..end]);
    bytes[end..].copy_from_slice(&sum.to_le_bytes());
}

pub(super) fn is_sealed(bytes: &[u8]) -> bool {
    let (body, sum) = bytes.split_at(bytes.len() - 4);
    crc32fast::hash(body).to_le_bytes() == sum
}

/// The little-endian number of 8 bytes at an offset.
pub(super) fn word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}
