//! Generations of FZM files: the only place that knows them.
//!
//! | what | 2026-05 | 2026-08 (and June) | how it is told |
//! |---|---|---|---|
//! | Quantizer ports | codes, vals, idxs, count; or codes | without count | number of outputs |
//! | Quantizer config | 28 or 36 bytes | 36, 48, 56 or 72 | length |
//! | LorenzoQuant ports | codes, errors, indices, count | without count | number of outputs |
//! | LorenzoQuant config | 32, 40 or 44 bytes | 44, or 64 with means | length |
//! | LorenzoQuant means | none | behind the indices | byte 41 of the config |
//! | Difference config | 0, 1, 2 to 5 or 6 bytes | 6, or 7 with a fusion mode | length |
//! | Zigzag config | 0, 1 or 2 bytes | 2 or 3 | length |
//! | Negabinary config | 0, 1 or 2 bytes | 2 | length |
//! | Lorenzo config | 16 bytes | 16, or 20 with blocks | length |
//! | RLE config | 5 bytes | 5, or 9 with chunks | length |
//! | Bitpack config | 10 bytes | 10, or 15 with a base and a shift | length |
//! | RZE byte 4 | levels, always 4 | word size 1, 2, 4, 8 | 4 is ambiguous: the first coded chunk tells |
//!
//! Stages see one form only, the widest. Writing takes the shortest form of the generation that can express
//! the stage, so that readers of that time understand it.

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::pipeline::Node;
use crate::stage::{Config, Fact, Generation, Ports, Rules};
use crate::stages::lorenzo_quant;

const LORENZO_QUANT: u16 = 1;
const DIFFERENCE: u16 = 2;
const RLE: u16 = 5;
const HUFFMAN: u16 = 6;
const BITPACK: u16 = 7;
const MERGE: u16 = 11;
const LORENZO: u16 = 12;
const QUANTIZER: u16 = 14;
const ZIGZAG: u16 = 15;
const NEGABINARY: u16 = 16;
const BITSHUFFLE: u16 = 17;
const RZE: u16 = 18;

const F32: u8 = 8;
const UNKNOWN: u8 = 0xff;
const I32_U32: [u8; 2] = [6, 2];

/// The name of the fourth port of Quantizer and LorenzoQuant in 2026-05, which the header repeats.
pub(super) const COUNT_PORT: &str = "outlier_count";

/// A config as it stands in a container, in the widest form.
pub(super) fn widen(id: u16, config: &[u8]) -> Result<Vec<u8>> {
    let mut c = config.to_vec();
    match (id, c.len()) {
        (QUANTIZER, 28 | 36 | 48 | 56 | 72) => {
            if c.len() == 28 {
                c.extend(f32::INFINITY.to_le_bytes());
            }
            c.resize(c.len().max(48), 0);
            if c.len() == 48 {
                c.extend(1f32.to_le_bytes());
            }
            c.resize(72, 0);
        }
        (LORENZO_QUANT, 32 | 40 | 44 | 64) => {
            if c.len() == 32 {
                c[19] = 0;
            }
            c.resize(64, 0);
            // Some writers leave anything in this gap.
            c[44..48].fill(0);
        }
        (DIFFERENCE, 0) => c.extend([F32, F32, 0, 0, 0, 0, 0]),
        (DIFFERENCE, 1) => c.extend([c[0], 0, 0, 0, 0, 0]),
        (DIFFERENCE, 2..=5) => {
            c.truncate(2);
            c.resize(7, 0);
        }
        (DIFFERENCE, 6) => c.push(0),
        (RLE, 5 | 9) => c.resize(9, 0),
        (BITPACK, 10 | 15) => c.resize(15, 0),
        (LORENZO, 16 | 20) => {
            c.resize(20, 0);
            // Without an order it is the first.
            c[3] = c[3].max(1);
        }
        (ZIGZAG, 0 | 1) => c = vec![I32_U32[0], I32_U32[1], 0],
        (ZIGZAG, 2) => c.push(0),
        (NEGABINARY, 0 | 1) => c = I32_U32.to_vec(),
        (BITSHUFFLE, 4) => c.push(4),
        (RZE, 9) => c.push(if c[4] == 4 { 2 } else { 1 }),
        (DIFFERENCE, 7) | (ZIGZAG, 3) | (NEGABINARY, 2) | (BITSHUFFLE, 5) => {}
        (
            LORENZO_QUANT | DIFFERENCE | RLE | BITPACK | LORENZO | QUANTIZER | ZIGZAG | NEGABINARY
            | BITSHUFFLE | RZE,
            n,
        ) => {
            return Err(Error::corrupt("stage record", format!("stage {id} has no config of {n} bytes")));
        }
        _ => {}
    }
    Ok(c)
}

/// Containers of ours say their generation: nothing in them is ambiguous.
pub(super) fn settle(id: u16, config: &mut [u8], generation: Generation) -> Result<()> {
    if let (RZE, [_, _, _, _, word, .., layout]) = (id, config) {
        match generation {
            Generation::G2026_08 => *layout = 1,
            Generation::G2026_05 if *word == 4 => (*word, *layout) = (1, 0),
            Generation::G2026_05 => {
                return Err(Error::corrupt("rze", format!("{word} levels in a file of 2026-05; it has 4")));
            }
        }
    }
    Ok(())
}

