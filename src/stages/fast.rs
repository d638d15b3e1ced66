//! Fast: bins, differences and bit planes of small units, in chunks that stand for themselves.
//!
// rustdoc copies no files: the picture of the page becomes a part of it.
#![cfg_attr(doc, doc = include_str!("../../docs/figures/fast.svg.txt"))]
#![doc = include_str!("fast.md")]

mod chunk;
#[cfg(test)]
mod compare;
mod config;
mod decode;
mod device;
mod encode;
mod entry;
mod exact;
mod grid;
mod params;
mod part;
mod plain;
mod unit;
mod value;
#[cfg(target_arch = "x86_64")]
mod wide;
#[cfg(not(target_arch = "x86_64"))]
mod wide {
    pub(super) use super::plain::Plain as Wide;
    pub(super) fn available() -> bool {
        false
    }
}
#[cfg(target_arch = "x86_64")]
mod wide_decode;
#[cfg(target_arch = "x86_64")]
mod wide_planes;

use super::words::{
    ERROR_BOUND, FIXED_STEP, FLOAT_TYPE, IN, MODE, OUTLIER_THRESHOLD, VALUE_BASE, base_said, only,
};
use super::{quantizer, shape};
use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::extent::Flow;
use crate::kernel::{Kernel, alone};
use crate::launch::{Emit, Val};
use crate::param::Args;
use crate::stage::{Config, Parsed, Ports, Rules, Spec, Stage};
use crate::tile::at;
use bytemuck::{Pod, Zeroable};
use grid::Grid;
use params::{MOST_ELEMENTS, Params};
pub(crate) use part::restore;

/// See the module.
pub struct Fast;

pub(super) const SPEC: Spec = Spec {
    id: 0x8020,
    name: "fast",
    about: "rounds floats to bins of twice the error bound and packs differences of neighbours, chunk by chunk; a whole pipeline",
    inputs: IN,
    params: &[
        FLOAT_TYPE,
        ERROR_BOUND,
        MODE,
        OUTLIER_THRESHOLD,
        VALUE_BASE,
        FIXED_STEP,
        shape::dim_x(MOST_ELEMENTS),
        shape::dim_y(MOST_ELEMENTS),
        shape::dim_z(MOST_ELEMENTS),
    ],
};

static ENCODE: Kernel =
    Kernel { name: "fast_encode", host: encode::encode, role: alone, device: device::encode };
static DECODE: Kernel =
    Kernel { name: "fast_decode", host: decode::decode, role: alone, device: device::decode };

/// Argument block of both kernels. Facts are those of the quantizer, whose kernel makes them.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Launch {
    threshold: f64,
    /// Those of length 1 last.
    dims: [u64; 3],
    ndim: u32,
    /// Bytes of a value.
    value: u32,
    /// What device functions would reckon again and again: chunks along x and y, what stands for division by these, and all chunks.
    /// Meaningless where there are more than 2^27.
    across: [u32; 2],
    inverse: [u32; 2],
    chunks: u32,
    shifts: [u8; 2],
    /// 1 where the range of the array has few bins, so that device functions may try small codes first. Not where it is not known
    /// before the call how many there are, which costs speed alone.
    near: u16,
}

/// Division of numbers below 2^27 by one of them: the upper half of twice the number times `inverse`, shifted to the right.
struct Divisor {
    inverse: u32,
    shift: u8,
}

impl Divisor {
    /// With s = ceil(log2 d) the inverse is 2^(31 + s) / d, rounded up by e/d < 1. Twice n times it, over 2^(32 + s), is n/d and
    /// n e / (d 2^(31 + s)) more, which is below 1/d, since n e < 2^27 d <= 2^(27 + s).
    fn new(d: u32) -> Divisor {
        let d = u64::from(d.max(1));
        let shift = d.next_power_of_two().trailing_zeros();
        Divisor { inverse: (1u64 << (31 + shift)).div_ceil(d) as u32, shift: shift as u8 }
    }
}

impl Launch {
    fn new(threshold: f64, dims: [u64; 3], dtype: DType) -> Launch {
        let mut launch = Launch::zeroed();
        launch.threshold = threshold;
        launch.dims = shape::ones_last(dims).map(|d| dims[d]);
        launch.ndim = shape::rank(launch.dims);
        launch.value = dtype.bytes() as u32;
        let grid = Grid::new(&launch);
        launch.chunks = u32::try_from(grid.chunks()).unwrap_or(u32::MAX);
        launch.across = [0, 1].map(|d| grid.counts[d] as u32);
        let divisors = launch.across.map(Divisor::new);
        launch.inverse = divisors.each_ref().map(|d| d.inverse);
        launch.shifts = divisors.each_ref().map(|d| d.shift);
        launch
    }
}

