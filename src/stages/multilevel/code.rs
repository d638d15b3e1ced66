//! From values to codes and back.

use super::params::{CONTEXTS, FILL2, MOST_QUOTIENT, MultilevelMetadata, PATTERNS};
use super::predict::Predictor;
use super::tables::SYMBOLS;
use super::token::token;
use super::value::LevelValue;

/// Codes are below this; from it on there are the patterns, and behind these an exact value.
pub(super) const CODES: u32 = 1 << 21;
pub(super) const EXACT: u32 = CODES + PATTERNS;

/// Points that are coded at once.
const PART: usize = 256;
/// Low bits of a symbol, which have the code.
const CODE_BITS: u32 = 22;
/// Numbers of contexts and tokens.
pub(super) const INDICES: usize = CONTEXTS as usize * SYMBOLS;

/// A code with its context and its token.
#[derive(Clone, Copy, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub(super) struct Symbol(u32);

impl Symbol {
    #[inline(always)]
    pub(super) fn new(code: u32, context: u8) -> Symbol {
        Symbol(code | (u32::from(context) * SYMBOLS as u32 + token(code)) << CODE_BITS)
    }
    /// Of a code below 16, which is its token.
    #[inline(always)]
    fn small(code: u32, context: u8) -> Symbol {
        Symbol(code | (u32::from(context) * SYMBOLS as u32 + code) << CODE_BITS)
    }
    #[inline(always)]
    pub(super) fn code(self) -> u32 {
        self.0 & ((1 << CODE_BITS) - 1)
    }
    /// Context and token as one number, the token in the low bits.
    #[inline(always)]
    pub(super) fn index(self) -> usize {
        (self.0 >> CODE_BITS) as usize
    }
    #[inline(always)]
    pub(super) fn context(self) -> usize {
        self.index() / SYMBOLS
    }
    /// Whether any of the codes is not 0.
    #[inline(always)]
    pub(super) fn any(all: &[Symbol]) -> bool {
        all.iter().fold(0, |any, s| any | s.0) << (u32::BITS - CODE_BITS) > 0
    }
}
const _: () = assert!(EXACT < 1 << CODE_BITS && INDICES <= 1 << (u32::BITS - CODE_BITS));

#[inline(always)]
pub(super) fn zigzag(q: i32) -> u32 {
    (q << 1 ^ q >> 31) as u32
}

#[inline(always)]
pub(super) fn unzigzag(u: u32) -> i32 {
    (u >> 1) as i32 ^ -((u & 1) as i32)
}

/// The numbers of a call that an encoder has besides.
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

    /// The integer for `x` with prediction `p` and what it restores, if that is close enough; `most` limits the integer.
    #[inline(always)]
    pub(super) fn quotient(&self, x: T, p: T, most: u32) -> (i32, T, bool) {
        let of = &self.predictor;
        let sum = (x - p) * of.rate + T::MAGIC;
        let q = sum - T::MAGIC;
        let restored = q.fma(of.step, p);
        let d = x - restored;
        // Of the subtraction, as TwoSum has it.
        let back = d + restored;
        let lost = (x - back) - (restored - (back - d));
        let tie = (d.abs() == self.bound)
            & (back.abs() <= T::MAX)
            & ((lost == T::ZERO) | ((lost > T::ZERO) != (d > T::ZERO)));
        let coded =
            (x.abs() < of.threshold) & (q.abs() < T::from_int(most as i32)) & ((d.abs() < self.bound) | tie);
        (T::magic_int(sum), restored, coded)
    }

    /// The code of an exact value.
    pub(super) fn exact(&self, x: T) -> u32 {
        let of = self.pattern[..self.patterns].iter().position(|&p| p == x.bits());
        of.map_or(EXACT, |i| CODES + i as u32)
    }

    /// As [`Coder::quotient`], but a value whose error is the bound is not coded.
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

    /// Codes of points, and what they restore in place of their predictions; whether some may be exact. `left` are their left
    /// neighbors.
    #[inline(always)]
    pub(super) fn row(
        &self,
        x: &[T],
        left: &[T],
        contexts: &[u8],
        p: &mut [T],
        symbols: &mut [Symbol],
    ) -> bool {
        let mut any = false;
        let parts = p.chunks_mut(PART).zip(symbols.chunks_mut(PART));
        let of = x.chunks(PART).zip(left.chunks(PART)).zip(contexts.chunks(PART));
        for (((x, left), contexts), (p, symbols)) in of.zip(parts) {
            if !self.quick_part(x, contexts, p, symbols) {
                any |= self.part(x, left, contexts, p, symbols);
            }
        }
        any
    }

    /// As [`Coder::part`] for points that have no rare codes; false if some have.
    #[inline(always)]
    fn quick_part(&self, x: &[T], contexts: &[u8], p: &mut [T], symbols: &mut [Symbol]) -> bool {
        let n = x.len();
        let (contexts, p, symbols) = (&contexts[..n], &mut p[..n], &mut symbols[..n]);
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
        if most < 16 {
            for i in 0..n {
                symbols[i] = Symbol::small(codes[i], contexts[i]);
            }
        } else {
            for i in 0..n {
                symbols[i] = Symbol::new(codes[i], contexts[i]);
            }
        }
        true
    }

    #[inline(always)]
    fn part(&self, x: &[T], left: &[T], contexts: &[u8], p: &mut [T], symbols: &mut [Symbol]) -> bool {
        let n = x.len();
        let (left, contexts, p, symbols) = (&left[..n], &contexts[..n], &mut p[..n], &mut symbols[..n]);
        let mut plain = true;
        for i in 0..n {
            let (q, restored, coded) = self.quotient(x[i], p[i], MOST_QUOTIENT);
            p[i] = if coded { restored } else { x[i] };
            symbols[i] = Symbol::new(if coded { zigzag(q) } else { EXACT }, contexts[i]);
            plain &= coded & (contexts[i] != FILL2 as u8);
        }
        if plain {
            return false;
        }
        for i in 0..n {
            let (code, context) = (symbols[i].code(), contexts[i]);
            let code = match (code, context == FILL2 as u8) {
                (_, true) if x[i].bits() == left[i].bits() => 0,
                (EXACT, _) => self.exact(x[i]),
                (code, fill) => code + u32::from(fill),
            };
            symbols[i] = Symbol::new(code, context);
        }
        true
    }
}
