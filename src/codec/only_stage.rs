//! The stage of a pipeline with one stage, and its part of a container: the input of readers of parts.

use crate::base::byte_source::{Segment, Source};
use crate::base::error::{Error, Result};
use crate::format::Header;
use crate::ir::stage::Stage;
use crate::pipeline::Node;

pub(super) struct OnlyStage<'a> {
    pub(super) node: &'a Node,
    pub(super) metadata: &'a [u8],
    pub(super) segment: Segment<'a>,
}

impl<'a> OnlyStage<'a> {
    /// The stage and its reader, or `None` if the pipeline has several stages or the stage has no `reader`.
    pub(super) fn with<R>(
        header: &'a Header,
        source: &'a dyn Source,
        reader: impl FnOnce(&'a dyn Stage) -> Option<R>,
    ) -> Result<Option<(OnlyStage<'a>, R)>> {
        let [node] = &header.bound.pipeline.nodes[..] else { return Ok(None) };
        let Some(reader) = reader(node.stage) else { return Ok(None) };
        let range =
            header.segments.first().ok_or_else(|| Error::corrupt("segments", "the container has none"))?;
        let metadata = header.metadata.first().ok_or(Error::Internal("a stage has metadata"))?;
        let segment = Segment::new(node.stage(), source, range);
        Ok(Some((OnlyStage { node, metadata, segment }, reader)))
    }
}
