//! Templates as tables, for the device functions that make and read containers.

use super::device_tables::{
    CRC_DATA, CRC_HEADER, CRC_REST, FIELD_BOUND, FIELD_COUNT, FIELD_PAYLOAD_BYTES, FIELD_REPEATED,
    FIELD_SEGMENT_BYTES, FIELD_SEGMENT_OFFSET, FIELD_STORED, FieldRow, HeaderRow, KIND_DYNAMIC,
    KIND_METADATA, KIND_STATIC, METADATA, NO_FIELD, PLACE_ARENA, PLACE_ARRAY, PLACE_NONE, PLACE_SEGMENT,
    PlanTables, RuleRow, SegmentRow, VARINT, ValueRow,
};
use super::single_tables::single;
use super::template::{Crc, Field, Piece, Segment, Template};
use crate::base::error::Status;
use crate::gpu::abi::{CONTAINER_BLOCK, STAGED_HEADER, STAGED_TABLES, STAGED_WORDS, WORDS_AT};
use crate::gpu::single::SingleForm;
use crate::ir::stage::RuntimeField;
use crate::ir::value::{Place, Val};
use crate::plan::Plan;
use bytemuck::Pod;

/// A form of container that a device writes or reads.
pub(crate) struct Form<'a> {
    /// Its header and segments.
    pub(crate) template: &'a Template,
    /// True if the array is stored without coding.
    pub(crate) stored: bool,
}

/// The tables of a plan.
pub(crate) struct Tables {
    /// All of them, behind [`PlanTables`].
    pub(crate) bytes: Vec<u8>,
    /// How many of the bytes are worth a copy in shared memory: all but the headers of further forms; 0 if these are too many.
    pub(crate) staged: u64,
    /// The forms for a decoder of a single launch, with offsets among the tables as addresses; empty: it takes several.
    pub(crate) single: Vec<SingleForm>,
}

