//! The bytes that determine the calls.

/// Read from the front; 0 when they have ended.
pub struct Source<'a> {
    bytes: &'a [u8],
}

impl<'a> Source<'a> {
    pub fn new(bytes: &'a [u8]) -> Source<'a> {
        Source { bytes }
    }

    pub fn ended(&self) -> bool {
        self.bytes.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.bytes.split_first() else { return 0 };
        self.bytes = rest;
        *first
    }

    /// At most 256.
    pub fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n
    }

    pub fn pick<'t, T>(&mut self, list: &'t [T]) -> &'t T {
        &list[self.below(list.len())]
    }

    /// The mistake of a call: usually none (0), else one of `kinds` mistakes.
    pub fn mistake(&mut self, kinds: u8) -> u8 {
        match self.byte() {
            b @ 216.. => 1 + (b - 216) % kinds,
            _ => 0,
        }
    }

    /// Yes in one of `n` cases; no where nothing is left.
    pub fn rarely(&mut self, n: u8) -> bool {
        self.byte() % n == n - 1
    }
}
