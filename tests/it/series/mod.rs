//! Series of steps: written steps are read, after every crash, cut, and damage.

mod crash;
mod damage;
mod files;
mod model;
mod storage;

use fzgm::series::{Series, SeriesWriter, Storage, StorageMut};
use fzgm::{Array, Container, DType, Encoder, Error, Options, compress, preset};
use storage::Memory;

/// A step that a test appends.
#[derive(Clone)]
pub(crate) struct Given {
    pub(crate) name: String,
    pub(crate) array: Array,
    pub(crate) rows: u64,
    pub(crate) values: Vec<u8>,
}

impl Given {
    /// Smooth values; `rows` of 0 means one slab.
    pub(crate) fn new(name: &str, dtype: DType, dims: &[u64], rows: u64) -> Given {
        let array = Array::new(dtype, dims).unwrap();
        let seed = name.len() as f64 + dims.len() as f64;
        let values = (0..array.elements()).flat_map(|i| {
            let value = (i as f64 * 0.01 + seed).sin();
            let bits = match dtype {
                DType::F32 => u64::from((value as f32).to_bits()),
                DType::F64 => value.to_bits(),
                _ => (value * 100.0) as i64 as u64,
            };
            bits.to_le_bytes().into_iter().take(dtype.bytes() as usize)
        });
        let all = dims.last().copied().unwrap().max(1);
        Given { name: name.into(), array, rows: if rows == 0 { all } else { rows }, values: values.collect() }
    }

    /// The containers of the slabs.
    pub(crate) fn containers(&self) -> Vec<Vec<u8>> {
        let dims = self.array.dims();
        let (slowest, row) = dims.split_last().unwrap();
        let row_bytes = (row.iter().product::<u64>() * self.array.dtype().bytes()) as usize;
        let mut at = 0;
        let bits = preset("bits", self.array.dtype()).unwrap();
        // Short headers, so that tests of every byte take seconds.
        let container = if self.name == "start" { Container::Fzm } else { Container::Compact };
        let options = Options { container, ..Options::default() };
        (0..slowest.div_ceil(self.rows).max(1))
            .map(|k| {
                let rows = self.rows.min(slowest - k * self.rows);
                let slab = Array::new(self.array.dtype(), &[row, &[rows]].concat()).unwrap();
                let values = &self.values[at..at + row_bytes * rows as usize];
                at += values.len();
                compress(&bits, &slab, &options, values).unwrap()
            })
            .collect()
    }

    pub(crate) fn append<S: StorageMut>(&self, writer: &mut SeriesWriter<S>) -> fzgm::Result<u64> {
        writer.begin(&self.name, &self.array, self.rows)?;
        self.containers().iter().try_for_each(|container| writer.slab(container))?;
        writer.end()
    }

    /// The step at this position is this one, bit for bit.
    pub(crate) fn check<S: Storage>(&self, series: &Series<S>, index: usize) {
        let step = series.step(index as u64).unwrap();
        assert_eq!((step.name(), step.array(), step.slab_rows()), (&*self.name, &self.array, self.rows));
        assert!(read(series, index).unwrap() == self.values, "step {index} has other values");
    }
}

pub(crate) fn read<S: Storage>(series: &Series<S>, index: usize) -> fzgm::Result<Vec<u8>> {
    let mut values = vec![0; series.step(index as u64)?.array().bytes() as usize];
    let bytes = series.read(index as u64, &Options::default(), &mut values)?;
    assert_eq!(bytes, values.len());
    Ok(values)
}

/// Steps of several types, shapes, and numbers of slabs.
pub(crate) fn some() -> Vec<Given> {
    vec![
        Given::new("start", DType::F32, &[20, 9], 0),
        Given::new("", DType::F64, &[7, 5, 11], 4),
        Given::new("täglich 2", DType::I16, &[31], 10),
        Given::new("many dims", DType::U8, &[2, 3, 1, 2, 2, 1, 2, 3], 1),
        Given::new("empty", DType::F32, &[4, 0], 0),
        Given::new("no rows", DType::F32, &[0, 5], 2),
    ]
}

