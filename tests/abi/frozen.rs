//! The interface that programs are compiled against: prototypes, numbers, and the offset of every field of a
//! structure.
//!
//! ```text
//! FZGM_UPDATE_ABI=1 cargo test --test abi frozen
//! ```
//! adds new lines. A removed or changed line breaks existing programs: it needs another `FZ_ABI_VERSION`.

use crate::header;
use fzgm::capi::*;
use std::collections::BTreeSet;
use std::mem::offset_of;
use std::path::Path;

/// A structure, its length, its fields and where they are.
type Laid = (&'static str, usize, Vec<(&'static str, usize)>);

macro_rules! layout {
    ($($name:ident { $($field:ident),* $(,)? })*) => {
        vec![$((stringify!($name), size_of::<$name>(), vec![$((stringify!($field), offset_of!($name, $field))),*])),*]
    };
}

/// As Rust lays them out; the C compiler's view is checked against the frozen lines by `tests/c/package.sh`.
fn layout() -> Vec<Laid> {
    layout! {
        fz_stage { struct_bytes, id, inputs, outputs, parameters, name, about }
        fz_port { struct_bytes, producer, producer_port, name }
        fz_parameter {
            struct_bytes, kind, low, high, default_value, value, low_excluded, choices, name, default_text, value_text,
            choices_text, unit, range, about
        }
        fz_preset { struct_bytes, lossless, name, about }
        fz_options { struct_bytes, strict, generation, container, checksum, threads, device, previous_base, max_memory_bytes }
        fz_view { struct_bytes, dtype, ndim, reserved, origin, dims, strides }
        fz_fill { struct_bytes, found, value, count, threshold, min, max }
        fz_wish { struct_bytes, goal, mode, reserved, bound, target_ratio, target_psnr, outlier_threshold }
        fz_choice { struct_bytes, mode, bound, expected_ratio, preset, lattice }
        fz_device { struct_bytes, driver_version, capability_major, capability_minor, memory_bytes, name }
        fz_result { bytes, needed, status, stage }
        fz_info {
            struct_bytes, container, dtype, ndim, dims, original_bytes, container_bytes, stages, strict, mode, bound,
            outlier_threshold
        }
        fz_series_summary { struct_bytes, indexed, steps, file_bytes, lost_bytes }
        fz_step { struct_bytes, dtype, ndim, reserved, dims, original_bytes, stored_bytes, slabs, slab_rows, name }
    }
}

#[test]
fn the_interface_is_frozen() {
    let (header, layout) = (header::read(), layout());
    let laid: Vec<(String, Vec<String>)> = layout
        .iter()
        .map(|(name, _, fields)| (name.to_string(), fields.iter().map(|f| f.0.to_string()).collect()))
        .collect();
    assert_eq!(laid, header.structs, "the structures of the header and those of this test");

    let mut lines: Vec<String> = header.constants.iter().map(|(n, v)| format!("value {n} = {v}")).collect();
    for (name, bytes, fields) in &layout {
        lines.push(format!("struct {name} {bytes}"));
        lines.extend(fields.iter().map(|(field, at)| format!("field {name} {field} {at}")));
    }
    lines.extend(header.functions.iter().map(|f| format!("function {}", f.text)));

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/abi/frozen.txt");
    if std::env::var_os("FZGM_UPDATE_ABI").is_some() {
        std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    }
    let frozen = std::fs::read_to_string(&path).unwrap();
    let (frozen, now): (BTreeSet<&str>, BTreeSet<&str>) =
        (frozen.lines().collect(), lines.iter().map(String::as_str).collect());
    let gone: Vec<_> = frozen.difference(&now).collect();
    assert!(
        gone.is_empty(),
        "programs that were compiled against these break, raise FZ_ABI_VERSION: {gone:#?}"
    );
    let new: Vec<_> = now.difference(&frozen).collect();
    assert!(new.is_empty(), "new; FZGM_UPDATE_ABI=1 cargo test --test abi freezes it: {new:#?}");
}
