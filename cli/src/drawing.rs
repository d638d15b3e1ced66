//! The graph of a container as a drawing in text, from the array to the stored segments.

use crate::field::shape;
use fzgm::Info;

/// Draws the stages of a container, each below the port that it reads:
///
/// ```text
/// array, 100x100 of f32
/// └─ 0 quantizer
///    ├─ codes ─ 1 bitshuffle
///    │  └─ output ─ 512 bytes
///    └─ outlier_idxs ─ 0 bytes
/// ```
pub(crate) fn graph(info: &Info) -> Vec<String> {
    let mut drawing = Drawing { info, seen: vec![false; info.stages.len()], lines: vec![] };
    drawing.lines.push(format!("array, {} of {}", shape(&info.array), info.array.dtype()));
    let readers: Vec<usize> =
        (0..info.stages.len()).filter(|i| info.stages[*i].inputs.contains(&None)).collect();
    for (at, stage) in readers.iter().enumerate() {
        drawing.stage(*stage, "", "", at + 1 == readers.len());
    }
    drawing.lines
}

struct Drawing<'a> {
    info: &'a Info,
    seen: Vec<bool>,
    lines: Vec<String>,
}

/// The destination of an output port.
enum Way {
    To(usize),
    Stored(u64),
}

impl Drawing<'_> {
    /// Draws a stage and the stages that read it. `label` names the port that the stage reads; `before` is the indentation of its
    /// parent.
    fn stage(&mut self, stage: usize, label: &str, before: &str, last: bool) {
        let (branch, stem) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        // A stage with several inputs appears once for each input. Only the first appearance shows its outputs.
        let again = std::mem::replace(&mut self.seen[stage], true);
        let note = if again { ", as above" } else { "" };
        let name = self.info.stages[stage].name;
        self.lines.push(format!("{before}{branch}{label}{stage} {name}{note}"));
        if again {
            return;
        }
        let before = format!("{before}{stem}");
        let ways = self.ways(stage);
        for (at, (port, way)) in ways.iter().enumerate() {
            let last = at + 1 == ways.len();
            match way {
                Way::To(next) => self.stage(*next, &format!("{port} ─ "), &before, last),
                Way::Stored(bytes) => {
                    let branch = if last { "└─ " } else { "├─ " };
                    self.lines.push(format!("{before}{branch}{port} ─ {bytes} bytes"));
                }
            }
        }
    }

    /// The outputs of a stage: first the read ports, in the order of their readers, then the stored ports, in the order of the segments.
    fn ways(&self, stage: usize) -> Vec<(&'static str, Way)> {
        let mut ways = vec![];
        for (reader, found) in self.info.stages.iter().enumerate() {
            for (producer, port) in found.inputs.iter().flatten() {
                if *producer == stage {
                    ways.push((*port, Way::To(reader)));
                }
            }
        }
        let stored = self.info.segments.iter().filter(|s| s.stage == stage);
        ways.extend(stored.map(|s| (s.port, Way::Stored(s.bytes))));
        ways
    }
}
