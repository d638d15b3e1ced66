//! The lattice of a container in words.

use fzgm::{Info, StageInfo};

/// The lattice that a stage of the container states, such as `decimal numbers: whole numbers over 100`.
pub(super) fn text(info: &Info) -> Option<String> {
    info.stages.iter().find_map(|stage| match stage.name {
        "lattice" => levels(stage),
        // The encoder rounds predictions to multiples of its step.
        "multilevel" if param(stage, "lattice")? == "true" => multiples(param(stage, "step")?),
        _ => None,
    })
}

fn levels(stage: &StageInfo) -> Option<String> {
    let (scale, offset) = (param(stage, "scale")?, param(stage, "offset")?);
    let formula = param(stage, "formula")?;
    let from_zero = offset.parse() == Ok(0.0);
    match formula {
        "divide" if from_zero => {
            Some(format!("decimal numbers: whole numbers over {}", scale.trim_end_matches(".0")))
        }
        "divide" => Some(format!("evenly spaced levels: divisor {scale}, offset {offset}")),
        _ if from_zero && is_power_of_two(scale) => multiples(scale),
        _ => Some(format!("evenly spaced levels: scale {scale}, offset {offset}, computed in {formula}")),
    }
}

fn multiples(step: &str) -> Option<String> {
    Some(format!("multiples of {step}"))
}

fn is_power_of_two(number: &str) -> bool {
    // The bits of the significand.
    number.parse::<f64>().is_ok_and(|x| x.to_bits() << 12 == 0)
}

fn param<'a>(stage: &'a StageInfo, name: &str) -> Option<&'a str> {
    stage.params.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
}
