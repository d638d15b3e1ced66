//! A plan as text: one line per launch, for `fzgm info --plan` and for reviews of the planner.

use super::{Plan, Target};
use crate::device::Pass;
use crate::extent::Extent;
use crate::kernel::Role;
use crate::launch::{Place, Val};
use std::fmt::{Display, Formatter, Result};

impl Display for Plan {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Plan { direction, array, rules, arena_bytes, .. } = self;
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
            let chained: Vec<&str> = step.links.iter().map(|l| l.kernel.name).collect();
            let name = match (step.kernel.role)(&step.params) {
                _ if chained.is_empty() => step.kernel.name.to_string(),
                _ if step.links.iter().all(|l| (l.kernel.role)(&l.params) == Role::Sums) => {
                    format!("{} + {}", step.kernel.name, chained.join(" + "))
                }
                Role::Scatter => format!("{} > {}", step.kernel.name, chained.join(" > ")),
                _ => format!("{} > {}", chained.join(" > "), step.kernel.name),
            };
            write!(f, "  {name:20}")?;
            self.operands(f, &step.ins)?;
            write!(f, " ->")?;
            self.operands(f, &step.outs)?;
            writeln!(f)?;
            for Pass { entry, grid, block } in &step.device.passes {
                writeln!(f, "      {entry} <<<{grid}, {block}>>>")?;
            }
            if let Some(scratch) = step.device.scratch {
                write!(f, "      scratch")?;
                self.operands(f, &[scratch])?;
                writeln!(f)?;
            }
        }
        for sink in &self.graph.sinks {
            write!(f, "  segment {}.{}", self.pipeline.nodes[sink.node].stage(), sink.port)?;
            self.operands(f, &[sink.value])?;
            writeln!(f)?;
        }
        Ok(())
    }
}

impl Plan {
    fn operands(&self, f: &mut Formatter<'_>, values: &[Val]) -> Result {
        for &v in values {
            let flow = self.value(v).flow;
            let (sign, bytes) = match flow.extent {
                Extent::Static(n) => ("", n),
                Extent::Dynamic { max, .. } => ("<=", max),
            };
            write!(f, " %{}:{}:{sign}{bytes}B", v.index(), flow.dtype)?;
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
