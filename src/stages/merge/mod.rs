//! Merge: several streams as one.
#![doc = include_str!("spec.md")]

use crate::base::dtype::DType;
use crate::base::edge_type::{ByteLength, EdgeType};
use crate::base::error::{Error, Fault, Result};
use crate::base::param::{Args, Kind, Param, Setting};
use crate::base::wire::{Reader, Writer};
use crate::ir::device::DeviceLaunch;
use crate::ir::kernel::{HostCall, Kernel, alone};
use crate::ir::lowering::LoweringContext;
use crate::ir::stage::{
    BoundStage, Config, Generation, Length, Parsed, Patch, Ports, Rules, RuntimeField, Spec, Stage,
};
use crate::ir::value::Val;
use crate::ir::versions::{UNKNOWN_TYPE, Versions};
use std::sync::Arc;

/// See the module.
pub struct Merge;

pub(super) const SPEC: Spec = Spec {
    id: 11,
    name: "merge",
    about: "puts several streams behind each other, so that one chain of stages can code them all",
    accepts: &DType::ALL,
    inputs: &["segment"],
    params: &[Param {
        name: "segments",
        kind: Kind::Names { most: MOST },
        default: Setting::Names("segment"),
        unit: "",
        doc: "Names of the streams, one for each input, in the order of the connections.",
    }],
};

/// The number of inputs that a stage record of a file can list.
const MOST: usize = 8;
/// Bytes that a stage record has for a config.
const CONFIG: usize = 128;
/// The number of bytes of a copy on a device for each block.
const PIECE: u64 = 1 << 16;

static ENCODE: Kernel =
    Kernel { name: "merge_encode", host: encode, role: alone, device: |s| over("merge_encode", s.output(0)) };
static DECODE: Kernel =
    Kernel { name: "merge_decode", host: decode, role: alone, device: |s| over("merge_decode", s.input(0)) };

fn over(entry: &'static str, bytes: u64) -> Option<DeviceLaunch> {
    Some(DeviceLaunch::one(entry, bytes.div_ceil(PIECE).min(1 << 12), 256))
}

/// The names; their config has to fit a file.
fn names(args: &Args) -> Result<Vec<&str>> {
    let names: Vec<&str> = args.names("segments")?.split('+').collect();
    let bytes = config_bytes(&names);
    if bytes > CONFIG {
        let expected = format!(
            "names that need {} bytes less: its config has {bytes}, and a file has {CONFIG} for it",
            bytes - CONFIG
        );
        return Err(Error::argument("merge.segments", names.join("+"), expected));
    }
    Ok(names)
}

fn config_bytes(names: &[&str]) -> usize {
    1 + names.iter().map(|name| 4 + 1 + name.len()).sum::<usize>() // seed: merge-config
}

impl Stage for Merge {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn inputs(&self, args: &Args) -> Result<usize> {
        Ok(args.names("segments")?.split('+').count())
    }

    fn bind(&self, args: &Args, inputs: &[EdgeType], rules: Rules) -> Result<Arc<dyn BoundStage>> {
        let names = names(args)?;
        if names.len() != inputs.len() {
            return Err(Error::Internal("merge has another number of inputs than of names"));
        }
        // The output is as long as its parts; the config records their lengths in 32 bits.
        let needed = inputs.iter().try_fold(0u64, |sum, edge| sum.checked_add(edge.max_bytes()));
        let limit = u64::from(u32::MAX);
        let Some(bytes) = needed.filter(|n| *n <= limit) else {
            return Err(Error::TooLarge { stage: SPEC.name, needed: needed.unwrap_or(u64::MAX), limit });
        };
        let known = inputs.iter().all(|edge| matches!(edge.length, ByteLength::Static(_)));
        let output = if known { EdgeType::fixed(DType::U8, bytes) } else { EdgeType::upto(DType::U8, bytes) };
        let names = names.into_iter().map(String::from).collect();
        Ok(Arc::new(BoundMerge { output, names, generation: rules.generation }))
    }

