//! The form of chunks of presets high and high_once: a frame of bin numbers or of values, in which NaNs mark the fill
//! value and values without a bin. `docs/hdf5-format.md` specifies it.

use crate::Answer;
use crate::bins::{self, Real};
use crate::block::Block;
use crate::codec::with_plan;
use crate::presets::Preset;
use crate::words::Stored;
use fzgm::DType;

const MAGIC: [u8; 4] = *b"FZH1";
const HEAD: usize = 32;
/// Values of byte 8, the contents of the frame.
const BINS: u8 = 0;
const VALUES: u8 = 1;

/// The first 32 bytes of a chunk, without magic and checksum.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Head {
    /// Twice the bound; 0 if the frame contains values.
    step: f64,
    dtype: DType,
    /// Index of the NaN that marks the fill value.
    fill_mark: u8,
    /// Index of the NaN that marks the next exact value.
    exact_mark: u8,
    /// Number of exact values, which follow the frame.
    exact: u32,
    /// Bits of the fill value; bits of the fill mark if the dataset has no fill value.
    fill: u64,
}

impl Head {
    /// The header with its checksum, which also covers the exact values.
    fn bytes(&self, exact: &[u8]) -> [u8; HEAD] {
        let mut head = [0; HEAD];
        head[..4].copy_from_slice(&MAGIC);
        head[8] = if self.step > 0.0 { BINS } else { VALUES };
        head[9] = self.dtype as u8;
        head[10] = self.fill_mark;
        head[11] = self.exact_mark;
        head[12..16].copy_from_slice(&self.exact.to_le_bytes());
        head[16..24].copy_from_slice(&self.step.to_le_bytes());
        head[24..].copy_from_slice(&self.fill.to_le_bytes());
        let sum = checksum(&head, exact).to_le_bytes();
        head[4..8].copy_from_slice(&sum);
        head
    }

    /// Header, frame, and exact values of a chunk that begins with the magic.
    fn split(chunk: &[u8]) -> Answer<(Head, &[u8], &[u8])> {
        let damaged = |what: &str| format!("a chunk cannot be restored: {what}; the file is damaged");
        let (head, rest) = chunk
            .split_first_chunk::<HEAD>()
            .ok_or_else(|| damaged(&format!("its header has {} bytes, expected {HEAD}", chunk.len())))?;
        let eight = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| head[at + i]));
        let dtype = DType::from_number(i64::from(head[9])).ok().filter(|d| d.is_float());
        let exact = u32::from_le_bytes([head[12], head[13], head[14], head[15]]);
        let step = f64::from_bits(eight(16));
        let sound = match head[8] {
            BINS => step > 0.0 && step.is_finite(),
            VALUES => step.to_bits() == 0,
            form => {
                return Err(format!(
                    "a chunk cannot be restored: its form is {form}; this plugin supports 0 and 1; install a newer plugin"
                ));
            }
        };
        let dtype = dtype
            .filter(|_| sound)
            .ok_or_else(|| damaged(&format!("its header has element type {} and step {step:?}", head[9])))?;
        let behind = u64::from(exact) * dtype.bytes();
        let at = (rest.len() as u64).checked_sub(behind).ok_or_else(|| {
            damaged(&format!("{} bytes follow its header, but its exact values require {behind}", rest.len()))
        })?;
        let (frame, behind) = rest.split_at(at as usize);
        if checksum(head, behind).to_le_bytes() != head[4..8] {
            return Err(damaged("the checksum of its header does not match"));
        }
        let head = Head { step, dtype, fill_mark: head[10], exact_mark: head[11], exact, fill: eight(24) };
        Ok((head, frame, behind))
    }
}

fn checksum(head: &[u8; HEAD], exact: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&head[8..]);
    sum.update(exact);
    sum.finalize()
}

/// The settings of the frames: those of the dataset, with the bound of the numbers in a frame.
pub(crate) fn frames(stored: &Stored) -> Stored {
    let bound = if stored.user.preset == Preset::High { bins::NUMBER_BOUND } else { stored.bound };
    Stored { bound, fill: None, ..stored.clone() }
}

/// True if the chunks of a dataset have the form.
pub(crate) fn applies(stored: &Stored) -> bool {
    stored.user.preset.has_form() && stored.bound > 0.0
}

/// The chunk of a dataset as it is written.
pub(crate) fn compress(stored: &Stored, chunk: &[u8]) -> Answer<Block> {
    match stored.element.dtype {
        DType::F32 => compress_as::<f32>(stored, chunk),
        _ => compress_as::<f64>(stored, chunk),
    }
}

