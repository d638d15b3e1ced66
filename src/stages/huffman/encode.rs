//! Encoding: counts; book, bits of each partition, cells.

use super::blob::{BlobForm, HEADER, TABLES, UNUSED};
use super::book::{Book, Rule};
use super::params::{COUNTS_AT, HuffmanParams};
use crate::base::error::Fault;
use crate::base::parallel::Parallel;
use crate::ir::kernel::HostCall;
use crate::stages::wide::{Work, widest};
use bytemuck::Pod;
use std::marker::PhantomData;

/// Symbols that one task counts, at the least. Each thread has one task and each task a table.
const COUNTED: usize = 1 << 18;
/// Tables of a task, which symbols are counted in by turns: equal symbols next to each other then do not wait for each other. Longer
/// code books have one table.
const TURNS: usize = 4;
const IN_TURNS: usize = 1 << 12;
/// Partitions that one task codes.
const CODED: usize = 32;

pub(super) fn count(call: &mut HostCall<'_>) -> Result<(), Fault> {
    match call.params::<HuffmanParams>().width {
        1 => count_as::<u8>(call),
        2 => count_as::<u16>(call),
        4 => count_as::<u32>(call),
        _ => Err(Fault::BadLaunch),
    }
}

fn count_as<T: Pod + Into<u32>>(call: &mut HostCall<'_>) -> Result<(), Fault> {
    match call.params::<HuffmanParams>().bklen as usize {
        ..=IN_TURNS => count_in::<T, TURNS>(call),
        _ => count_in::<T, 1>(call),
    }
}

pub(super) fn encode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    match call.params::<HuffmanParams>().width {
        1 => encode_as::<u8>(call),
        2 => encode_as::<u16>(call),
        4 => encode_as::<u32>(call),
        _ => Err(Fault::BadLaunch),
    }
}

fn symbols<T: Pod + Into<u32>>(bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
    bytes.chunks_exact(size_of::<T>()).map(|b| bytemuck::pod_read_unaligned::<T>(b).into())
}

/// Numbers of 32 bits.
fn words(bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
    bytes.chunks_exact(4).map(bytemuck::pod_read_unaligned)
}

fn encode_as<T: Pod + Into<u32>>(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let p = call.params::<HuffmanParams>();
    let (src, out, threads) = (call.input(0)?, call.output(0)?, call.threads);
    if src.len() % size_of::<T>() != 0 {
        return Err(Fault::BadLaunch);
    }
    if src.is_empty() {
        return call.publish(0, 0);
    }
    let form = BlobForm::new(&p, src.len() / size_of::<T>());
    let rule = if p.exact == 0 { Rule::Queue } else { Rule::Heap };
    let counts = call.input(1)?.get(COUNTS_AT as usize..).ok_or(Fault::BadLaunch)?;
    let book = Book::new(&words(counts).collect::<Vec<u32>>(), rule);
    let bytes = code::<T>(threads, &form, &book, src, out)?;
    if p.exact != 0 {
        leave_as_the_reference(&form, &book, out)?;
    }
    call.publish(0, bytes as u64)
}

/// How often each symbol occurs, with this number of tables.
fn count_in<T: Pod + Into<u32>, const N: usize>(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let bklen = call.params::<HuffmanParams>().bklen as usize;
    let (src, out, threads) = (call.input(0)?, call.output(0)?, call.threads);
    let task = COUNTED.max((src.len() / size_of::<T>()).div_ceil(threads.count())) * size_of::<T>(); // seed: huffman-tables
    let parts = threads.map(src.len().div_ceil(task), |k| {
        let (mut counts, mut beyond) = (vec![[0u32; N]; bklen], None);
        let mut count = |s: u32, turn: usize| match counts.get_mut(s as usize) {
            Some(c) => c[turn] += 1,
            None => beyond = beyond.max(Some(s)),
        };
        let groups = src[k * task..src.len().min((k + 1) * task)].chunks(N * size_of::<T>());
        groups.for_each(|group| symbols::<T>(group).enumerate().for_each(|(turn, s)| count(s, turn)));
        (counts, beyond)
    });
    let mut all = vec![0u32; bklen];
    let mut largest = None;
    for (counts, beyond) in parts {
        all.iter_mut().zip(counts).for_each(|(a, c)| *a += c.iter().sum::<u32>());
        largest = largest.max(beyond);
    }
    if let Some(symbol) = largest {
        return Err(Fault::OutOfRange(symbol.into()));
    }
    let (header, counts) = out.split_at_mut_checked(COUNTS_AT as usize).ok_or(Fault::BadLaunch)?;
    header.fill(0);
    counts.copy_from_slice(bytemuck::cast_slice(&all));
    Ok(())
}

