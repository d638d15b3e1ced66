//! A plan as text: one line per launch, for `fzgm info --plan` and for reviews of the planner.

use super::{BoundPipeline, Plan, Target};
use crate::base::edge_type::ByteLength;
use crate::ir::device::KernelLaunch;
use crate::ir::kernel::Role;
use crate::ir::value::{Place, Val};
use std::fmt::{Display, Formatter, Result};

impl Display for Plan {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Plan { direction, bound: BoundPipeline { array, rules, .. }, arena_bytes, .. } = self;
        let target = match self.target {
            Target::Cpu => String::new(),
            Target::Cuda => format!(" device=cuda zeroed={}B", self.zeroed_bytes),
        };
        writeln!(
            f,
            "plan {direction:?} array={}x{:?} strict={} generation={} arena={arena_bytes}B{target} steps={}",
            array.dtype(),
            array.dims(),
            rules.strict,
            rules.generation.name(),
            self.steps.len()
        )?;
        for step in &self.steps {
            let fused: Vec<&str> = step.fused.iter().map(|l| l.kernel.name).collect();
            let name = match step.role {
                _ if fused.is_empty() => step.kernel.name.to_string(),
                _ if step.fused.iter().all(|l| l.role == Role::Reduction) => {
                    format!("{} + {}", step.kernel.name, fused.join(" + "))
                }
                Role::TileProducer => format!("{} > {}", step.kernel.name, fused.join(" > ")),
                _ => format!("{} > {}", fused.join(" > "), step.kernel.name),
            };
            write!(f, "  {name:20}")?;
            self.operands(f, &step.ins)?;
            write!(f, " ->")?;
            self.operands(f, &step.outs)?;
            writeln!(f)?;
            for KernelLaunch { entry, grid, block, .. } in &step.device.launches {
                writeln!(f, "      {entry} <<<{grid}, {block}>>>")?;
            }
            for KernelLaunch { entry, grid, block, .. } in &step.device.second_try {
                writeln!(f, "      {entry} <<<{grid}, {block}>>> if the base does not suit")?;
            }
            if let Some((_, KernelLaunch { entry, grid, block, .. })) = self.single() {
                writeln!(f, "      {entry} <<<{grid}, {block}>>> alone, if the headers have a fixed length")?;
            }
            if let Some(scratch) = step.device.scratch {
                write!(f, "      scratch")?;
                self.operands(f, &[scratch])?;
                writeln!(f)?;
            }
        }
        for sink in &self.bound.graph.sinks {
            write!(f, "  segment {}.{}", self.bound.pipeline.nodes[sink.node].stage(), sink.port)?;
            self.operands(f, &[sink.value])?;
            writeln!(f)?;
        }
        Ok(())
    }
}

impl Plan {
    fn operands(&self, f: &mut Formatter<'_>, values: &[Val]) -> Result {
        for &v in values {
            let edge = self.value(v).edge;
            let (sign, bytes) = match edge.length {
                ByteLength::Static(n) => ("", n),
                ByteLength::Dynamic { max, .. } => ("<=", max),
            };
            write!(f, " %{}:{}:{sign}{bytes}B", v.index(), edge.dtype)?;
            match self.place(v) {
                Place::Array => write!(f, "@array")?,
                Place::Segment(k) => write!(f, "@segment{k}")?,
                Place::Arena { offset } => write!(f, "@{offset:#x}")?,
                Place::Dead => write!(f, "@nowhere")?,
            }
        }
        Ok(())
    }
}