    fn parse(&self, config: &[u8]) -> Result<Parsed> {
        let mut r = Reader::new(SPEC.name, config);
        let count = usize::from(r.u8()?);
        if !(1..=MOST).contains(&count) {
            return Err(Error::corrupt(SPEC.name, format!("{count} segments; 1 to {MOST} are possible")));
        }
        let sizes = (0..count).map(|_| r.u32()).collect::<Result<Vec<_>>>()?;
        let mut names = vec![];
        for _ in 0..count {
            let bytes = r.u8()?;
            // A name of the container is one name here: its + is no letter, and must not separate two.
            names.push(r.bytes(bytes.into())?.escape_ascii().to_string().replace('+', "\\x2b"));
        }
        if !r.rest().is_empty() {
            return Err(Error::corrupt(SPEC.name, "its config has another length"));
        }
        let mut args = Args::new(SPEC.name, SPEC.params);
        args.set_text("segments", &names.join("+"))
            .map_err(|e| Error::Unsupported { stage: SPEC.name, what: e.to_string() })?;
        let length = Length::Each(sizes.into_iter().map(u64::from).collect());
        Ok(Parsed { args, input: None, length, metadata: vec![] })
    }

    fn versions(&self) -> &dyn Versions {
        self
    }
}

/// The stage on its edges.
struct BoundMerge {
    output: EdgeType,
    names: Vec<String>,
    generation: Generation,
}

impl BoundStage for BoundMerge {
    fn outputs(&self) -> Vec<EdgeType> {
        vec![self.output]
    }

    fn encode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        if io.inputs.iter().enumerate().any(|(i, &v)| io.inputs[..i].iter().any(|&w| ctx.same(v, w))) {
            return Err(Error::InvalidPipeline("merge reads one port twice; connect it once".into()));
        }
        ctx.launch(&ENCODE, &(io.inputs.len() as u64), io.inputs, io.outputs)
    }

    fn decode(&self, io: Ports<'_>, ctx: &mut LoweringContext<'_>) -> Result<()> {
        ctx.launch(&DECODE, &(io.inputs.len() as u64), io.outputs, io.inputs)
    }

    fn config(&self, io: Ports<'_>) -> Result<Config> {
        if self.generation == Generation::G2026_05 {
            let what = "this stage does not exist in files of 2026-05; use generation 2026-08".into();
            return Err(Error::Unsupported { stage: SPEC.name, what });
        }
        let mut w = Writer::default();
        w.u8(self.names.len() as u8);
        w.pad_to(1 + 4 * self.names.len());
        for name in &self.names {
            w.u8(name.len() as u8);
            w.bytes(name.as_bytes());
        }
        let patch = |(i, &of): (usize, &Val)| Patch {
            at: 1 + 4 * i, // seed: merge-lengths
            width: 4,
            runtime_field: RuntimeField::Count { of, unit: 1 },
        };
        Ok(Config { bytes: w.0, patches: io.inputs.iter().enumerate().map(patch).collect() })
    }
}

impl Versions for Merge {
    fn recorded_type(&self, _: Rules, _: DType, _: &Config) -> u8 {
        UNKNOWN_TYPE
    }
}

fn encode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let (inputs, mut rest) = (call.ins, call.output(0)?);
    let mut bytes = 0;
    for input in inputs {
        let (part, behind) = rest.split_at_mut_checked(input.len()).ok_or(Fault::BadLaunch)?;
        call.threads.copy(input, part);
        (rest, bytes) = (behind, bytes + input.len() as u64);
    }
    call.publish(0, bytes)
}

fn decode(call: &mut HostCall<'_>) -> Result<(), Fault> {
    let mut rest = call.input(0)?;
    for i in 0..call.outs.len() {
        let out = call.output(i)?;
        let (part, behind) = rest.split_at_checked(out.len()).ok_or(Fault::Corrupt)?;
        call.threads.copy(part, out);
        rest = behind;
    }
    if rest.is_empty() { Ok(()) } else { Err(Fault::Corrupt) } // seed: merge-rest
}
