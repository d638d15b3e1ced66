//! Calls that run on a GPU: on the caller's stream without waiting, or on one of our own until it is done.

mod access;
mod batch;
mod buffer;
mod calls;
mod decoder;
mod encoder;
mod overlap;
mod part;
mod prepared;
mod view;

pub use access::copy_to_host;
pub use batch::BatchAddresses;
pub(super) use batch::BatchMemory;
pub use buffer::{DeviceBuffer, ResultBuffer, device_of, on_device};
pub use calls::{info_at, pipeline_at};
pub(super) use decoder::GpuDecoder;
pub(super) use encoder::{GpuEncoder, LazyEncoder};
#[doc(hidden)]
pub use overlap::overlap_from;
pub use part::{decompress_preview_at, decompress_region_at};
pub use view::StridedSlice;

use crate::base::error::{Error, Fault, Result, Status};
use crate::gpu::{Context, Home, Stream, home};
use crate::ir::value::Val;
use crate::plan::Plan;
use crate::runtime::cuda::Span;
use crate::runtime::workspace::Workspace;
use bytemuck::{Pod, Zeroable};
use std::str::FromStr;

/// The processor that runs the calls of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// Arrays in host memory are handled by the CPU, those on a GPU by that one.
    #[default]
    Auto,
    /// The CPU, always.
    Cpu,
    /// The GPU of this index, always; arrays in host memory are copied there.
    Cuda(u32),
}

/// `auto`, `cpu` or `cuda:N`, as [`Device::from_str`] reads it.
impl std::fmt::Display for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Device::Auto => f.write_str("auto"),
            Device::Cpu => f.write_str("cpu"),
            Device::Cuda(index) => write!(f, "cuda:{index}"),
        }
    }
}

impl FromStr for Device {
    type Err = Error;

    /// `auto`, `cpu`, `cuda` for the first GPU, or `cuda:N`.
    fn from_str(text: &str) -> Result<Device> {
        match text {
            "auto" => Ok(Device::Auto),
            "cpu" => Ok(Device::Cpu),
            "cuda" => Ok(Device::Cuda(0)),
            _ => text
                .strip_prefix("cuda:")
                .and_then(|n| n.parse().ok())
                .map(Device::Cuda)
                .ok_or_else(|| Error::argument("device", text, "auto, cpu, cuda, or cuda:N")),
        }
    }
}

/// Memory by its address: on a device, or wherever the driver can tell. By default no bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceSlice {
    /// Where it starts; any alignment.
    pub address: u64,
    /// How long it is.
    pub bytes: u64,
}

impl DeviceSlice {
    /// True if both contain one byte in common.
    pub fn overlaps(self, other: DeviceSlice) -> bool {
        let ends_behind = |a: DeviceSlice, b: DeviceSlice| a.address.saturating_add(a.bytes) > b.address;
        self.bytes > 0 && other.bytes > 0 && ends_behind(self, other) && ends_behind(other, self)
    }

    fn span(self) -> Span {
        Span { address: self.address, bytes: self.bytes }
    }

    /// Where it lives.
    fn home(self) -> Result<Home> {
        if self.bytes == 0 { Ok(Home::Host) } else { home(self.address) }
    }
}

/// Where the array or the container of a blocking call is.
pub(super) enum Memory<H> {
    /// On the host, as bytes.
    Host(H),
    /// Where the device reaches it.
    Device(DeviceSlice),
}

/// Where the elements of the array of a blocking call are.
pub(super) enum Elements<H> {
    /// Without gaps.
    Packed(Memory<H>),
    /// Where the device reaches them, with gaps.
    Strided(StridedSlice),
}

impl<H> Elements<H> {
    /// Bytes on the host.
    pub(super) fn host(bytes: H) -> Self {
        Elements::Packed(Memory::Host(bytes))
    }
}

