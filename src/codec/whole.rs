//! The whole array of a container, for calls that return a part of it.

use super::{Decoder, Options, buffer};
use crate::base::byte_source::Source;
use crate::base::error::{Error, Result};
use crate::format::Header;

/// Decodes it in memory of its own, after a comparison of the checksums.
pub(super) fn decode_whole(header: &Header, source: &dyn Source) -> Result<Vec<u8>> {
    let end = header.end as u64;
    if source.bytes() < end {
        return Err(Error::Truncated { needed: end });
    }
    let mut copy;
    let container = match source.memory() {
        Some(container) => container,
        None => {
            copy = buffer(end)?;
            source.fill(0, &mut copy)?;
            &copy[..]
        }
    };
    let decoder = Decoder::of_header(header, &Options::default())?;
    let mut array = buffer(header.bound.array.bytes())?;
    decoder.run(header, &mut decoder.workspace()?, container, &mut array)?;
    Ok(array)
}
