//! Wrong arguments of each type in C, and of each meaning.

use crate::fixture::{Fixture, Is, Word};
use crate::header::Parameter;
use fzgm::capi::fz_status;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Want {
    /// This status.
    Status(i32),
    /// Any failure.
    Failure,
    /// Any status is allowed; the call must not crash.
    Anything,
}

pub(crate) struct Attack {
    pub(crate) what: String,
    pub(crate) word: Word,
    /// In place of `word`: a handle of this kind, by its number, that is freed just before.
    pub(crate) freed: Option<usize>,
    /// In place of the length that a structure begins with.
    pub(crate) struct_bytes: Option<u32>,
    pub(crate) want: Want,
}

const NULL: Want = Want::Status(fz_status::FZ_NULL_POINTER as i32);
const REFUSED: Want = Want::Status(fz_status::FZ_INVALID_ARGUMENT as i32);

impl Attack {
    fn new(what: &str, word: u64, want: Want) -> Attack {
        Attack { what: what.into(), word: Word(word), freed: None, struct_bytes: None, want }
    }
}

/// The attacks on one argument; `good` is its valid value.
pub(crate) fn attacks(
    fixture: &Fixture,
    parameter: &Parameter,
    is: Is,
    good: Word,
    struct_bytes: u32,
) -> Vec<Attack> {
    let mut all = values(&parameter.ctype, is);
    if parameter.ctype.ends_with('*') {
        all.extend(pointers(fixture, parameter, is, good));
    }
    if matches!(is, Is::Described | Is::MayDescribed) {
        for length in [0, struct_bytes - 1, struct_bytes + 1, u32::MAX] {
            let attack = Attack::new(&format!("struct_bytes {length}"), good.0, REFUSED);
            all.push(Attack { struct_bytes: Some(length), ..attack });
        }
    }
    if matches!(is, Is::View | Is::SinkView) {
        let views = fixture.wrong_views.iter();
        all.extend(views.map(|(what, view)| Attack::new(what, (&raw const **view) as u64, REFUSED)));
    }
    if is == Is::Wish {
        let wishes = fixture.wrong_wishes.iter();
        all.extend(wishes.map(|(what, wish)| Attack::new(what, (&raw const **wish) as u64, REFUSED)));
    }
    all
}

fn pointers(fixture: &Fixture, parameter: &Parameter, is: Is, good: Word) -> Vec<Attack> {
    let ctype = parameter.ctype.as_str();
    let freeing = format!("{is:?}").starts_with("Fresh");
    let optional = freeing || format!("{is:?}").starts_with("May");
    let mut all = vec![Attack::new("NULL", 0, if optional { Want::Anything } else { NULL })];
    if !ctype.contains("void") && !ctype.contains("char") {
        all.push(Attack::new("misaligned", good.0 + 1, REFUSED));
    }
    // Handles: a debug build detects their kind.
    let kinds = [
        "fz_pipeline *",
        "fz_plan *",
        "fz_workspace *",
        "fz_batch_plan *",
        "fz_batch_workspace *",
        "fz_series *",
        "fz_series_writer *",
    ];
    if let Some(kind) = kinds.iter().position(|k| ctype.ends_with(k)).filter(|_| cfg!(debug_assertions)) {
        let live = fixture.live();
        for other in (0..live.len()).filter(|k| *k != kind) {
            all.push(Attack::new("a handle of another kind", live[other], REFUSED));
        }
        all.push(Attack::new("no handle at all", (&raw const *fixture.described) as u64, REFUSED));
        all.push(Attack { freed: Some(kind), ..Attack::new("freed", good.0, REFUSED) });
    }
    all.extend(other_handles(fixture, parameter, is));
    all
}

