//! A pipeline as the user states it: a graph of stages as plain data, with no bound types, memory, or
//! backend.

mod labels;
pub(crate) mod notation;
pub(crate) mod presets;

use crate::base::array::Array;
use crate::base::error::{Error, Fault, Result};
use crate::base::nearest::unknown;
use crate::base::param::{Args, ERROR_BOUND, UNBOUNDED};
use crate::ir::stage::{Generation, Rules, Stage};
use crate::stages;

/// Where an input port of a stage takes its data from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The caller's array.
    Array,
    /// An output port of another stage.
    Port {
        /// Index of that stage.
        node: usize,
        /// Index of the port.
        port: usize,
    },
}

/// A stage with its parameters and connections.
#[derive(Clone)]
pub struct Node {
    pub(crate) stage: &'static dyn Stage,
    pub(crate) args: Args,
    pub(crate) inputs: Vec<Source>,
    /// The name in a TOML file, for messages. Pipelines that differ only in names are equal.
    pub(crate) name: Option<String>,
}

impl Node {
    /// Without a name.
    pub(crate) fn new(stage: &'static dyn Stage, args: Args, inputs: Vec<Source>) -> Node {
        Node { stage, args, inputs, name: None }
    }

    /// Name of the stage.
    pub fn stage(&self) -> &'static str {
        self.stage.spec().name
    }

    /// The parameters.
    pub fn args(&self) -> &Args {
        &self.args
    }

    /// One source per connected input port; none: the stage reads the array.
    pub fn inputs(&self) -> &[Source] {
        &self.inputs
    }
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{:?} <- {:?}", self.stage(), self.args, self.inputs)
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.stage() == other.stage() && self.args == other.args && self.inputs == other.inputs
    }
}

/// A directed graph of stages. A container stores the output ports without a consumer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pipeline {
    pub(crate) nodes: Vec<Node>,
    /// Requirements of the pipeline on its plans, in addition to their options.
    pub(crate) rules: Rules,
}

/// Stages that a container can list.
pub const MAX_STAGES: usize = 32;

impl Pipeline {
    /// Without stages.
    pub fn new() -> Self {
        Self::default()
    }

    /// The stages, in the order in which they were added.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// False if the pipeline requires the reference's arithmetic with its losses; its plans then have the
    /// option `strict` off.
    pub fn strict(&self) -> bool {
        self.rules.strict
    }

    /// The form of FZM files that the pipeline requires. A form other than the default overrides the option
    /// of a plan.
    pub fn generation(&self) -> Generation {
        self.rules.generation
    }

    /// Adds a stage by name, with default parameters, reading the array until it is connected. Returns its
    /// index.
    ///
    /// # Errors
    /// [`Error::UnknownName`], or [`Error::InvalidPipeline`] beyond 32 stages.
    pub fn add(&mut self, stage: &str) -> Result<usize> {
        if self.nodes.len() == MAX_STAGES {
            return Err(Error::InvalidPipeline(format!("it has more than {MAX_STAGES} stages")));
        }
        let stage = stages::by_name(stage)?;
        let args = Args::new(stage.spec().name, stage.spec().params);
        self.nodes.push(Node::new(stage, args, vec![]));
        Ok(self.nodes.len() - 1)
    }

    /// The parameters of a stage, to set them.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an index that no stage has.
    pub fn args_mut(&mut self, node: usize) -> Result<&mut Args> {
        let count = self.nodes.len();
        self.nodes.get_mut(node).map(|n| &mut n.args).ok_or_else(|| no_stage(node, count))
    }

    /// Calls `set` for every stage that has the parameter.
    ///
    /// # Errors
    /// [`Error::UnknownName`] if no stage has the parameter, and the errors of `set`.
    pub fn set_everywhere(&mut self, name: &str, set: impl Fn(&mut Args) -> Result<()>) -> Result<()> {
        let mut found = false;
        for node in self.nodes.iter_mut().filter(|n| n.args.has(name)) {
            set(&mut node.args)?;
            found = true;
        }
        if found {
            return Ok(());
        }
        let mut known: Vec<&str> =
            self.nodes.iter().flat_map(|n| n.args.iter().map(|(p, _)| p.name)).collect();
        known.sort_unstable();
        known.dedup();
        Err(unknown("parameter", name, " in any stage of the pipeline", &known))
    }

    /// Feeds the next input port of `consumer` from a port of `producer`. A port may feed several stages.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an index that no stage has or a stage that has all its inputs,
    /// [`Error::UnknownName`] for a port that `producer` does not have under its present parameters.
    pub fn connect(&mut self, producer: usize, port: &str, consumer: usize) -> Result<()> {
        let count = self.nodes.len();
        let from = self.nodes.get(producer).ok_or_else(|| no_stage(producer, count))?;
        let ports = from.stage.outputs(&from.args)?;
        let found = ports.iter().position(|p| *p == port);
        let port = found.ok_or_else(|| unknown("port", port, &format!(" of {}", from.stage()), ports))?;
        self.input(consumer)?.push(Source::Port { node: producer, port });
        Ok(())
    }
}

impl Pipeline {
    /// Feeds the next input port of a stage from the array. A stage without any input reads it anyway.
    pub(crate) fn connect_array(&mut self, consumer: usize) -> Result<()> {
        self.input(consumer)?.push(Source::Array);
        Ok(())
    }

