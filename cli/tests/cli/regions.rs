//! Tests of `fzgm decompress --region`, for containers and slab files.

use crate::fixture::{Fixture, PROGRAM};
use std::fs::{self, File};
use std::process::{Command, Stdio};

/// First element and end of a region in each dimension.
type Ranges<'a> = &'a [(usize, usize)];

fn option(ranges: Ranges<'_>) -> String {
    let ranges: Vec<String> = ranges.iter().map(|(a, b)| format!("{a}:{b}")).collect();
    format!("--region {}", ranges.join(","))
}

/// The region of the array in a raw file.
fn cut(fixture: &Fixture, name: &str, dims: &[usize], ranges: Ranges<'_>) -> Vec<u8> {
    let whole = fs::read(fixture.path(name)).unwrap();
    let range = |d: usize| ranges.get(d).map_or(0..1, |r| r.0..r.1);
    let dim = |d: usize| dims.get(d).copied().unwrap_or(1);
    let mut part = vec![];
    for z in range(2) {
        for y in range(1) {
            let row = (z * dim(1) + y) * dim(0);
            part.extend_from_slice(&whole[4 * (row + range(0).start)..4 * (row + range(0).end)]);
        }
    }
    part
}

fn compress(fixture: &Fixture, out: &str, dims: &[usize], more: &str) {
    let dims: Vec<String> = dims.iter().map(usize::to_string).collect();
    let dims = dims.join("x");
    let line = format!("compress egm96.f32 -o {out} --dtype f32 --dims {dims} --preset fast --eb 1e-3{more}");
    fixture.run(&line).ok();
    fixture.run(&format!("decompress {out} -o whole --force")).ok();
}

