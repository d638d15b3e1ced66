//! Mode rel in calls on device memory: containers of another bound.

use crate::common::fixture::{Fixture, options};
use crate::common::run::both_containers;
use crate::common::samples::Content;
use crate::cuda::need_gpu;
use crate::rel::quantizer;
use fzgm::{Array, DType, Options, Status};

/// The bound is a field of the header, and the step that follows from it is a parameter of the plan.
#[test]
fn a_container_of_another_bound_is_refused() {
    need_gpu!();
    for container in both_containers() {
        let options = Options { container, ..options() };
        let array = Array::new(DType::F32, &[5_000]).unwrap();
        let mut fixture = Fixture::new(&quantizer(1e-3, "u16"), &array, &options);
        let other = Fixture::new(&quantizer(1e-2, "u16"), &array, &options);
        let src = fixture.data(Content::Walk, 1);
        let (foreign, _) = other.expected(&src);
        assert!(foreign.len() < src.len(), "a stored array has no bound");
        assert_eq!(fixture.verdict(&foreign).status, Status::PlanMismatch as i32, "{container:?}");
        fixture.src.put(0, &src);
        fixture.both();
        fixture.check(&src);
    }
}
