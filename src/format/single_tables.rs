//! The headers of a container for a decoder of a single launch, in which every block checks the header by itself: all bytes
//! that the plan decides are compared at once, and few fields remain.

use super::device_tables::{
    FIELD_BOUND, FIELD_COUNT, FIELD_PAYLOAD_BYTES, FIELD_REPEATED, FIELD_SEGMENT_BYTES, FIELD_SEGMENT_OFFSET,
    FIELD_STORED, FieldRow,
};
use super::plan_tables::{Form, Parts, Tables};
use super::template::Segment;
use crate::gpu::abi::STAGED_HEADER;
use crate::gpu::single::{SINGLE_FORMS, SINGLE_METADATA, SINGLE_ROWS, SingleForm, SingleRow};
use crate::ir::value::{Place, Val};
use crate::plan::Plan;

/// The values that such a decoder takes from a container.
struct Operands {
    payload: Val,
    metadata: Option<Val>,
}

/// Appends the forms to the tables; addresses are offsets there. Empty: the plan or a form is of another kind.
pub(super) fn single(
    plan: &Plan,
    forms: &[(&Form<'_>, &Parts)],
    named: &dyn Fn(Val) -> Val,
    tables: &mut Tables,
) -> Vec<SingleForm> {
    let of = |operands: Operands| -> Option<Vec<SingleForm>> {
        forms
            .iter()
            .map(|(form, parts)| {
                let open = match form.stored {
                    true => stored(plan, form, parts)?,
                    false => own(plan, &operands, form, parts, named)?,
                };
                Some(open.put(tables))
            })
            .collect()
    };
    let suitable = forms.len() <= SINGLE_FORMS && forms.iter().any(|(form, _)| !form.stored);
    operands(plan).filter(|_| suitable).and_then(of).unwrap_or_default()
}

/// The operands of a plan of one step that reads one segment where it is, and at most one metadata.
fn operands(plan: &Plan) -> Option<Operands> {
    let (step, _) = plan.single()?;
    let (&payload, metadata) = step.ins.split_first()?;
    let graph = &plan.bound.graph;
    let in_place = graph.sinks.len() == 1 && plan.place(payload) == Place::Segment(0);
    let writes_array = matches!(step.outs[..], [array] if plan.place(array) == Place::Array);
    // Other metadata have no reader.
    let stored: Vec<Val> = (graph.nodes.iter().map(|node| node.metadata))
        .filter(|&v| matches!(plan.place(v), Place::Arena { .. }))
        .collect();
    let short = metadata.iter().all(|&v| plan.value(v).edge.max_bytes() <= SINGLE_METADATA as u64);
    let dynamic = plan.value(payload).edge.length.is_dynamic();
    (in_place && writes_array && dynamic && short && metadata.len() <= 1 && stored == metadata)
        .then(|| Operands { payload: plan.root(payload), metadata: metadata.first().copied() })
}

/// A header with the fields that remain.
struct Opening {
    blank: Vec<u8>,
    mask: Vec<u8>,
    rows: Vec<SingleRow>,
    stored: bool,
    checked: bool,
    payload_at: u32,
}

impl Opening {
    fn new(form: &Form<'_>, parts: &Parts) -> Option<Opening> {
        let whole = parts.blank.len() % 16 == 0 && parts.blank.len() <= STAGED_HEADER as usize;
        let fits = whole && parts.varints.is_empty() && form.template.segments.len() == 1;
        let (blank, mask) = (parts.blank.clone(), parts.mask.clone());
        let checked = !parts.crcs.is_empty();
        fits.then_some(Opening { blank, mask, rows: vec![], stored: form.stored, checked, payload_at: 0 })
    }

    /// Sets a field to a number that every container of the plan has there.
    fn fix(&mut self, row: &FieldRow, number: u64) -> Option<()> {
        let (at, width) = (row.at as usize, row.width as usize);
        let bytes = number.to_le_bytes();
        let (low, high) = bytes.split_at_checked(width)?;
        self.blank.get_mut(at..at + width)?.copy_from_slice(low);
        self.mask.get_mut(at..at + width)?.fill(0xff);
        high.iter().all(|&b| b == 0).then_some(())
    }

    /// Leaves a field to the device.
    fn keep(&mut self, row: &FieldRow, what: u32, detail: u64) {
        self.rows.push(SingleRow { at: row.at, width: row.width as u16, what: what as u16, detail });
    }

    fn put(self, tables: &mut Tables) -> SingleForm {
        SingleForm {
            blank: tables.push(&self.blank).into(),
            mask: tables.push(&self.mask).into(),
            rows: std::array::from_fn(|k| self.rows.get(k).copied().unwrap_or_default()),
            header: self.blank.len() as u32,
            row_count: self.rows.len() as u32,
            payload_at: self.payload_at,
            stored: self.stored.into(),
            checked: self.checked.into(),
        }
    }
}

/// A form with the segment.
fn own(
    plan: &Plan,
    operands: &Operands,
    form: &Form<'_>,
    parts: &Parts,
    named: &dyn Fn(Val) -> Val,
) -> Option<Opening> {
    let mut open = Opening::new(form, parts)?;
    let segment =
        matches!(form.template.segments[..], [Segment::Value(v)] if plan.root(named(v)) == operands.payload);
    let mut told = None;
    for row in &parts.fields {
        let value = Val(row.index);
        match row.what {
            FIELD_STORED | FIELD_BOUND if Some(value) == operands.metadata => {
                open.keep(row, row.what, row.detail)
            }
            FIELD_REPEATED => {}
            FIELD_SEGMENT_OFFSET => open.fix(row, 0)?,
            FIELD_SEGMENT_BYTES | FIELD_PAYLOAD_BYTES => {
                if row.width == 8 {
                    told = Some(row.at);
                }
                open.keep(row, FIELD_COUNT, 1);
            }
            FIELD_COUNT if plan.root(value) == operands.payload => {
                open.keep(row, FIELD_COUNT, row.detail);
            }
            FIELD_COUNT if !plan.value(value).edge.length.is_dynamic() => {
                open.fix(row, plan.value(value).edge.max_bytes() / row.detail)?;
            }
            _ => return None,
        }
    }
    open.payload_at = told?;
    (segment && open.rows.len() <= SINGLE_ROWS).then_some(open)
}

/// The form of a stored array, in which every field has one value.
fn stored(plan: &Plan, form: &Form<'_>, parts: &Parts) -> Option<Opening> {
    let mut open = Opening::new(form, parts)?;
    for row in &parts.fields {
        match row.what {
            FIELD_REPEATED | FIELD_STORED | FIELD_BOUND => return None,
            FIELD_SEGMENT_OFFSET => open.fix(row, 0)?,
            _ => open.fix(row, plan.bound.array.bytes())?,
        }
    }
    Some(open)
}