/// The GPU that a blocking call runs on; `None`: the CPU runs it.
fn gpu_of(option: Device, slices: &[(&str, DeviceSlice)]) -> Result<Option<u32>> {
    let mut found = match option {
        Device::Cuda(index) => Some(index),
        Device::Auto | Device::Cpu => None,
    };
    for (name, slice) in slices {
        let home = match slice.home() {
            // The plan declares host memory. A lost device must not block the CPU.
            Err(_) if option == Device::Cpu => Home::Host,
            home => home?,
        };
        let Home::Device(index) = home else { continue };
        if option == Device::Cpu {
            return Err(Error::argument(
                *name,
                "in device memory",
                "host memory, because the device of the plan is cpu",
            ));
        }
        if found.is_some_and(|other| other != index) {
            return Err(Error::argument(
                *name,
                format!("on cuda:{index}"),
                format!("memory of cuda:{}", found.unwrap_or(0)),
            ));
        }
        found = Some(index);
    }
    Ok(found)
}

/// The context of an asynchronous call: that of its stream, which has to be one of the plan's device.
fn context_of(option: Device, stream: Stream) -> Result<Context> {
    match option {
        Device::Auto => Context::of(stream, None),
        Device::Cuda(index) => Context::of(stream, Some(index)),
        Device::Cpu => Err(Error::argument(
            "device",
            option,
            "auto or cuda:N, because asynchronous calls run only on a GPU",
        )),
    }
}

/// Refuses a device that is not there.
pub(super) fn reachable(index: u32) -> Result<()> {
    Context::on(index).map(|_| ())
}

/// A workspace on a device, made ready.
pub(super) fn workspace(
    index: u32,
    threads: u32,
    ready: impl FnOnce(&Context, &mut Workspace) -> Result<()>,
) -> Result<Workspace> {
    let context = Context::on(index)?;
    let mut ws = Workspace::bare(threads)?;
    ready(&context, &mut ws)?;
    Ok(ws)
}

/// The result of an asynchronous call in device or mapped memory, `fz_result` in C. Always written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct CallResult {
    /// Bytes of the result; 0 on failure.
    pub bytes: u64,
    /// The required bytes or elements, if there was room for fewer.
    pub needed: u64,
    /// The number of a [`Status`].
    pub status: i32,
    /// Index of the stage that failed.
    pub stage: u32,
}

impl CallResult {
    /// The length, or the error that the numbers describe.
    fn of(self, plan: &Plan, room: u64) -> Result<u64> {
        let explain = |fault: Fault| match self.stage as usize {
            stage if stage < plan.bound.pipeline.nodes.len() => plan.bound.pipeline.explain(stage, fault),
            _ => crate::ir::stage::explain("container", fault),
        };
        let status = Status::ALL.iter().copied().find(|s| *s as i32 == self.status);
        match status {
            Some(Status::Ok) => Ok(self.bytes),
            Some(Status::DstTooSmall) => Err(Error::DstTooSmall { need: self.needed, have: room }),
            Some(Status::OutlierCapacity) => {
                let capacity = list_capacity(plan, self.stage as usize);
                Err(explain(Fault::OutlierCapacity { needed: self.needed, capacity }))
            }
            Some(Status::InvalidArgument) => Err(explain(Fault::OutOfRange(self.needed))),
            Some(Status::Corrupt) => Err(explain(Fault::Corrupt)),
            Some(Status::NotAContainer) => {
                Err(Error::NotAContainer("its first bytes are not those of a container".into()))
            }
            Some(Status::PlanMismatch) => Err(Error::PlanMismatch(
                "the container was written by another pipeline or for another array".into(),
            )),
            _ => Err(Error::Internal("a device reports a status that there is not")),
        }
    }
}

/// Entries that the shortest outlier list of a stage has room for.
fn list_capacity(plan: &Plan, node: usize) -> u64 {
    let Some(node) = plan.bound.graph.nodes.get(node) else { return 0 };
    let lists = node.outputs.get(node.bound.outlier_lists()).unwrap_or_default();
    let entries = |v: &Val| {
        let edge = plan.value(*v).edge;
        edge.max_bytes() / edge.dtype.bytes()
    };
    lists.iter().map(entries).min().unwrap_or(0)
}
