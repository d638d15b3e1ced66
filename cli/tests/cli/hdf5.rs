//! The cd_values of the HDF5 filter.

use crate::fixture::Fixture;
use serde_json::json;

#[test]
fn words_are_printed_as_arguments_of_tools() {
    let fixture = Fixture::new();
    assert_eq!(
        fixture.run("hdf5 words --eb 1e-3").ok(),
        "abs 0.001, preset fast\n\
         h5repack -f UD=32770,0,4,1,3539053052,1062232653,3\n\
         nccopy -F \"VARIABLE,32770,1,3539053052,1062232653,3\"\n"
    );
    for (options, cd) in [
        ("--eb 1e-3 --preset high", json!([1, 3_539_053_052u32, 1_062_232_653, 4])),
        ("--eb 1e-3 --preset default", json!([1, 3_539_053_052u32, 1_062_232_653, 0])),
        ("--eb 0.25 --mode rel", json!([2, 0, 1_070_596_096, 1])),
        ("--mode lossless", json!([0])),
    ] {
        let report = fixture.run(&format!("hdf5 words {options} --json")).json();
        assert_eq!((&report["cd_values"], &report["filter"]), (&cd, &json!(32770)), "{options}");
    }
}

#[test]
fn bounds_of_a_range_are_rounded_down() {
    let fixture = Fixture::new();
    for (eb, low, high) in
        [("0.1", "0.1", "0.30000000000000004"), ("1e-3", "-5", "7"), ("1", "-1.7e308", "1.7e308")]
    {
        let line = format!("hdf5 words --mode noa --eb {eb} --range {low} {high} --json");
        let cd: Vec<u64> = serde_json::from_value(fixture.run(&line).json()["cd_values"].clone()).unwrap();
        let bound = f64::from_bits(cd[1] | cd[2] << 32);
        let product =
            eb.parse::<f64>().unwrap() * (high.parse::<f64>().unwrap() - low.parse::<f64>().unwrap());
        assert!(
            bound < product && (product.is_infinite() || bound > product * (1.0 - 1e-15)),
            "{line}: {bound}"
        );
    }
}

#[test]
fn words_are_described() {
    let fixture = Fixture::new();
    assert_eq!(fixture.run("hdf5 describe").ok(), "lossless\n");
    assert_eq!(fixture.run("hdf5 describe 0 0 0 5").ok(), "lossless, preset exact\n");
    assert!(fixture.run("hdf5 words --mode lossless --preset exact").ok().contains("UD=32770,0,4,0,0,0,5\n"));
    assert_eq!(fixture.run("hdf5 describe 1,3539053052,1062232653,4").ok(), "abs 0.001, preset high\n");
    // h5dump prints words as signed numbers.
    assert_eq!(fixture.run("hdf5 describe 1 -755914244 1062232653 4").ok(), "abs 0.001, preset high\n");
    let whole = |preset: u32, version: u32, exact: [u32; 2]| {
        let [e0, e1] = exact;
        format!(
            "hdf5 describe 1 3539053052 1062232653 {preset} {} 264 4 0 1062207488 {e0} {e1} 2 60 0 80 0",
            0x465a_0000 + version
        )
    };
    assert_eq!(
        fixture.run(&whole(4, 2, [0, 0xc08f_3800])).ok(),
        "abs 0.001, preset high\nelements of 4 bytes, f32, big-endian; chunks of 60x80\n\
         values within 0.0009765625; the fill value -999.0 is exact\n"
    );
    assert_eq!(
        fixture.run(&whole(3, 1, [0, 0x7ff0_0000])).ok(),
        "abs 0.001, preset fast\nelements of 4 bytes, f32, big-endian; chunks of 60x80\nvalues within 0.0009765625\n"
    );
    let report = fixture.run(&(whole(3, 1, [0, 0x408f_3800]) + " --json")).json();
    assert_eq!(report["stored"]["outlier_threshold"], 999.0);
    assert_eq!(report["stored"]["chunk"], json!([60, 80]));
}

#[test]
fn invalid_arguments_are_rejected() {
    let fixture = Fixture::new();
    for (line, says) in [
        ("hdf5 words", &["--eb"][..]),
        ("hdf5 words --eb x", &["`x` is not a number"]),
        ("hdf5 words --eb -1", &["-1"]),
        ("hdf5 words --eb 1e-3 --mode noa", &["--range is missing", "--range MIN MAX"]),
        ("hdf5 words --eb 1e-3 --range 0 1", &["--mode is abs", "--mode noa"]),
        ("hdf5 words --eb 1e-3 --mode noa --range 2 1", &["2 1", "smaller one first"]),
        ("hdf5 words --eb 1e-3 --mode prel", &["prel", "abs, noa, rel"]),
        ("hdf5 words --eb 1e-3 --mode lossless", &["remove --eb"]),
        ("hdf5 words --eb 1e-3 --preset zip", &["zip", "pfpl, fz, fast, high"]),
        ("hdf5 words --eb 1e-3 --mode rel --preset high", &["preset 4 (high) does not support mode 2 (rel)"]),
        ("hdf5 words --eb 1e-9 --mode rel", &["2^-17"]),
        ("hdf5 describe t.h5", &["t.h5", "h5dump -pH", "python3 -m fzgm_hdf5 describe"]),
        ("hdf5 describe 1 2", &["2 cd_values"]),
        ("hdf5 describe 1 0 1072693248 5", &["preset 5 (exact) does not support mode 1 (abs)", "mode 0"]),
        ("hdf5 describe 1 0 1072693248 3 1180303363 8 4", &["version 3", "newer plugin"]),
    ] {
        fixture.fails(line, 2, says);
    }
}
