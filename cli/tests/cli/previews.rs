//! Tests of `fzgm decompress --preview`.

use crate::fixture::Fixture;
use std::fs;

fn coarse(whole: &[u8], dims: [usize; 2], step: usize) -> Vec<u8> {
    let rows = (0..dims[1]).step_by(step);
    rows.flat_map(|y| (0..dims[0]).step_by(step).map(move |x| 4 * (y * dims[0] + x)))
        .flat_map(|at| whole[at..at + 4].to_vec())
        .collect()
}

#[test]
fn previews_are_parts_of_the_array() {
    let fixture = Fixture::new();
    for preset in ["high", "fast"] {
        fixture
            .run(&format!(
                "compress egm96.f32 -o a --force --dtype f32 --dims 1440x721 --preset {preset} --eb 1e-3"
            ))
            .ok();
        fixture.run("decompress a -o whole --force").ok();
        let whole = fs::read(fixture.path("whole")).unwrap();
        let bytes = fs::read(fixture.path("a")).unwrap();
        for (step, extents) in [(1, "1440x721"), (4, "360x181"), (32, "45x23"), (1 << 40, "1x1")] {
            let said = fixture.run(&format!("decompress a -o part --force --preview {step}")).ok();
            assert!(said.contains(&format!("part: {extents} of f32")), "{said}");
            assert!(fs::read(fixture.path("part")).unwrap() == coarse(&whole, [1440, 721], step), "{step}");
        }
        // An incomplete file is sufficient for preset high.
        fixture.write("front", &bytes[..bytes.len() / 2]);
        if preset == "high" {
            let said = fixture.run("decompress front -o part --force --preview 8 --json").json();
            assert_eq!((&said["dims"][0], &said["dims"][1]), (&180.into(), &91.into()));
            assert!(said["ratio"].is_null());
            assert!(fs::read(fixture.path("part")).unwrap() == coarse(&whole, [1440, 721], 8));
            fixture.fails("decompress front -o x --preview 1", 4, &["front: ", &bytes.len().to_string()]);
        } else {
            fixture.fails("decompress front -o x --preview 8", 4, &["front: ", &bytes.len().to_string()]);
        }
    }
}

#[test]
fn invalid_previews_are_rejected() {
    let fixture = Fixture::new();
    fixture.run("compress egm96.f32 -o a --dtype f32 --dims 1440x721 --preset high --eb 1e-3").ok();
    fixture.run("compress egm96.f32 -o s --dtype f32 --dims 1440x721 --preset high --eb 1e-3 --slab 1M").ok();
    for (line, code, says) in [
        ("a -o x --preview 3", 2, &["--preview is 3", "power of two"][..]),
        ("a -o x --preview 0", 2, &["--preview is 0"]),
        ("a -o x --preview -4", 2, &["-4"]),
        ("a -o x --preview 4 --region 0:5,0:5", 2, &["--region"]),
        ("a -o x --preview 4 --device cuda", 5, &["--preview", "--device"]),
        ("a -o x --preview 4 --max-memory 99", 5, &["--max-memory"]),
        ("s -o x --preview 4", 5, &["s: ", "slab file"]),
        ("none -o x --preview 4", 3, &["cannot read none"]),
    ] {
        fixture.fails(&format!("decompress {line}"), code, says);
    }
    // Preset high restores regions from the whole array.
    fixture.run("decompress a -o whole").ok();
    fixture.run("decompress a -o part --region 700:702,300:301").ok();
    let (whole, part) = (fs::read(fixture.path("whole")).unwrap(), fs::read(fixture.path("part")).unwrap());
    let at = 4 * (300 * 1440 + 700);
    assert!(part == whole[at..at + 8]);
}
