//! Parts of an array: previews, from the first sections of a stream, and regions.

use super::decode::Decoder;
use super::grid::Levels;
use super::known::room;
use super::params::MultilevelMetadata;
use super::predict::Predictor;
use super::section::Form;
use super::stream::{HEAD, Head};
use super::value::LevelValue;
use super::{Multilevel, SPEC};
use crate::base::byte_source::Segment;
use crate::base::dtype::DType;
use crate::base::error::{Error, Fault, Result};
use crate::base::gather::Places;
use crate::base::parallel::Parallel;
use crate::base::param::Args;
use crate::base::tile::at;
use crate::ir::stage::{Preview, PreviewReader, Region, RegionReader, explain};
use crate::stages::shape;

impl PreviewReader for Multilevel {
    fn read_preview(
        &self,
        args: &Args,
        metadata: &[u8],
        segment: &Segment<'_>,
        preview: &Preview,
        dst: &mut [u8],
    ) -> Result<()> {
        let Preview { dtype, shape, step } = *preview;
        let places = Places { first: [0; 3], count: preview.count(), step: [step; 3] };
        Part::new(args, metadata, shape, places)?.read(dtype, segment, dst)
    }
}

impl RegionReader for Multilevel {
    fn decodes_all(&self) -> bool {
        true
    }

    fn read_region(
        &self,
        args: &Args,
        metadata: &[u8],
        segment: &Segment<'_>,
        region: &Region,
        dst: &mut [u8],
    ) -> Result<()> {
        let Region { dtype, shape, first, count } = *region;
        Part::new(args, metadata, shape, Places { first, count, step: [1; 3] })?.read(dtype, segment, dst)
    }
}

fn damaged(fault: Fault) -> Error {
    explain(SPEC.name, fault)
}

/// A part of an array. Axes are in the order of the stage: axes of length 1 are last.
struct Part {
    metadata: MultilevelMetadata,
    threshold: f64,
    /// Lengths of the array, and of the shape in which the stage coded it.
    shape: [usize; 3],
    dims: [usize; 3],
    places: Places,
}

impl Part {
    fn new(args: &Args, metadata: &[u8], shape: [u64; 3], places: Places) -> Result<Part> {
        let metadata = at(metadata, 0).ok_or(Error::Internal("multilevel has metadata"))?;
        let dims = shape::dims(args)?;
        if shape::product(dims) != shape::product(shape) {
            let what = format!(
                "the array was compressed in shape {dims:?}, and parts are of {shape:?}; decompress all of it"
            );
            return Err(Error::Unsupported { stage: SPEC.name, what });
        }
        let order = shape::ones_last(shape);
        let Places { first, count, step } = places;
        let [first, count, step] = [first, count, step].map(|of| order.map(|d| of[d]));
        Ok(Part {
            metadata,
            threshold: args.real("outlier_threshold")?,
            shape: order.map(|d| shape[d] as usize),
            dims: shape::ones_last(dims).map(|d| dims[d] as usize),
            places: Places { first, count, step },
        })
    }

    fn read(&self, dtype: DType, segment: &Segment<'_>, dst: &mut [u8]) -> Result<()> {
        match dtype {
            DType::F32 => self.read_as::<f32>(segment, dst),
            DType::F64 => self.read_as::<f64>(segment, dst),
            _ => Err(Error::Internal("multilevel has floats")),
        }
    }

    fn read_as<T: LevelValue>(&self, segment: &Segment<'_>, dst: &mut [u8]) -> Result<()> {
        let n: usize = self.dims.iter().product();
        let form = Form { exact: T::BITS, wide: n >= 1 << 31 };
        let levels = Levels::new(self.dims, self.metadata.axes);
        let differs = self.metadata.differences > 0;
        let sections = if differs { 1 } else { levels.sections() };
        let mut first = [0; HEAD];
        segment.fill(0, &mut first)?;
        let length = Head::bytes(u32::from_le_bytes(first), sections, form).map_err(damaged)?;
        let Some(length) = length else { return self.read_values::<T>(segment, dst) };
        let mut buffer = vec![];
        let head = segment.view(0, length, &mut buffer)?;
        let head = Head::read(head, sections, form, segment.bytes()).map_err(damaged)?;
        let finest = if differs { 0 } else { self.finest(&levels) };
        let needed: usize = head.lengths[..levels.sections_above(finest).min(sections)].iter().sum();
        let mut buffer = vec![];
        let words = head.cut(segment.view(length as u64, needed, &mut buffer)?);
        let points = if differs { self.dims } else { levels.grid(1 << finest) };
        let mut values = room::<T>(points.iter().product()).map_err(damaged)?;
        let predictor = Predictor::<T>::new(self.threshold, &self.metadata);
        let Head { patterns, count, .. } = head;
        let decoder = Decoder { predictor, patterns, count, form, threads: Parallel(None) };
        let done = match words[..] {
            [section, ..] if differs => {
                decoder.differences(section, self.dims, self.metadata.differences, &mut values)
            }
            _ => decoder.interpolated(&words, (&levels, finest), &self.metadata.stencils, &mut values),
        };
        done.map_err(damaged)?;
        let (points, places) =
            if finest > 0 { (points, self.among(&levels, finest)) } else { (self.shape, self.places) };
        places.copy(bytemuck::cast_slice(&values), points, size_of::<T>(), dst);
        Ok(())
    }

    /// The levels above this one contain all points of the part. 0 if the axes of the part are not those of the levels.
    fn finest(&self, levels: &Levels) -> u32 {
        if self.shape != self.dims {
            return 0;
        }
        // Axis x is always interpolated, and a preview has the same step along all axes.
        self.places.step[0].trailing_zeros().min(levels.levels)
    }

    /// The places of the part among the points of the levels above `finest`.
    fn among(&self, levels: &Levels, finest: u32) -> Places {
        let step = |d: usize| self.places.step[d] >> if levels.axes[d] { finest } else { 0 };
        Places { step: [0, 1, 2].map(step), ..self.places }
    }

    /// Copies the part, row by row, from a stream that stores the values.
    fn read_values<T: LevelValue>(&self, segment: &Segment<'_>, dst: &mut [u8]) -> Result<()> {
        let (width, mut buffer) = (size_of::<T>(), vec![]);
        if segment.bytes() != (HEAD + self.shape.iter().product::<usize>() * width) as u64 {
            return Err(damaged(Fault::Corrupt));
        }
        let Places { count, step, .. } = self.places;
        let span = ((count[0] - 1) * step[0] + 1) * width;
        for (row, to) in dst.chunks_exact_mut(count[0] * width).enumerate() {
            let from = HEAD + self.places.row_start(row, self.shape) * width;
            self.places.copy_row(segment.view(from as u64, span, &mut buffer)?, width, to);
        }
        Ok(())
    }
}