/// The bytes of a series of these steps.
pub(crate) fn written(steps: &[Given]) -> Vec<u8> {
    let memory = Memory::default();
    let mut writer = SeriesWriter::new(memory.clone(), "series").unwrap();
    for (index, step) in steps.iter().enumerate() {
        assert_eq!(step.append(&mut writer), Ok(index as u64));
    }
    drop(writer);
    memory.take()
}

#[test]
fn written_steps_are_read() {
    let steps = some();
    let file = written(&steps);
    let series = Series::new(&file[..], "series").unwrap();
    assert!(series.is_indexed() && series.lost_bytes() == 0 && series.bytes() == file.len() as u64);
    for (index, step) in steps.iter().enumerate() {
        step.check(&series, index);
        if !step.name.is_empty() {
            assert_eq!(series.find(&step.name), Ok(index as u64));
        }
    }
    let records: u64 = series.steps().iter().map(fzgm::series::Step::bytes).sum();
    assert!(records < file.len() as u64);
    let mut container = series.container(1, 2).unwrap();
    assert_eq!(fzgm::info(&container).unwrap().array.dims(), [7, 5, 3]);
    container.push(0);
    for refused in
        [series.container(1, 3).map(drop), series.container(6, 0).map(drop), series.find("").map(drop)]
    {
        let e = refused.unwrap_err();
        assert!(matches!(e, Error::InvalidArgument { .. } | Error::UnknownName { .. }), "{e}");
    }
    let said = series.find("stop").unwrap_err().to_string();
    assert!(said.contains("there is no step `stop`") && said.contains("start, täglich 2"), "{said}");
    let short = series.read(0, &Options::default(), &mut [0; 719]);
    assert_eq!(short, Err(Error::DstTooSmall { need: 720, have: 719 }));
}

/// The index at the end does not depend on how the steps were appended.
#[test]
fn bytes_are_a_function_of_the_steps() {
    let steps = some();
    let memory = Memory::default();
    for step in &steps {
        let mut writer = SeriesWriter::new(memory.clone(), "series").unwrap();
        step.append(&mut writer).unwrap();
        writer.begin("not ended", &step.array, 1).unwrap();
    }
    assert!(memory.take() == written(&steps), "another file, step by step");
}

#[test]
fn regions_are_parts_of_their_steps() {
    let step = Given::new("volume", DType::F32, &[6, 5, 23], 4);
    for name in ["fast", "high", "bits"] {
        let mut made = preset(name, DType::F32).unwrap();
        if name != "bits" {
            made.set_everywhere("error_bound", |args| args.set_real("error_bound", 1e-3)).unwrap();
        }
        let memory = Memory::default();
        let mut writer = SeriesWriter::new(memory.clone(), "series").unwrap();
        writer.begin("", &step.array, step.rows).unwrap();
        for (k, values) in step.values.chunks(6 * 5 * 4 * 4).enumerate() {
            let slab = Array::new(DType::F32, &[6, 5, 4.min(23 - 4 * k as u64)]).unwrap();
            writer.slab(&compress(&made, &slab, &Options::default(), values).unwrap()).unwrap();
        }
        writer.end().unwrap();
        let file = memory.take();
        let series = Series::new(&file[..], "series").unwrap();
        let whole = read(&series, 0).unwrap();
        for (first, count) in [(0, 23), (0, 1), (3, 2), (4, 4), (7, 9), (22, 1), (5, 0)] {
            let mut part = vec![0; 5 * 3 * count * 4];
            let extent = [5, 3, count as u64];
            assert_eq!(series.read_region(0, &[1, 2, first], &extent, &mut part), Ok(part.len()));
            let rows = (first as usize..first as usize + count).flat_map(|z| (2..5).map(move |y| z * 5 + y));
            let want: Vec<u8> = rows.flat_map(|row| whole[(row * 6 + 1) * 4..][..20].to_vec()).collect();
            assert!(part == want, "{name}: {count} planes from {first} on");
        }
        for (origin, extent) in [([0, 0, 23], [1, 1, 1]), ([u64::MAX, 0, 0], [1, 1, 1])] {
            let refused = series.read_region(0, &origin, &extent, &mut [0; 4]);
            assert!(matches!(refused, Err(Error::InvalidArgument { .. })), "{refused:?}");
        }
        let flat = series.read_region(0, &[0, 0], &[1, 1], &mut [0; 4]);
        assert!(matches!(flat, Err(Error::InvalidArgument { .. })), "{flat:?}");
        let short = series.read_region(0, &[0; 3], &[6, 5, 1], &mut [0; 9]);
        assert_eq!(short, Err(Error::DstTooSmall { need: 120, have: 9 }));
    }
}

