//! Decoding: the book from the stream, checked, and the partitions by tables.

use super::blob::{BlobForm, HEADER, TABLES, word};
use super::book::{LENGTHS, firsts};
use super::params::HuffmanParams;
use crate::base::error::Fault;
use crate::ir::kernel::HostCall;
use crate::stages::wide::{Work, widest};

/// Codes of at most this number of bits are looked up at once.
const LOOKED_UP: u32 = 12;
/// Partitions that one task decodes, and those that it decodes side by side: a lookup for one does not wait for another one.
const TASK: usize = 32;
const ABREAST: usize = 4;

pub(super) fn decode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    match call.params::<HuffmanParams>().width {
        1 => decode_as::<1>(call),
        2 => decode_as::<2>(call),
        4 => decode_as::<4>(call),
        _ => Err(Fault::BadLaunch),
    }
}

/// Decodes symbols of `W` bytes.
fn decode_as<const W: usize>(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let p = call.params::<HuffmanParams>();
    let (src, out, threads) = (call.input(0)?, call.output(0)?, call.threads);
    if src.is_empty() && out.is_empty() {
        return Ok(());
    }
    if out.is_empty() || out.len() % W != 0 {
        return Err(Fault::Corrupt);
    }
    let (form, bits, cells) = BlobForm::read(&p, out.len() / W, src)?;
    let keys = read_keys::<W>(&form, src)?;
    if let Some(only) = sole_symbol(src, bits, cells, &keys)? {
        out.chunks_exact_mut(W).for_each(|o| o.copy_from_slice(&only.to_le_bytes()[..W]));
        return Ok(());
    }
    let book = Reversed::read(&form, src, keys)?;
    let bytes = form.sublen.saturating_mul(W);
    let task = bytes.saturating_mul(TASK).min(out.len());
    threads.tiles(out, task, |k, out| {
        let coded = |i: usize| {
            let (bits, start) = (word(src, form.bits_at() + 4 * i)?, word(src, form.starts_at() + 4 * i)?);
            let own = u64::from(bits.div_ceil(32));
            if u64::from(start) + own > cells {
                return Err(Fault::Corrupt);
            }
            let at = form.cells_at() + 4 * start as usize;
            Ok(Coded { cells: src.get(at..at + 4 * own as usize).ok_or(Fault::Corrupt)?, bits })
        };
        let mut whole = out.chunks_exact_mut(bytes.saturating_mul(ABREAST));
        let mut i = k * TASK;
        for out in &mut whole {
            let mut all = [Coded { cells: &[], bits: 0 }; ABREAST];
            for own in &mut all {
                *own = coded(i)?;
                i += 1;
            }
            widest(Partitions::<W, ABREAST> { book: &book, coded: all, out })?;
        }
        for (i, out) in (i..).zip(whole.into_remainder().chunks_mut(bytes)) {
            widest(Partitions::<W, 1> { book: &book, coded: [coded(i)?], out })?;
        }
        Ok(())
    })
}

fn read_keys<const W: usize>(form: &BlobForm, src: &[u8]) -> Result<Vec<u32>, Fault> {
    let at = HEADER + TABLES;
    let keys = src.get(at..at + form.width * form.bklen).ok_or(Fault::Corrupt)?;
    let number = |key: &[u8]| key.iter().rev().fold(0, |number, &byte| number << 8 | u32::from(byte));
    Ok(keys.chunks_exact(W).map(number).collect())
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
    table: Box<[u32; 1 << LOOKED_UP]>,
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
        let mut book = Reversed { table: Box::new([0; 1 << LOOKED_UP]), first, number, entry, keys };
        for i in 0..1u32 << LOOKED_UP {
            if let Some((symbol, length)) = book.find(i << (32 - LOOKED_UP)).filter(|f| f.1 <= LOOKED_UP) {
                book.table[i as usize] = symbol << 16 | length;
            }
        }
        Ok(book)
    }

    /// The symbol and the length of the code at the top of `peek`.
    fn find(&self, peek: u32) -> Option<(u32, u32)> {
        let l = (1..LENGTHS).find(|&l| peek >> (32 - l) >= self.first[l])?;
        let rank = (peek >> (32 - l)) - self.first[l];
        let key = (rank < self.number[l]).then(|| self.entry[l] + rank)?;
        Some((*self.keys.get(key as usize)?, l as u32))
    }

    /// The next symbol; `bits` are those from bit `at` of `cells` on, enough for a table.
    #[inline(always)]
    fn next(&self, cells: &[u8], at: &mut usize, bits: &mut u64) -> Result<u32, Fault> {
        let found = self.table[(*bits >> (64 - LOOKED_UP)) as usize];
        if found == 0 {
            let (symbol, length) = self.find((bits_at(cells, *at) >> 32) as u32).ok_or(Fault::Corrupt)?;
            *at += length as usize;
            *bits = bits_at(cells, *at);
            return Ok(symbol);
        }
        *at += (found & 0xffff) as usize;
        *bits <<= found & 0xffff;
        Ok(found >> 16)
    }
}

/// The codes of a partition, and the number of their bits.
#[derive(Clone, Copy)]
struct Coded<'a> {
    cells: &'a [u8],
    bits: u32,
}

/// The bits from bit `at` on, at the top; at least 33 of them, zeros behind the last cell.
#[inline(always)]
fn bits_at(cells: &[u8], at: usize) -> u64 {
    let i = at / 32 * 4;
    let two = match cells.get(i..).and_then(|rest| rest.first_chunk::<8>()) {
        Some(two) => u64::from_le_bytes(*two),
        None => cells.get(i..i + 4).map_or(0, |one| u64::from(bytemuck::pod_read_unaligned::<u32>(one))),
    };
    two.rotate_left(32) << (at % 32)
}

/// Decodes partitions of equally many symbols of `W` bytes, as many as `out` has room for; they must take exactly their bits.
struct Partitions<'a, const W: usize, const N: usize> {
    book: &'a Reversed,
    coded: [Coded<'a>; N],
    out: &'a mut [u8],
}

impl<const W: usize, const N: usize> Work for Partitions<'_, W, N> {
    type Result = Result<(), Fault>;

    #[inline(always)]
    fn run(self) -> Result<(), Fault> {
        let Partitions { book, coded, out } = self;
        let len = out.len() / N;
        let mut at = [0; N];
        let pairs = len / (2 * W);
        for i in 0..pairs {
            for (k, (at, Coded { cells, .. })) in at.iter_mut().zip(&coded).enumerate() {
                // The table needs twice its bits at most.
                let mut bits = bits_at(cells, *at);
                let two = [book.next(cells, at, &mut bits)?, book.next(cells, at, &mut bits)?];
                let from = k * len + 2 * W * i;
                let (first, second) = out[from..from + 2 * W].split_at_mut(W);
                first.copy_from_slice(&two[0].to_le_bytes()[..W]);
                second.copy_from_slice(&two[1].to_le_bytes()[..W]);
            }
        }
        for (k, (at, Coded { cells, .. })) in at.iter_mut().zip(&coded).enumerate() {
            for to in out[k * len..(k + 1) * len][2 * W * pairs..].chunks_exact_mut(W) {
                let symbol = book.next(cells, at, &mut bits_at(cells, *at))?;
                to.copy_from_slice(&symbol.to_le_bytes()[..W]);
            }
        }
        let sound = at.iter().zip(&coded).all(|(&at, coded)| at as u64 == u64::from(coded.bits)); // seed: huffman-bits
        if sound { Ok(()) } else { Err(Fault::Corrupt) }
    }
}
