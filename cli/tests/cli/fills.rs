//! Suspected fill values: no field loses its accuracy silently, and fields without fill values are accepted.

use crate::fixture::Fixture;
use std::fs;

const N: usize = 4096;

/// Fields without fill values.
fn plain(kind: usize) -> Vec<f32> {
    let mut seed = 12345u64;
    let mut random = || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 40) as f32 / (1 << 24) as f32
    };
    (0..N)
        .map(|i| {
            let t = i as f32 / 40.0;
            match kind {
                // Waves, temperatures, rain (zero at most points), mixing ratios, heat, and heights.
                0 => t.sin(),
                1 => 280.0 + 30.0 * t.sin() + random(),
                2 => {
                    if random() < 0.8 {
                        0.0
                    } else {
                        40.0 * random().powi(4)
                    }
                }
                3 => 1e-9 * (9.0 * random()).exp(),
                4 => 2e9 * (1.0 + t.cos()) + 1e7,
                _ => 4000.0 * t.sin() + 4400.0,
            }
        })
        .collect()
}

const FILLS: [&str; 7] = ["one", "mask", "most", "-9999", "two", "coast", "with NaN"];

/// The field with fill values, and a mask that is true for them.
fn filled(field: &[f32], fill: &str) -> (Vec<f32>, Vec<bool>) {
    let mut mask = vec![false; N];
    let mut values = field.to_vec();
    for i in 0..N {
        let share = (i / 64 + i % 64) % 10;
        let value = match fill {
            "one" if i == 777 => 1e20,
            "mask" if share < 3 => 9.96921e36,
            "most" if share < 9 => 1e30,
            "-9999" if share < 2 => -9999.0,
            "two" if share == 0 => 1e30,
            "two" if share == 5 => -1e20,
            "coast" if share < 3 => 1e20,
            // Values between the fill value and the field, as interpolation along a coast writes them.
            "coast" if share == 3 => 1e20 * (1.0 - 0.001 * (i % 700) as f32),
            "with NaN" if share == 1 => f32::NAN,
            "with NaN" if share == 2 => f32::MAX,
            _ => continue,
        };
        (values[i], mask[i]) = (value, true);
    }
    (values, mask)
}

fn write(fixture: &Fixture, values: &[f32]) {
    fixture.write("x", &values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>());
}

/// The largest error of the values outside the mask, as a fraction of their range. With `exact`, fails if a value inside the mask
/// is not restored bit for bit.
fn error(fixture: &Fixture, values: &[f32], mask: &[bool], exact: bool) -> f32 {
    fixture.run("decompress x.fzm -o y --force").ok();
    let restored = fs::read(fixture.path("y")).unwrap();
    let restored = restored.chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap()));
    let (mut worst, mut low, mut high) = (0.0f32, f32::INFINITY, f32::NEG_INFINITY);
    for ((x, y), masked) in values.iter().zip(restored).zip(mask) {
        if *masked {
            assert!(!exact || x.to_bits() == y.to_bits(), "{x} is restored as {y}");
        } else {
            (worst, low, high) = (worst.max((x - y).abs()), low.min(*x), high.max(*x));
        }
    }
    worst / (high - low)
}

#[test]
fn no_field_loses_its_accuracy_silently() {
    let (fixture, mut refused) = (Fixture::new(), 0);
    for kind in 0..6 {
        let field = plain(kind);
        write(&fixture, &field);
        fixture.run("compress x -o x.fzm --force --dtype f32 --eb 1e-3").ok();
        assert!(error(&fixture, &field, &[false; N], true) <= 1.0001e-3, "{kind}");
        for fill in FILLS {
            let (values, mask) = filled(&field, fill);
            write(&fixture, &values);
            let line = "compress x -o x.fzm --force --dtype f32 --eb 1e-3";
            let run = fixture.run(line);
            if run.code == Some(0) {
                // An undetected fill value may enlarge the range to at most four times the range of the field.
                assert!(error(&fixture, &values, &mask, false) <= 4.001e-3, "{kind}, {fill}");
                continue;
            }
            assert_eq!(run.code, Some(2), "{kind}, {fill}: {}", run.err);
            refused += 1;
            let options = run.err.split("; add ").nth(1).unwrap().split(", or").next().unwrap();
            assert!(options.starts_with("--"), "{}", run.err);
            let run = fixture.run(&format!("{line} {options}"));
            assert_eq!(run.code, Some(0), "{kind}, {fill}: {}", run.err);
            assert!(error(&fixture, &values, &mask, true) <= 1.0001e-3, "{kind}, {fill}");
        }
    }
    assert!(refused >= 36, "{refused}");
}

