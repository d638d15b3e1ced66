//! Constants of stage `ans` on the CPU and the GPU; `kernels/ans/params.h` is generated from this
//! file.

// cbindgen exports constants that are public.
#![allow(unreachable_pub)]

/// Bits of a probability.
pub const PROBABILITY_BITS: u32 = 10;
/// Bytes that are coded on their own.
pub const BLOCK: u32 = 4096;
/// Largest number of words of a block: 80 of each lane.
pub const BLOCK_WORDS: u32 = 2560;
/// Words of a block start at multiples of this.
pub const WORD_UNIT: u32 = 8;
/// First word of a stream: its kind, and version 1.
pub const MAGIC: u32 = 0xd00d_0001;
/// Bytes of the header, and offset of the states behind the weights.
pub const HEADER_BYTES: u32 = 32;
pub const STATES_AT: u32 = 544;
/// First state of each lane.
pub const FIRST_STATE: u32 = 1 << 15;

/// Bytes of the table of an encoder, an entry for each byte, and of the table of a decoder.
pub const ENCODER_TABLE_BYTES: u64 = 4096;
pub const DECODER_TABLE_BYTES: u64 = 8192;
