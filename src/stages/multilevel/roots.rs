//! Roots of a decoder.

use super::code::unzigzag;
use super::decode::{BaseRun, Decoder, TASK};
use super::known::Grid;
use super::open::Opened;
use super::rans::LANES;
use super::steps::Layout;
use super::value::LevelValue;
use crate::base::error::Fault;

impl<T: LevelValue> Decoder<'_, T> {
    /// Restores the roots of a serial section.
    pub(super) fn roots(&self, base: &mut BaseRun<'_, '_>, points: [usize; 3]) -> Result<Grid<T>, Fault> {
        let mut grid = Grid::<T>::new(points)?;
        let mut q = 0;
        for values in grid.values.chunks_mut(LANES) {
            let (codes, exact) = base.step(&[0; LANES][..values.len()], self.form.exact)?;
            q = self.root_step(q, &codes, |l| exact.iter().find(|e| e.0 == l).map(|e| e.1), values)?;
        }
        Ok(grid)
    }

    /// Restores roots that are a section with runs. The quotients of each step start from 0.
    pub(super) fn many_roots(
        &self,
        opened: &Opened<'_>,
        layout: &Layout,
        points: [usize; 3],
    ) -> Result<Grid<T>, Fault> {
        let mut grid = Grid::<T>::new(points)?;
        let root = |_: usize, _: std::ops::Range<usize>, own: &mut [u8; LANES]| own.fill(0);
        let (codes, exact) = opened.codes(layout, root, self.form.exact, self.threads)?;
        let parts: Vec<_> = grid.values.chunks_mut(TASK).enumerate().collect();
        let restore = |(k, part): (usize, &mut [T])| {
            for (i, values) in part.chunks_mut(LANES).enumerate() {
                let step = k * (TASK / LANES) + i;
                let place = opened.place(step / 8, step % 8);
                let raw = |l: usize| {
                    let at = place? * LANES + l;
                    exact.get(exact.partition_point(|e| e.0 < at)).map(|e| e.1)
                };
                let codes = place.map_or(&[0; LANES][..], |place| &codes[place * layout.width()..]);
                self.root_step(0, codes, raw, values)?;
            }
            Ok(())
        };
        let done = self.threads.each(parts, || (), |(), part| restore(part));
        done.into_iter().collect::<Result<(), Fault>>()?;
        Ok(grid)
    }

    /// Restores a step of roots, where `q` is the quotient of the root before. Returns the quotient of the last root.
    fn root_step(
        &self,
        mut q: i32,
        codes: &[u32],
        raw: impl Fn(usize) -> Option<u64>,
        values: &mut [T],
    ) -> Result<i32, Fault> {
        for (l, x) in values.iter_mut().enumerate() {
            if let Some(value) = self.exact(codes[l], || raw(l))? {
                (*x, q) = (value, 0);
            } else {
                q = q.wrapping_add(unzigzag(codes[l]));
                *x = T::from_int(q).fma(self.predictor.step, self.predictor.center);
            }
        }
        Ok(q)
    }
}
