//! `fzgm bench --device cuda`: measures asynchronous calls on an array in device memory, with one workspace per direction.

use super::failed::{Failed, Failures};
use super::measure::{Quality, middle};
use super::resident::{Clock, Resident};
use super::{Args, base};
use crate::failure::Failure;
use crate::field::shape;
use crate::memory;
use crate::report::{self, number, optional, ratio, short, speed};
use crate::request::Request;
use fzgm::{Array, Device, Direction, Encoder, Options};
use serde_json::{Value, json};

/// Number of warm-up calls. The first call of the process loads code, and the first call of each kind fills caches.
const WARM_UP: u32 = 2;

/// Speeds of one direction in GB/s.
struct Speeds {
    /// From the device time between two events around the call.
    device: f64,
    /// From the host time between the start of the call and its completion.
    call: f64,
    /// From the device time of a graph that contains the call.
    graph: Option<f64>,
    /// Time of `device` in microseconds, a more useful figure than the speed for small arrays.
    micros: f64,
    /// Time of `graph` in microseconds.
    graph_micros: Option<f64>,
}

struct Row<'a> {
    request: Request<'a>,
    ratio: f64,
    workspace_bytes: [u64; 2],
    copy: f64,
    speeds: [Speeds; 2],
    quality: Quality,
}

pub(super) fn run(
    args: &Args,
    requests: Vec<Request<'_>>,
    index: u32,
    array: &Array,
    src: &[u8],
) -> Result<(), Failure> {
    let info = fzgm::device_info(index).map_err(|e| Failure::from_error(&e))?;
    if info.name.starts_with("fzemu") {
        report::note("the device is the test emulator, not a GPU; the times are meaningless");
    }
    if args.as_text() {
        report::print(&format!(
            "{}: {} of {}, {} bytes on cuda:{index}, {}; GB/s of the array, median of {} runs\n{}",
            args.input.display(),
            shape(array),
            array.dtype(),
            array.bytes(),
            info.name,
            args.runs,
            heading(args.graph)
        ))?;
    }
    let (mut rows, mut failures) = (vec![], Failures::default());
    for request in requests {
        match measure(args, request, index, array, src) {
            Ok(row) => {
                if args.as_text() {
                    report::print(&line(&row))?;
                }
                rows.push(row);
            }
            Err(failure) => failures.add(Failed { request, threads: None, failure }),
        }
    }
    let lines: Vec<Value> = rows.iter().map(to_json).collect();
    let device = json!({ "device": format!("cuda:{index}"), "device_name": info.name });
    super::print(args, array, &lines, device, &failures)?;
    failures.verdict(rows.iter().map(|row| row.quality.kept))
}

fn measure<'a>(
    args: &Args,
    request: Request<'a>,
    index: u32,
    array: &Array,
    src: &[u8],
) -> Result<Row<'a>, Failure> {
    let from_error = |e| Failure::from_error(&e);
    let options = Options {
        device: Device::Cuda(index),
        fuse: !args.no_fuse,
        previous_base: request.previous_base,
        checksum_async: args.checksum,
        ..Options::default()
    };
    let encoder = Encoder::new(&request.pipeline(array.dtype())?, array, &options).map_err(from_error)?;
    let decoder = encoder.decoder().map_err(from_error)?;
    let mut resident = Resident::new(&encoder, &decoder, index, src).map_err(from_error)?;
    let mut timed = |way, clock| {
        let seconds =
            resident.seconds(way, clock, WARM_UP).and_then(|_| resident.seconds(way, clock, args.runs));
        seconds.map(middle).map_err(from_error)
    };
    let mut speeds = |way| {
        let (device, call) = (timed(way, Clock::Device)?, timed(way, Clock::Host)?);
        let graph = if args.graph { Some(timed(way, Clock::Graph)?) } else { None };
        let speed = |seconds| speed(array.bytes(), seconds);
        Ok::<_, Failure>(Speeds {
            device: speed(device),
            call: speed(call),
            graph: graph.map(speed),
            micros: device * 1e6,
            graph_micros: graph.map(|s| s * 1e6),
        })
    };
    let speeds = [speeds(Direction::Encode)?, speeds(Direction::Decode)?];
    let mut restored = memory::zeroed(array.bytes())?;
    resident.restored(&mut restored).map_err(from_error)?;
    let quality = Quality::judge(&request, array, src, &restored)?;
    let copies = resident.copy_seconds(WARM_UP).and_then(|_| resident.copy_seconds(args.runs));
    Ok(Row {
        request,
        ratio: ratio(array.bytes(), resident.container_bytes()),
        workspace_bytes: [encoder.workspace_bytes(), decoder.workspace_bytes()],
        copy: speed(array.bytes(), copies.map(middle).map_err(from_error)?),
        speeds,
        quality,
    })
}

fn heading(graph: bool) -> String {
    let graph = if graph { "     graph: c       d" } else { "" };
    format!(
        "{:12}{:6}{:>10}  {:10}{:>9}{:>10}{:>8}{:>10}{:>8}{:>10}{:>10}{:>9}{graph}  worst error / bound\n",
        "preset",
        "mode",
        "eb",
        "base",
        "ratio",
        "compress",
        "/copy",
        "decomp",
        "/copy",
        "call: c",
        "call: d",
        "copy"
    )
}

/// The speed of a call as a fraction of the speed of a copy; 0 for an empty array.
fn share(speed: f64, copy: f64) -> f64 {
    if copy > 0.0 { speed / copy } else { 0.0 }
}

fn line(row: &Row<'_>) -> String {
    let Row { request, ratio, copy, speeds: [c, d], quality, .. } = row;
    let graph = match (c.graph, d.graph) {
        (Some(c), Some(d)) => format!("{:>13}{:>8}", short(c), short(d)),
        _ => String::new(),
    };
    format!(
        "{:12}{:6}{:>10}  {:10}{:>9}{:>10}{:>8.3}{:>10}{:>8.3}{:>10}{:>10}{:>9}{graph}  {}\n",
        super::name(request),
        request.mode.unwrap_or("-"),
        request.bound.map_or("-".into(), |eb| format!("{eb:e}")),
        base(request),
        short(*ratio),
        short(c.device),
        share(c.device, *copy),
        short(d.device),
        share(d.device, *copy),
        short(c.call),
        short(d.call),
        short(*copy),
        quality.text(request)
    )
}

fn to_json(row: &Row<'_>) -> Value {
    let mut value = row.quality.json(&row.request, row.ratio);
    value["device_copy_gb_per_s"] = number(row.copy);
    for ((name, s), workspace) in ["compress", "decompress"].iter().zip(&row.speeds).zip(row.workspace_bytes)
    {
        value[format!("{name}_gb_per_s")] = number(s.device);
        value[format!("{name}_over_copy")] = number(share(s.device, row.copy));
        value[format!("{name}_us")] = number(s.micros);
        value[format!("{name}_call_gb_per_s")] = number(s.call);
        value[format!("{name}_graph_gb_per_s")] = optional(s.graph);
        value[format!("{name}_graph_us")] = optional(s.graph_micros);
        value[format!("{name}_workspace_bytes")] = workspace.into();
    }
    value
}
