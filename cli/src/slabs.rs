//! Slab files from streams and into streams, with the memory of one slab.

use crate::failure::Failure;
use crate::fill::Check;
use crate::input;
use crate::memory;
use crate::progress::Progress;
use fzgm::slabs::{Header, MAGIC, Reader, Totals, Writer};
use fzgm::{Array, Options, Pipeline};
use std::io::{ErrorKind, Read, Result as IoResult, Write};
use std::path::Path;

/// Compresses what `src` gives. `from` and `to` are what the two are called. `look` sees each slab before it is compressed, and may refuse it.
pub(crate) fn write(
    (src, from): (&mut dyn Read, &Path),
    (dst, to): (&mut dyn Write, &Path),
    header: &Header,
    (pipeline, options): (&Pipeline, &Options),
    look: &dyn Fn(&[u8]) -> Result<(), Failure>,
) -> Result<Totals, Failure> {
    let refused = |e| Failure::from_error(&e);
    let row = header.row_bytes();
    if row == 0 {
        return Err(Failure::usage(
            "--dims give rows without elements, which cannot be divided into slabs; remove --slab",
        ));
    }
    let rows = header.slowest().map_or(header.rows(), |all| header.rows().min(all.max(1)));
    let mut slab = memory::zeroed(row.saturating_mul(rows))?;
    let progress = Progress::new("compress", header.slowest().map(|all| all.saturating_mul(row)));
    let to = input::name(to, "standard output");
    let mut writer = Writer::new(dst, to, header.clone(), pipeline, options).map_err(refused)?;
    loop {
        // No further than --dims say: a stream may have no end.
        let left = header.slowest().map_or(rows, |all| rows.min(all - writer.totals().rows));
        let slab = &mut slab[..(left * row) as usize];
        let bytes = fill(src, slab).map_err(|e| Failure::io("read", from, &e))?;
        if bytes == 0 {
            break;
        }
        if bytes as u64 % row != 0 {
            return Err(Failure::usage(format!(
                "{} ends within a row of {row} bytes; correct --dims or --dtype",
                from.display()
            )));
        }
        look(&slab[..bytes])?;
        writer.write_slab(&slab[..bytes]).map_err(refused)?;
        progress.at(writer.totals().array_bytes);
    }
    if let Some(all) = header.slowest() {
        let more = fill(src, &mut [0]).map_err(|e| Failure::io("read", from, &e))? > 0;
        if more || writer.totals().rows != all {
            let (have, want) = (writer.totals().array_bytes, all.saturating_mul(row));
            let have = if more { format!("more than {have}") } else { have.to_string() };
            let what =
                format!("{} has {have} bytes, but --dims require {want}; correct --dims", from.display());
            return Err(Failure::usage(what));
        }
    }
    writer.finish().map(|(totals, _)| totals).map_err(refused)
}

/// Restores a file into `dst`. `src` is behind the magic number; `to` is what `dst` is called.
pub(crate) fn restore(
    (src, from): (&mut dyn Read, &Path),
    (dst, to): (&mut dyn Write, &Path),
    options: &Options,
) -> Result<(Header, Totals), Failure> {
    let mut reader = open(src, from)?;
    let row = reader.header().row_bytes();
    let progress = Progress::new("decompress", reader.header().slowest().map(|all| all.saturating_mul(row)));
    let mut restored = vec![];
    for index in 0.. {
        let Some(container) = reader.next_container().map_err(|e| Failure::reading(from, &e))? else { break };
        let about = |e| memory::refused(from, container, options, e);
        let here = |failure: Failure| failure.in_slab(index);
        let decoder = memory::decoder(from, container, options).map_err(here)?;
        let bytes = decoder.array().bytes();
        let mut workspace = decoder.workspace().map_err(about).map_err(here)?;
        if restored.len() as u64 != bytes {
            restored = memory::zeroed(bytes)?;
        }
        let made = decoder.decompress(&mut workspace, container, &mut restored);
        let made = made.map_err(about).map_err(here)?;
        dst.write_all(&restored[..made]).map_err(|e| Failure::io("write", to, &e))?;
        progress.at(reader.totals().array_bytes);
    }
    Ok((reader.header().clone(), *reader.totals()))
}

/// What a file holds, without its values.
pub(crate) struct Outline {
    pub(crate) array: Array,
    /// Rows of a slab.
    pub(crate) rows: u64,
    pub(crate) totals: Totals,
    /// The first slab.
    pub(crate) container: Vec<u8>,
}

/// The array of a slab file that has a length.
pub(crate) fn array_of(from: &Path) -> Result<Array, Failure> {
    if input::length(from)?.is_none() {
        let what = "a .npy file states its length at its beginning, but a stream of slabs does not";
        return Err(Failure::request(format!("{what}; pass the slab file by name, or write a raw array")));
    }
    match input::whole(from)? {
        input::Whole::Slabs(mut src) => outline(&mut *src, from).map(|o| o.array),
        input::Whole::Bytes(_) => {
            Err(Failure::request(format!("{} has changed while it was read", from.display())))
        }
    }
}

/// Reads what a file says of itself. `src` is behind the magic number.
pub(crate) fn outline(src: &mut dyn Read, from: &Path) -> Result<Outline, Failure> {
    let (mut reader, mut first) = (open(src, from)?, None);
    while let Some(container) = reader.next_container().map_err(|e| Failure::reading(from, &e))? {
        first.get_or_insert_with(|| container.to_vec());
    }
    let (header, totals) = (reader.header(), *reader.totals());
    let array = header.array(totals.rows).map_err(|e| Failure::reading(from, &e))?;
    Ok(Outline { array, rows: header.rows(), totals, container: first.unwrap_or_default() })
}

fn open<'a>(src: &'a mut dyn Read, from: &Path) -> Result<Reader<impl Read + 'a>, Failure> {
    let name = input::name(from, "standard input");
    Reader::new(MAGIC.chain(src), name).map_err(|e| Failure::reading(from, &e))
}

/// The value range (noa) or the largest magnitude (prel) of a whole array, read in pieces: a slab alone would have a smaller
/// one, and a bound that is smaller than asked for.
pub(crate) fn base(
    (mut src, from): (Box<dyn Read>, &Path),
    check: &mut Check,
    mode: &str,
) -> Result<f64, Failure> {
    let mut piece = memory::zeroed(1 << 22)?;
    loop {
        let bytes = fill(&mut src, &mut piece).map_err(|e| Failure::io("read", from, &e))?;
        check.add(&piece[..bytes]);
        if bytes < piece.len() {
            break;
        }
    }
    let Some((low, high)) = check.range() else { return Ok(0.0) };
    Ok(if mode == "prel" { high.max(-low) } else { range_down(low, high) })
}

/// high - low, rounded toward zero: a bound is never larger than what was asked for.
pub(crate) fn range_down(low: f64, high: f64) -> f64 {
    let range = high - low;
    if !range.is_finite() {
        return f64::MAX;
    }
    // TwoSum: range + error is the exact difference.
    let back = range - high;
    let error = (high - (range - back)) + (-low - back);
    if error < 0.0 { f64::from_bits(range.to_bits() - 1) } else { range }
}

/// Fills as much of `buffer` as there is.
fn fill(src: &mut dyn Read, buffer: &mut [u8]) -> IoResult<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match src.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(filled)
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
