//! The launch of a kernel on a GPU: its functions, the number of blocks, and the memory besides its operands.
//! `kernels/common/args.h` is generated from this file, `gpu/abi.rs`, and `format/device_tables.rs`.
//!
//! Grids follow from the plan; the amount of work follows from words that earlier kernels wrote.

// cbindgen exports constants that are public.
#![allow(unreachable_pub)]

use crate::base;
use crate::ir::division::Division;

/// Bytes of a tile.
pub const TILE: u32 = 16384;
const _: () = assert!(TILE as usize == base::tile::TILE);
/// Operands of one launch, inputs and outputs together.
pub const MAX_OPERANDS: usize = 9;
/// Bytes of the parameter block of a launch.
pub const PARAM_BYTES: usize = 64;
/// Kernels that one device function can run before or behind itself.
pub const MAX_FUSED: usize = 4;
/// Bytes that a workspace keeps from call to call for each stage.
pub const KEPT_BYTES: u64 = 64;
/// Tags of launches that use the base of the previous call: the first try, and the second try, which
/// returns at once unless the first one has found a range that the base does not suit.
pub const FIRST_TRY: u32 = 1;
pub const SECOND_TRY: u32 = 2;

/// One device function over a grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KernelLaunch {
    /// Name of the function.
    pub entry: &'static str,
    /// Blocks.
    pub grid: u64,
    /// Threads of a block.
    pub block: u32,
    /// Tells launches of one function apart. For a part of a divided launch: the number of its first block, counted from 1.
    pub tag: u32,
}

/// The launches of a kernel on a device, and the memory that they share.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeviceLaunch {
    /// One after the other.
    pub launches: Vec<KernelLaunch>,
    /// The launches for the arrays of a batch, if they differ.
    pub batched: Option<Vec<KernelLaunch>>,
    /// A launch that also opens and closes the container, in place of all others, if the kernel is the only one of a
    /// decoder. It needs no memory besides its operands.
    pub single: Option<KernelLaunch>,
    /// Bytes of [`LaunchArgs::zeroed`].
    pub zeroed: u64,
    /// Bytes of [`LaunchArgs::scratch`].
    pub scratch: u64,
    /// The launches of both tries instead, if the next kernel has some too.
    pub tries: Option<Tries>,
    /// Outputs that only the last launch reads or writes, if it may run after other kernels: they then need no memory until it runs. It
    /// reads all inputs. Empty: it may not.
    pub late: &'static [usize],
    /// Outputs that such a launch neither reads nor writes.
    pub early: &'static [usize],
    /// True if output 0 may be in the place of input 0: each thread writes only elements that it has read before.
    pub in_place: bool,
    /// True if the functions read only a small sample of input 0.
    pub sampled: bool,
    /// How the one launch may be divided.
    pub division: Option<&'static Division>,
}

/// The launches of a kernel if the array is coded with the base of the previous call: the first try measures the
/// range in addition, and the second one codes the array again if required.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tries {
    pub first: Vec<KernelLaunch>,
    pub second: Vec<KernelLaunch>,
}

/// The properties of a launch that are fixed when the plan is made.
pub(crate) struct LaunchShape<'a> {
    /// The parameter block.
    pub params: &'a [u8; PARAM_BYTES],
    /// Longest input operands, in bytes.
    pub ins: &'a [u64],
    /// Longest output operands, in bytes.
    pub outs: &'a [u64],
}

impl LaunchShape<'_> {
    /// Bytes of input `i`.
    pub(crate) fn input(&self, i: usize) -> u64 {
        self.ins.get(i).copied().unwrap_or(0)
    }

    /// Bytes of output `i`.
    pub(crate) fn output(&self, i: usize) -> u64 {
        self.outs.get(i).copied().unwrap_or(0)
    }
}

/// How a kernel runs on a device; `None`: it does not.
pub(crate) type OnDevice = fn(&LaunchShape<'_>) -> Option<DeviceLaunch>;

impl DeviceLaunch {
    /// One function with `grid` blocks, at least one, of `block` threads.
    pub(crate) fn one(entry: &'static str, grid: u64, block: u32) -> DeviceLaunch {
        DeviceLaunch::default().then(entry, grid, block)
    }

    /// The same and another function.
    pub(crate) fn then(self, entry: &'static str, grid: u64, block: u32) -> DeviceLaunch {
        self.then_tagged(entry, grid, block, 0)
    }

    /// As [`DeviceLaunch::then`], with a tag.
    pub(crate) fn then_tagged(
        mut self,
        entry: &'static str,
        grid: u64,
        block: u32,
        tag: u32,
    ) -> DeviceLaunch {
        self.launches.push(KernelLaunch { entry, grid: grid.max(1), block, tag });
        self
    }

    /// With one function in place of all of them for the arrays of a batch.
    pub(crate) fn batched(self, entry: &'static str, grid: u64, block: u32) -> DeviceLaunch {
        DeviceLaunch { batched: Some(DeviceLaunch::one(entry, grid, block).launches), ..self }
    }

    /// With a launch that also opens and closes the container.
    pub(crate) fn single(self, entry: &'static str) -> DeviceLaunch {
        let single = self.launches.last().map(|launch| KernelLaunch { entry, ..launch.clone() });
        DeviceLaunch { single, ..self }
    }

    /// With memory.
    pub(crate) fn with(self, zeroed: u64, scratch: u64) -> DeviceLaunch {
        DeviceLaunch { zeroed, scratch, ..self }
    }

    /// With a last launch that may run later than the others.
    pub(crate) fn with_late(self, late: &'static [usize], early: &'static [usize]) -> DeviceLaunch {
        DeviceLaunch { late, early, ..self }
    }

    /// For a kernel whose output may be in the place of its input.
    pub(crate) fn in_place(self) -> DeviceLaunch {
        DeviceLaunch { in_place: true, ..self }
    }

    /// With functions that read only a small sample of input 0.
    pub(crate) fn sampled(self) -> DeviceLaunch {
        DeviceLaunch { sampled: true, ..self }
    }

    /// With a division of its launch.
    pub(crate) fn divided(self, division: &'static Division) -> DeviceLaunch {
        DeviceLaunch { division: Some(division), ..self }
    }

    /// With launches of two tries.
    pub(crate) fn with_tries(self, first: DeviceLaunch, second: DeviceLaunch) -> DeviceLaunch {
        let tagged =
            |of: DeviceLaunch, tag| of.launches.into_iter().map(|l| KernelLaunch { tag, ..l }).collect();
        let tries = Tries { first: tagged(first, FIRST_TRY), second: tagged(second, SECOND_TRY) };
        DeviceLaunch { tries: Some(tries), ..self }
    }
}

/// The number of tiles of `bytes` bytes.
pub(crate) fn tiles(bytes: u64) -> u64 {
    bytes.div_ceil(TILE.into())
}
