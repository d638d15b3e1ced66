//! Lowering: bound stages record launches of kernels.

use crate::base::edge_type::EdgeType;
use crate::base::error::{Error, Result};
use crate::ir::kernel::{Kernel, MAX_OPERANDS, PARAM_BYTES};
use crate::ir::step::{DeviceStep, Step};
use crate::ir::value::{Place, Val, Value};
use bytemuck::Pod;

/// The context in which a bound stage lowers itself: it allocates temporaries and records launches.
pub struct LoweringContext<'a> {
    pub(crate) stage: &'static str,
    pub(crate) node: usize,
    pub(crate) values: &'a mut Vec<Value>,
    pub(crate) steps: &'a mut Vec<Step>,
    /// Bytes of the caller's array, before any padding.
    pub(crate) array_bytes: u64,
}

impl LoweringContext<'_> {
    /// Type and length of a value.
    pub fn edge(&self, v: Val) -> EdgeType {
        self.values[v.index()].edge
    }

    /// True when both are names of one value, as far as that is known by now.
    pub fn same(&self, mut v: Val, mut w: Val) -> bool {
        for name in [&mut v, &mut w] {
            while let Some(of) = self.values[name.index()].alias {
                *name = of;
            }
        }
        v == w
    }

    /// True when another stage reads `v`; otherwise a container stores it.
    pub fn feeds(&self, v: Val) -> bool {
        self.values[v.index()].feeds
    }

    /// States that the kernel that makes `v`, of a fixed length, never writes beyond the room that it is told of: a device may then
    /// let it write to the caller's memory.
    pub fn checks_room(&mut self, v: Val) {
        self.values[v.index()].checks_room = true;
    }

    /// A value that only launches of this stage touch.
    pub fn temporary(&mut self, edge: EdgeType) -> Val {
        self.values.push(Value { edge, place: Place::Dead, alias: None, feeds: true, checks_room: false });
        Val(self.values.len() as u32 - 1)
    }

    /// Launches `kernel` after everything launched before.
    ///
    /// # Errors
    /// [`Error::Internal`] when the stage hands over more than a launch can carry.
    pub fn launch<P: Pod>(
        &mut self,
        kernel: &'static Kernel,
        params: &P,
        ins: &[Val],
        outs: &[Val],
    ) -> Result<()> {
        let bytes = bytemuck::bytes_of(params);
        if bytes.len() > PARAM_BYTES || ins.len() + outs.len() > MAX_OPERANDS {
            return Err(Error::Internal("a launch carries at most 9 operands and 64 bytes"));
        }
        let mut block = [0; PARAM_BYTES];
        block[..bytes.len()].copy_from_slice(bytes);
        self.steps.push(Step {
            kernel,
            role: (kernel.role)(&block),
            stage: self.stage,
            node: self.node,
            params: block,
            ins: ins.to_vec(),
            outs: outs.to_vec(),
            fused: vec![],
            intermediate: None,
            device: DeviceStep::default(),
        });
        Ok(())
    }

    /// Makes `v` another name of `of`: no bytes move.
    pub fn alias(&mut self, v: Val, of: Val) {
        self.values[v.index()].alias = Some(of);
    }
}