/// Writes the stream; returns its length.
fn code<T: Pod + Into<u32>>(
    threads: Parallel<'_>,
    form: &BlobForm,
    book: &Book,
    src: &[u8],
    out: &mut [u8],
) -> Result<usize, Fault> {
    let (partitions, bytes) = (form.partitions(), form.sublen * size_of::<T>());
    let (header, rest) = out.split_first_chunk_mut::<HEADER>().ok_or(Fault::BadLaunch)?;
    let (tables, rest) =
        rest.split_at_mut_checked(TABLES + form.width * form.bklen).ok_or(Fault::BadLaunch)?;
    let (counts, rest) = rest.split_at_mut_checked(4 * partitions).ok_or(Fault::BadLaunch)?;
    let (starts, rest) = rest.split_at_mut_checked(4 * partitions).ok_or(Fault::BadLaunch)?;
    threads.tiles(counts, 4 * CODED, |k, counts| {
        let partitions = src[k * CODED * bytes..].chunks(bytes);
        for (bits, own) in counts.chunks_exact_mut(4).zip(partitions) {
            let lengths = symbols::<T>(own).map(|s| u32::from(book.lengths[s as usize]));
            bits.copy_from_slice(&lengths.sum::<u32>().to_le_bytes());
        }
        Ok(())
    })?;
    let (mut total, mut cells) = (0, 0);
    for (bits, at) in words(counts).zip(starts.chunks_exact_mut(4)) {
        at.copy_from_slice(&(cells as u32).to_le_bytes());
        total += u64::from(bits);
        cells += bits.div_ceil(32) as usize;
    }
    form.write(header, total, cells as u64);
    write_book::<T>(book, tables);
    let codes = book.with_lengths();
    let mut left = rest.get_mut(..4 * cells).ok_or(Fault::BadLaunch)?;
    let mut work = Vec::with_capacity(partitions.div_ceil(CODED));
    for (k, bits) in counts.chunks(4 * CODED).enumerate() {
        let own = words(bits).map(|b| 4 * b.div_ceil(32) as usize).sum();
        let (own, others) = left.split_at_mut(own);
        work.push((k, bits, own));
        left = others;
    }
    threads.each(
        work,
        || (),
        |(), (k, bits, mut cells)| {
            for (p, bits) in (k * CODED..).zip(words(bits)) {
                let (own, others) = cells.split_at_mut(4 * bits.div_ceil(32) as usize);
                widest(Pack {
                    codes: &codes,
                    src: &src[p * bytes..src.len().min((p + 1) * bytes)],
                    cells: own,
                    symbol: PhantomData::<T>,
                });
                cells = others;
            }
        },
    );
    Ok(form.bytes(cells))
}

fn write_book<T: Pod>(book: &Book, tables: &mut [u8]) {
    let (first, rest) = tables.split_at_mut(TABLES / 2);
    let (entry, keys) = rest.split_at_mut(TABLES / 2);
    let words = book
        .first
        .iter()
        .zip(first.chunks_exact_mut(4))
        .chain(book.entry.iter().zip(entry.chunks_exact_mut(4)));
    words.for_each(|(w, to)| to.copy_from_slice(&w.to_le_bytes()));
    keys.fill(0);
    for (key, to) in book.keys.iter().zip(keys.chunks_exact_mut(size_of::<T>())) {
        to.copy_from_slice(&key.to_le_bytes()[..size_of::<T>()]);
    }
}

/// The codes of a partition, the first one at the top of the first cell.
struct Pack<'a, T> {
    /// The code of each symbol, with its length in the upper half.
    codes: &'a [u64],
    src: &'a [u8],
    cells: &'a mut [u8],
    symbol: PhantomData<T>,
}

impl<T: Pod + Into<u32>> Work for Pack<'_, T> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        let Pack { codes, src, cells, .. } = self;
        let (mut held, mut bits, mut at) = (0u64, 0u32, 0);
        let mut put = |at: usize, word: u64| {
            if let Some(cell) = cells.get_mut(at..at + 4) {
                cell.copy_from_slice(&(word as u32).to_le_bytes());
            }
        };
        for s in symbols::<T>(src) {
            let code = codes[s as usize];
            held = held << (code >> 32) | u64::from(code as u32);
            bits += (code >> 32) as u32;
            // A cell that is not full yet is written again: this needs no branch.
            put(at, held >> (bits % 32));
            at += (bits / 32 * 4) as usize;
            bits %= 32;
        }
        if bits > 0 {
            put(at, held << (32 - bits));
        }
    }
}

/// The unused words of the header as the reference leaves them: words 16 to 31 of the memory in which it
/// coded partition 0, the cells followed by the entries that it made the codes from.
fn leave_as_the_reference(form: &BlobForm, book: &Book, out: &mut [u8]) -> Result<(), Fault> {
    let at = form.bits_at();
    let bits = super::blob::word(out, at).map_err(|_| Fault::BadLaunch)?;
    let cells = bits.div_ceil(32) as usize;
    for (k, to) in (16..).zip(UNUSED.step_by(4)) {
        let word = if k < cells {
            super::blob::word(out, form.cells_at() + 4 * k).map_err(|_| Fault::BadLaunch)?
        } else {
            match (book.lengths.get(k), book.codes.get(k)) {
                (Some(0), _) => u32::MAX,
                (Some(&length), Some(&code)) => u32::from(length) << 27 | code,
                _ => 0,
            }
        };
        out[to..to + 4].copy_from_slice(&word.to_le_bytes());
    }
    Ok(())
}
