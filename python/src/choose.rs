//! The choice of a pipeline. The interpreter is released while the library works.

use crate::error::OrRaise;
use crate::options;
use crate::pipeline::Pipeline;
use crate::place::{Place, chosen_at};
use crate::text::Text;
use crate::views::shared;
use fzgm::{Aim, Goal, Wish, choose as choose_on_host};
use pyo3::prelude::*;

/// Pipeline, preset, mode, error bound, expected ratio, and lattice.
type Chosen = (Pipeline, &'static str, &'static str, f64, f64, Option<String>);

/// Required properties of restored values. Without a bound and a target, the pipeline is lossless.
#[derive(FromPyObject)]
pub(crate) struct Wanted {
    #[pyo3(item)]
    mode: Text,
    #[pyo3(item)]
    error_bound: Option<f64>,
    #[pyo3(item)]
    target_ratio: Option<f64>,
    #[pyo3(item)]
    target_psnr: Option<f64>,
}

impl Wanted {
    fn aim(&self) -> Aim<'_> {
        match (self.error_bound, self.target_ratio, self.target_psnr) {
            (Some(bound), ..) => Aim::Bound(&self.mode.0, bound),
            (_, Some(ratio), _) => Aim::Ratio(ratio),
            (_, _, Some(psnr)) => Aim::Psnr(psnr),
            (None, None, None) => Aim::Lossless,
        }
    }
}

/// Chooses a pipeline for an array in host memory or on a GPU.
#[pyfunction]
pub(crate) fn choose(
    py: Python<'_>,
    dtype: &str,
    dims: Vec<u64>,
    src: Place<'_>,
    goal: Text,
    wanted: Wanted,
    outlier_threshold: f64,
) -> PyResult<Chosen> {
    let array = options::array(dtype, &dims).or_raise(py)?;
    let goal = Goal::from_name(&goal.0).or_raise(py)?;
    let wish = Wish { goal, aim: wanted.aim(), outlier_threshold };
    let choice = match &src {
        Place::Host(bytes) => {
            let src = shared(bytes)?;
            let src = src.as_slice()?;
            py.detach(|| choose_on_host(&array, src, &wish))
        }
        Place::At(at) => py.detach(|| chosen_at(&array, *at, &wish)),
    };
    let c = choice.or_raise(py)?;
    Ok((Pipeline(c.pipeline), c.preset, c.mode, c.bound, c.expected_ratio, c.lattice))
}