const PORTS: &[&str] = &["stream"];

impl Stage for Fast {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn outputs(&self, _: &Args) -> Result<&'static [&'static str]> {
        Ok(PORTS)
    }

    fn takes_short_array(&self) -> bool {
        true
    }

    fn fact_bytes(&self) -> u64 {
        quantizer::FACT_BYTES
    }

    fn mode(&self, args: &Args) -> Option<&'static str> {
        args.choice("mode").ok()
    }

    fn describe(&self, args: &Args, facts: &[u8]) -> Vec<(&'static str, String)> {
        // Of these a container carries what the run made of them, or nothing.
        let unsaid = ["input_type", "value_base", "fixed_step"];
        let said = args.iter().filter(|(p, _)| !unsaid.contains(&p.name));
        let mut all: Vec<_> = said.map(|(p, v)| (p.name, v.to_string())).collect();
        if let Some(facts) = at::<quantizer::Facts>(facts, 0) {
            all.push(("resolved_bound", format!("{:?}", facts.bound)));
            all.extend(base_said(args, facts.base));
        }
        all
    }

    fn bind(&self, args: &mut Args, array: &Array) -> Result<()> {
        shape::bind(SPEC.name, args, array, MOST_ELEMENTS as u64)
    }

    /// A chunk has an entry in the table, and its words are never longer than its values: the encoder keeps it raw where packing would
    /// make it so.
    fn infer(&self, args: &Args, inputs: &[Flow], _: Rules) -> Result<Vec<Flow>> {
        let p = Params::new(args, only(inputs)?)?;
        let table = Grid::new(&p.launch()).chunks() as u64 * entry::BYTES as u64;
        let values = p.dims.iter().product::<u64>() * p.value.bytes();
        Ok(vec![Flow::between(DType::U8, table, table + values)])
    }

    fn encode(&self, args: &Args, io: Ports<'_>, _: Rules, em: &mut Emit<'_>) -> Result<()> {
        let input = io.inputs.first().ok_or(Error::Internal("fast has one input"))?;
        let p = Params::new(args, em.flow(*input))?;
        em.launch(&quantizer::BOUND, &p.bound_launch(), io.inputs, &[io.facts])?;
        em.launch(&ENCODE, &p.launch(), &[*input, io.facts], io.outputs)
    }

    fn decode(&self, args: &Args, io: Ports<'_>, em: &mut Emit<'_>) -> Result<()> {
        let input = io.inputs.first().ok_or(Error::Internal("fast has one input"))?;
        let p = Params::new(args, em.flow(*input))?;
        let ins = [io.outputs, &[io.facts]].concat();
        em.launch(&DECODE, &p.launch(), &ins, io.inputs)
    }

    fn config(&self, args: &Args, io: Ports<'_>, _: Rules, flow: &dyn Fn(Val) -> Flow) -> Result<Config> {
        let input = io.inputs.first().ok_or(Error::Internal("fast has one input"))?;
        Ok(config::write(&Params::new(args, flow(*input))?, io.facts))
    }

    fn parse(&self, config: &[u8]) -> Result<Parsed> {
        config::read(config)
    }
}

#[cfg(test)]
mod tests {
    use super::Divisor;
    use proptest::prelude::*;

    /// As `divide` of kernels/fast.cuh.
    fn divide(n: u32, d: &Divisor) -> u32 {
        ((u64::from(2 * n) * u64::from(d.inverse)) >> 32) as u32 >> d.shift
    }

    proptest! {
        #[test]
        fn divisors_are_exact(d in 1u32..1 << 27, small in 1u32..5000, q in 0u32..1 << 27, r in 0u32..2) {
            let power = d.next_power_of_two();
            for d in [d, small, power / 2 + 1, power - 1, power].map(|d| d.max(1)) {
                let own = Divisor::new(d);
                // Multiples and what is before them, where rounding would be seen.
                let multiple = q / d * d;
                for n in [q, multiple, multiple.saturating_sub(r), (1 << 27) - 1] {
                    prop_assert_eq!(divide(n, &own), n / d, "{} / {}", n, d);
                }
            }
        }
    }
}
