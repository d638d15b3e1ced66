//! An array, slab by slab, into a slab file.

use super::{Head, Totals, fill, trailer};
use crate::failure::Failure;
use crate::memory;
use crate::progress::Progress;
use fzgm::{DType, Encoder, Options, Pipeline, Workspace, metrics};
use std::io::{Read, Write};
use std::path::Path;

/// A plan for slabs of so many rows, with its memory.
struct Crew {
    rows: u64,
    encoder: Encoder,
    workspace: Workspace,
    dst: Vec<u8>,
}

impl Crew {
    fn new(head: &Head, rows: u64, pipeline: &Pipeline, options: &Options) -> Result<Crew, Failure> {
        let asking = |e| Failure::asking(&e);
        let array = head.array(rows).map_err(asking)?;
        let encoder = Encoder::new(pipeline, &array, options).map_err(asking)?;
        let workspace = encoder.workspace().map_err(asking)?;
        let dst = memory::zeroed(encoder.max_compressed_bytes())?;
        Ok(Crew { rows, encoder, workspace, dst })
    }
}

/// Compresses what `src` gives. `from` and `to` are what they are called.
pub(crate) fn write(
    (src, from): (&mut dyn Read, &Path),
    (dst, to): (&mut dyn Write, &Path),
    head: &Head,
    pipeline: &Pipeline,
    options: &Options,
) -> Result<Totals, Failure> {
    let written = |e: std::io::Error| Failure::io("write", to, &e);
    let row = head.row_bytes();
    if row == 0 {
        return Err(Failure::usage(
            "--dims make rows without elements, of which there are no slabs; leave --slab out",
        ));
    }
    let rows = head.slowest.map_or(head.rows, |all| head.rows.min(all.max(1)));
    let mut slab = memory::zeroed(row.saturating_mul(rows))?;
    let mut totals = Totals { slabs: 0, slowest: 0, array_bytes: 0, file_bytes: super::HEAD as u64 };
    let progress = Progress::new("compress", head.slowest.map(|all| all.saturating_mul(row)));
    head.write(dst).map_err(written)?;
    let mut crew: Option<Crew> = None;
    loop {
        // No further than --dims say: a stream may have no end.
        let left = head.slowest.map_or(rows, |all| rows.min(all - totals.slowest));
        let slab = &mut slab[..(left * row) as usize];
        let bytes = fill(src, slab).map_err(|e| Failure::io("read", from, &e))? as u64;
        if bytes == 0 {
            break;
        }
        if bytes % row != 0 {
            return Err(Failure::usage(format!(
                "{} ends within a row of {row} bytes; correct --dims or --dtype",
                from.display()
            )));
        }
        let rows = bytes / row;
        let mut ready = match crew.take() {
            Some(crew) if crew.rows == rows => crew,
            _ => Crew::new(head, rows, pipeline, options)?,
        };
        let src = &slab[..bytes as usize];
        let made = ready.encoder.compress(&mut ready.workspace, src, &mut ready.dst);
        let made = made.map_err(|e| Failure::asking(&e).about(&format!("slab {}", totals.slabs)))?;
        dst.write_all(&(made as u64).to_le_bytes()).map_err(written)?;
        dst.write_all(&ready.dst[..made]).map_err(written)?;
        crew = Some(ready);
        totals.slabs += 1;
        totals.slowest += rows;
        totals.array_bytes += bytes;
        totals.file_bytes += 8 + made as u64;
        progress.at(totals.array_bytes);
    }
    if let Some(all) = head.slowest {
        let more = fill(src, &mut [0]).map_err(|e| Failure::io("read", from, &e))? > 0;
        if more || totals.slowest != all {
            let (have, want) = (totals.array_bytes, all.saturating_mul(row));
            let have = if more { format!("more than {have}") } else { have.to_string() };
            let what = format!("{} has {have} bytes, --dims make {want}; correct --dims", from.display());
            return Err(Failure::usage(what));
        }
    }
    dst.write_all(&trailer(totals.slabs, totals.slowest)).map_err(written)?;
    totals.file_bytes += super::TRAILER as u64;
    Ok(totals)
}

/// The value range (noa) or the largest magnitude (prel) of a whole array, read in pieces: a slab alone would have a smaller
/// one, and a bound that is smaller than asked for.
pub(crate) fn base(
    (src, from): (&mut dyn Read, &Path),
    dtype: DType,
    mode: &str,
    threshold: f64,
) -> Result<f64, Failure> {
    let mut piece = memory::zeroed(1 << 22)?;
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    loop {
        let bytes = fill(src, &mut piece).map_err(|e| Failure::io("read", from, &e))?;
        let whole = bytes - bytes % dtype.bytes() as usize;
        let found = &piece[..whole];
        let m = metrics::compare(dtype, found, found, None, threshold).map_err(|e| Failure::asking(&e))?;
        if m.carried > 0 {
            (low, high) = (low.min(m.min), high.max(m.max));
        }
        if bytes < piece.len() {
            break;
        }
    }
    if low > high {
        return Ok(0.0);
    }
    Ok(if mode == "prel" { high.max(-low) } else { range_down(low, high) })
}

/// high - low, rounded toward zero: a bound is never larger than what was asked for.
fn range_down(low: f64, high: f64) -> f64 {
    let range = high - low;
    if !range.is_finite() {
        return f64::MAX;
    }
    // TwoSum: range + error is the exact difference.
    let back = range - high;
    let error = (high - (range - back)) + (-low - back);
    if error < 0.0 { f64::from_bits(range.to_bits() - 1) } else { range }
}

#[cfg(test)]
mod tests {
    use super::range_down;

    #[test]
    fn ranges_are_never_too_large() {
        assert_eq!(range_down(-1.0, 2.0), 3.0);
        // 1 + 2^-53 lies between two doubles and ties to the lower one, 1 + 3 * 2^-53 to the upper one.
        assert_eq!(range_down(-(0.5f64.powi(53)), 1.0), 1.0);
        assert_eq!(range_down(-3.0 * 0.5f64.powi(53), 1.0), 1.0 + f64::EPSILON);
        assert_eq!(range_down(-f64::MAX, f64::MAX), f64::MAX);
        assert_eq!(range_down(5.0, 5.0), 0.0);
    }
}
