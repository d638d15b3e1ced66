//! `fzgm devices`: lists the GPUs that `--device` accepts.

use crate::failure::Failure;
use crate::report;
use fzgm::{DeviceInfo, Error, device_count, device_info};
use serde_json::{Value, json};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Prints the GPUs or, if there is none, the reason. A machine without a GPU is not a failure.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let (devices, why) = match all() {
        Ok(devices) => (devices, None),
        Err(e) => (vec![], Some(e.to_string())),
    };
    if args.json {
        let devices: Vec<Value> = devices.iter().zip(0..).map(|(d, i)| to_json(d, i)).collect();
        return report::print_json(&json!({ "command": "devices", "devices": devices, "why_none": why }));
    }
    let lines = devices.iter().zip(0..).map(|(d, i)| to_text(d, i));
    report::print(&why.map_or_else(|| lines.collect(), |why| why + "\n"))
}

fn all() -> Result<Vec<DeviceInfo>, Error> {
    (0..device_count()?).map(device_info).collect()
}

fn to_text(d: &DeviceInfo, index: u32) -> String {
    format!(
        "cuda:{index}  {}, capability {}.{}, {} bytes, driver of CUDA {}.{}\n",
        d.name,
        d.capability.0,
        d.capability.1,
        d.memory_bytes,
        d.driver / 1000,
        d.driver % 1000 / 10
    )
}

fn to_json(d: &DeviceInfo, index: u32) -> Value {
    json!({
        "device": format!("cuda:{index}"),
        "name": d.name,
        "capability": [d.capability.0, d.capability.1],
        "memory_bytes": d.memory_bytes,
        "driver": d.driver,
    })
}
