//! One array through one pipeline in every way that must not matter.

use super::gpu;
use super::samples::Sample;
use fzgm::{Container, Decoder, Encoder, Error, Generation, Options, Pipeline, Result};

/// Options that keep tiny arrays in the stage under test instead of storing them.
pub fn options(container: Container, strict: bool) -> Options {
    Options { container, strict, store_incompressible: false, ..Options::default() }
}

pub fn both_containers() -> [Container; 2] {
    [Container::Fzm, Container::Compact]
}

/// Every way to write that the reader must understand: compact frames exist in one generation only.
pub fn forms() -> Vec<Options> {
    let mut all = vec![];
    for strict in [true, false] {
        for container in both_containers() {
            all.push(options(container, strict));
        }
        let generation = Generation::G2026_05;
        all.push(Options { generation, ..options(Container::Fzm, strict) });
    }
    all
}

/// Compresses with one and three threads, with fused kernels and without, in clean and dirty and reused workspaces, from and to addresses
/// that are aligned to nothing, into exactly enough room and into one byte less; decompresses likewise with
/// both kinds of decoder. The container and the restored bytes; panics where any of it differs.
pub fn every_way(pipeline: &Pipeline, sample: &Sample, options: &Options) -> Result<(Vec<u8>, Vec<u8>)> {
    if gpu::is_emulated() {
        return the_device(pipeline, sample, options);
    }
    let one = Encoder::new(pipeline, &sample.array, &Options { threads: 1, ..options.clone() })?;
    let three = Encoder::new(pipeline, &sample.array, &Options { threads: 3, ..options.clone() })?;
    let most = one.max_compressed_bytes() as usize;
    let mut ws = one.workspace()?;
    ws.poison(0xa5);
    let mut dst = vec![0xee; most + 64];
    let n = one.compress(&mut ws, &sample.bytes, &mut dst[..most])?;
    assert!(n <= most, "{n} bytes for at most {most}");
    assert!(dst[n..].iter().all(|&b| b == 0xee), "bytes behind the container are touched");
    let container = dst[..n].to_vec();

    let mut other = three.workspace()?;
    other.poison(0xff);
    let mut again = vec![0; most];
    let m = three.compress(&mut other, &sample.bytes, &mut again)?;
    assert!(again[..m] == container[..], "three threads write other bytes");
    let m = three.compress(&mut ws, &sample.bytes, &mut again)?;
    assert!(again[..m] == container[..], "a used workspace gives other bytes");
    let unfused = Options { fuse: false, ..options.clone() };
    let apart = Encoder::new(pipeline, &sample.array, &unfused)?;
    let m = apart.compress(&mut apart.workspace()?, &sample.bytes, &mut again)?;
    assert!(again[..m] == container[..], "kernels that run apart write other bytes");
    exact_room(&one, &mut ws, sample, &container);

    let planned = one.decoder()?;
    let opened = Decoder::open(&container, &Options { threads: 3, ..options.clone() })?;
    let restored = decompress(&planned, &container, 0x5a, sample.bytes.len());
    assert!(decompress(&opened, &container, 0xff, sample.bytes.len()) == restored, "the decoders disagree");
    assert_eq!(opened.array(), &sample.array, "the shape is lost");
    let (array, bytes) = fzgm::decompress(&container, &unfused)?;
    assert!(array == sample.array && bytes == restored, "the one call disagrees");
    gpu::agrees(pipeline, sample, options, (&container, &restored));
    Ok((container, restored))
}

/// The same with a device in every way and the CPU in one. Runs on the emulator take long, and its other ways are those of a run without a
/// device, which there is always one of.
fn the_device(pipeline: &Pipeline, sample: &Sample, options: &Options) -> Result<(Vec<u8>, Vec<u8>)> {
    let container = fzgm::compress(pipeline, &sample.array, options, &sample.bytes)?;
    let (array, restored) = fzgm::decompress(&container, options)?;
    assert_eq!(array, sample.array, "the shape is lost");
    gpu::agrees(pipeline, sample, options, (&container, &restored));
    Ok((container, restored))
}

/// Both from and to odd addresses.
fn exact_room(encoder: &Encoder, ws: &mut fzgm::Workspace, sample: &Sample, container: &[u8]) {
    let mut src = vec![0; sample.bytes.len() + 1];
    src[1..].copy_from_slice(&sample.bytes);
    let mut dst = vec![0xee; container.len() + 1];
    assert_eq!(encoder.compress(ws, &src[1..], &mut dst[1..]).unwrap(), container.len());
    assert!(dst[1..] == *container, "addresses change the bytes");
    dst.fill(0xee);
    let short = encoder.compress(ws, &src[1..], &mut dst[1..container.len()]).unwrap_err();
    let (need, have) = (container.len() as u64, container.len() as u64 - 1);
    assert_eq!(short, Error::DstTooSmall { need, have });
    assert!(dst.iter().all(|&b| b == 0xee), "a destination that is too short is touched");
}

/// Through a dirty workspace into an odd address between guards.
fn decompress(decoder: &Decoder, container: &[u8], dirt: u8, bytes: usize) -> Vec<u8> {
    let mut ws = decoder.workspace().unwrap();
    ws.poison(dirt);
    let mut dst = vec![0xee; bytes + 65];
    let n = decoder
        .decompress(&mut ws, container, &mut dst[1..=bytes])
        .unwrap_or_else(|e| panic!("{e}; {:?}, plan {}", fzgm::info(container), decoder.plan().unwrap()));
    assert_eq!(n, bytes);
    assert!(
        dst[0] == 0xee && dst[bytes + 1..].iter().all(|&b| b == 0xee),
        "bytes around the array are touched"
    );
    let first = dst[1..=bytes].to_vec();
    if bytes > 0 {
        let short = decoder.decompress(&mut ws, container, &mut dst[..bytes - 1]).unwrap_err();
        assert_eq!(short, Error::DstTooSmall { need: bytes as u64, have: bytes as u64 - 1 });
    }
    let mut again = vec![0; bytes];
    decoder.decompress(&mut ws, container, &mut again).unwrap();
    assert!(again == first, "a used workspace restores something else");
    first
}
