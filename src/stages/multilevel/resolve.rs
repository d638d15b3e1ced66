//! Kernel `multilevel_resolve`: the numbers of a call, from the bound, the range, and samples of the array.

use super::choose::choose_axes;
use super::encode::values;
use super::params::{LATTICE, MOST_QUOTIENT, MultilevelMetadata, MultilevelParams, PATTERNS, SAMPLE};
use super::predict::Predictor;
use super::stencil::stride;
use super::value::LevelValue;
use crate::base::error::Fault;
use crate::base::tile::at;
use crate::ir::kernel::HostCall;
use crate::stages::quantizer;
use bytemuck::Zeroable;

pub(super) fn resolve(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let p = call.params::<MultilevelParams>();
    let metadata = match p.value {
        4 => metadata::<f32>(call, &p)?,
        8 => metadata::<f64>(call, &p)?,
        _ => return Err(Fault::BadLaunch),
    };
    let metadata = bytemuck::bytes_of(&metadata);
    call.output(0)?.get_mut(..metadata.len()).ok_or(Fault::BadLaunch)?.copy_from_slice(metadata);
    Ok(())
}

fn metadata<T: LevelValue>(call: &HostCall<'_>, p: &MultilevelParams) -> Result<MultilevelMetadata, Fault> {
    let bound: quantizer::BoundMetadata = at(call.input(1)?, 0).ok_or(Fault::BadLaunch)?;
    let range: [f64; 2] = at(&call.input(1)?[size_of_val(&bound)..], 0).ok_or(Fault::BadLaunch)?;
    let measured = p.measured != 0 && range[0] <= range[1];
    let [low, high] = if measured { range } else { [f64::NEG_INFINITY, f64::INFINITY] };
    let mut m = MultilevelMetadata::zeroed();
    // A lower limit of zero is +0 and an upper one is -0, so that minimum and maximum of zeros have one result.
    m.low = if low == 0.0 { 0.0 } else { low };
    m.high = if high == 0.0 { -0.0 } else { high };
    m.base = bound.base;
    // The range of a constant is 0 and permits no error. Predictions are within the range and therefore equal the constant.
    let constant = p.relative != 0 && measured && low == high && high != 0.0;
    // Without a step the bound stays 0: a subnormal product of bound and range is not rounded down, so it must not be promised.
    if !constant && bound.radius > 0 {
        m.bound = bound.promise;
        // Twice this bound is finite, and so is the inverse of the step.
        let most = if p.value == 4 { f64::from_bits(0x47c0 << 48) } else { f64::from_bits(0x7fc0 << 48) };
        m.step = 2.0 * T::from_f64(bound.promise.min(most)).to_f64();
    }
    let dims = p.dims.map(|d| d as usize);
    let n: usize = dims.iter().product();
    let all = values::<T>(call.input(0)?, n)?;
    let step = stride(n, SAMPLE);
    let sample: Vec<T> = all.iter().step_by(step).take(SAMPLE as usize).copied().collect();
    let threshold = T::from_f64(p.threshold);
    let bounded = |x: &&T| x.abs() < threshold; // The comparison is false for NaN.
    find_patterns(&mut m, sample.iter().filter(|x| !bounded(x)));
    m.center = if measured {
        (T::from_f64(m.low) * T::of(0.5) + T::from_f64(m.high) * T::of(0.5)).to_f64()
    } else {
        sample.iter().find(bounded).map_or(0.0, |x| x.to_f64())
    };
    if let Some(step) =
        lattice(sample.iter().filter(bounded).copied()).filter(|&h| h >= m.step && m.step > 0.0)
    {
        m.step = step;
        m.flags = LATTICE;
        m.center = Predictor::<T>::new(p.threshold, &m).on_lattice(T::from_f64(m.center)).to_f64();
    }
    let predictor = Predictor::new(p.threshold, &m);
    choose_axes(&mut m, &all, dims, predictor, call.threads);
    Ok(m)
}

/// Finds the patterns: values that are not bounded and occur more than once, in the order of the sample.
fn find_patterns<'a, T: LevelValue>(m: &mut MultilevelMetadata, sample: impl Iterator<Item = &'a T>) {
    let mut once = vec![];
    let mut twice: Vec<u64> = vec![];
    let all: Vec<u64> = sample.map(|x| x.bits()).collect();
    let mut sorted = all.clone();
    sorted.sort_unstable();
    let occurs_twice = |bits: u64| {
        let first = sorted.partition_point(|&b| b < bits);
        sorted.get(first + 1) == Some(&bits)
    };
    for bits in all {
        if twice.len() < PATTERNS as usize && !once.contains(&bits) && occurs_twice(bits) {
            twice.push(bits);
            once.push(bits);
        }
    }
    m.patterns = twice.len() as u8;
    m.pattern[..twice.len()].copy_from_slice(&twice);
}

/// The largest power of two that all values are multiples of, if the multiples are below `MOST_QUOTIENT`.
fn lattice<T: LevelValue>(values: impl Iterator<Item = T>) -> Option<f64> {
    let (mut least, mut most) = (i32::MAX, 0.0f64);
    for x in values.filter(|x| *x != T::ZERO) {
        least = least.min(x.lowest_bit());
        let magnitude = x.abs().to_f64();
        most = if magnitude > most { magnitude } else { most };
    }
    // The power of two and its inverse are normal numbers.
    let least = Some(least).filter(|e| (-1000..1000).contains(e))?;
    let power = f64::from_bits(((least + 1023) as u64) << 52);
    (most / power < f64::from(MOST_QUOTIENT)).then_some(power)
}
