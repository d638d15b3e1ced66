//! The registry: every stage, once. Lookups, listings, contract tests and fuzz targets derive from it.
//!
//! Ids are those of the FZM format, gaps included; stages of our own start at 0x8000. An id, once written to
//! a file, is never given to another stage.

use crate::base::error::Result;
use crate::base::nearest::unknown;
use crate::ir::stage::Stage;

mod inputs;
mod parameters;
mod params;
mod shape;
pub(crate) mod wide;
pub(crate) mod words;
#[cfg(test)]
pub(crate) use wide::portable;

pub mod adm;
pub mod ans;
pub mod bitpack;
pub mod bitshuffle;
pub mod difference;
pub mod exact;
pub mod fast;
pub mod ginterp;
pub mod huffman;
pub mod lattice;
pub mod lorenzo;
pub mod lorenzo_quant;
pub mod merge;
pub mod multilevel;
pub mod negabinary;
pub mod quantizer;
pub mod rle;
pub mod rre;
pub mod rze;
pub mod stored;
pub mod zigzag;

macro_rules! stages {
    ($($module:ident :: $stage:ident),*; $($strict_module:ident :: $strict:ident),* $(,)?) => {
        /// Every stage, in the order of the listing.
        pub static STAGES: &[&dyn Stage] = &[$(&$module::$stage),*];
        /// Stages that are written in place of one of the list if a bound is promised, see [`Stage::under`].
        static STRICT_FORMS: &[&dyn Stage] = &[$(&$strict_module::$strict),*];
        const _: () = assert_unique(&[$($module::SPEC.id,)* $($strict_module::STRICT_SPEC.id),*]);
    };
}

/// Two stages that share an id do not compile.
const fn assert_unique(ids: &[u16]) {
    let mut i = 0;
    while i < ids.len() {
        let mut j = 0;
        while j < i {
            assert!(ids[i] != ids[j], "two stages share a wire id");
            j += 1;
        }
        i += 1;
    }
}

stages! {
    quantizer::Quantizer,
    lorenzo_quant::LorenzoQuant,
    difference::Difference,
    lorenzo::Lorenzo,
    rle::Rle,
    bitpack::Bitpack,
    zigzag::Zigzag,
    negabinary::Negabinary,
    bitshuffle::Bitshuffle,
    rze::Rze,
    huffman::Huffman,
    ans::Ans,
    adm::Adm,
    rre::Rre,
    merge::Merge,
    stored::Stored,
    lattice::Lattice,
    exact::Exact,
    fast::Fast,
    multilevel::Multilevel,
    ginterp::GINTERP;
    ginterp::GINTERP_STRICT,
}

/// The stage that containers fall back to when a pipeline does not make an array smaller.
pub(crate) static IDENTITY: &dyn Stage = &stored::Stored;

/// The stage with this wire id.
pub fn by_id(id: u16) -> Option<&'static dyn Stage> {
    STAGES.iter().chain(STRICT_FORMS).copied().find(|s| s.spec().id == id)
}

/// The stage with this name, in any case and with or without underscores.
///
/// # Errors
/// [`Error::UnknownName`](crate::Error::UnknownName).
pub fn by_name(name: &str) -> Result<&'static dyn Stage> {
    let plain = |s: &str| s.replace('_', "").to_ascii_lowercase();
    STAGES.iter().copied().find(|s| plain(s.spec().name) == plain(name)).ok_or_else(|| {
        let known: Vec<&str> = STAGES.iter().map(|s| s.spec().name).collect();
        unknown("stage", name, "", &known)
    })
}

/// The id that the stage of this name is written under if a bound is promised, where it is another one.
pub fn strict_id(name: &str) -> Option<u16> {
    STRICT_FORMS.iter().map(|s| s.spec()).find(|spec| spec.name == name).map(|spec| spec.id)
}
