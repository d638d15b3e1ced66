//! GPUs on the command line. Tests that require a GPU run with FZGM_REQUIRE_GPU=1.

use crate::fixture::Fixture;
use serde_json::Value;
use std::fs;

fn gpu() -> bool {
    std::env::var_os("FZGM_REQUIRE_GPU").is_some_and(|v| v != "0")
}

#[test]
fn devices_are_listed_or_their_absence_is_explained() {
    let fixture = Fixture::new();
    let devices = fixture.run("devices --json").json();
    let count = devices["devices"].as_array().unwrap().len();
    assert_eq!(count == 0, devices["why_none"].as_str().is_some_and(|why| why.contains("no usable GPU")));
    assert!(count > 0 || !gpu(), "{devices}");
    let text = fixture.run("devices").ok();
    assert!(text.starts_with(if count > 0 { "cuda:0 " } else { "no usable GPU: " }), "{text}");
    // The message must not refer to pages, which are not installed with the program.
    assert!(!text.contains(".md"), "{text}");
}

#[test]
fn contradictory_options_are_exit_2() {
    let fixture = Fixture::new();
    fixture.compressed();
    fixture.fails("compress egm96.f32 -o x --dtype f32 --eb 1 --device gpu", 2, &["gpu", "cuda:N"]);
    fixture.fails("info a.fzm --device cuda", 2, &["--plan"]);
    fixture.fails("bench egm96.f32 --dtype f32 --graph", 2, &["--device is cpu", "--device cuda"]);
    fixture.fails(
        "bench egm96.f32 --dtype f32 --device cuda --threads 1",
        2,
        &["--device is cuda:0", "--threads"],
    );
    fixture.fails("bench egm96.f32 --dtype f32 --mode abs --value-base", 2, &["--mode is abs", "--mode noa"]);
    fixture.fails("bench egm96.f32 --dtype f32 --value-base=wide", 2, &["wide"]);
}

#[test]
fn plans_for_a_gpu_require_no_gpu() {
    let fixture = Fixture::new();
    fixture.compressed();
    let plan = fixture.run("info a.fzm --plan --device cuda").ok();
    assert!(plan.contains("device=cuda") && plan.contains("<<<") && plan.contains("workspace "), "{plan}");
    let plan = fixture.run("info a.fzm --plan").ok();
    assert!(!plan.contains("<<<") && plan.contains("workspace "), "{plan}");
}

#[test]
fn given_value_ranges_have_separate_rows() {
    let fixture = Fixture::new();
    let bench =
        fixture.run("bench egm96.f32 --dtype f32 --value-base --threads 1 --runs 1 --no-fuse --json").json();
    let rows = bench["rows"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[0]["value_base"], &bench["fused"]), (2, &Value::Null, &false.into()));
    assert!(rows[1]["value_base"].as_f64().unwrap() > 100.0);
    assert_eq!(rows[0]["ratio"], rows[1]["ratio"]);
}

#[test]
fn gpus_write_the_same_files() {
    if !gpu() {
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "SKIPPED: {}: FZGM_REQUIRE_GPU is not set", module_path!());
        return;
    }
    let fixture = Fixture::new();
    let container = fixture.compressed();
    fixture.run("compress egm96.f32 -o b.fzm --dtype f32 --dims 1440x721 --eb 1e-3 --device cuda").ok();
    assert_eq!(fs::read(fixture.path("b.fzm")).unwrap(), container);
    fixture.run("decompress a.fzm -o cpu.f32").ok();
    fixture.run("decompress a.fzm -o gpu.f32 --device cuda:0").ok();
    assert_eq!(fs::read(fixture.path("cpu.f32")).unwrap(), fs::read(fixture.path("gpu.f32")).unwrap());
    fixture.fails("decompress a.fzm -o x --device cuda:99", 5, &["cuda:99"]);

    let line =
        "bench egm96.f32 --dtype f32 --preset pfpl --preset bits --value-base --graph --runs 2 --device cuda";
    let run = fixture.run(&format!("{line} --json"));
    assert_eq!(run.code, Some(0), "{}", run.err);
    let bench: Value = serde_json::from_str(&run.out).unwrap();
    let rows = bench["rows"].as_array().unwrap();
    assert_eq!((rows.len(), bench["device"].as_str()), (3, Some("cuda:0")));
    for row in rows {
        assert_eq!(row["kept"], true, "{row}");
        for figure in
            ["compress_gb_per_s", "decompress_call_gb_per_s", "compress_graph_us", "device_copy_gb_per_s"]
        {
            assert!(row[figure].as_f64().unwrap() > 0.0, "{figure} in {row}");
        }
    }
    let run = fixture.run(line);
    assert!(run.code == Some(0) && run.out.contains("base given"), "{}", run.out);
}