fn compress_as<T: Real>(stored: &Stored, chunk: &[u8]) -> Answer<Block> {
    let Some([fill_mark, exact_mark]) = free_marks::<T>(chunk) else {
        // The chunk contains almost all NaNs that can be marks.
        let lossless = Stored { bound: 0.0, fill: None, ..stored.clone() };
        return with_plan(&lossless.words(), &lossless, |plan| plan.frame(chunk));
    };
    let mark = |number: u8| T::FIRST_MARK + u64::from(number);
    let step = if stored.user.preset == Preset::High { 2.0 * stored.bound } else { 0.0 };
    let fill = stored.fill.map_or(mark(fill_mark), |f| T::of(f).bits());
    let mut held = Vec::new();
    let mut exact = Vec::new();
    let missing =
        |_| format!("the system has no {} bytes of memory; free some, or choose smaller chunks", chunk.len());
    held.try_reserve_exact(chunk.len()).map_err(missing)?;
    for bytes in chunk.chunks_exact(T::BYTES) {
        let bits = T::read(bytes);
        let x = T::of_bits(bits);
        let bits = if bits == fill {
            mark(fill_mark)
        } else if step == 0.0 || !x.wide().is_finite() {
            bits
        } else if let Some(number) = bins::number(x, step) {
            number.bits()
        } else {
            exact.try_reserve(T::BYTES).map_err(missing)?;
            exact.extend_from_slice(bytes);
            mark(exact_mark)
        };
        held.extend_from_slice(&bits.to_le_bytes()[..T::BYTES]);
    }
    let head = Head {
        step,
        dtype: stored.element.dtype,
        fill_mark,
        exact_mark,
        exact: (exact.len() / T::BYTES) as u32,
        fill,
    };
    let frames = frames(stored);
    with_plan(&frames.words(), &frames, |plan| {
        let mut block = Block::new(HEAD as u64 + plan.max_bytes() + exact.len() as u64)?;
        let (start, rest) = block.bytes_mut().split_at_mut(HEAD);
        start.copy_from_slice(&head.bytes(&exact));
        let (frame, _) = rest.split_at_mut(rest.len() - exact.len());
        let bytes = plan.encode(&held, frame)?;
        rest[bytes..bytes + exact.len()].copy_from_slice(&exact);
        block.shorten(HEAD + bytes + exact.len());
        Ok(block)
    })
}

/// Indexes of two NaNs that the chunk does not contain.
fn free_marks<T: Real>(chunk: &[u8]) -> Option<[u8; 2]> {
    let mut used = [false; 256];
    for bytes in chunk.chunks_exact(T::BYTES) {
        let number = T::read(bytes).wrapping_sub(T::FIRST_MARK);
        if let Some(used) = usize::try_from(number).ok().and_then(|n| used.get_mut(n)) {
            *used = true;
        }
    }
    let mut free = (0..=255u8).filter(|n| !used[usize::from(*n)]);
    Some([free.next()?, free.next()?])
}

/// Restores a chunk of a dataset with this form. A chunk without the magic is a frame of the values themselves.
pub(crate) fn restore(stored: &Stored, chunk: &[u8], dst: &mut [u8]) -> Answer<()> {
    let frames = frames(stored);
    if !chunk.starts_with(&MAGIC) {
        return with_plan(&frames.words(), &frames, |plan| plan.decode(chunk, dst));
    }
    let (head, frame, exact) = Head::split(chunk)?;
    if head.dtype != stored.element.dtype {
        let (is, expected) = (head.dtype, stored.element.dtype);
        return Err(format!(
            "a chunk cannot be restored: its element type is {is}; expected {expected}, that of the dataset"
        ));
    }
    with_plan(&frames.words(), &frames, |plan| plan.decode(frame, dst))?;
    let done = match head.dtype {
        DType::F32 => replace::<f32>(&head, exact, dst),
        _ => replace::<f64>(&head, exact, dst),
    };
    done.then_some(())
        .ok_or_else(|| "a chunk cannot be restored: it has more or fewer exact values than exact marks; the file is damaged".into())
}