/// A stage as a writer of the generation had it, where its config in files without a mark leaves that open.
pub(super) fn settle_node(node: &mut Node, generation: Generation) -> Result<()> {
    if (node.stage.spec().id, generation) == (RZE, Generation::G2026_05)
        && node.args.choice("layout")? == "auto"
    {
        node.args.set_int("word_size", 1)?;
        node.args.set_text("layout", generation.name())?;
    }
    Ok(())
}

/// Files in the exact form of the reference carry no extension block, and then no mark of their generation.
pub(super) fn has_extension(rules: Rules) -> bool {
    rules.strict || rules.generation == Generation::G2026_08
}

/// The widest form as `generation` writes it.
pub(super) fn shorten(id: u16, generation: Generation, mut config: Config) -> Result<Config> {
    let old = generation == Generation::G2026_05;
    let c = &mut config.bytes;
    match id {
        QUANTIZER if config.patches.iter().all(|p| p.at < 36) => c.truncate(36),
        LORENZO_QUANT if c[41] == 0 => c.truncate(44),
        LORENZO_QUANT if old => {
            let what =
                "tiles around their means do not exist in files of 2026-05; use generation 2026-08".into();
            return Err(Error::Unsupported { stage: "lorenzo_quant", what });
        }
        DIFFERENCE if c[6] == 0 => c.truncate(6),
        LORENZO if c[16..] == [0; 4] => {
            c.truncate(16);
            c[3] = 0;
        }
        RLE if c[5..] == [0; 4] => c.truncate(5),
        LORENZO | RLE if old => {
            let (stage, parts) = if id == LORENZO { ("lorenzo", "blocks") } else { ("rle", "chunks") };
            let what = format!("{parts} do not exist in files of 2026-05; use generation 2026-08");
            return Err(Error::Unsupported { stage, what });
        }
        BITPACK if c[10..] == [0; 5] => c.truncate(10),
        BITPACK if old => {
            let what = "a base and a shift do not exist in files of 2026-05; use generation 2026-08".into();
            return Err(Error::Unsupported { stage: "bitpack", what });
        }
        DIFFERENCE | ZIGZAG if old && c.last() == Some(&1) => {
            let stage = if id == ZIGZAG { "zigzag" } else { "difference" };
            let what = "this code does not exist in files of 2026-05; use generation 2026-08".into();
            return Err(Error::Unsupported { stage, what });
        }
        ZIGZAG if c[2] == 0 => c.truncate(2),
        RZE => {
            let layout = c.pop();
            c[4] = if layout == Some(0) { 4 } else { c[4] };
        }
        _ => {}
    }
    Ok(config)
}

/// The config as a reader of the generation sees it, fields of the run being zero.
pub(super) fn reread(id: u16, generation: Generation, config: Config) -> Result<Vec<u8>> {
    widen(id, &shorten(id, generation, config)?.bytes)
}

/// A port that the generation has and the stage has not: its name and content.
pub(super) fn extra_port(
    id: u16,
    generation: Generation,
    io: Ports<'_>,
    value_bytes: u64,
) -> Option<(&'static str, Fact)> {
    match (id, generation, io.outputs) {
        (QUANTIZER, Generation::G2026_05, [_, values, _]) => {
            Some((COUNT_PORT, Fact::Count { of: *values, unit: value_bytes }))
        }
        (LORENZO_QUANT, Generation::G2026_05, _) => {
            Some((COUNT_PORT, Fact::Stored { of: io.facts, at: lorenzo_quant::OUTLIERS_AT }))
        }
        _ => None,
    }
}

/// Buffer ids that a stage reserves when it is added, before its parameters can take ports away.
pub(super) fn reserved_ids(id: u16, generation: Generation, ports: usize) -> usize {
    if records_room(id) && generation == Generation::G2026_05 { 4 } else { ports }
}

/// Of `found` recorded output ports, how many belong to the stage, which has `ports`; the rest are extras.
pub(super) fn known_ports(id: u16, found: usize, ports: usize) -> Result<usize> {
    match (id, found) {
        (QUANTIZER | LORENZO_QUANT, 4) if ports == 3 => Ok(3),
        _ if found == ports => Ok(ports),
        _ => Err(Error::corrupt(
            "stage record",
            format!("stage {id} has {found} output ports where it should have {ports}"),
        )),
    }
}

/// `allocated_size` of a buffer record is the room of the lists, not their length, for these stages.
pub(super) fn records_room(id: u16) -> bool {
    id == QUANTIZER || id == LORENZO_QUANT
}

/// What a buffer record names as the type of a port, where that is not the type on our edge: the reference does not know any
/// for streams of some stages.
pub(super) fn recorded_type(id: u16, rules: Rules, dtype: DType, config: &Config) -> u8 {
    match id {
        BITPACK | MERGE => UNKNOWN,
        HUFFMAN if !has_extension(rules) => UNKNOWN,
        RLE => config.bytes.first().copied().unwrap_or(dtype as u8),
        _ => dtype as u8,
    }
}
