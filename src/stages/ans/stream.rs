//! The stream around the blocks: head, weights, states, sizes, words.

use super::weights::Weights;
use super::{BLOCK, LANES, MOST_WORDS, ONE, PROB_BITS, block};
use crate::error::Fault;
use crate::kernel::HostCall;

/// The first word: what it is, and version 1.
const MAGIC: u32 = 0xd00d_0001;
/// Bytes of the head and of the weights behind it.
const HEAD: usize = 32;
const STATES: usize = HEAD + 2 * 256;
/// Words of a block start at multiples of this.
const UNIT: usize = 8;
/// Blocks that one task codes.
const TASK: usize = 16;

/// Where the parts of a stream of so many bytes are.
struct Form {
    blocks: usize,
    sizes: usize,
    words: usize,
}

impl Form {
    fn new(bytes: usize) -> Form {
        let blocks = bytes.div_ceil(BLOCK);
        let sizes = STATES + 4 * LANES * blocks;
        Form { blocks, sizes, words: sizes + 8 * blocks.next_multiple_of(2) }
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
    let form = Form::new(src.len());
    let tasks: Vec<&[u8]> = src.chunks(TASK * BLOCK).collect();
    let parts = threads.map(tasks.len(), |k| {
        let mut counts = [0u32; 256];
        tasks[k].iter().for_each(|&b| counts[usize::from(b)] += 1);
        counts
    });
    let mut counts = [0u32; 256];
    parts.iter().for_each(|part| counts.iter_mut().zip(part).for_each(|(a, c)| *a += c));
    let weights = Weights::new(&counts, src.len() as u32);
    let coded: Vec<Vec<block::Coded>> =
        threads.map(tasks.len(), |k| tasks[k].chunks(BLOCK).map(|b| block::encode(b, &weights)).collect());

    let room = |c: &block::Coded| c.words.len().next_multiple_of(UNIT);
    let total: usize = coded.iter().flatten().map(room).sum();
    let out = out.get_mut(..form.words + 2 * total).ok_or(Fault::BadLaunch)?;
    let (head, words) = out.split_at_mut(form.words);
    head.fill(0);
    put(head, [MAGIC, form.blocks as u32, src.len() as u32, total as u32, PROB_BITS as u32]);
    for (to, weight) in head[HEAD..STATES].chunks_exact_mut(2).zip(weights.of) {
        to.copy_from_slice(&(weight as u16).to_le_bytes());
    }
    let (states, sizes) = head[STATES..].split_at_mut(form.sizes - STATES);
    let mut left = words;
    let mut start = 0;
    let entries = states.chunks_exact_mut(4 * LANES).zip(sizes.chunks_exact_mut(8));
    for ((c, bytes), (states, size)) in coded.iter().flatten().zip(src.chunks(BLOCK)).zip(entries) {
        put(states, c.states);
        put(size, [(bytes.len() as u32) << 16 | c.words.len() as u32, start as u32]);
        let (own, others) = left.split_at_mut(2 * room(c));
        own.fill(0);
        own.chunks_exact_mut(2).zip(&c.words).for_each(|(to, w)| to.copy_from_slice(&w.to_le_bytes()));
        left = others;
        start += room(c);
    }
    call.publish(0, (form.words + 2 * total) as u64)
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
    let form = Form::new(out.len());
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

/// The weights of a stream whose head fits.
fn open(form: &Form, src: &[u8], bytes: usize) -> Result<Weights, Fault> {
    let head = [word(src, 0)?, word(src, 4)?, word(src, 8)?, word(src, 16)? % 32];
    let expected = [MAGIC, form.blocks as u32, bytes as u32, PROB_BITS as u32];
    let length = form.words as u64 + 2 * u64::from(word(src, 12)?);
    if bytes == 0 || head != expected || length != src.len() as u64 {
        return Err(Fault::Corrupt);
    }
    let mut of = [0; 256];
    for (s, weight) in of.iter_mut().enumerate() {
        *weight = word(src, HEAD + 2 * s)? & 0xffff;
    }
    if of.iter().sum::<u32>() == ONE { Ok(Weights::sums(of)) } else { Err(Fault::Corrupt) }
}

/// Where the words of each block start, and how many there are.
fn starts(form: &Form, src: &[u8], bytes: usize) -> Result<Vec<(usize, usize)>, Fault> {
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
