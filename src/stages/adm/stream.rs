//! The stream: starts, centres, flags, codes, bits.

use super::Launch;
use super::group::{Coded, GROUP, LANE, LANES, decode_lane, encode as encode_group, room};
use crate::error::Fault;
use crate::kernel::HostCall;

/// Groups that one task codes.
const TASK: usize = 64;
/// Streams of more groups end in another way, as the reference's do.
const MANY: usize = 1024;

/// Where the parts of a stream of `n` elements are.
struct Form {
    n: usize,
    width: usize,
    groups: usize,
}

impl Form {
    fn new(call: &HostCall<'_>, bytes: usize) -> Result<Form, Fault> {
        let width = call.params::<Launch>().width as usize;
        if !matches!(width, 2 | 4) || bytes % width != 0 {
            return Err(Fault::BadLaunch);
        }
        let n = bytes / width;
        Ok(Form { n, width, groups: n.div_ceil(GROUP) })
    }

    fn centres(&self) -> usize {
        4 * self.groups
    }

    fn flags(&self) -> usize {
        self.centres() + self.width * self.groups
    }

    fn codes(&self) -> usize {
        self.flags() + self.groups.div_ceil(8)
    }

    fn bits(&self) -> usize {
        self.codes() + self.n
    }
}

fn load(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |a, &b| a << 8 | u32::from(b))
}

pub(super) fn encode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let (src, out, threads) = (call.input(0)?, call.output(0)?, call.threads);
    let form = Form::new(call, src.len())?;
    if form.n == 0 {
        return call.publish(0, 0);
    }
    let tasks: Vec<&[u8]> = src.chunks(TASK * GROUP * form.width).collect();
    let coded: Vec<Vec<Coded>> = threads.map(tasks.len(), |k| {
        let group = |bytes: &[u8]| {
            let elements: Vec<u32> = bytes.chunks_exact(form.width).map(load).collect();
            encode_group(&elements, form.width, form.groups > MANY)
        };
        tasks[k].chunks(GROUP * form.width).map(group).collect()
    });
    let lanes: usize = coded.iter().flatten().map(Coded::lane).sum();
    let end = form.bits() + LANES * lanes;
    let out = out.get_mut(..end).ok_or(Fault::BadLaunch)?;
    let (starts, rest) = out.split_at_mut(form.centres());
    let (centres, rest) = rest.split_at_mut(form.width * form.groups);
    let (flags, rest) = rest.split_at_mut(form.groups.div_ceil(8));
    let (codes, mut bits) = rest.split_at_mut(form.n);
    flags.fill(0xff);
    let mut start = 0u32;
    for (b, group) in coded.iter().flatten().enumerate() {
        starts[4 * b..][..4].copy_from_slice(&start.to_le_bytes());
        centres[form.width * b..][..form.width].copy_from_slice(&group.centre.to_le_bytes()[..form.width]);
        codes[GROUP * b..][..group.codes.len()].copy_from_slice(&group.codes);
        if group.plain {
            flags[b / 8] &= !(1 << (b % 8));
        }
        let (own, others) = bits.split_at_mut(group.bits.len());
        own.copy_from_slice(&group.bits);
        bits = others;
        start += group.lane() as u32;
    }
    call.publish(0, end as u64)
}

pub(super) fn decode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let (src, out, threads) = (call.input(0)?, call.output(0)?, call.threads);
    let form = Form::new(call, out.len()).map_err(|_| Fault::Corrupt)?;
    if form.n == 0 {
        return if src.is_empty() { Ok(()) } else { Err(Fault::Corrupt) };
    }
    let bits = src.get(form.bits()..).ok_or(Fault::Corrupt)?;
    let start =
        |b: usize| if b < form.groups { load(&src[4 * b..4 * b + 4]) as usize } else { bits.len() / LANES };
    if bits.len() % LANES != 0 || start(0) != 0 {
        return Err(Fault::Corrupt);
    }
    threads.tiles(out, GROUP * form.width, |b, out| {
        let plain = src[form.flags() + b / 8] & (1 << (b % 8)) == 0;
        let lane = start(b + 1).checked_sub(start(b)).ok_or(Fault::Corrupt)?;
        if lane > room(form.width) as usize || (plain && lane != LANE * (form.width - 1)) {
            return Err(Fault::Corrupt);
        }
        let own = bits.get(LANES * start(b)..LANES * start(b + 1)).ok_or(Fault::Corrupt)?;
        let centre = load(&src[form.centres() + form.width * b..][..form.width]);
        let codes = &src[form.codes() + GROUP * b..form.codes() + form.n.min(GROUP * (b + 1))];
        for (l, (codes, out)) in codes.chunks(LANE).zip(out.chunks_mut(LANE * form.width)).enumerate() {
            let mut out = out.chunks_exact_mut(form.width);
            decode_lane(codes, &own[l * lane..(l + 1) * lane], (centre, form.width, plain), |v| {
                if let Some(to) = out.next() {
                    to.copy_from_slice(&v.to_le_bytes()[..form.width]);
                }
            })?;
        }
        Ok(())
    })
}
