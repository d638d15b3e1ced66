//! The stream: starts, centers, flags, codes, bits.

use super::group::{GROUP, LANE, LANES, decode_lane, encode as encode_group, room};
use super::params::{AdmParams, MANY};
use crate::base::error::Fault;
use crate::ir::kernel::HostCall;

/// Groups that one task codes.
const TASK: usize = 64;

/// Where the parts of a stream of `n` elements are.
struct AdmForm {
    n: usize,
    width: usize,
    groups: usize,
}

impl AdmForm {
    fn new(call: &HostCall<'_>, bytes: usize) -> Result<AdmForm, Fault> {
        let width = call.params::<AdmParams>().width as usize;
        if !matches!(width, 2 | 4) || bytes % width != 0 {
            return Err(Fault::BadLaunch);
        }
        let n = bytes / width;
        Ok(AdmForm { n, width, groups: n.div_ceil(GROUP) })
    }

    fn centers(&self) -> usize {
        4 * self.groups
    }

    fn flags(&self) -> usize {
        self.centers() + self.width * self.groups
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
    let form = AdmForm::new(call, src.len())?;
    if form.n == 0 {
        return call.publish(0, 0);
    }
    // Each group has room for the most bits that it can have, before they move together.
    let slot = LANES * room(form.width) as usize;
    let out = out.get_mut(..form.bits() + slot * form.groups).ok_or(Fault::BadLaunch)?;
    let (starts, rest) = out.split_at_mut(form.centers());
    let (centers, rest) = rest.split_at_mut(form.width * form.groups);
    let (flags, rest) = rest.split_at_mut(form.groups.div_ceil(8));
    let (codes, bits) = rest.split_at_mut(form.n);
    flags.fill(0xff);
    let parts = starts.chunks_mut(TASK * 4).zip(centers.chunks_mut(TASK * form.width));
    let parts = parts.zip(flags.chunks_mut(TASK / 8)).zip(codes.chunks_mut(TASK * GROUP));
    let parts = parts.zip(bits.chunks_mut(TASK * slot)).zip(src.chunks(TASK * GROUP * form.width));
    let tasks = parts.map(|(((((lanes, centers), flags), codes), bits), src)| AdmTask {
        src,
        lanes,
        centers,
        flags,
        codes,
        bits,
    });
    threads.each(tasks.collect(), || (), |(), task| task.code(&form, slot));

    let mut start = 0;
    for (b, to) in starts.chunks_exact_mut(4).enumerate() {
        let (lane, from) = (load(to) as usize, b * slot);
        to.copy_from_slice(&(start as u32).to_le_bytes());
        bits.copy_within(from..from + LANES * lane, LANES * start);
        start += lane;
    }
    call.publish(0, (form.bits() + LANES * start) as u64)
}

/// Groups that are coded together, and the destination of the results.
struct AdmTask<'a> {
    src: &'a [u8],
    /// Bytes of a lane of each.
    lanes: &'a mut [u8],
    centers: &'a mut [u8],
    flags: &'a mut [u8],
    codes: &'a mut [u8],
    bits: &'a mut [u8],
}

impl AdmTask<'_> {
    fn code(self, form: &AdmForm, slot: usize) {
        let places = self.lanes.chunks_exact_mut(4).zip(self.centers.chunks_exact_mut(form.width));
        let places = places.zip(self.codes.chunks_mut(GROUP)).zip(self.bits.chunks_mut(slot));
        let groups = self.src.chunks(GROUP * form.width).zip(places).enumerate();
        for (b, (src, (((lane, center), codes), bits))) in groups {
            let mut elements = [0; GROUP];
            let own = &mut elements[..codes.len()];
            own.iter_mut().zip(src.chunks_exact(form.width)).for_each(|(v, bytes)| *v = load(bytes));
            let coded = encode_group(own, form.width, form.groups > MANY as usize, codes, bits);
            lane.copy_from_slice(&(coded.lane as u32).to_le_bytes());
            center.copy_from_slice(&coded.center.to_le_bytes()[..form.width]);
            if coded.plain {
                self.flags[b / 8] &= !(1 << (b % 8));
            }
        }
    }
}

pub(super) fn decode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let (src, out, threads) = (call.input(0)?, call.output(0)?, call.threads);
    let form = AdmForm::new(call, out.len()).map_err(|_| Fault::Corrupt)?;
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
        let center = load(&src[form.centers() + form.width * b..][..form.width]);
        let codes = &src[form.codes() + GROUP * b..form.codes() + form.n.min(GROUP * (b + 1))];
        for (l, (codes, out)) in codes.chunks(LANE).zip(out.chunks_mut(LANE * form.width)).enumerate() {
            let mut out = out.chunks_exact_mut(form.width);
            decode_lane(codes, &own[l * lane..(l + 1) * lane], (center, form.width, plain), |v| {
                if let Some(to) = out.next() {
                    to.copy_from_slice(&v.to_le_bytes()[..form.width]);
                }
            })?;
        }
        Ok(())
    })
}
