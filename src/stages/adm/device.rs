//! How the kernels run on a GPU.

use super::Launch;
use super::group::GROUP;
use crate::device::{Recipe, Shape};
use crate::kernel::read_params;

/// Groups of a block, one for each warp.
const TILE: u64 = 8;
const THREADS: u32 = 256;

pub(super) fn encode(shape: &Shape<'_>) -> Option<Recipe> {
    let width = u64::from(read_params::<Launch>(shape.params).width.max(1));
    let groups = (shape.input(0) / width).div_ceil(GROUP as u64);
    let tiles = groups.div_ceil(TILE);
    let recipe =
        Recipe::one("adm_code", tiles, THREADS).then("adm_gather", groups.div_ceil(THREADS.into()), THREADS);
    // What `AdmScratch` in kernels/adm.cu lays out.
    Some(recipe.with(0, 64 + 4 * (tiles + groups + 8) + groups * GROUP as u64 * width))
}

pub(super) fn decode(shape: &Shape<'_>) -> Option<Recipe> {
    let width = u64::from(read_params::<Launch>(shape.params).width.max(1));
    let groups = (shape.output(0) / width).div_ceil(GROUP as u64);
    Some(Recipe::one("adm_decode", groups.div_ceil(TILE), THREADS))
}
