//! Codes of values, and values of codes.

use super::known::room;
use super::params::{CONTEXTS, FILL2, MOST_QUOTIENT, MultilevelMetadata, PATTERNS};
use super::predict::Predictor;
use super::tables::SYMBOLS;
use super::token::token;
use super::value::LevelValue;
use crate::base::error::Fault;

/// Codes are below this number. The numbers from it on represent patterns, and `EXACT` any other exact value.
pub(super) const CODES: u32 = 1 << 21;
pub(super) const EXACT: u32 = CODES + PATTERNS;

/// Points that are coded at once.
const PART: usize = 256;
/// Codes from here on do not fit into a symbol.
pub(super) const LARGE: u32 = 256;
/// The number of pairs of context and token, and the number of low bits of a symbol that contain such a pair.
pub(super) const INDICES: usize = CONTEXTS as usize * SYMBOLS;
const INDEX_BITS: u32 = INDICES.ilog2();

/// The context of a code, its token, and its 6 low bits.
#[derive(Clone, Copy, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub(super) struct Symbol(u16);

impl Symbol {
    #[inline(always)]
    pub(super) fn new(code: u32, context: u8) -> Symbol {
        Symbol::of(code, context, token(code))
    }
    /// The symbol of a code below 16, which equals its token.
    #[inline(always)]
    fn small(code: u32, context: u8) -> Symbol {
        Symbol::of(code, context, code)
    }
    #[inline(always)]
    fn of(code: u32, context: u8, token: u32) -> Symbol {
        Symbol(((u32::from(context) * SYMBOLS as u32 + token) | (code << INDEX_BITS)) as u16)
    }
    /// Context and token as one number, the token in the low bits.
    #[inline(always)]
    pub(super) fn index(self) -> usize {
        usize::from(self.0) % INDICES
    }
    #[inline(always)]
    pub(super) fn token(self) -> u8 {
        (self.index() % SYMBOLS) as u8
    }
    #[inline(always)]
    pub(super) fn context(self) -> usize {
        self.index() / SYMBOLS
    }
    /// The low bits of the code, which include all raw bits of a code below [`LARGE`].
    #[inline(always)]
    pub(super) fn low(self) -> u32 {
        u32::from(self.0) >> INDEX_BITS
    }
    /// True if any of the codes is not 0.
    #[inline(always)]
    pub(super) fn any(all: &[Symbol]) -> bool {
        all.iter().fold(0, |any, s| any | s.0) % SYMBOLS as u16 > 0
    }
}

/// The codes of points.
#[derive(Default)]
pub(super) struct Codes {
    pub(super) symbols: Vec<Symbol>,
    /// The codes from [`LARGE`] on, by points. Other places are undefined, so most of this memory is usually never touched.
    pub(super) large: Vec<u32>,
}

impl Codes {
    pub(super) fn new(n: usize) -> Result<Codes, Fault> {
        Ok(Codes { symbols: room(n)?, large: room(n)? })
    }

    pub(super) fn push(&mut self, code: u32, context: u8) {
        self.symbols.push(Symbol::new(code, context));
        self.large.push(code);
    }
}

/// Writes codes with their contexts; `most` is the largest code.
#[inline(always)]
pub(super) fn put(codes: &[u32], contexts: &[u8], most: u32, symbols: &mut [Symbol], large: &mut [u32]) {
    let n = codes.len();
    let (contexts, symbols) = (&contexts[..n], &mut symbols[..n]);
    if most < 16 {
        for i in 0..n {
            symbols[i] = Symbol::small(codes[i], contexts[i]);
        }
        return;
    }
    for i in 0..n {
        symbols[i] = Symbol::new(codes[i], contexts[i]);
    }
    if most >= LARGE {
        large.copy_from_slice(codes);
    }
}

#[inline(always)]
pub(super) fn zigzag(q: i32) -> u32 {
    (q << 1 ^ q >> 31) as u32
}

#[inline(always)]
pub(super) fn unzigzag(u: u32) -> i32 {
    (u >> 1) as i32 ^ -((u & 1) as i32)
}

/// The numbers of a call that an encoder requires: those of the predictor, the bound, and the patterns.
#[derive(Clone, Copy)]
pub(super) struct Coder<T> {
    pub(super) predictor: Predictor<T>,
    bound: T,
    pattern: [u64; PATTERNS as usize],
    patterns: usize,
}

impl<T: LevelValue> Coder<T> {
    pub(super) fn new(threshold: f64, m: &MultilevelMetadata) -> Coder<T> {
        Coder {
            predictor: Predictor::new(threshold, m),
            bound: T::from_f64(m.bound),
            pattern: m.pattern,
            patterns: m.patterns.into(),
        }
    }