#[test]
fn declared_fill_values_are_exact() {
    let fixture = Fixture::new();
    let (values, mask) = filled(&plain(1), "two");
    write(&fixture, &values);
    let line = "compress x -o x.fzm --force --dtype f32";
    fixture.fails(&format!("{line} --eb 1e-3"), 2, &["1e30", "-1e20", "410 elements", "--fill-value none"]);
    fixture.fails(&format!("{line} --eb 1e-3 --fill-value 1e30"), 2, &["-1e20"]);
    fixture.fails(&format!("{line} --mode prel --eb 1e-3"), 2, &["mode prel"]);
    for options in ["--eb 1e-3 --outlier-threshold 1e19", "--eb 1e-3 --fill-value 1e30 --fill-value -1e20"] {
        fixture.run(&format!("{line} {options}")).ok();
        assert!(error(&fixture, &values, &mask, true) <= 1.0001e-3, "{options}");
    }
    // A note reports declared values that do not occur, and other values that become exact.
    let run = fixture.run(&format!("{line} --eb 1e-3 --fill-value 300 --fill-value 1e20"));
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.err.contains("no element is 300") && run.err.contains("other elements"), "{}", run.err);
    // A declaration of the user is accepted, and a bound without a measured range does not depend on fill values.
    for options in [
        "--eb 1e-3 --fill-value none",
        "--mode abs --eb 0.1",
        "--mode rel --eb 1e-3",
        "--eb 1e-3 --value-base 60",
    ] {
        fixture.run(&format!("{line} {options}")).ok();
    }
    for (options, says) in [
        ("--eb 1e-3 --fill-value none --fill-value 1", "together"),
        ("--eb 1e-3 --fill-value 0", "0"),
        ("--eb 1e-3 --fill-value land", "or as none"),
        ("--eb 1e-3 --fill-value 1 --outlier-threshold 1", "--outlier-threshold"),
        ("--preset bits --fill-value 1", "lossless"),
        ("--preset pfpl --eb 1e-3 --no-strict --fill-value 1e20", "--no-strict"),
        ("--preset pfpl --eb 1e-3 --no-strict --outlier-threshold 1e20", "--no-strict"),
    ] {
        fixture.fails(&format!("{line} {options}"), 2, &[says]);
    }
}

#[test]
fn a_fill_value_that_makes_most_values_exact_gives_a_warning() {
    let fixture = Fixture::new();
    // Pressures near 100000; every fourth one is missing.
    let pressures = |large: usize| -> Vec<f32> {
        let value = |i: usize| if i % 100 < large { 1e5 + (i % 97) as f32 } else { (i % 97) as f32 };
        (0..N).map(|i| if i % 4 == 0 { -9999.0 } else { value(i) }).collect()
    };
    let line = "compress x -o x.fzm --force --dtype f32";
    let advice = ["warning: --fill-value", "stored exactly", "by NaN", "--mode abs", "--value-base"];
    for (large, share) in
        [(100, "3072 of 3072 other elements have a magnitude of 9999.0 or more (100.0 %)"), (60, "(60.1 %)")]
    {
        write(&fixture, &pressures(large));
        for options in
            ["--eb 1e-3", "--mode abs --eb 1", "--mode abs --eb 1 --slab 4K", "--eb 1e-3 --slab 4K"]
        {
            let run = fixture.run(&format!("{line} {options} --fill-value -9999"));
            assert_eq!(run.code, Some(0), "{options}: {}", run.err);
            assert_eq!(run.err.lines().count(), 1, "{options}: {}", run.err);
            for text in advice.into_iter().chain([share]) {
                assert!(run.err.contains(text), "{options}: no `{text}` in {}", run.err);
            }
        }
    }
    // The advice is accepted.
    fixture.run(&format!("{line} --mode abs --eb 1")).ok();
    fixture.run(&format!("{line} --mode noa --eb 1e-3 --value-base 96")).ok();
    // A minority gives a note, and a majority of fill values nothing.
    write(&fixture, &pressures(40));
    let run = fixture.run(&format!("{line} --eb 1e-3 --fill-value -9999"));
    assert!(run.err.contains("are stored exactly too") && !run.err.contains("warning"), "{}", run.err);
    let (values, _) = filled(&plain(1), "most");
    write(&fixture, &values);
    for twice in ["", " --fill-value 1e30"] {
        fixture.run(&format!("{line} --eb 1e-3 --fill-value 1e30{twice}")).ok();
    }
}

