//! The stream around the blocks: header, weights, states, sizes, words.

use super::params::{self, MAGIC};
use super::weights::Weights;
use super::{BLOCK, LANES, MOST_WORDS, ONE, PROB_BITS, block};
use crate::base::error::Fault;
use crate::base::parallel::Parallel;
use crate::ir::kernel::HostCall;

/// Bytes of the header, and where the states start behind the weights.
const HEADER: usize = params::HEADER_BYTES as usize;
const STATES: usize = params::STATES_AT as usize;
const _: () = assert!(STATES == HEADER + 2 * 256);
/// Words of a block start at multiples of this.
const UNIT: usize = params::WORD_UNIT as usize;
/// Bytes of the most words of a block.
const SLOT: usize = 2 * MOST_WORDS;
/// Words of a block move to the front of its room or before it, including their padding.
const _: () = assert!(MOST_WORDS % UNIT == 0);
/// Blocks that one task codes.
const TASK: usize = 16;

/// The places of the parts of a stream.
struct AnsForm {
    blocks: usize,
    sizes: usize,
    words: usize,
}

impl AnsForm {
    fn new(bytes: usize) -> AnsForm {
        let blocks = bytes.div_ceil(BLOCK);
        let sizes = STATES + 4 * LANES * blocks;
        AnsForm { blocks, sizes, words: sizes + 8 * blocks.next_multiple_of(2) }
    }
}

fn put(to: &mut [u8], words: impl IntoIterator<Item = u32>) {
    for (to, word) in to.chunks_exact_mut(4).zip(words) {
        to.copy_from_slice(&word.to_le_bytes());
    }
}

pub(super) fn encode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let (src, out, threads) = (call.input(0)?, call.output(0)?, call.threads);
    if src.is_empty() {
        return call.publish(0, 0);
    }
    let form = AnsForm::new(src.len());
    let weights = weigh(threads, src);
    // Each block has room for the most words that it can have, before they move together.
    let out = out.get_mut(..form.words + form.blocks * SLOT).ok_or(Fault::BadLaunch)?;
    let (header, words) = out.split_at_mut(form.words);
    header.fill(0);
    let (states, sizes) = header[STATES..].split_at_mut(form.sizes - STATES);
    let parts = src.chunks(TASK * BLOCK).zip(states.chunks_mut(TASK * 4 * LANES));
    let parts = parts.zip(sizes.chunks_mut(TASK * 8)).zip(words.chunks_mut(TASK * SLOT));
    let tasks = parts.map(|(((src, states), sizes), words)| AnsTask { src, states, sizes, words });
    let done = threads.each(tasks.collect(), || (), |(), task| task.code(&weights));
    done.into_iter().collect::<Result<(), Fault>>()?;

    let total = together(form.blocks, sizes, words)?;
    put(header, [MAGIC, form.blocks as u32, src.len() as u32, total as u32, PROB_BITS as u32]);
    for (to, weight) in header[HEADER..STATES].chunks_exact_mut(2).zip(weights.of) {
        to.copy_from_slice(&(weight as u16).to_le_bytes());
    }
    call.publish(0, (form.words + 2 * total) as u64)
}

/// Blocks that are coded together, and the destination of the results.
struct AnsTask<'a> {
    src: &'a [u8],
    states: &'a mut [u8],
    sizes: &'a mut [u8],
    words: &'a mut [u8],
}

impl AnsTask<'_> {
    fn code(self, weights: &Weights) -> Result<(), Fault> {
        let places = self.states.chunks_exact_mut(4 * LANES).zip(self.sizes.chunks_exact_mut(8));
        let blocks = self.src.chunks(BLOCK).zip(places).zip(self.words.chunks_mut(SLOT));
        for ((block, (states, size)), words) in blocks {
            let (count, ends) = block::encode(block, weights, words)?;
            put(states, ends);
            put(size, [(block.len() as u32) << 16 | count as u32]);
        }
        Ok(())
    }
}

