//! The stream: where its parts lie, and its header.

use super::params::{self, HuffmanParams, MAX_PARTITION, MIN_PARTITION};
use crate::base::error::Fault;

/// Bytes of the header.
pub(super) const HEADER: usize = params::HEADER_BYTES as usize;
/// Bytes of the first codes and entries behind it.
pub(super) const TABLES: usize = 256;
const _: () = assert!(HEADER + TABLES == params::SYMBOLS_AT as usize);
/// Unused bytes of the header.
pub(super) const UNUSED: std::ops::Range<usize> = 64..HEADER;

/// The numbers that determine the lengths of a stream.
#[derive(Clone, Copy)]
pub(super) struct BlobForm {
    /// Bytes of a symbol.
    pub(super) width: usize,
    /// Symbols are below this.
    pub(super) bklen: usize,
    /// Symbols.
    pub(super) n: usize,
    /// Symbols of a partition.
    pub(super) sublen: usize,
}

/// The number of symbols of a partition, of `n` in all.
fn partition(rule: u32, n: usize) -> usize {
    match rule {
        0 => match n / 131_072 {
            0..=768 => MIN_PARTITION as usize,
            769..=2047 => 1024,
            2048..=4095 => 2048,
            _ => MAX_PARTITION as usize,
        },
        fixed => fixed as usize,
    }
}

impl BlobForm {
    pub(super) fn new(p: &HuffmanParams, n: usize) -> BlobForm {
        let (width, bklen) = (p.width as usize, p.bklen as usize);
        BlobForm { width, bklen, n, sublen: partition(p.partition, n) }
    }

    pub(super) fn partitions(&self) -> usize {
        self.n.div_ceil(self.sublen)
    }

    /// Where the bits of each partition are counted; their starts and the cells follow.
    pub(super) fn bits_at(&self) -> usize {
        HEADER + TABLES + self.width * self.bklen
    }

    pub(super) fn starts_at(&self) -> usize {
        self.bits_at() + 4 * self.partitions()
    }

    pub(super) fn cells_at(&self) -> usize {
        self.bits_at() + 8 * self.partitions()
    }

    /// Offsets of the parts and the end, as the header has them.
    fn offsets(&self, cells: u64) -> [u64; 6] {
        let (bits, starts, from) = (self.bits_at() as u64, self.starts_at() as u64, self.cells_at() as u64);
        [0, HEADER as u64, bits, starts, from, from.saturating_add(cells.saturating_mul(4))]
    }

    /// Bytes of a stream of `cells` cells.
    pub(super) fn bytes(&self, cells: usize) -> usize {
        self.cells_at() + 4 * cells
    }

    /// Writes the header.
    pub(super) fn write(&self, header: &mut [u8; HEADER], bits: u64, cells: u64) {
        header.fill(0);
        header[..2].copy_from_slice(&(self.bklen as u16).to_le_bytes());
        header[4..8].copy_from_slice(&(self.sublen as u32).to_le_bytes());
        header[8..12].copy_from_slice(&(self.partitions() as u32).to_le_bytes());
        header[16..24].copy_from_slice(&(self.n as u64).to_le_bytes());
        header[24..32].copy_from_slice(&bits.to_le_bytes());
        header[32..40].copy_from_slice(&cells.to_le_bytes());
        for (word, offset) in header[40..UNUSED.start].chunks_exact_mut(4).zip(self.offsets(cells)) {
            word.copy_from_slice(&(offset as u32).to_le_bytes());
        }
    }

    /// Reads the header of `stream` for `n` symbols: the form, the bits of all partitions and the cells.
    pub(super) fn read(p: &HuffmanParams, n: usize, stream: &[u8]) -> Result<(BlobForm, u64, u64), Fault> {
        let header = stream.first_chunk::<HEADER>().ok_or(Fault::Corrupt)?;
        let (sublen, partitions) = (word(header, 4)?, word(header, 8)?);
        let long = |at: usize| Ok(u64::from(word(header, at)?) | u64::from(word(header, at + 4)?) << 32);
        let (count, bits, cells) = (long(16)?, long(24)?, long(32)?);
        let form = BlobForm { sublen: sublen as usize, ..BlobForm::new(p, n) };
        let whole = sublen > 0 && form.partitions() == partitions as usize && count == n as u64;
        if !whole || word(header, 0)? as u16 != form.bklen as u16 {
            return Err(Fault::Corrupt);
        }
        let offsets = form.offsets(cells);
        for (i, &offset) in offsets.iter().enumerate() {
            if u64::from(word(header, 40 + 4 * i)?) != offset {
                return Err(Fault::Corrupt);
            }
        }
        if offsets[5] == stream.len() as u64 { Ok((form, bits, cells)) } else { Err(Fault::Corrupt) }
    }
}

/// The u32 at a place that damage may have moved.
pub(super) fn word(bytes: &[u8], at: usize) -> Result<u32, Fault> {
    let four = bytes.get(at..).and_then(|b| b.first_chunk::<4>()).ok_or(Fault::Corrupt)?;
    Ok(u32::from_le_bytes(*four))
}