    /// The inputs of a stage, when it has room for one more.
    fn input(&mut self, consumer: usize) -> Result<&mut Vec<Source>> {
        let count = self.nodes.len();
        let to = self.nodes.get(consumer).ok_or_else(|| no_stage(consumer, count))?;
        if to.inputs.len() >= to.stage.inputs(&to.args)? {
            let what = match self.ports(consumer) {
                Some(ports) => format!("{ports}, and all are connected; add a name before the connection"),
                None => format!("{} already has all its inputs", self.label(consumer)),
            };
            return Err(Error::InvalidPipeline(what));
        }
        Ok(&mut self.nodes[consumer].inputs)
    }

    /// The pipeline of arrays that are stored without coding.
    pub(crate) fn identity() -> Pipeline {
        let stage = stages::IDENTITY;
        let args = Args::new(stage.spec().name, stage.spec().params);
        Pipeline { nodes: vec![Node::new(stage, args, vec![])], ..Pipeline::default() }
    }

    /// The same with the stages that write containers under these rules.
    pub(crate) fn under(mut self, rules: Rules) -> Pipeline {
        for node in &mut self.nodes {
            node.stage = node.stage.under(rules).unwrap_or(node.stage);
        }
        self
    }

    /// True if arrays are stored without coding.
    pub(crate) fn is_identity(&self) -> bool {
        matches!(&self.nodes[..], [node] if node.stage.is_identity())
    }

    /// A stage with a bound whose input is not the array: a stage before it recodes the values.
    pub(crate) fn recoded_bound(&self) -> Option<usize> {
        let bounded = |n: &Node| n.stage.mode(&n.args).is_some_and(|m| m != UNBOUNDED);
        self.nodes.iter().position(|n| self.is_losing(n) && bounded(n) && !self.gets_array(n, MAX_STAGES))
    }

    /// The stages that lose something which shows in the restored array.
    pub(crate) fn losing(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|n| self.is_losing(n))
    }

    /// True if the errors of this stage show in the restored array.
    pub(crate) fn is_losing(&self, node: &Node) -> bool {
        node.stage.mode(&node.args).is_some() && !self.is_absorbed(node)
    }

    /// True if the stage before this one restores its own input exactly in spite of the errors of this one.
    fn is_absorbed(&self, node: &Node) -> bool {
        let [Source::Port { node: before, port: 0 }] = node.inputs[..] else { return false };
        let limit = self.nodes.get(before).and_then(|n| n.stage.absorbs_errors_below());
        let bound = node.args.real(ERROR_BOUND).ok();
        node.stage.mode(&node.args) == Some("abs")
            && limit.zip(bound).is_some_and(|(limit, bound)| bound < limit)
    }

    /// The pipeline with the parameters that are left to the shape of the array.
    pub(crate) fn bound_to(&self, array: &Array) -> Result<Pipeline> {
        let mut bound = self.clone();
        for (i, node) in bound.nodes.iter_mut().enumerate() {
            node.stage.fit_shape(&mut node.args, array).map_err(|e| self.in_stage(i, e))?;
        }
        Ok(bound)
    }

    /// The error for a fault of a stage.
    pub(crate) fn explain(&self, stage: usize, fault: Fault) -> Error {
        let (node, mut before) = (&self.nodes[stage], vec![]);
        let mut next = node.inputs.first();
        while let Some(Source::Port { node, port: 0 }) = next {
            let Some(node) = self.nodes.get(*node).filter(|_| before.len() < MAX_STAGES) else { break };
            before.push((node.stage(), &node.args));
            next = node.inputs.first();
        }
        let error = node.stage.explain(fault, &node.args, &before);
        if matches!(fault, Fault::OutOfRange(_)) { self.in_stage(stage, error) } else { error }
    }

    /// True if all stages between a node and the array are identities.
    fn gets_array(&self, node: &Node, depth: usize) -> bool {
        node.inputs.iter().all(|source| match source {
            Source::Array => true,
            Source::Port { node, .. } => self.nodes.get(*node).is_some_and(|before| {
                depth > 0 && before.stage.is_identity() && self.gets_array(before, depth - 1)
            }),
        })
    }
}

/// A pipeline pads by less than this number of bytes, because a container must be readable within the memory
/// that a reader grants a small array.
const MAX_PADDING: u64 = 1 << 24;

impl Pipeline {
    /// Bytes of an array that is padded for all stages, as in FZM files: the next common multiple of their
    /// alignments.
    pub(crate) fn padded(&self, bytes: u64) -> Result<u64> {
        let mut unit = 1u64;
        for node in &self.nodes {
            let a = node.stage.alignment(&node.args)?.max(1);
            unit = (unit / gcd(unit, a)).checked_mul(a).filter(|&u| u <= MAX_PADDING).ok_or_else(|| {
                let what =
                    format!("its chunk and block sizes have no common multiple up to {MAX_PADDING} bytes, which a file has to be padded to; the compact container never pads");
                Error::InvalidPipeline(what)
            })?;
        }
        bytes.checked_next_multiple_of(unit).ok_or(Error::Internal("an array length overflows"))
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn no_stage(index: usize, count: usize) -> Error {
    Error::argument(
        "stage index",
        index,
        format!("one of the {count} stages of the pipeline, counted from 0"),
    )
}
