//! Decoding: the book from the stream, checked, and the partitions by tables.

use super::blob::{BlobForm, HEADER, TABLES, word};
use super::book::{LENGTHS, firsts};
use super::params::HuffmanParams;
use crate::base::error::Fault;
use crate::ir::kernel::HostCall;
use bytemuck::Pod;

/// Codes of at most this number of bits are looked up at once.
const LOOKED_UP: u32 = 12;
/// Partitions that one task decodes.
const TASK: usize = 32;

pub(super) fn decode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    match call.params::<HuffmanParams>().width {
        1 => decode_as::<u8>(call, |s| s as u8),
        2 => decode_as::<u16>(call, |s| s as u16),
        4 => decode_as::<u32>(call, |s| s),
        _ => Err(Fault::BadLaunch),
    }
}

fn decode_as<T: Pod + Into<u32>>(call: &mut HostCall<'_>, narrow: fn(u32) -> T) -> Result<(), Fault> {
    let p = call.params::<HuffmanParams>();
    let (src, out, threads) = (call.input(0)?, call.output(0)?, call.threads);
    let width = size_of::<T>();
    if src.is_empty() && out.is_empty() {
        return Ok(());
    }
    if out.is_empty() || out.len() % width != 0 {
        return Err(Fault::Corrupt);
    }
    let (form, bits, cells) = BlobForm::read(&p, out.len() / width, src)?;
    let keys = read_keys::<T>(&form, src)?;
    if let Some(only) = sole_symbol(src, bits, cells, &keys)? {
        out.chunks_exact_mut(width).for_each(|o| o.copy_from_slice(bytemuck::bytes_of(&narrow(only))));
        return Ok(());
    }
    let book = Reversed::read(&form, src, keys)?;
    let bytes = form.sublen.saturating_mul(width);
    let task = bytes.saturating_mul(TASK).min(out.len());
    threads.tiles(out, task, |k, out| {
        for (i, out) in (k * TASK..).zip(out.chunks_mut(bytes)) {
            let (bits, start) = (word(src, form.bits_at() + 4 * i)?, word(src, form.starts_at() + 4 * i)?);
            let own = u64::from(bits.div_ceil(32));
            if u64::from(start) + own > cells {
                return Err(Fault::Corrupt);
            }
            let at = form.cells_at() + 4 * start as usize;
            let cells = src.get(at..at + 4 * own as usize).ok_or(Fault::Corrupt)?;
            book.partition::<T>(cells, bits, out, narrow)?;
        }
        Ok(())
    })
}

fn read_keys<T: Pod + Into<u32>>(form: &BlobForm, src: &[u8]) -> Result<Vec<u32>, Fault> {
    let at = HEADER + TABLES;
    let keys = src.get(at..at + form.width * form.bklen).ok_or(Fault::Corrupt)?;
    Ok(keys.chunks_exact(form.width).map(|b| bytemuck::pod_read_unaligned::<T>(b).into()).collect())
}

/// The reference gives the only symbol of an array a code of no bits.
fn sole_symbol(src: &[u8], bits: u64, cells: u64, keys: &[u32]) -> Result<Option<u32>, Fault> {
    let entries = HEADER + TABLES / 2;
    if bits != 0 || cells != 0 || word(src, entries)? != 0 || word(src, entries + 4)? != 1 {
        return Ok(None);
    }
    let only = keys.first().copied().filter(|&k| (k as usize) < keys.len());
    only.map(Some).ok_or(Fault::Corrupt)
}

/// The book, from codes to symbols.
struct Reversed {
    /// By the first bits: the symbol in the upper half, the length in the lower one, or 0 for a longer code.
    table: Vec<u32>,
    first: [u32; LENGTHS],
    number: [u32; LENGTHS + 1],
    entry: [u32; LENGTHS],
    keys: Vec<u32>,
}

impl Reversed {
    /// Reads a table that an encoder can have written: first codes must follow from the numbers of codes.
    fn read(form: &BlobForm, src: &[u8], keys: Vec<u32>) -> Result<Reversed, Fault> {
        let (mut first, mut entry, mut number) = ([0; LENGTHS], [0; LENGTHS], [0; LENGTHS + 1]);
        for l in 0..LENGTHS {
            first[l] = word(src, HEADER + 4 * l)?;
            entry[l] = word(src, HEADER + TABLES / 2 + 4 * l)?;
        }
        let sound = entry[0] == 0
            && entry.windows(2).all(|e| e[0] <= e[1])
            && entry[LENGTHS - 1] as usize <= form.bklen;
        if !sound || entry[1] != 0 {
            return Err(Fault::Corrupt);
        }
        for l in 1..LENGTHS - 1 {
            number[l] = entry[l + 1] - entry[l];
        }
        // Nothing counts the longest codes: they are those that make the code complete.
        number[LENGTHS - 1] = first[LENGTHS - 2].saturating_mul(2);
        let used = u64::from(entry[LENGTHS - 1]) + u64::from(number[LENGTHS - 1]);
        if used == 0 || used > form.bklen as u64 || first[1..] != firsts(&number)[1..] {
            return Err(Fault::Corrupt);
        }
        let prefix_free = (1..LENGTHS).all(|l| u64::from(first[l]) + u64::from(number[l]) <= 1 << l);
        let known = keys.iter().take(used as usize).all(|&k| (k as usize) < form.bklen);
        if !prefix_free || !known {
            return Err(Fault::Corrupt);
        }
        let mut book = Reversed { table: vec![], first, number, entry, keys };
        book.table = (0..1u32 << LOOKED_UP)
            .map(|i| match book.find(i << (32 - LOOKED_UP)) {
                Some((symbol, length)) if length <= LOOKED_UP => symbol << 16 | length,
                _ => 0,
            })
            .collect();
        Ok(book)
    }

    /// The symbol and the length of the code at the top of `peek`.
    fn find(&self, peek: u32) -> Option<(u32, u32)> {
        let l = (1..LENGTHS).find(|&l| peek >> (32 - l) >= self.first[l])?;
        let rank = (peek >> (32 - l)) - self.first[l];
        let key = (rank < self.number[l]).then(|| self.entry[l] + rank)?;
        Some((*self.keys.get(key as usize)?, l as u32))
    }

    /// Decodes as many symbols as `out` has room for; they must take exactly `bits`.
    fn partition<T: Pod>(
        &self,
        cells: &[u8],
        bits: u32,
        out: &mut [u8],
        narrow: fn(u32) -> T,
    ) -> Result<(), Fault> {
        let mut cells = cells.chunks_exact(4);
        let mut next = || cells.next().map_or(0, |c| u64::from(bytemuck::pod_read_unaligned::<u32>(c)));
        // The next bits at the top; at least 32 of them.
        let (mut held, mut have, mut used) = (next() << 32 | next(), 64u32, 0u64);
        for o in out.chunks_exact_mut(size_of::<T>()) {
            let peek = (held >> 32) as u32;
            let (symbol, length) = match self.table[(peek >> (32 - LOOKED_UP)) as usize] {
                0 => self.find(peek).ok_or(Fault::Corrupt)?,
                found => (found >> 16, found & 0xffff),
            };
            o.copy_from_slice(bytemuck::bytes_of(&narrow(symbol)));
            held <<= length;
            have -= length;
            used += u64::from(length);
            if have < 32 {
                held |= next() << (32 - have);
                have += 32;
            }
        }
        if used == u64::from(bits) { Ok(()) } else { Err(Fault::Corrupt) } // seed: huffman-bits
    }
}