#[test]
fn a_writer_rejects_steps_that_do_not_fit() {
    let memory = Memory::default();
    let mut writer = SeriesWriter::new(memory.clone(), "series").unwrap();
    let step = &some()[0];
    step.append(&mut writer).unwrap();
    let before = memory.copy();
    let long = "n".repeat(256);
    for name in ["start", "12", "0", "tab\t", "zero\0", &long] {
        for refused in [
            writer.begin(name, &step.array, 1),
            writer.append_container(name, &step.containers()[0]).map(drop),
        ] {
            assert!(matches!(refused, Err(Error::InvalidArgument { .. })), "{name:?}: {refused:?}");
        }
    }
    assert!(matches!(writer.begin("x", &step.array, 0), Err(Error::InvalidArgument { .. })));
    let mismatch = |done: fzgm::Result<()>| assert!(matches!(done, Err(Error::PlanMismatch(_))), "{done:?}");
    mismatch(writer.slab(&step.containers()[0]));
    mismatch(writer.end().map(drop));
    assert!(matches!(writer.append_container("x", b"not a container"), Err(Error::NotAContainer(_))));
    assert!(memory.copy() == before, "a refused step changed the file");

    writer.begin("y", &step.array, 5).unwrap();
    mismatch(writer.begin("z", &step.array, 5));
    mismatch(writer.slab(&step.containers()[0]));
    mismatch(writer.end().map(drop));
    let halves = Given { rows: 5, ..step.clone() }.containers();
    writer.slab(&halves[0]).unwrap();
    mismatch(writer.slab(&halves[0]));
    writer.slab(&halves[1]).unwrap();
    mismatch(writer.slab(&halves[1]));
    assert_eq!(writer.end(), Ok(1));
    let before = memory.copy();
    writer.begin("never", &step.array, 5).unwrap();
    writer.slab(&halves[0]).unwrap();
    writer.abandon();
    assert!(memory.copy() == before, "an abandoned step is still there");
    // The longest name, and one of digits and a letter.
    let longest = "n".repeat(255);
    Given { name: longest.clone(), ..step.clone() }.append(&mut writer).unwrap();
    Given { name: "t12".into(), ..step.clone() }.append(&mut writer).unwrap();
    drop(writer);
    let file = memory.take();
    assert_eq!(Series::new(&file[..], "series").unwrap().find(&longest), Ok(2));
}

/// Files in the exact form of the reference state no shape, so they cannot be slabs.
#[test]
fn containers_without_a_shape_are_rejected() {
    let step = &some()[0];
    let options = Options { strict: false, generation: fzgm::Generation::G2026_05, ..Options::default() };
    let container =
        compress(&preset("bits", DType::F32).unwrap(), &step.array, &options, &step.values).unwrap();
    let mut writer = SeriesWriter::new(Memory::default(), "series").unwrap();
    writer.begin("", &step.array, step.rows).unwrap();
    assert!(matches!(writer.slab(&container), Err(Error::PlanMismatch(_))));
}

#[test]
fn an_encoder_appends_arrays() {
    let step = &some()[0];
    let encoder =
        Encoder::new(&preset("bits", DType::F32).unwrap(), &step.array, &Options::default()).unwrap();
    let mut workspace = encoder.workspace().unwrap();
    let memory = Memory::default();
    let mut writer = SeriesWriter::new(memory.clone(), "series").unwrap();
    for index in 0..3 {
        assert_eq!(writer.append("", &encoder, &mut workspace, &step.values), Ok(index));
    }
    let short = writer.append("", &encoder, &mut workspace, &step.values[4..]);
    assert!(matches!(short, Err(Error::PlanMismatch(_))), "{short:?}");
    drop(writer);
    let file = memory.take();
    let series = Series::new(&file[..], "series").unwrap();
    assert_eq!(series.steps().len(), 3);
    (0..3).for_each(|index| Given { name: String::new(), ..step.clone() }.check(&series, index));
}
