//! Chains that exist as device functions, see kernels/chains.cu and chains_wide.cu.
//!
//! An entry names stages as an encoder has them; a decoder has them the other way round. Padding is no stage here: the
//! functions take a short array as one with zeros behind it, and leave out what is behind its end.

use crate::device::{PARAM_BYTES, Recipe, Shape};
use crate::kernel::Kernel;
use crate::stages::{bitshuffle, difference, huffman, lorenzo_quant, quantizer, rze};
use crate::tile::TILE;

/// A kernel that is chained, and its argument block.
type Link<'a> = (&'static Kernel, &'a [u8; PARAM_BYTES]);

/// A stage of a chain, for elements of so many bytes.
#[derive(Clone, Copy, Debug)]
enum Part {
    /// Quantizer, codes in place.
    Quantizer(u32),
    /// Difference in negabinary that starts anew in each tile.
    Difference(u32),
    /// Bitshuffle of whole tiles.
    Bitshuffle(u32),
    /// LorenzoQuant of a field that a decoder takes in one launch.
    LorenzoQuant,
}

impl Part {
    fn is(self, (kernel, params): Link<'_>) -> bool {
        let named = |stage: &str| {
            kernel.name.strip_prefix(stage).is_some_and(|way| way == "_encode" || way == "_decode")
        };
        let tile = TILE as u64;
        match self {
            Part::Quantizer(width) => named("quantizer") && quantizer::is_in_place(params, width),
            Part::Difference(width) => named("difference") && difference::is_negabinary(params, width, tile),
            Part::Bitshuffle(width) => {
                named("bitshuffle") && bitshuffle::is_plain(params, width.into(), tile)
            }
            Part::LorenzoQuant => named("lorenzo_quant") && lorenzo_quant::is_banded(params),
        }
    }
}

/// A chain that ends in RZE of whole tiles.
struct Chain {
    parts: &'static [Part],
    encode: &'static str,
    decode: &'static str,
    /// Encoder and decoder for few chunks, where there are such.
    few: Option<[&'static str; 2]>,
}

/// A chain, and the names of its device functions.
macro_rules! chain {
    ($name:literal: $($part:ident $width:literal),*) => {
        Chain {
            parts: &[$(Part::$part($width)),*],
            encode: concat!("chain_", $name, "_encode"),
            decode: concat!("chain_", $name, "_decode"),
            few: None,
        }
    };
}

static CHAINS: &[Chain] = &[
    Chain {
        few: Some(["chain_pfpl_f32_encode_few", "chain_pfpl_f32_decode_few"]),
        ..chain!("pfpl_f32": Quantizer 4, Difference 4, Bitshuffle 4)
    },
    chain!("pfpl_f64": Quantizer 8, Difference 8, Bitshuffle 8),
    chain!("bits_u8": Difference 1, Bitshuffle 1),
    chain!("bits_u16": Difference 2, Bitshuffle 2),
    chain!("bits_u32": Difference 4, Bitshuffle 4),
    chain!("bits_u64": Difference 8, Bitshuffle 8),
    chain!("planes_u32": Bitshuffle 4),
    chain!("planes_u16": Bitshuffle 2),
];

/// How `kernel` runs on a device with `links` chained to it, in the direction of the data; `None`: not at all.
pub(crate) fn find(
    params: &[u8; PARAM_BYTES],
    kernel: &'static Kernel,
    links: &[Link<'_>],
    shape: &Shape<'_>,
) -> Option<Recipe> {
    debug_assert_eq!(params, shape.params);
    if links.is_empty() {
        return (kernel.device)(shape);
    }
    if let ("lorenzo_quant_encode", [(sums, of)]) = (kernel.name, links) {
        let symbols = (sums.name == "huffman_count").then(|| huffman::near_symbols(of, 2)).flatten();
        return symbols.and_then(|n| lorenzo_quant::counting(shape, n));
    }
    let encodes = match kernel.name {
        "rze_encode" => true,
        "rze_decode" => false,
        _ => return None,
    };
    let mut parts = links.to_vec();
    if !encodes {
        parts.reverse();
    }
    if ["pad", "unpad"].contains(&parts[0].0.name) {
        parts.remove(0);
    }
    if parts.is_empty() {
        return (kernel.device)(shape);
    }
    let same = |c: &&Chain| {
        c.parts.len() == parts.len() && c.parts.iter().zip(&parts).all(|(part, &link)| part.is(link))
    };
    if !rze::is_tile_wise(params) {
        return None;
    }
    // The encoder needs no such chain: bricks read the array once, which a tile of codes in its order cannot.
    if let (false, [first, second]) = (encodes, &parts[..]) {
        if Part::LorenzoQuant.is(*first) && Part::Bitshuffle(2).is(*second) {
            return Some(lorenzo_quant::chained(rze::starts(shape), shape, first.1));
        }
    }
    let chain = CHAINS.iter().find(same)?;
    Some(if encodes {
        let few = chain.few.and_then(|[entry, _]| rze::encoder_of_few(shape, entry));
        few.unwrap_or_else(|| rze::encoder(shape, Some(chain.encode)))
    } else {
        let few = chain.few.and_then(|[_, entry]| rze::decoder_of_few(shape, entry));
        few.unwrap_or_else(|| rze::decoder(shape, Some(chain.decode)))
    })
}