#[test]
fn slabs_and_comparisons_detect_fill_values() {
    let fixture = Fixture::new();
    let (values, mask) = filled(&plain(0), "one");
    write(&fixture, &values);
    fixture.fails("compress x -o s --dtype f32 --eb 1e-3 --slab 4K", 2, &["1e20"]);
    fixture.run("compress x -o s --dtype f32 --eb 1e-3 --slab 4K --fill-value 1e20").ok();
    fixture.run("compare x s --dtype f32 --mode noa --eb 1.001e-3 --fill-value 1e20").ok();
    // A comparison reports a field that lost its accuracy.
    fixture.run("compress x -o x.fzm --dtype f32 --eb 1e-3 --fill-value none").ok();
    assert!(error(&fixture, &values, &mask, false) > 0.4);
    let run = fixture.run("compare x y --dtype f32 --mode noa --eb 1e-3");
    assert_eq!((run.code, run.out.contains("suspected fill value  1e20")), (Some(1), true), "{}", run.out);
    let m = fixture.run("compare x x --dtype f32 --json").json();
    assert_eq!(m["suspected_fill_values"][0].as_f64().map(|x| x as f32), Some(1e20f32));
    assert!(m["range"].as_f64().unwrap() < 2.1);
    // The reports contain the bound in the unit of the data.
    let m = fixture.run("compress x -o z --dtype f32 --eb 1e-3 --fill-value 1e20 --json").json();
    let bound = m["absolute_bound"].as_f64().unwrap();
    assert!((1.9e-3..2.0001e-3).contains(&bound) && m["value_max"].as_f64().unwrap() <= 1.0, "{m}");
    assert!(fixture.run("info z").ok().contains("absolute   0.00"));
    let said = fixture.run("info z --json").json()["absolute_bound"].as_f64().unwrap();
    assert!((said / bound - 1.0).abs() < 1e-6, "{said} {bound}");
    assert!(
        fixture
            .run("compress x -o z --force --dtype f32 --eb 1e-3 --fill-value 1e20")
            .ok()
            .contains("noa 0.001 of the range")
    );
}

/// Files whose bound does not depend on fill values are correct with undeclared ones.
#[test]
fn correct_files_with_undeclared_fill_values_pass_a_comparison() {
    let fixture = Fixture::new();
    let (values, mask) = filled(&plain(1), "-9999");
    write(&fixture, &values);
    let line = "compress x -o x.fzm --force --dtype f32";
    let first = mask.iter().position(|m| *m).unwrap();
    let mut inexact = 0;
    for (options, bound) in [
        ("--mode abs --eb 0.7", 0.7),
        ("--mode abs --eb 0.7 --container compact", 0.7),
        ("--mode rel --eb 1e-3", 9.999),
        ("--mode noa --eb 1e-2 --value-base 70", 0.7),
        ("--mode prel --eb 1e-2 --value-base 70", 0.7),
        ("--mode noa --eb 1e-2 --outlier-threshold 1e19", 103.2),
        ("--mode abs --eb 0.7 --fill-value -9999", 0.0),
        ("--lossless", 0.0),
    ] {
        for preset in ["", " --preset fast", " --preset high", " --preset pfpl", " --preset fz"] {
            if !preset.is_empty() && (options.contains("mode rel") || options == "--lossless") {
                continue;
            }
            let made = format!("{options}{preset}");
            fixture.run(&format!("{line} {made}")).ok();
            let m = fixture.run("compare x x.fzm --json").json();
            assert_eq!(m["kept"], true, "{made}: {m}");
            let found = !options.contains("9999") && !options.contains("1e19");
            assert_eq!(m["suspected_fill_values"] == serde_json::json!([-9999.0]), found, "{made}: {m}");
            assert!(m["range"].as_f64().unwrap() < 70.0 || options.contains("1e19"), "{made}: {m}");
            let worst = m["worst_error_over_bound"].as_f64().unwrap();
            assert!(worst <= 1.0 && (bound == 0.0 || worst > 0.1), "{made}: {m}");
            fixture.run("decompress x.fzm -o y --force").ok();
            let restored = fs::read(fixture.path("y")).unwrap();
            let fill = f32::from_le_bytes(restored[4 * first..][..4].try_into().unwrap());
            assert!((fill + 9999.0).abs() <= bound, "{made}: {fill}");
            inexact += usize::from(fill != -9999.0);
            // A restored array without its container, and without a bound.
            fixture.run("compare x y --dtype f32").ok();
            // The fill value itself is checked.
            let mut changed = values.clone();
            changed[first] -= if bound == 0.0 { 0.001 } else { 3.0 * bound };
            fixture.write("changed", &changed.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>());
            assert_eq!(fixture.run("compare changed x.fzm --dtype f32").code, Some(1), "{made}");
        }
    }
    assert!(inexact > 10, "{inexact}");
    fixture.run(&format!("{line} --mode abs --eb 0.7 --slab 4K")).ok();
    fixture.run("compare x x.fzm").ok();
    fixture.run("compare x x.fzm --mode abs --eb 0.7").ok();
    // With a measured base, an undeclared fill value must be exact.
    fixture.run(&format!("{line} --mode noa --eb 1e-3 --fill-value none --preset fast")).ok();
    assert_eq!(fixture.run("compare x x.fzm").code, Some(1));
    fixture.run("compare x x.fzm --fill-value none").ok();
}
