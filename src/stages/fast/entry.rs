//! Entries of the table in front of the chunks.

use crate::base::error::Fault;
use std::ops::Range;

/// Bytes of an entry.
pub(super) const BYTES: usize = 8;
/// Words that no entry can go beyond.
pub(super) const MOST_WORDS: u64 = (1 << WORDS_BITS) - 1;

/// Fields of an entry: first word, number of words, marks.
const FIRST_BITS: u32 = 44;
const WORDS_BITS: u32 = 16;
const HAS_REFERENCE: u64 = 1 << 60;
const RAW: u64 = 1 << 62;
const CONSTANT: u64 = 1 << 63;
/// Bits of the code of a constant chunk.
const CODE_BITS: u32 = 62;

/// How the words of a chunk are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChunkForm {
    /// Descriptors and units; codes are relative to a reference value that is stored before them.
    Packed { reference: bool },
    /// The values.
    Raw,
}

/// The contents of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// One code for all values, and no words.
    Constant(i64),
    /// Words from `first` on.
    Words { form: ChunkForm, first: u64, words: u64 },
}

impl Entry {
    pub(super) fn read(bits: u64) -> Result<Entry, Fault> {
        let marks = bits >> (FIRST_BITS + WORDS_BITS);
        if bits & CONSTANT != 0 {
            let shift = 64 - CODE_BITS;
            let code = (bits << shift) as i64 >> shift;
            return if bits & RAW == 0 { Ok(Entry::Constant(code)) } else { Err(Fault::Corrupt) };
        }
        let form = match marks << (FIRST_BITS + WORDS_BITS) {
            0 => ChunkForm::Packed { reference: false },
            HAS_REFERENCE => ChunkForm::Packed { reference: true },
            RAW => ChunkForm::Raw,
            _ => return Err(Fault::Corrupt),
        };
        let first = bits & ((1 << FIRST_BITS) - 1);
        let words = bits >> FIRST_BITS & MOST_WORDS;
        Ok(Entry::Words { form, first, words })
    }

    pub(super) fn bits(self) -> u64 {
        match self {
            Entry::Constant(code) => CONSTANT | code as u64 & ((1 << CODE_BITS) - 1),
            Entry::Words { form, first, words } => {
                let mark = match form {
                    ChunkForm::Packed { reference: false } => 0,
                    ChunkForm::Packed { reference: true } => HAS_REFERENCE,
                    ChunkForm::Raw => RAW,
                };
                mark | words << FIRST_BITS | first
            }
        }
    }

    pub(super) fn words(self) -> u64 {
        match self {
            Entry::Constant(_) => 0,
            Entry::Words { words, .. } => words,
        }
    }

    /// Where the words are, from the end of the table; nowhere for none.
    pub(super) fn place(self) -> Range<u64> {
        match self {
            Entry::Words { first, words, .. } if words > 0 => first..first + words,
            _ => 0..0,
        }
    }

    /// The entry after `more` other words.
    pub(super) fn behind(self, more: u64) -> Entry {
        match self {
            Entry::Constant(_) => self,
            Entry::Words { form, first, words } => Entry::Words { form, first: first + more, words },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_back() {
        let words = |form, first, words| Entry::Words { form, first, words };
        let all = [
            Entry::Constant(-5),
            Entry::Constant((1 << 51) + 7),
            Entry::Constant(0),
            words(ChunkForm::Raw, (1 << 44) - 1, 16384),
            words(ChunkForm::Packed { reference: true }, 0, 65535),
            words(ChunkForm::Packed { reference: false }, 7, 1),
        ];
        for entry in all {
            assert_eq!(Entry::read(entry.bits()), Ok(entry));
        }
        for marks in [1 << 61, 3 << 61, 5 << 60, 3 << 62] {
            assert_eq!(Entry::read(marks), Err(Fault::Corrupt), "{marks:x}");
        }
    }
}
