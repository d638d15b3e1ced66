//! Bits to bytes and back, the first element lowest.

use super::params::BitpackParams;
use crate::base::dtype::by_width;
use crate::base::error::Fault;
use crate::base::tile::{TILE, at, load, store};
use crate::ir::kernel::HostCall;
use bytemuck::Pod;

/// The integer type in which an element is packed.
trait Element: Pod + Into<u64> + Send + Sync {
    fn low(bits: u64) -> Self;
}

macro_rules! element {
    ($($U:ty),*) => {$(
        impl Element for $U {
            fn low(bits: u64) -> Self {
                bits as $U
            }
        }
    )*};
}
element!(u8, u16, u32, u64);

pub(super) fn encode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let p = call.params::<BitpackParams>();
    by_width!(p.width, T => pack::<T>(call, p.bits), else Err(Fault::BadLaunch))
}

pub(super) fn decode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let p = call.params::<BitpackParams>();
    by_width!(p.width, T => unpack::<T>(call), else Err(Fault::BadLaunch))
}

/// The smallest power of two of bits that holds `x`.
fn bits_for(x: u64) -> u32 {
    (64 - x.leading_zeros()).max(1).next_power_of_two()
}

/// Bytes of `n` elements of `bits` bits.
fn packed(n: usize, bits: u32) -> usize {
    n / 8 * bits as usize + (n % 8 * bits as usize).div_ceil(8)
}

/// The transformation of elements before their bits are kept.
struct Moved {
    base: u64,
    shift: u32,
    width: u32,
}

impl Moved {
    fn new<T>(p: &BitpackParams) -> Moved {
        Moved { base: p.base.into(), shift: p.shift, width: 8 * size_of::<T>() as u32 }
    }

    fn mask(&self) -> u64 {
        u64::MAX >> (64 - self.width)
    }

    /// The code of an element; the bits that the shift drops are at its top, where kept codes have zeros.
    fn code(&self, x: u64) -> u64 {
        let x = x.wrapping_sub(self.base) & self.mask();
        (x >> self.shift | x << (self.width - self.shift)) & self.mask()
    }

    /// The element of a code.
    fn element(&self, code: u64) -> u64 {
        (code << self.shift | (code & self.mask()) >> (self.width - self.shift)).wrapping_add(self.base)
            & self.mask()
    }

    /// The element that the bits restore: a reader takes nothing for dropped.
    fn restored(&self, bits: u64) -> u64 {
        (bits << self.shift).wrapping_add(self.base)
    }
}

fn pack<T: Element>(call: &mut HostCall<'_>, fixed: u32) -> Result<(), Fault> {
    let (src, dst, metadata) = (call.input(0)?, call.output(0)?, call.output(1)?);
    let (threads, moved) = (call.threads, Moved::new::<T>(&call.params::<BitpackParams>()));
    let largest = |k: usize| {
        let mut buffer = None;
        let words = load::<T>(&src[k * TILE..src.len().min((k + 1) * TILE)], &mut buffer);
        words.iter().map(|&x| moved.code(x.into())).max()
    };
    let most = threads.map(src.len().div_ceil(TILE), largest).into_iter().max().flatten().unwrap_or(0);
    let bits = if fixed > 0 { fixed } else { bits_for(most) };
    // seed: bitpack-range
    if bits_for(most) > bits || most >> (moved.width - moved.shift) > 0 {
        return Err(Fault::OutOfRange(moved.element(most)));
    }
    let runtime_field = metadata.first_chunk_mut::<8>().ok_or(Fault::BadLaunch)?;
    *runtime_field = u64::from(bits).to_le_bytes();
    let bytes = packed(src.len() / size_of::<T>(), bits);
    let (all, get) = (dst.get_mut(..bytes).ok_or(Fault::BadLaunch)?, |i| {
        at::<T>(src, i).map_or(0, |x| moved.code(x.into()))
    });
    threads.tiles(all, TILE, |k, out| {
        // Bits of a tile are a multiple of those of an element.
        let first = k * TILE * 8 / bits as usize;
        if bits < 8 {
            let each = 8 / bits as usize;
            for (j, byte) in out.iter_mut().enumerate() {
                let bits_of = |e: usize| get(first + j * each + e) << (e as u32 * bits); // seed: bitpack-order
                *byte = (0..each).map(bits_of).fold(0, |a, b| a | b) as u8;
            }
        } else {
            let each = bits as usize / 8;
            for (j, bytes) in out.chunks_mut(each).enumerate() {
                bytes.copy_from_slice(&get(first + j).to_le_bytes()[..each]);
            }
        }
        Ok(())
    })?;
    call.publish(0, bytes as u64)
}

fn unpack<T: Element>(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let (src, metadata, dst) = (call.input(0)?, call.input(1)?, call.output(0)?);
    let width = size_of::<T>();
    let bits = metadata.first().copied().map_or(0, u32::from);
    if !bits.is_power_of_two() || bits as usize > 8 * width || dst.len() % width != 0 {
        return Err(Fault::Corrupt);
    }
    let n = dst.len() / width;
    // Bits behind the last element are zero.
    let used = (n % 8 * bits as usize) % 8;
    let over = src.last().is_some_and(|&b| used > 0 && b >> used != 0); // seed: bitpack-behind
    if src.len() != packed(n, bits) || over {
        return Err(Fault::Corrupt);
    }
    let (mask, per_byte) = (u64::MAX >> (64 - bits), 8 / bits.min(8) as usize);
    let moved = Moved::new::<T>(&call.params::<BitpackParams>());
    let get = |i: usize| match bits {
        1..8 => u64::from(src[i / per_byte]) >> (i % per_byte * bits as usize) & mask,
        8 => src[i].into(),
        16 => at::<u16>(src, i).map_or(0, Into::into),
        _ => at::<u32>(src, i).map_or(0, Into::into),
    };
    call.threads.tiles(dst, TILE, |k, out| {
        let first = k * TILE / width;
        store::<T>(out, |out| {
            out.iter_mut().enumerate().for_each(|(j, o)| *o = T::low(moved.restored(get(first + j))))
        });
        Ok(())
    })
}