const CASES: [(&[usize], &[Ranges<'_>]); 3] = [
    (&[1_038_240], &[&[(0, 1_038_240)], &[(262_143, 262_145)], &[(8191, 700_001)]]),
    (
        &[1440, 721],
        &[
            &[(0, 1440), (0, 721)],
            &[(700, 800), (181, 183)],
            &[(1439, 1440), (720, 721)],
            &[(3, 90), (50, 600)],
        ],
    ),
    (
        &[360, 4, 721],
        &[
            &[(0, 360), (0, 4), (0, 721)],
            &[(0, 360), (1, 3), (200, 480)],
            &[(359, 360), (3, 4), (720, 721)],
            &[(31, 33), (0, 4), (7, 9)],
        ],
    ),
];

#[test]
fn regions_are_parts_of_the_whole() {
    let fixture = Fixture::new();
    for (dims, regions) in CASES {
        for more in ["", " --container compact", " --slab 1M", " --slab 10K", " --slab 1G"] {
            // This length tests slabs of one row. In one dimension it would only give hundreds of slabs.
            if more == " --slab 10K" && dims.len() == 1 {
                continue;
            }
            let _ = fs::remove_file(fixture.path("a"));
            compress(&fixture, "a", dims, more);
            for ranges in regions {
                let report =
                    fixture.run(&format!("decompress a -o part --force --json {}", option(ranges))).json();
                let want = cut(&fixture, "whole", dims, ranges);
                assert!(fs::read(fixture.path("part")).unwrap() == want, "{dims:?}{more} {ranges:?}");
                assert_eq!(report["array_bytes"], want.len());
                assert_eq!(report["container_bytes"], fs::metadata(fixture.path("a")).unwrap().len());
                let lengths: Vec<usize> = ranges.iter().map(|(a, b)| b - a).collect();
                assert_eq!(report["dims"], serde_json::json!(lengths));
                // The container holds the whole array, so the region has no ratio.
                assert!(report["ratio"].is_null());
                assert_eq!(report["device"], "cpu");
            }
        }
    }
    // Regions of a stored array.
    let ranges: Ranges<'_> = &[(700, 800), (170, 400)];
    for more in ["", " --slab 1M"] {
        let line = "compress egm96.f32 -o raw --force --dtype f32 --dims 1440x721 --preset fast --mode abs --eb 1e-9";
        fixture.run(&format!("{line}{more}")).ok();
        assert!(fixture.run("info raw").ok().contains("stored"), "{more}");
        fixture.run(&format!("decompress raw -o part --force {}", option(ranges))).ok();
        assert!(
            fs::read(fixture.path("part")).unwrap() == cut(&fixture, "egm96.f32", &[1440, 721], ranges),
            "{more}"
        );
    }
}

/// A container from a stream is read completely, for all names of the stream. A slab file from a stream is rejected.
#[test]
fn regions_of_streams() {
    let fixture = Fixture::new();
    compress(&fixture, "a", &[1440, 721], "");
    let ranges: Ranges<'_> = &[(700, 800), (300, 400)];
    let want = cut(&fixture, "whole", &[1440, 721], ranges);
    let piped = |from: &str, line: &str| {
        let mut cat = Command::new("cat").arg(fixture.path(from)).stdout(Stdio::piped()).spawn().unwrap();
        let run = Command::new(PROGRAM)
            .args(line.split(' '))
            .current_dir(&fixture.0)
            .stdin(cat.stdout.take().unwrap())
            .output()
            .unwrap();
        cat.wait().unwrap();
        (run.status.code(), run.stdout, String::from_utf8(run.stderr).unwrap())
    };
    for name in ["-", "/dev/stdin"] {
        let (code, out, err) = piped("a", &format!("decompress {name} -o - {}", option(ranges)));
        assert_eq!(code, Some(0), "{err}");
        assert!(out == want, "{name}");
    }
    // /dev/stdin is a regular file if standard input is one.
    let run = Command::new(PROGRAM)
        .args(["decompress", "/dev/stdin", "-o", "-", "--region", "700:800,300:400"])
        .current_dir(&fixture.0)
        .stdin(File::open(fixture.path("a")).unwrap())
        .output()
        .unwrap();
    assert!(run.status.success() && run.stdout == want, "{}", String::from_utf8_lossy(&run.stderr));
    compress(&fixture, "s", &[1440, 721], " --slab 1M");
    let (code, out, err) = piped("s", &format!("decompress - -o - {}", option(ranges)));
    assert_eq!((code, out.len()), (Some(5), 0), "{err}");
    assert!(
        err.contains("slab file cannot be read from a stream") && err.contains("pass the file by name"),
        "{err}"
    );
}

/// The slab file comes from a stream, whose length was unknown until its end.
#[test]
fn regions_of_slabs_from_a_stream() {
    let fixture = Fixture::new();
    let line = "compress - -o a --dtype f32 --preset fast --mode abs --eb 0.1 --slab 1M";
    let run = Command::new(PROGRAM)
        .args(line.split(' '))
        .current_dir(&fixture.0)
        .stdin(File::open(fixture.path("egm96.f32")).unwrap())
        .output()
        .unwrap();
    assert!(run.status.success());
    fixture.run("decompress a -o whole").ok();
    let ranges: Ranges<'_> = &[(200_000, 900_000)];
    fixture.run(&format!("decompress a -o part {}", option(ranges))).ok();
    assert!(fs::read(fixture.path("part")).unwrap() == cut(&fixture, "whole", &[1_038_240], ranges));
    fixture.fails(
        "decompress a -o x --region 1038240:1038241",
        2,
        &["--region has 1038240:1038241 for x", "pass a range within 0:1038240"],
    );
}

/// Offsets of the slabs, each of which begins with its length, and of the trailer.
fn begins(file: &[u8]) -> Vec<usize> {
    let word = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap()) as usize;
    let mut begin = vec![48];
    while word(begin[begin.len() - 1]) != 0 {
        let last = begin[begin.len() - 1];
        begin.push(last + 8 + word(last));
    }
    begin
}

/// Slabs and chunks outside the region may be damaged, if their lengths are correct.
#[test]
fn slabs_outside_the_region_are_not_read() {
    let fixture = Fixture::new();
    compress(&fixture, "a", &[1440, 721], " --slab 1M");
    let good = fs::read(fixture.path("a")).unwrap();
    let begin = begins(&good);
    assert_eq!(begin.len(), 5);
    // Slabs 1 and 2 contain rows 182 to 545.
    let ranges: Ranges<'_> = &[(0, 40), (200, 500)];
    let want = cut(&fixture, "whole", &[1440, 721], ranges);
    let mut damaged = good.clone();
    for slab in [0, 3] {
        damaged[begin[slab] + 8..begin[slab + 1]].fill(0xee);
    }
    // The damaged entry belongs to the last of the 45 chunks of slab 2. The entries follow the header of its container.
    let header = u64::from_le_bytes(good[begin[2] + 32..begin[2] + 40].try_into().unwrap()) as usize;
    damaged[begin[2] + 8 + header + 8 * 44 + 7] = 0x60;
    fixture.write("b", &damaged);
    fixture.run(&format!("decompress b -o part {}", option(ranges))).ok();
    assert!(fs::read(fixture.path("part")).unwrap() == want);
    fixture.fails("decompress b -o x --region 0:40,100:500", 4, &["b: ", "slab 0", "not a container"]);
    fixture.fails("decompress b -o x --region 0:1440,200:546", 4, &["b: ", "slab 2", "fast"]);
}

#[test]
fn invalid_regions_are_rejected() {
    let fixture = Fixture::new();
    compress(&fixture, "a", &[1440, 721], "");
    compress(&fixture, "s", &[1440, 721], " --slab 1M");
    fs::create_dir(fixture.path("dir")).unwrap();
    let good = fs::read(fixture.path("a")).unwrap();
    fixture.write("cut", &good[..good.len() - 1]);
    fixture.write("short", &good[..100]);
    fixture.write("no", b"no container");
    fixture.write("empty", b"");
    for (line, code, says) in [
        ("dir -o x --region 0:5,0:5", 3, &["cannot read dir"][..]),
        ("none -o x --region 0:5,0:5", 3, &["cannot read none"]),
        ("cut -o x --region 0:5,0:5", 4, &["cut has", "its header states"]),
        ("short -o x --region 0:5,0:5", 4, &["short has 100 bytes"]),
        ("no -o x --region 0:5,0:5", 4, &["no: ", "not a container"]),
        ("empty -o x --region 0:5,0:5", 4, &["empty: ", "not a container"]),
        (
            "a -o x --region 0:5,720:722",
            2,
            &["--region has 720:722 for y", "within 0:721", "the array of a has dimensions 1440x721"],
        ),
        (
            "s -o x --region 0:5,720:722",
            2,
            &["--region has 720:722 for y", "within 0:721", "the array of s has dimensions 1440x721"],
        ),
        ("s -o x --region 1440:1441,0:5", 2, &["--region has 1440:1441 for x", "within 0:1440"]),
        ("a -o x --region 0:5", 2, &["--region has 1 range, but the array of", "1440x721; pass 2"]),
        ("s -o x --region 0:5", 2, &["--region has 1 range, but the array of", "1440x721; pass 2"]),
        (
            "s -o x --region 0:1,0:1,0:1",
            2,
            &["--region has 3 ranges, but the array of s has dimensions 1440x721; pass 2"],
        ),
        // The size of the region does not matter.
        ("a -o x --region 0:2000,0:2000", 2, &["--region has 0:2000 for x", "within 0:1440"]),
        ("s -o x --region 0:1440,0:18446744073709551615", 2, &["--region has 0:18446744073709551615 for y"]),
        ("a -o x --region -1:5,0:5", 2, &["--region", "`-1:5` is not a range"]),
        (
            "s -o x --region 0:5,0:5 --max-memory many",
            2,
            &["--max-memory", "`many` is not a number of bytes"],
        ),
        ("s -o x --region 0:5,0:5 --max-memory 99", 5, &["100 bytes", "--max-memory"]),
        ("s -o x --region 0:5,0:5 --device cuda", 5, &["--region", "cuda:0"]),
    ] {
        fixture.fails(&format!("decompress {line}"), code, says);
    }
}

/// Pipelines that cannot restore parts decode the whole container, or whole slabs.
#[test]
fn regions_of_any_pipeline() {
    let fixture = Fixture::new();
    for slab in ["", " --slab 1M"] {
        let compress = "compress egm96.f32 -o fz --force --dtype f32 --dims 1440x721 --preset fz --eb 1e-3";
        fixture.run(&format!("{compress}{slab}")).ok();
        fixture.run("decompress fz -o whole --force").ok();
        fixture.run("decompress fz -o part --force --region 700:800,100:300").ok();
        let part = fs::read(fixture.path("part")).unwrap();
        assert!(part == cut(&fixture, "whole", &[1440, 721], &[(700, 800), (100, 300)]), "{slab}");
    }
}

/// Contradictory numbers of a slab file, if a region depends on them.
#[test]
fn damaged_slab_files_are_rejected() {
    let fixture = Fixture::new();
    compress(&fixture, "a", &[1440, 721], " --slab 1M");
    let good = fs::read(fixture.path("a")).unwrap();
    let begin = begins(&good);
    let with = |at: usize, bytes: &[u8]| {
        let mut file = good.clone();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        file
    };
    let sealed = |range: std::ops::Range<usize>, set: &[(usize, u64)]| {
        let mut file = good.clone();
        set.iter().for_each(|&(at, value)| file[at..at + 8].copy_from_slice(&value.to_le_bytes()));
        let sum = crc32fast::hash(&file[range.start..range.end - 4]);
        file[range.end - 4..range.end].copy_from_slice(&sum.to_le_bytes());
        file
    };
    let length = |n: u64| n.to_le_bytes();
    let end = good.len();
    let first = (begin[1] - 56) as u64;
    let swapped = [
        &good[..48],
        &good[begin[3]..begin[4]],
        &good[begin[1]..begin[3]],
        &good[48..begin[1]],
        &good[begin[4]..],
    ]
    .concat();
    for (file, says) in [
        (good[..end - 1].to_vec(), "the end of the file is damaged or missing"),
        (good[..70].to_vec(), "checksum"),
        (good[..20].to_vec(), "ends early"),
        (good[..4].to_vec(), "ends early"),
        (with(4, &[2]), "checksum"),
        (with(end - 20, &[9]), "trailer whose checksum"),
        (with(48, &length(0)), "slab of 0 bytes"),
        (with(48, &length(u64::MAX)), "which is not possible"),
        (with(48, &length(end as u64)), "which is not possible"),
        (with(48, &length(first - 1)), "slab 0"),
        (with(48, &length(first + 1)), "slab 0"),
        (with(begin[1], &length(1 << 40)), "which is not possible"),
        (sealed(end - 32..end, &[(end - 16, 720)]), "but its header states another number of rows"),
        (sealed(end - 32..end, &[(end - 32, 1)]), "but its trailer states 721 rows"),
        (sealed(0..48, &[(32, 181)]), "slab 0 is f32 of [1440, 182]"),
        (sealed(0..48, &[(32, 0)]), "slabs of 0 rows"),
        (sealed(0..48, &[(8, 1441)]), "slab 0 is f32 of [1440, 182]"),
        (swapped, "slab 0 is f32 of [1440, 175], which is not a part"),
    ] {
        fixture.write("bad", &file);
        fixture.fails("decompress bad -o x --region 3:90,100:400", 4, &["bad", says]);
    }
    // A trailer with a huge number of slabs does not match the length of the file.
    let huge = 1u64 << 40;
    let mut file = sealed(end - 32..end, &[(end - 24, huge.div_ceil(182)), (end - 16, huge)]);
    file[16..24].copy_from_slice(&huge.to_le_bytes());
    let sum = crc32fast::hash(&file[..44]);
    file[44..48].copy_from_slice(&sum.to_le_bytes());
    fixture.write("bad", &file);
    fixture.fails(
        "decompress bad -o x --region 3:90,1000000000:1000000001",
        4,
        &["bad", "which is not possible"],
    );
}
