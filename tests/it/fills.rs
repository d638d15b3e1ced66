//! Arrays with many fill values, through calls that do not enlarge outlier lists.

use crate::common::fixture::Fixture;
use crate::common::gpu::{device, mine};
use fzgm::{Array, DType, Device, Encoder, Options, PRESETS, Pipeline, Status, preset};

/// Nearly a third of the values are `fill`, at places without a pattern.
fn field(array: &Array, fill: f64) -> Vec<u8> {
    let n: u64 = array.dims().iter().product();
    let mut bytes = vec![];
    for i in 0..n {
        let x = if ((i * 2_654_435_761) >> 7) % 10 < 3 { fill } else { (i as f64 * 0.01).sin() };
        match array.dtype() {
            DType::F32 => bytes.extend_from_slice(&(x as f32).to_le_bytes()),
            _ => bytes.extend_from_slice(&x.to_le_bytes()),
        }
    }
    bytes
}

/// A preset with a declared threshold, if it has bounded values.
fn declared(name: &str, dtype: DType) -> Option<Pipeline> {
    let mut p = preset(name, dtype).ok()?;
    let _ = p.set_everywhere("mode", |args| args.set_text("mode", "noa"));
    let _ = p.set_everywhere("outlier_threshold", |args| args.set_real("outlier_threshold", 1e19));
    Some(p)
}

fn cases() -> Vec<(&'static str, DType, f64)> {
    let names = PRESETS.iter().map(|p| p.name);
    let typed = names.flat_map(|name| DType::FLOATS.iter().map(move |&dtype| (name, dtype)));
    typed.flat_map(|(name, dtype)| [1e20, f64::NAN].map(|fill| (name, dtype, fill))).collect()
}

/// True if each value of `restored` that should be exact has the bits of the original.
fn fills_are_exact(dtype: DType, src: &[u8], restored: &[u8], fill: f64) -> bool {
    let width = dtype.bytes() as usize;
    let bits =
        if dtype == DType::F32 { (fill as f32).to_le_bytes().to_vec() } else { fill.to_le_bytes().to_vec() };
    let pairs = src.chunks_exact(width).zip(restored.chunks_exact(width));
    src.len() == restored.len() && pairs.filter(|(a, _)| **a == bits[..]).all(|(a, b)| a == b)
}

#[test]
fn declared_fill_values_need_no_larger_lists() {
    let options = Options { device: Device::Cpu, ..Options::default() };
    for (name, dtype, fill) in cases() {
        let Some(pipeline) = declared(name, dtype) else { continue };
        let array = Array::new(dtype, &[50, 40, 6]).unwrap();
        let encoder = Encoder::new(&pipeline, &array, &options).unwrap();
        let memory = vec![0; encoder.workspace_bytes() as usize].leak();
        let mut ws = encoder.workspace_in(memory).unwrap();
        let (src, mut dst) = (field(&array, fill), vec![0; encoder.max_compressed_bytes() as usize]);
        let what = format!("{name} {dtype} {fill}");
        let bytes = encoder.compress(&mut ws, &src, &mut dst).unwrap_or_else(|e| panic!("{what}: {e}"));
        let restored = fzgm::decompress(&dst[..bytes], &options).unwrap().1;
        assert!(fills_are_exact(dtype, &src, &restored, fill), "{what}");
    }
}

/// Without a threshold, the capacity is the parameter.
#[test]
fn other_lists_keep_their_capacity() {
    let pipeline = preset("fz", DType::F32).unwrap();
    let options = Options { device: Device::Cpu, ..Options::default() };
    let array = Array::new(DType::F32, &[50, 40, 6]).unwrap();
    let encoder = Encoder::new(&pipeline, &array, &options).unwrap();
    let memory = vec![0; encoder.workspace_bytes() as usize].leak();
    let mut ws = encoder.workspace_in(memory).unwrap();
    let (src, mut dst) = (field(&array, f64::NAN), vec![0; encoder.max_compressed_bytes() as usize]);
    let refused = encoder.compress(&mut ws, &src, &mut dst).err().map(|e| e.status());
    assert_eq!(refused, Some(Status::OutlierCapacity));
}

#[test]
fn asynchronous_calls_accept_declared_fill_values() {
    let Some(device) = device() else { return };
    for (k, (name, dtype, fill)) in cases().into_iter().enumerate() {
        let Some(pipeline) = declared(name, dtype).filter(|_| mine(k)) else { continue };
        let array = Array::new(dtype, &[50, 40, 6]).unwrap();
        let options = Options { device, ..Options::default() };
        // Stages without device code have tests of their own.
        if Encoder::new(&pipeline, &array, &options).is_err_and(|e| e.status() == Status::Unsupported) {
            continue;
        }
        let mut fixture = Fixture::new(&pipeline, &array, &options);
        let (src, what) = (field(&array, fill), format!("{name} {dtype} {fill}"));
        fixture.src.put(0, &src);
        let (first, second) = fixture.both();
        assert_eq!((first.status, second.status), (0, 0), "{what}");
        assert!(fills_are_exact(dtype, &src, &fixture.restored.get(), fill), "{what}");
    }
}
