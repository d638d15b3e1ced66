//! Random appends, cuts, and damage, against a list of steps.

use super::storage::Memory;
use super::{Given, read};
use fzgm::series::{Series, SeriesWriter};
use fzgm::{Array, DType};
use proptest::collection::vec;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Act {
    /// Appends a step of this type and shape in slabs of this number of rows.
    Append(u8, Vec<u64>, u64),
    /// Begins a step and leaves it.
    Leave(Vec<u64>),
    /// Opens the file again.
    Open,
    /// Cuts bytes off the end and opens the file again.
    Cut(usize),
    /// Damages one byte of the index and opens the file again.
    Damage(usize),
}

fn act() -> impl Strategy<Value = Act> {
    let dims = || vec(0..7u64, 1..5);
    prop_oneof![
        4 => (0..10u8, dims(), 1..4u64).prop_map(|(dtype, dims, rows)| Act::Append(dtype, dims, rows)),
        1 => dims().prop_map(Act::Leave),
        1 => Just(Act::Open),
        1 => (1..400usize).prop_map(Act::Cut),
        1 => (0..100usize).prop_map(Act::Damage),
    ]
}

fn opened(memory: &Memory) -> SeriesWriter<Memory> {
    SeriesWriter::new(memory.clone(), "series").unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_series_is_a_list_of_steps(acts in vec(act(), 1..20)) {
        let (memory, mut steps): (_, Vec<Given>) = (Memory::default(), vec![]);
        let mut writer = opened(&memory);
        for (k, act) in acts.iter().enumerate() {
            match act {
                Act::Append(dtype, dims, rows) => {
                    let dtype = DType::from_number((*dtype).into()).unwrap();
                    let name = if k % 3 == 0 { String::new() } else { format!("step {k}") };
                    let step = Given::new(&name, dtype, dims, *rows);
                    prop_assert_eq!(step.append(&mut writer), Ok(steps.len() as u64));
                    steps.push(step);
                }
                Act::Leave(dims) => {
                    let array = Array::new(DType::F32, dims).unwrap();
                    writer.begin("left", &array, 2).unwrap();
                    drop(writer);
                    writer = opened(&memory);
                }
                Act::Open => {
                    drop(writer);
                    writer = opened(&memory);
                }
                Act::Cut(bytes) => {
                    drop(writer);
                    let file = memory.copy();
                    let mut at = 16;
                    let series = Series::new(&file[..], "series").unwrap();
                    let cut = file.len().saturating_sub(*bytes).max(4);
                    let complete = series.steps().iter().filter(|step| {
                        at += step.bytes() as usize;
                        at <= cut
                    });
                    steps.truncate(complete.count());
                    memory.replace(&file[..cut]);
                    writer = opened(&memory);
                }
                Act::Damage(at) => {
                    drop(writer);
                    let mut file = memory.copy();
                    let at = file.len() - 1 - at % 64;
                    file[at] ^= 0x20;
                    memory.replace(&file);
                    writer = opened(&memory);
                }
            }
            prop_assert_eq!(writer.steps().len(), steps.len());
        }
        drop(writer);
        let file = memory.copy();
        prop_assert!(file == super::written(&steps), "another file than without cuts and damage");
        let series = Series::new(&file[..], "series").unwrap();
        prop_assert!(series.is_indexed());
        for (index, step) in steps.iter().enumerate() {
            step.check(&series, index);
            prop_assert_eq!(read(&series, index).unwrap().len(), step.values.len());
        }
    }
}
