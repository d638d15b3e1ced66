//! Compresses and restores chunks. No function here calls HDF5, so programs that hide its functions can read files too.

use crate::Answer;
use crate::block::Block;
use crate::codec::with_plan;
use crate::form;
use crate::words::Stored;

/// The chunk of a dataset as it is written.
pub(crate) fn compress(cd: &[u32], chunk: &[u8]) -> Answer<Block> {
    let stored = Stored::read(cd)?;
    let bytes = stored.chunk_bytes()?;
    if chunk.len() != bytes {
        return Err(format!(
            "a chunk has {} bytes; expected {bytes}, by element size and chunk shape in the cd_values",
            chunk.len()
        ));
    }
    let turned = if stored.element.swapped { Some(turned(&stored, chunk)?) } else { None };
    let chunk = turned.as_deref().unwrap_or(chunk);
    if form::applies(&stored) {
        return form::compress(&stored, chunk);
    }
    with_plan(cd, &stored, |plan| plan.frame(chunk))
}

/// The chunk with the bytes of its elements in the other order.
fn turned(stored: &Stored, chunk: &[u8]) -> Answer<Vec<u8>> {
    let mut turned = Vec::new();
    let missing =
        |_| format!("the system has no {} bytes of memory; free some, or choose smaller chunks", chunk.len());
    turned.try_reserve_exact(chunk.len()).map_err(missing)?;
    turned.extend_from_slice(chunk);
    stored.element.swap(&mut turned);
    Ok(turned)
}

/// The chunk of a dataset as it is read. Its length is that of the cd_values, because HDF5 up to 1.14 reads past the end of shorter chunks.
pub(crate) fn restore(cd: &[u32], frame: &[u8]) -> Answer<Block> {
    let stored = Stored::read(cd)?;
    let mut block = Block::new(stored.chunk_bytes()? as u64)?;
    if form::applies(&stored) {
        form::restore(&stored, frame, block.bytes_mut())?;
    } else {
        with_plan(cd, &stored, |plan| plan.decode(frame, block.bytes_mut()))?;
    }
    if stored.element.swapped {
        stored.element.swap(block.bytes_mut());
    }
    Ok(block)
}