/// The weights of the bytes.
fn weigh(threads: Parallel<'_>, src: &[u8]) -> Weights {
    let part = (TASK * BLOCK).max(src.len().div_ceil(threads.count()));
    let parts = threads.map(src.len().div_ceil(part), |k| {
        let mut counts = [0u32; 256];
        src[k * part..src.len().min((k + 1) * part)].iter().for_each(|&b| counts[usize::from(b)] += 1);
        counts
    });
    let mut counts = [0u32; 256];
    parts.iter().for_each(|part| counts.iter_mut().zip(part).for_each(|(a, c)| *a += c));
    Weights::new(&counts, src.len() as u32)
}

/// Moves the words of all blocks together and stores their places; returns the number of words.
fn together(blocks: usize, sizes: &mut [u8], words: &mut [u8]) -> Result<usize, Fault> {
    let mut start = 0;
    for k in 0..blocks {
        let count = word(sizes, 8 * k)? as usize & 0xffff;
        put(&mut sizes[8 * k + 4..8 * k + 8], [start as u32]);
        let (from, room) = (k * SLOT, count.next_multiple_of(UNIT));
        words.copy_within(from..from + 2 * count, 2 * start);
        words[2 * (start + count)..2 * (start + room)].fill(0);
        start += room;
    }
    Ok(start)
}

/// The u32 at a place that damage may have moved.
fn word(bytes: &[u8], at: usize) -> Result<u32, Fault> {
    let four = bytes.get(at..).and_then(|b| b.first_chunk::<4>()).ok_or(Fault::Corrupt)?;
    Ok(u32::from_le_bytes(*four))
}

pub(super) fn decode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let (src, out, threads) = (call.input(0)?, call.output(0)?, call.threads);
    if src.is_empty() && out.is_empty() {
        return Ok(());
    }
    let form = AnsForm::new(out.len());
    let weights = open(&form, src, out.len())?;
    let mut bytes = [0; ONE as usize];
    for s in 0..=255u8 {
        let from = weights.before[usize::from(s)] as usize;
        bytes[from..from + weights.of[usize::from(s)] as usize].fill(s);
    }
    let starts = starts(&form, src, out.len())?;
    threads.tiles(out, BLOCK, |i, block| {
        let mut states = [0; LANES];
        for (lane, x) in states.iter_mut().enumerate() {
            *x = word(src, STATES + 4 * (LANES * i + lane))?;
        }
        let (start, count) = starts.get(i).copied().ok_or(Fault::BadLaunch)?;
        let from = form.words + 2 * start;
        let own = src.get(from..from + 2 * count).ok_or(Fault::Corrupt)?;
        block::decode(block, states, own, &weights, &bytes)
    })
}

/// The weights of a stream whose header fits.
fn open(form: &AnsForm, src: &[u8], bytes: usize) -> Result<Weights, Fault> {
    let header = [word(src, 0)?, word(src, 4)?, word(src, 8)?, word(src, 16)? % 32];
    let expected = [MAGIC, form.blocks as u32, bytes as u32, PROB_BITS as u32];
    let length = form.words as u64 + 2 * u64::from(word(src, 12)?);
    if bytes == 0 || header != expected || length != src.len() as u64 {
        return Err(Fault::Corrupt);
    }
    let mut of = [0; 256];
    for (s, weight) in of.iter_mut().enumerate() {
        *weight = word(src, HEADER + 2 * s)? & 0xffff;
    }
    if of.iter().sum::<u32>() == ONE { Ok(Weights::sums(of)) } else { Err(Fault::Corrupt) }
}

/// Where the words of each block start, and how many there are.
fn starts(form: &AnsForm, src: &[u8], bytes: usize) -> Result<Vec<(usize, usize)>, Fault> {
    let mut next = 0;
    let mut starts = Vec::with_capacity(form.blocks);
    for i in 0..form.blocks {
        let (size, start) = (word(src, form.sizes + 8 * i)?, word(src, form.sizes + 8 * i + 4)? as usize);
        let count = (size & 0xffff) as usize;
        let block = (bytes - i * BLOCK).min(BLOCK);
        if (size >> 16) as usize != block || start != next || count > MOST_WORDS {
            return Err(Fault::Corrupt);
        }
        starts.push((start, count));
        next += count.next_multiple_of(UNIT);
    }
    if (form.words + 2 * next) == src.len() { Ok(starts) } else { Err(Fault::Corrupt) }
}