/// The tables of a plan. `named` turns the values of the templates into those of the plan. `longer`: the
/// status for a header that states a length without room in the plan.
pub(crate) fn image(plan: &Plan, forms: &[Form<'_>], named: &dyn Fn(Val) -> Val, longer: Status) -> Tables {
    let mut tables = Tables { bytes: vec![0; size_of::<PlanTables>()], staged: 0, single: vec![] };
    let values: Vec<ValueRow> =
        (0..plan.bound.graph.values.len()).map(|i| value(plan, Val(i as u32))).collect();
    let rules = forms.first().map_or(vec![], |form| rules(plan, form.template, named));
    let all: Vec<Parts> = forms.iter().map(|form| parts(form.template, named)).collect();
    let mut headers: Vec<HeaderRow> =
        forms.iter().zip(&all).map(|(form, parts)| header(&mut tables, form, parts, named)).collect();
    let mut plan_tables = PlanTables {
        values: values.len() as u32,
        values_at: tables.push(&values),
        headers: headers.len() as u32,
        headers_at: tables.push(&headers),
        rules: rules.len() as u32,
        rules_at: tables.push(&rules),
        array_bytes: plan.bound.array.bytes(),
        longer: longer as i32,
        fixed_header: 0,
    };
    for (header, parts) in headers.iter_mut().zip(&all) {
        (header.blank_at, header.mask_at) = (tables.push(&parts.blank), tables.push(&parts.mask));
        if tables.staged == 0 {
            tables.staged = tables.end() as u64;
        }
    }
    tables.staged = if tables.staged > STAGED_TABLES { 0 } else { tables.staged };
    let first = forms.first().zip(all.first());
    plan_tables.fixed_header = (tables.staged > 0
        && first.is_some_and(|(form, parts)| has_fixed_header(&plan_tables, form, parts)))
    .into();
    if plan_tables.fixed_header != 0 {
        tables.single = single(plan, &forms.iter().zip(&all).collect::<Vec<_>>(), named, &mut tables);
    }
    tables.put(0, &[plan_tables]);
    tables.put(plan_tables.headers_at, &headers);
    tables
}

/// The value of [`PlanTables::fixed_header`].
fn has_fixed_header(plan_tables: &PlanTables, form: &Form<'_>, header: &Parts) -> bool {
    /// Lanes of a warp.
    const LANES: usize = 32;
    let segments = &form.template.segments;
    let words = WORDS_AT + 2 * 8 * u64::from(plan_tables.values);
    !form.stored
        && plan_tables.rules == 0
        && header.varints.is_empty()
        && header.fields.len() <= CONTAINER_BLOCK as usize
        && segments.len() <= LANES
        && segments.iter().all(|s| matches!(s, Segment::Value(_)))
        && header.blank.len() <= STAGED_HEADER as usize
        && words <= STAGED_WORDS
}

impl Tables {
    pub(super) fn push<T: Pod>(&mut self, rows: &[T]) -> u32 {
        let at = self.end();
        self.bytes.extend_from_slice(bytemuck::cast_slice(rows));
        at as u32
    }

    /// Fills up to a multiple of 16.
    fn end(&mut self) -> usize {
        self.bytes.resize(self.bytes.len().next_multiple_of(16), 0);
        self.bytes.len()
    }

    fn put<T: Pod>(&mut self, at: u32, rows: &[T]) {
        let bytes = bytemuck::cast_slice(rows);
        self.bytes[at as usize..][..bytes.len()].copy_from_slice(bytes);
    }
}

fn value(plan: &Plan, v: Val) -> ValueRow {
    let edge = plan.value(v).edge;
    let (place, offset) = match plan.place(v) {
        Place::Dead => (PLACE_NONE, 0),
        Place::Array => (PLACE_ARRAY, 0),
        Place::Arena { offset } => (PLACE_ARENA, offset),
        Place::Segment(_) => (PLACE_SEGMENT, 0),
    };
    let metadata = plan.bound.graph.nodes.iter().any(|n| n.metadata == v);
    let kind = match edge.length.is_dynamic() {
        true => KIND_DYNAMIC,
        false if metadata => KIND_METADATA,
        false => KIND_STATIC,
    };
    ValueRow { place, kind, word: plan.root(v).0, pad: 0, offset, max: edge.max_bytes() }
}

fn field(field: Field, at: usize, width: usize, named: &dyn Fn(Val) -> Val) -> FieldRow {
    let (what, index, detail) = match field {
        Field::RuntimeField(RuntimeField::Stored { of, at }) => (FIELD_STORED, named(of).0, at),
        Field::RuntimeField(RuntimeField::Bound { of, at }) => (FIELD_BOUND, named(of).0, at),
        Field::RuntimeField(RuntimeField::Count { of, unit }) => (FIELD_COUNT, named(of).0, unit),
        Field::SegmentBytes(i) => (FIELD_SEGMENT_BYTES, i as u32, 0),
        Field::SegmentOffset(i) => (FIELD_SEGMENT_OFFSET, i as u32, 0),
        Field::PayloadBytes => (FIELD_PAYLOAD_BYTES, 0, 0),
    };
    FieldRow { at: at as u32, width: width as u32, what, index, detail }
}

/// Pieces of a template, by kind.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) blank: Vec<u8>,
    pub(super) mask: Vec<u8>,
    pub(super) fields: Vec<FieldRow>,
    pub(super) varints: Vec<FieldRow>,
    pub(super) crcs: Vec<FieldRow>,
}

