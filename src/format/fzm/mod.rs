//! FZM 3.1 files.
#![doc = include_str!("spec.md")]

mod added;
mod read;
mod write;

pub(super) use added::as_added;
pub(super) use read::read;
pub(super) use write::template;

/// The first four bytes.
pub(super) const MAGIC: [u8; 4] = [0x32, 0x5a, 0x4d, 0x46];
/// Version 3.1.
const VERSION: u16 = 0x0301;
/// Bytes of the core header, and of that of version 3.0.
const CORE: usize = 80;
const CORE_3_0: usize = 72;
/// Bytes of a stage record and of a buffer record.
const RECORD: usize = 256;
/// Offset of the ids of output ports in a stage record.
const OUTPUTS: usize = 24;
/// Ids of buffers that a stage record holds.
const PORTS: usize = 8;
/// An id that is not used.
const NO_ID: u16 = 0xffff;
/// Bytes of a config in a record.
const CONFIG: usize = 128;
/// Flags of the core header.
const DATA_CRC: u16 = 1;
const HEADER_CRC: u16 = 2;
/// Where the extension block starts in a stage record, how it starts, its version, and that of arrays of more than 3 dimensions.
const EXTENSION: usize = 172;
const EXTENSION_MAGIC: [u8; 4] = *b"FZX1";
const EXTENSION_VERSION: u16 = 1;
const EXTENSION_MORE_DIMS: u16 = 2;
/// Where a stage record states the number of exact values, inside the block.
const EXACT_VALUES: usize = 232;
/// Flags of the extension block: the bound was kept for every value; the forms are those of 2026-05.
const EXTENSION_STRICT: u16 = 1;
const EXTENSION_2026_05: u16 = 2;
