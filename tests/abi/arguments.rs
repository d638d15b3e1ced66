//! Every function with every kind of wrong argument: a status and a text, nothing written, no crash.

use crate::attack::{Attack, Want, attacks};
use crate::fixture::{Fixture, UNTOUCHED, Word, last_error, ok};
use crate::header;
use crate::rows::{ROWS, Row};
use fzgm::capi::*;
use std::ptr;

const NO_DEVICE: i32 = fz_status::FZ_NO_DEVICE as i32;
const INTERNAL: i32 = fz_status::FZ_INTERNAL as i32;

#[test]
fn every_function_has_its_row() {
    let declared: Vec<String> = header::read().functions.into_iter().map(|f| f.name).collect();
    let rows: Vec<&str> = ROWS.iter().map(|r| r.name).collect();
    assert_eq!(rows, declared, "tests/abi/rows.rs and include/fzgm.h, in the order of the header");
}

#[test]
fn every_wrong_argument_is_refused() {
    let (header, mut fixture, mut count) = (header::read(), Fixture::new(), 0);
    for row in ROWS {
        let function = header.functions.iter().find(|f| f.name == row.name).unwrap();
        let struct_bytes = function.parameters.iter().map(|p| struct_bytes(&p.ctype)).max().unwrap_or(0);
        let good = arguments(&mut fixture, row, struct_bytes);
        let status = (row.call)(&good);
        let want = if row.gpu { NO_DEVICE } else { 0 };
        assert!(status.is_none_or(|s| s == want), "{}: {status:?}, {}", row.name, last_error());
        if status == Some(0) {
            row.arguments.iter().for_each(|is| fixture.clear(*is));
        }
        for (at, parameter) in function.parameters.iter().enumerate() {
            let is = row.arguments[at];
            for attack in attacks(&fixture, parameter, is, good[at], struct_bytes) {
                assail(&mut fixture, row, at, &attack, struct_bytes);
                count += 1;
            }
        }
    }
    assert!(count > 400, "{count} attacks");
}

fn arguments(fixture: &mut Fixture, row: &Row, struct_bytes: u32) -> Vec<Word> {
    row.arguments.iter().map(|is| fixture.good(*is, struct_bytes)).collect()
}

fn assail(fixture: &mut Fixture, row: &Row, at: usize, attack: &Attack, struct_bytes: u32) {
    let mut words = arguments(fixture, row, attack.struct_bytes.unwrap_or(struct_bytes));
    words[at] = attack.freed.map_or(attack.word, |kind| Word(fixture.freed()[kind]));
    let place = format!("{}, argument {at} {}", row.name, attack.what);
    let described = *fixture.described;
    let Some(status) = (row.call)(&words) else { return };
    assert_ne!(status, INTERNAL, "{place}: {}", last_error());
    match attack.want {
        Want::Status(want) => assert_eq!(status, want, "{place}: {}", last_error()),
        Want::Failure => assert_ne!(status, 0, "{place}"),
        Want::Anything => {}
    }
    if status == 0 {
        row.arguments.iter().for_each(|is| fixture.clear(*is));
        return;
    }
    assert!(!last_error().is_empty(), "{place}");
    assert_eq!(*fixture.slot, UNTOUCHED, "{place}: a result was written");
    assert_eq!(*fixture.described, described, "{place}: a structure was written");
}

fn struct_bytes(ctype: &str) -> u32 {
    let bytes = match ctype.trim_start_matches("const ").trim_end_matches(" *") {
        "fz_stage" => size_of::<fz_stage>(),
        "fz_port" => size_of::<fz_port>(),
        "fz_parameter" => size_of::<fz_parameter>(),
        "fz_preset" => size_of::<fz_preset>(),
        "fz_device" => size_of::<fz_device>(),
        "fz_info" => size_of::<fz_info>(),
        "fz_fill" => size_of::<fz_fill>(),
        "fz_choice" => size_of::<fz_choice>(),
        "fz_series_summary" => size_of::<fz_series_summary>(),
        "fz_step" => size_of::<fz_step>(),
        _ => 0,
    };
    bytes as u32
}

/// A debug build remembers its handles; that a handle is freed twice is noted and does no harm.
#[cfg(debug_assertions)]
#[test]
fn a_handle_that_was_freed_is_known() {
    let fixture = Fixture::new();
    let [pipeline, plan, space, ..] = fixture.freed();
    let mut bytes = UNTOUCHED;
    let status = unsafe { fz_max_compressed_bytes(plan as usize as *const fz_plan, &mut bytes) };
    assert_eq!((status, bytes), (fz_status::FZ_INVALID_ARGUMENT as i32, UNTOUCHED));
    assert!(last_error().contains("freed") && last_error().contains("fz_plan"), "{}", last_error());
    let status = unsafe { fz_workspace_bytes(fixture.pipeline.cast(), &mut bytes) };
    assert_eq!(status, fz_status::FZ_INVALID_ARGUMENT as i32);
    assert!(last_error().contains("plan is") && last_error().contains("an fz_pipeline"), "{}", last_error());
    unsafe {
        fz_pipeline_free(pipeline as usize as *mut fz_pipeline);
        assert!(last_error().contains("pipeline is") && last_error().contains("freed"), "{}", last_error());
        fz_plan_free(plan as usize as *mut fz_plan);
        fz_workspace_free(space as usize as *mut fz_workspace);
        fz_workspace_free(fixture.encoder.cast());
    }
    assert!(last_error().contains("workspace is") && last_error().contains("an fz_plan"), "{}", last_error());
    // The plan that was taken for a workspace is as it was.
    let mut again = ptr::null_mut();
    ok(unsafe { fz_plan_decoder(fixture.encoder, &mut again) });
    unsafe { fz_plan_free(again) };
}

/// A capacity that means "unlimited" exceeds the memory that exists, and the text names the length and the
/// argument.
#[test]
fn an_overlap_is_told_with_its_numbers() {
    let mut memory = vec![0u8; 8192];
    let (dst, src) = (memory.as_mut_ptr(), memory[4096..].as_ptr());
    let mut bytes = UNTOUCHED;
    for capacity in [4097, 1 << 62, i64::MAX as u64] {
        // SAFETY: the existing part of the memory belongs to this test; lengths are compared before any byte
        // is read.
        let status = unsafe {
            fz_decompress(ptr::null(), ptr::null_mut(), src.cast(), 100, dst.cast(), capacity, &raw mut bytes)
        };
        assert_eq!((status, bytes), (fz_status::FZ_INVALID_ARGUMENT as i32, UNTOUCHED));
        let says = format!("dst begins 4096 bytes before container, and its length is {capacity}; ");
        assert!(last_error().contains(&says), "{}", last_error());
    }
}