fn parts(template: &Template, named: &dyn Fn(Val) -> Val) -> Parts {
    let mut p = Parts::default();
    for piece in &template.pieces {
        let at = p.blank.len();
        let width = match piece {
            Piece::Bytes(bytes) | Piece::Informational(bytes) => {
                p.blank.extend_from_slice(bytes);
                p.mask.resize(p.blank.len(), 0xff);
                continue;
            }
            Piece::Capacity(capacity) => {
                p.blank.extend_from_slice(&capacity.to_le_bytes());
                8
            }
            Piece::Fixed(f, width) => {
                let row = field(*f, at, *width, named);
                let same = |r: &FieldRow| (r.what, r.index, r.detail) == (row.what, row.index, row.detail);
                let bytes = [FIELD_STORED, FIELD_BOUND].contains(&row.what);
                let repeats = bytes && p.fields.iter().any(same);
                p.fields.push(FieldRow { what: if repeats { FIELD_REPEATED } else { row.what }, ..row });
                *width
            }
            Piece::Varint(f) => {
                p.varints.push(field(*f, at, 0, named));
                0
            }
            Piece::Crc(crc) => {
                let what = match crc {
                    Crc::Data => CRC_DATA,
                    Crc::Header => CRC_HEADER,
                    Crc::Rest => CRC_REST,
                };
                p.crcs.push(FieldRow { at: at as u32, width: 4, what, index: 0, detail: 0 });
                4
            }
        };
        p.blank.resize(at + width, 0);
        p.mask.resize(at + width, 0);
    }
    p
}

/// The row of a form, except for the place of its bytes.
fn header(tables: &mut Tables, form: &Form<'_>, p: &Parts, named: &dyn Fn(Val) -> Val) -> HeaderRow {
    let says = |row: &FieldRow, i: usize| row.what == FIELD_SEGMENT_BYTES && row.index == i as u32;
    let segment = |(i, s): (usize, &Segment)| {
        let (value, unit, at) = match s {
            Segment::Value(_) if form.stored => (Val::ARRAY, 0, 0),
            Segment::Value(v) => (named(*v), 0, 0),
            Segment::Count(RuntimeField::Count { of, unit }) => (named(*of), *unit as u32, 0),
            Segment::Count(RuntimeField::Stored { of, at } | RuntimeField::Bound { of, at }) => {
                (named(*of), METADATA, *at as u32)
            }
        };
        let fixed = p.fields.iter().position(|row| says(row, i)).map(|k| k as u32);
        let varint = p.varints.iter().position(|row| says(row, i)).map(|k| k as u32 | VARINT);
        SegmentRow { value: value.0, unit, field: fixed.or(varint).unwrap_or(NO_FIELD), at }
    };
    let segments: Vec<SegmentRow> = form.template.segments.iter().enumerate().map(segment).collect();
    HeaderRow {
        blank: p.blank.len() as u32,
        blank_at: 0,
        mask_at: 0,
        stored: form.stored.into(),
        fields: p.fields.len() as u32,
        fields_at: tables.push(&p.fields),
        varints: p.varints.len() as u32,
        varints_at: tables.push(&p.varints),
        crcs: p.crcs.len() as u32,
        crcs_at: tables.push(&p.crcs),
        segments: segments.len() as u32,
        segments_at: tables.push(&segments),
    }
}

/// The sources of lengths that are only known at run time, when a container is read, as in `Graph::lengths`.
fn rules(plan: &Plan, template: &Template, named: &dyn Fn(Val) -> Val) -> Vec<RuleRow> {
    let fields = parts(template, named).fields;
    let rule = |(input, output): (Val, Val)| {
        let field = fields.iter().position(|r| r.what == FIELD_COUNT && r.index == input.0);
        let unit = field.map_or(1, |k| fields[k].detail as u32);
        let field = field.map_or(NO_FIELD, |k| k as u32);
        let dynamic = plan.bound.graph.edge(input).length.is_dynamic();
        dynamic.then_some(RuleRow { input: input.0, output: output.0, field, unit })
    };
    let edges = |&i: &usize| {
        let node = &plan.bound.graph.nodes[i];
        let output = node.outputs.first().copied();
        node.inputs.iter().filter_map(move |&input| Some((input, output?)))
    };
    plan.bound.graph.order.iter().rev().flat_map(edges).filter_map(rule).collect()
}