/// Live handles of the right kind in the wrong place.
fn other_handles(fixture: &Fixture, parameter: &Parameter, is: Is) -> Vec<Attack> {
    let mut all = vec![];
    match is {
        // A call that takes any plan calls it plan.
        Is::Encoder if parameter.name != "plan" => {
            all.push(Attack::new("a decoder", fixture.decoder as u64, REFUSED));
        }
        Is::Decoder | Is::MayDecoder => all.push(Attack::new("an encoder", fixture.encoder as u64, REFUSED)),
        Is::EncoderSpace | Is::MayEncoderSpace => {
            all.push(Attack::new("of another plan", fixture.spaces[1] as u64, Want::Failure));
        }
        Is::EncoderBatchSpace => {
            all.push(Attack::new("of another batch", fixture.batches.spaces[1] as u64, Want::Failure));
        }
        Is::DecoderBatchSpace => {
            all.push(Attack::new("of another batch", fixture.batches.spaces[0] as u64, Want::Failure));
        }
        Is::DecoderBatch => {
            all.push(Attack::new("a batch of encoders", fixture.batches.plans[0] as u64, REFUSED));
        }
        Is::EncoderBatch if parameter.ctype.contains("const") => {
            all.push(Attack::new("a batch of decoders", fixture.batches.plans[1] as u64, Want::Anything));
        }
        Is::DecoderSpace | Is::MayDecoderSpace => {
            all.push(Attack::new("of another plan", fixture.spaces[0] as u64, Want::Failure));
        }
        _ => {}
    }
    all
}

fn values(ctype: &str, is: Is) -> Vec<Attack> {
    let whole = |values: &[i64], want| -> Vec<Attack> {
        values.iter().map(|v| Attack::new(&v.to_string(), *v as u64, want)).collect()
    };
    match ctype {
        "const char *" => vec![
            Attack::new("not UTF-8", c"\xff\xfe".as_ptr() as u64, REFUSED),
            // A step without a name.
            Attack::new(
                "an empty text",
                c"".as_ptr() as u64,
                if is == Is::MayNewName { Want::Anything } else { Want::Failure },
            ),
            Attack::new("a long text", long_text(), Want::Failure),
        ],
        "uint64_t" if is == Is::ArrayCount => whole(&[i64::MIN, -1], Want::Failure),
        "uint64_t" if is == Is::FirstStep => whole(&[1, i64::MIN, -1], REFUSED),
        "uint64_t" if is == Is::Rows => whole(&[0], REFUSED),
        "uint64_t" if is == Is::Step => whole(&[0, 3, -1], REFUSED),
        "uint64_t" => {
            // A text without room requests its length, and an array may have no elements.
            let mut all = whole(
                &[0],
                if matches!(is, Is::TextBytes | Is::AnyBytes) { Want::Anything } else { Want::Failure },
            );
            all.extend(whole(&[1, i64::MIN, -1], Want::Failure));
            all
        }
        "uint32_t" => {
            let mut all = whole(&[0], if is == Is::Ndim { REFUSED } else { Want::Anything });
            all.extend(whole(&[-1], if is == Is::AnyStage { Want::Anything } else { Want::Failure }));
            all.extend(whole(&[-2, i32::MIN.into(), i32::MAX.into()], Want::Failure));
            all
        }
        "int32_t" => whole(&[-1, i32::MIN.into(), i32::MAX.into(), 1000], Want::Failure),
        "int64_t" => whole(&[-1, i64::MIN, i64::MAX], Want::Failure),
        "double" if is == Is::Threshold => [f64::NAN, f64::NEG_INFINITY, -1.0, 0.0]
            .map(|v| Attack::new(&v.to_string(), v.to_bits(), REFUSED))
            .into(),
        "double" => [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0]
            .map(|v| Attack::new(&v.to_string(), v.to_bits(), REFUSED))
            .into(),
        _ => vec![],
    }
}

/// Longer than any name or file that makes sense.
fn long_text() -> u64 {
    use std::ffi::CString;
    use std::sync::OnceLock;
    static TEXT: OnceLock<CString> = OnceLock::new();
    TEXT.get_or_init(|| CString::new(vec![b'x'; 1 << 20]).unwrap()).as_ptr() as u64
}
