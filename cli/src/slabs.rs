//! Compression and decompression of slab files as streams, with memory for one slab.

use crate::failure::Failure;
use crate::fill::Check;
use crate::input;
use crate::memory;
use crate::progress::Progress;
use fzgm::slabs::{Header, MAGIC, Reader, Totals, Writer};
use fzgm::{Array, Options, Pipeline};
use std::io::{ErrorKind, Read, Result as IoResult, Write};
use std::path::Path;

/// The destination of the slabs of an array.
pub(crate) trait Sink {
    /// Compresses and writes the next slab.
    fn write_slab(&mut self, slab: &[u8]) -> fzgm::Result<()>;
}

impl<W: Write> Sink for Writer<W> {
    fn write_slab(&mut self, slab: &[u8]) -> fzgm::Result<()> {
        Writer::write_slab(self, slab)
    }
}

/// Compresses the elements of `src` into a slab file. `from` and `to` are the paths of the streams. `check` is called with each slab
/// before its compression, and its error ends the run.
pub(crate) fn write(
    (src, from): (&mut dyn Read, &Path),
    (dst, to): (&mut dyn Write, &Path),
    header: &Header,
    (pipeline, options): (&Pipeline, &Options),
    check: &dyn Fn(&[u8]) -> Result<(), Failure>,
) -> Result<Totals, Failure> {
    let refused = |e| Failure::from_error(&e);
    expect_rows(header)?;
    let to = input::name(to, "standard output");
    let mut writer = Writer::new(dst, to, header.clone(), pipeline, options).map_err(refused)?;
    pass((src, from), &mut writer, header, check)?;
    writer.finish().map(|(totals, _)| totals).map_err(refused)
}

/// Rejects rows without elements.
pub(crate) fn expect_rows(header: &Header) -> Result<(), Failure> {
    if header.row_bytes() == 0 {
        return Err(Failure::usage(
            "--dims give rows without elements, which cannot be divided into slabs; remove --slab",
        ));
    }
    Ok(())
}

/// Reads an array slab by slab and passes the slabs to `sink`.
pub(crate) fn pass(
    (src, from): (&mut dyn Read, &Path),
    sink: &mut dyn Sink,
    header: &Header,
    check: &dyn Fn(&[u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let row = header.row_bytes();
    let rows = header.slowest().map_or(header.rows(), |all| header.rows().min(all.max(1)));
    let mut slab = memory::zeroed(row.saturating_mul(rows))?;
    let progress = Progress::new("compress", header.slowest().map(|all| all.saturating_mul(row)));
    let mut passed = 0u64;
    loop {
        // Not more rows than --dims specify, because a stream may be endless.
        let left = header.slowest().map_or(rows, |all| rows.min(all - passed));
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
        check(&slab[..bytes])?;
        sink.write_slab(&slab[..bytes]).map_err(|e| Failure::from_error(&e))?;
        passed += bytes as u64 / row;
        progress.at(passed * row);
    }
    if let Some(all) = header.slowest() {
        let more = fill(src, &mut [0]).map_err(|e| Failure::io("read", from, &e))? > 0;
        if more || passed != all {
            let (have, want) = (passed * row, all.saturating_mul(row));
            let have = if more { format!("more than {have}") } else { have.to_string() };
            let what =
                format!("{} has {have} bytes, but --dims require {want}; correct --dims", from.display());
            return Err(Failure::usage(what));
        }
    }
    Ok(())
}

/// Restores a slab file into `dst`. `src` must be positioned after the magic number; `from` and `to` are the paths of the streams.
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

/// The description of a slab file.
pub(crate) struct Outline {
    pub(crate) array: Array,
    /// Number of rows of each slab except the last.
    pub(crate) rows: u64,
    pub(crate) totals: Totals,
    /// The first container; empty if there is none.
    pub(crate) container: Vec<u8>,
}

/// The array of a slab file, which must be a regular file, because it is read twice.
pub(crate) fn array_of(from: &Path) -> Result<Array, Failure> {
    if input::length(from)?.is_none() {
        let what = "a .npy file states its length at its beginning, but a stream of slabs does not";
        return Err(Failure::request(format!("{what}; pass the slab file by name, or write a raw array")));
    }
    match input::whole(from)? {
        input::Whole::Slabs(mut src) => outline(&mut *src, from).map(|o| o.array),
        input::Whole::Bytes(_) => Err(Failure::request(format!(
            "{} changed while it was read; run the command again",
            from.display()
        ))),
    }
}

/// Reads the headers and the trailer of a slab file. `src` must be positioned after the magic number.
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

/// The value range (noa) or the largest magnitude (prel) of the whole array, which is read in pieces. The range of one slab could be
/// smaller, and so would be the bound.
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

/// high - low, rounded toward zero, so that a bound never exceeds the requested one.
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

/// Fills `buffer` as far as `src` has bytes, and returns the number of bytes.
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
        // 1 + 2^-53 and 1 + 3 * 2^-53 are halfway between two doubles. The first is rounded down, the second one up.
        assert_eq!(range_down(-(0.5f64.powi(53)), 1.0), 1.0);
        assert_eq!(range_down(-3.0 * 0.5f64.powi(53), 1.0), 1.0 + f64::EPSILON);
        assert_eq!(range_down(-f64::MAX, f64::MAX), f64::MAX);
        assert_eq!(range_down(5.0, 5.0), 0.0);
    }
}