/// Replaces bin numbers and marks by values; false if the numbers of exact values and of exact marks differ.
fn replace<T: Real>(head: &Head, exact: &[u8], dst: &mut [u8]) -> bool {
    let [fill_mark, exact_mark] = [head.fill_mark, head.exact_mark].map(|n| T::FIRST_MARK + u64::from(n));
    let mut exact = exact.chunks_exact(T::BYTES);
    for bytes in dst.chunks_exact_mut(T::BYTES) {
        let bits = T::read(bytes);
        let x = T::of_bits(bits).wide();
        let bits = if bits == fill_mark {
            head.fill
        } else if bits == exact_mark {
            let Some(value) = exact.next() else { return false };
            T::read(value)
        } else if head.step == 0.0 || !x.is_finite() {
            continue;
        } else {
            bins::value::<T>(x.round_ties_even(), head.step).bits()
        };
        bytes.copy_from_slice(&bits.to_le_bytes()[..T::BYTES]);
    }
    exact.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::Element;
    use crate::words::{Mode, User};

    fn stored(preset: Preset, dtype: DType, elements: u64, fill: Option<f64>) -> Stored {
        let user = User { mode: Mode::Abs(0.25), preset };
        let element = Element::number(dtype, false);
        Stored { user, element, bound: 0.25, threshold: f64::INFINITY, fill, dims: vec![elements] }
    }

    fn head() -> Head {
        Head { step: 0.5, dtype: DType::F32, fill_mark: 3, exact_mark: 4, exact: 2, fill: 7 }
    }

    #[test]
    fn headers_are_read_back_and_no_bit_is_lost_on_them() {
        let exact = [1, 2, 3, 4, 5, 6, 7, 8];
        let chunk = [&head().bytes(&exact)[..], b"frame", &exact].concat();
        assert_eq!(Head::split(&chunk), Ok((head(), &b"frame"[..], &exact[..])));
        for bit in (32..8 * HEAD).chain(8 * (HEAD + 5)..8 * chunk.len()) {
            let mut bad = chunk.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(Head::split(&bad).is_err(), "bit {bit}");
        }
        for n in 0..HEAD + exact.len() {
            assert!(Head::split(&chunk[..n]).is_err(), "{n} bytes");
        }
    }

    #[test]
    fn a_later_form_is_refused_in_words() {
        let mut chunk = head().bytes(&[]);
        chunk[8] = 2;
        assert_eq!(
            Head::split(&chunk).map(|_| ()),
            Err("a chunk cannot be restored: its form is 2; this plugin supports 0 and 1; install a newer plugin".into())
        );
    }

    #[test]
    fn exact_values_and_marks_must_be_as_many() {
        let head = Head { exact: 1, ..head() };
        let bits = |numbers: &[u64]| -> Vec<u8> {
            numbers.iter().flat_map(|n| ((f32::FIRST_MARK + n) as u32).to_le_bytes()).collect()
        };
        for (marks, right) in [(&[3, 4, 3][..], true), (&[3, 3, 3], false), (&[4, 3, 4], false)] {
            let mut dst = bits(marks);
            assert_eq!(replace::<f32>(&head, &[9, 0, 0, 0], &mut dst), right, "{marks:?}");
            assert!(!right || dst == [7, 0, 0, 0, 9, 0, 0, 0, 7, 0, 0, 0]);
        }
    }

    #[test]
    fn special_values_of_every_kind_return() {
        let special =
            [f64::NAN, f64::INFINITY, -f64::INFINITY, 1e30, -0.0, 0.0, -9999.0, f64::from(f32::MAX)];
        let values: Vec<f64> =
            (0..4000).map(|i| special.get(i % 40).copied().unwrap_or(f64::from(i as u32).sqrt())).collect();
        for preset in [Preset::High, Preset::HighOnce] {
            for (dtype, chunk) in [
                (DType::F32, values.iter().flat_map(|v| (*v as f32).to_le_bytes()).collect::<Vec<u8>>()),
                (DType::F64, values.iter().flat_map(|v| v.to_le_bytes()).collect()),
            ] {
                let stored = stored(preset, dtype, 4000, Some(-9999.0));
                let mut block = compress(&stored, &chunk).unwrap();
                assert!(block.bytes_mut().len() < chunk.len() / 2);
                let mut dst = vec![0; chunk.len()];
                restore(&stored, block.bytes_mut(), &mut dst).unwrap();
                let width = dtype.bytes() as usize;
                for (i, (a, b)) in chunk.chunks(width).zip(dst.chunks(width)).enumerate() {
                    let wide =
                        |bits: u64| if width == 4 { f32::of_bits(bits).wide() } else { f64::of_bits(bits) };
                    let (x, y) = (wide(f64::read(a)), wide(f64::read(b)));
                    let kept = if x.is_finite() { (x - y).abs() <= 0.25 } else { a == b };
                    assert!(kept && (x != -9999.0 || a == b), "{preset:?} {dtype} element {i}: {x} {y}");
                }
            }
        }
    }
}
