//! The elements of a dataset for the codec: numbers of a known type, or opaque elements of a known size.

use fzgm::DType;

/// How one element of a chunk is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    /// Element type of the array that represents a chunk.
    pub(crate) dtype: DType,
    /// Numbers are big-endian.
    pub(crate) swapped: bool,
    /// Bytes of an element of the dataset: the size of `dtype`, or a multiple of it if elements are opaque.
    pub(crate) bytes: u32,
    /// Strings, compounds, halves, and all other types that are stored without conversion.
    pub(crate) opaque: bool,
}

const SWAPPED: u32 = 1 << 8;
const OPAQUE: u32 = 1 << 9;

impl Element {
    /// A number of a type that the library supports.
    pub(crate) fn number(dtype: DType, swapped: bool) -> Element {
        Element { dtype, swapped: swapped && dtype.bytes() > 1, bytes: dtype.bytes() as u32, opaque: false }
    }

    /// Elements of `bytes` bytes as integers, of the largest size that divides `bytes`. It is usually the size of the
    /// fields of a record.
    pub(crate) fn opaque(bytes: u32) -> Element {
        let dtype = match bytes {
            b if b % 8 == 0 => DType::U64,
            b if b % 4 == 0 => DType::U32,
            b if b % 2 == 0 => DType::U16,
            _ => DType::U8,
        };
        Element { dtype, swapped: false, bytes, opaque: true }
    }

    /// Word 5 of a dataset: type, byte order, and opacity. Word 6 is the size.
    pub(crate) fn word(self) -> u32 {
        let flag = |on, bit| if on { bit } else { 0 };
        self.dtype as u32 | flag(self.swapped, SWAPPED) | flag(self.opaque, OPAQUE)
    }

    /// The element of words 5 and 6, if they are valid.
    pub(crate) fn from_words(word: u32, bytes: u32) -> Option<Element> {
        let dtype = DType::from_number(i64::from(word & 0xff)).ok()?;
        let element = Element { dtype, swapped: word & SWAPPED != 0, bytes, opaque: word & OPAQUE != 0 };
        let known =
            if element.opaque { Element::opaque(bytes) } else { Element::number(dtype, element.swapped) };
        (bytes > 0 && known == element && element.word() == word).then_some(element)
    }

    /// Reverses the bytes of each number of `chunk`.
    pub(crate) fn swap(self, chunk: &mut [u8]) {
        match self.dtype.bytes() {
            2 => chunk.chunks_exact_mut(2).for_each(<[u8]>::reverse),
            4 => chunk.chunks_exact_mut(4).for_each(<[u8]>::reverse),
            8 => chunk.chunks_exact_mut(8).for_each(<[u8]>::reverse),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_back_and_nothing_else_is() {
        let all = DType::ALL.iter().flat_map(|&d| [Element::number(d, false), Element::number(d, true)]);
        for e in all.chain((1..40).map(Element::opaque)) {
            assert_eq!(Element::from_words(e.word(), e.bytes), Some(e));
            assert_eq!(Element::from_words(e.word() | 1 << 10, e.bytes), None);
            assert_eq!(Element::from_words(e.word(), 0), None);
        }
        assert_eq!(Element::from_words(DType::F32 as u32, 8), None);
        assert_eq!(Element::from_words(DType::U8 as u32 | SWAPPED, 1), None);
        assert_eq!(Element::from_words(10, 8), None);
    }
}
