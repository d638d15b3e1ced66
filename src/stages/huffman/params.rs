//! Parameters and constants of stage `huffman` on the CPU and the GPU; `kernels/huffman/params.h`
//! is generated from this file.

// cbindgen exports constants that are public.
#![allow(unreachable_pub)]

use bytemuck::{Pod, Zeroable};

/// Bytes of the header, and offset of the symbols behind it and the tables of the book.
pub const HEADER_BYTES: u32 = 128;
pub const SYMBOLS_AT: u32 = 384;
/// Bits of the longest code.
pub const MAX_CODE_BITS: u32 = 28;
/// Symbols of the shortest and the longest partition.
pub const MIN_PARTITION: u32 = 768;
pub const MAX_PARTITION: u32 = 4096;

/// Longest code book that fits into the shared memory of a block. Longer ones have functions of
/// their own.
pub const SHARED_SYMBOLS: u32 = 1024;
/// Offset of the counts of all symbols, behind the largest symbol outside the code book, or 0.
pub const COUNTS_AT: u64 = 16;
/// Scratch of an encoder: bytes of its header, and bytes per symbol that a long book needs while it
/// is made.
pub const SCRATCH_HEADER_BYTES: u64 = 64;
pub const BOOK_NODE_BYTES: u64 = 47;
/// Scratch of a decoder: bytes of the checked header with its tables.
pub const OPENED_BYTES: u64 = 21_504;

/// Parameters of all kernels.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct HuffmanParams {
    /// Length of the code book.
    pub bklen: u32,
    /// Bytes of a symbol.
    pub width: u32,
    /// Symbols of a partition; 0: by the length of the array.
    pub partition: u32,
    /// 1: the bytes of the reference.
    pub exact: u32,
}
const _: () = assert!(size_of::<HuffmanParams>() == 16);
