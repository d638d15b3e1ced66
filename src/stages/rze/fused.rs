//! Fused kernels that end with RZE when encoding and start with it when decoding.

use super::device::{decoder, decoder_small, encoder, encoder_small, starts};
use super::{DECODE, ENCODE, is_tile_wise};
use crate::base::tile::TILE;
use crate::ir::device::PARAM_BYTES;
use crate::ir::fusion::{Fusion, Part, any};
use crate::stages::{bitshuffle, difference, lorenzo_quant, quantizer};

type Params = [u8; PARAM_BYTES];

fn quantizer<const WIDTH: u32>(params: &Params) -> bool {
    quantizer::is_in_place(params, WIDTH)
}

/// Differences in negabinary that start again in each tile.
fn difference<const WIDTH: u32>(params: &Params) -> bool {
    difference::is_negabinary(params, WIDTH, TILE as u64)
}

/// Blocks of a tile.
fn bitshuffle<const WIDTH: u32>(params: &Params) -> bool {
    bitshuffle::is_plain(params, WIDTH.into(), TILE as u64)
}

/// A fused encoder and its decoder, with kernels for small arrays if there are such.
macro_rules! fusion {
    ($encode:literal, $decode:literal
     $(, measuring $measuring:literal)? $(, small $small_encode:literal, $small_decode:literal $(, single $single:literal)?)?;
     [$($stage:ident $width:literal),*], [$($back:ident $back_width:literal),*]) => {
        [
            Fusion {
                entries: &[$encode $(, $measuring)? $(, $small_encode)?],
                kernel: Part { kernel: &ENCODE, fits: is_tile_wise },
                fused: &[$(Part { kernel: &$stage::ENCODE, fits: $stage::<$width> }),*],
                device: |shape, _| {
                    $(if let Some(device_launch) = encoder_small(shape, $small_encode) {
                        return Some(device_launch);
                    })?
                    let all = encoder(shape, Some($encode));
                    $(let twin = || encoder(shape, Some($measuring));
                    let all = all.with_tries(twin(), twin());)?
                    Some(all)
                },
            },
            Fusion {
                entries: &[$decode $(, $small_decode)? $($(, $single)?)?],
                kernel: Part { kernel: &DECODE, fits: is_tile_wise },
                fused: &[$(Part { kernel: &$back::DECODE, fits: $back::<$back_width> }),*],
                device: |shape, _| {
                    $(if let Some(device_launch) = decoder_small(shape, $small_decode) {
                        return Some(device_launch$(.single($single))?);
                    })?
                    Some(decoder(shape, Some($decode)))
                },
            },
        ]
    };
}

static PFPL_F32: [Fusion; 2] = fusion!("fused_pfpl_f32_encode", "fused_pfpl_f32_decode",
    measuring "fused_pfpl_f32_encode_measuring",
    small "fused_pfpl_f32_encode_small", "fused_pfpl_f32_decode_small", single "fused_pfpl_f32_decode_single";
    [quantizer 4, difference 4, bitshuffle 4], [bitshuffle 4, difference 4, quantizer 4]);
static PFPL_F64: [Fusion; 2] = fusion!("fused_pfpl_f64_encode", "fused_pfpl_f64_decode",
    measuring "fused_pfpl_f64_encode_measuring";
    [quantizer 8, difference 8, bitshuffle 8], [bitshuffle 8, difference 8, quantizer 8]);
static BITS_U8: [Fusion; 2] = fusion!("fused_bits_u8_encode", "fused_bits_u8_decode";
    [difference 1, bitshuffle 1], [bitshuffle 1, difference 1]);
static BITS_U16: [Fusion; 2] = fusion!("fused_bits_u16_encode", "fused_bits_u16_decode";
    [difference 2, bitshuffle 2], [bitshuffle 2, difference 2]);
static BITS_U32: [Fusion; 2] = fusion!("fused_bits_u32_encode", "fused_bits_u32_decode";
    [difference 4, bitshuffle 4], [bitshuffle 4, difference 4]);
static BITS_U64: [Fusion; 2] = fusion!("fused_bits_u64_encode", "fused_bits_u64_decode";
    [difference 8, bitshuffle 8], [bitshuffle 8, difference 8]);
static PLANES_U32: [Fusion; 2] = fusion!("fused_planes_u32_encode", "fused_planes_u32_decode";
    [bitshuffle 4], [bitshuffle 4]);
static PLANES_U16: [Fusion; 2] = fusion!("fused_planes_u16_encode", "fused_planes_u16_decode",
    small "fused_planes_u16_encode_small", "fused_planes_u16_decode_small";
    [bitshuffle 2], [bitshuffle 2]);

/// Padding alone: both read and write short arrays.
static PADDED: [Fusion; 2] = [
    Fusion {
        entries: &[],
        kernel: Part { kernel: &ENCODE, fits: any },
        fused: &[],
        device: |shape, _| Some(encoder(shape, None)),
    },
    Fusion {
        entries: &[],
        kernel: Part { kernel: &DECODE, fits: any },
        fused: &[],
        device: |shape, _| Some(decoder(shape, None)),
    },
];

/// The encoder needs no such kernel: bricks read the array once, which a tile of codes in its order cannot.
static FZ: [Fusion; 1] = [Fusion {
    entries: &["fused_fz_decode"],
    kernel: Part { kernel: &DECODE, fits: is_tile_wise },
    fused: &[
        Part { kernel: &bitshuffle::DECODE, fits: bitshuffle::<2> },
        Part { kernel: &lorenzo_quant::DECODE, fits: lorenzo_quant::is_banded },
    ],
    device: |shape, fused| {
        let (_, params) = fused.last()?;
        lorenzo_quant::fused(starts(shape), shape, params)
    },
}];

pub(super) static FUSIONS: &[&[Fusion]] = &[
    &FZ,
    &PFPL_F32,
    &PFPL_F64,
    &BITS_U8,
    &BITS_U16,
    &BITS_U32,
    &BITS_U64,
    &PLANES_U32,
    &PLANES_U16,
    &PADDED,
];
