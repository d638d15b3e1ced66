//! Device memory of a call. It follows from the plan, so no GPU has to be there.

use fzgm::{Array, DType, Encoder, Options, PRESETS, preset};

/// Bytes of the workspaces of both directions.
fn workspaces(name: &str, dtype: DType, dims: &[u64]) -> [u64; 2] {
    let array = Array::new(dtype, dims).unwrap();
    let encoder = Encoder::new(&preset(name, dtype).unwrap(), &array, &Options::default()).unwrap();
    let decoder = encoder.decoder().unwrap();
    [encoder.device_plan().unwrap().1, decoder.device_plan().unwrap().1]
}

/// The most device memory of both directions, in thousandths of the array, and KiB for any array.
fn limits(name: &str, dtype: DType) -> [(u64, u64); 2] {
    match (name, dtype) {
        // Tokens of 32 bits for each element; integers or ranks, whose memory the runs use later; their low bits. A table has up to 2^20
        // values.
        ("exact", DType::F32) => [(3_050, 20 << 10), (1_600, 8 << 10)],
        ("exact", _) => [(2_550, 36 << 10), (1_300, 12 << 10)],
        // Tokens of 32 bits for each element, and quotients of 32 bits, whose memory restored values and the runs use later.
        ("high", DType::F32) => [(2_020, 512), (2_000, 0)],
        _ => [(2_000, 0); 2],
    }
}

#[test]
fn no_preset_needs_more_device_memory_than_the_documentation_states() {
    let shapes: [&[u64]; 6] =
        [&[512, 512, 512], &[128, 128, 128], &[1 << 27], &[1 << 21], &[11_585, 11_585], &[1_449, 1_449]];
    let mut beyond = vec![];
    for name in PRESETS.iter().map(|p| p.name) {
        for (dtype, dims) in [DType::F32, DType::F64].into_iter().flat_map(|d| shapes.map(|s| (d, s))) {
            let array = dims.iter().product::<u64>() * dtype.bytes();
            let own = workspaces(name, dtype, dims);
            for ((bytes, (factor, fixed)), direction) in
                own.into_iter().zip(limits(name, dtype)).zip(["encoder", "decoder"])
            {
                if bytes > array / 1_000 * factor + (fixed << 10) {
                    let ratio = bytes as f64 / array as f64;
                    beyond.push(format!("{name} {dtype} {dims:?} {direction}: {bytes}, {ratio:.3} arrays"));
                }
            }
        }
    }
    assert!(beyond.is_empty(), "{}", beyond.join("\n"));
}

/// With room for all outliers in lists that feed a stage, the lists alone are several arrays.
#[test]
fn lists_with_room_for_all_elements_are_in_memory_once_or_twice() {
    let array = Array::new(DType::F32, &[128, 128, 128]).unwrap();
    for name in ["lc_tp", "lc_cr", "cusz_hi_tp", "cusz_hi_cr"] {
        let mut pipeline = preset(name, DType::F32).unwrap();
        pipeline.set_everywhere("outlier_capacity", |args| args.set_real("outlier_capacity", 1.0)).unwrap();
        let encoder = Encoder::new(&pipeline, &array, &Options::default()).unwrap();
        let wide = encoder.decoder().unwrap().device_plan().unwrap().1;
        let narrow = workspaces(name, DType::F32, array.dims())[1];
        assert!(wide > 2 * narrow && wide < 10 * array.bytes(), "{name}: {wide} and {narrow}");
    }
}