    /// The integer for `x` with prediction `p`, the value that it restores, and true if `x` is coded. The integer must be below `most`.
    #[inline(always)]
    pub(super) fn quotient(&self, x: T, p: T, most: u32) -> (i32, T, bool) {
        let of = &self.predictor;
        let sum = (x - p) * of.rate + T::MAGIC;
        let q = sum - T::MAGIC;
        let restored = q.fma(of.step, p);
        let d = x - restored;
        // The rounding error of the subtraction, by TwoSum. It decides if the rounded difference equals the bound.
        let back = d + restored;
        let lost = (x - back) - (restored - (back - d));
        let tie = (d.abs() == self.bound)
            & (back.abs() <= T::MAX)
            & ((lost == T::ZERO) | ((lost > T::ZERO) != (d > T::ZERO)));
        let coded =
            (x.abs() < of.threshold) & (q.abs() < T::from_int(most as i32)) & ((d.abs() < self.bound) | tie);
        (T::magic_int(sum), restored, coded)
    }

    /// The code of an exact value: that of its pattern, or `EXACT`.
    pub(super) fn exact(&self, x: T) -> u32 {
        let of = self.pattern[..self.patterns].iter().position(|&p| p == x.bits());
        of.map_or(EXACT, |i| CODES + i as u32)
    }

    /// Equals [`Coder::quotient`], except that a value whose error equals the bound is not coded.
    #[inline(always)]
    fn quick_quotient(&self, x: T, p: T) -> (i32, T, bool) {
        let of = &self.predictor;
        let sum = (x - p) * of.rate + T::MAGIC;
        let q = sum - T::MAGIC;
        let restored = q.fma(of.step, p);
        let coded = (x.abs() < of.threshold)
            & (q.abs() < T::from_int(MOST_QUOTIENT as i32))
            & ((x - restored).abs() < self.bound);
        (T::magic_int(sum), restored, coded)
    }

    /// Writes the codes of points, and replaces their predictions by the restored values. `left` are the left neighbors of the points.
    /// Returns true if some may be exact.
    #[inline(always)]
    pub(super) fn row(
        &self,
        x: &[T],
        left: &[T],
        contexts: &[u8],
        p: &mut [T],
        (symbols, large): (&mut [Symbol], &mut [u32]),
    ) -> bool {
        let mut any = false;
        let parts = p.chunks_mut(PART).zip(symbols.chunks_mut(PART)).zip(large.chunks_mut(PART));
        let of = x.chunks(PART).zip(left.chunks(PART)).zip(contexts.chunks(PART));
        for (((x, left), contexts), ((p, symbols), large)) in of.zip(parts) {
            if !self.quick_part(x, contexts, p, (symbols, large)) {
                any |= self.part(x, left, contexts, p, (symbols, large));
            }
        }
        any
    }

    /// Does the work of [`Coder::part`] if no point has a rare code; otherwise returns false and writes nothing.
    #[inline(always)]
    fn quick_part(&self, x: &[T], contexts: &[u8], p: &mut [T], to: (&mut [Symbol], &mut [u32])) -> bool {
        let n = x.len();
        let (contexts, p) = (&contexts[..n], &mut p[..n]);
        let (mut restored, mut codes) = ([T::ZERO; PART], [0; PART]);
        let (restored, codes) = (&mut restored[..n], &mut codes[..n]);
        let (mut plain, mut most, mut fill) = (true, 0, 0);
        for i in 0..n {
            let (q, value, coded) = self.quick_quotient(x[i], p[i]);
            restored[i] = value;
            codes[i] = zigzag(q);
            most = codes[i].max(most);
            plain &= coded;
        }
        for context in contexts {
            fill = fill.max(*context);
        }
        if !plain || fill >= FILL2 as u8 {
            return false;
        }
        p.copy_from_slice(restored);
        put(codes, contexts, most, to.0, to.1);
        true
    }

    /// Codes a part of [`Coder::row`].
    #[inline(always)]
    fn part(
        &self,
        x: &[T],
        left: &[T],
        contexts: &[u8],
        p: &mut [T],
        to: (&mut [Symbol], &mut [u32]),
    ) -> bool {
        let n = x.len();
        let (left, contexts, p) = (&left[..n], &contexts[..n], &mut p[..n]);
        let mut codes = [0; PART];
        let codes = &mut codes[..n];
        let mut plain = true;
        for i in 0..n {
            let (q, restored, coded) = self.quotient(x[i], p[i], MOST_QUOTIENT);
            p[i] = if coded { restored } else { x[i] };
            codes[i] = if coded { zigzag(q) } else { EXACT };
            plain &= coded & (contexts[i] != FILL2 as u8);
        }
        if !plain {
            for i in 0..n {
                codes[i] = match (codes[i], contexts[i] == FILL2 as u8) {
                    (_, true) if x[i].bits() == left[i].bits() => 0,
                    (EXACT, _) => self.exact(x[i]),
                    (code, fill) => code + u32::from(fill),
                };
            }
        }
        let most = codes.iter().fold(0, |most, &code| code.max(most));
        put(codes, contexts, most, to.0, to.1);
        !plain
    }
}
