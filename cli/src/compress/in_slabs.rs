//! `fzgm compress --slab`: compresses slab by slab, with memory for one slab.

use super::{Absolute, Done, Files, Work, loses_the_shape, report};
use crate::failure::Failure;
use crate::fill::Declared;
use crate::input;
use crate::report as reports;
use crate::request;
use crate::slabs;
use crate::source::Source;
use fzgm::Pipeline;
use fzgm::slabs::Header;
use std::cell::RefCell;
use std::time::Instant;

impl Work<'_> {
    pub(super) fn in_slabs(
        &self,
        files: &Files<'_>,
        source: Source,
        (mut pipeline, declared): (Pipeline, Declared),
        bytes: u64,
    ) -> Result<(), Failure> {
        let (args, input, dtype) = (self.args, files.input, source.dtype());
        let options = args.options();
        if loses_the_shape(&options) {
            return Err(Failure::usage(
                "--slab is given, but --no-strict with --generation 2026-05 writes containers without their shape; \
                 remove --no-strict or --generation",
            ));
        }
        let start = Instant::now();
        let header = Header::new(dtype, source.dims(), bytes);
        let mut src = source.into_reader()?;
        files.output.check()?;
        let mut check = self.check(&pipeline, dtype, declared);
        let fresh = check.clone();
        // A relative bound requires the range of the whole array. A stream can be read only once: there each slab has the bound of
        // its own range, which is never larger.
        let twice = input::length(input)?.is_some();
        let own = pipeline.clone();
        let relative = request::relative(&pipeline).filter(|_| twice);
        if let Some(mode) = relative {
            let all = Source::open(input, &args.field)?.into_reader()?;
            let base = slabs::base((all, input), &mut check, mode)?;
            self.accept(input, dtype, &pipeline, &check)?;
            if base > 0.0 {
                let set = pipeline.set_everywhere("value_base", |args| args.set_real("value_base", base));
                set.map_err(|e| Failure::from_error(&e))?;
            }
        }
        let absolute = Absolute::of(&own, check.range());
        let seen = RefCell::new(fresh.clone());
        let check = |slab: &[u8]| {
            if relative.is_some() {
                return Ok(());
            }
            if request::relative(&pipeline).is_none() {
                if args.fill.is_given() {
                    seen.borrow_mut().add(slab);
                }
                return Ok(());
            }
            let mut check = fresh.clone();
            check.add(slab);
            self.accept(input, dtype, &pipeline, &check)
        };
        let mut sink = files.output.create()?;
        let to = files.output.path();
        let totals =
            slabs::write((&mut *src, input), (&mut sink, to), &header, (&pipeline, &options), &check)?;
        sink.commit()?;
        if let Some(note) = seen.into_inner().note().filter(|_| request::relative(&own).is_none()) {
            reports::note(&note);
        }
        let seconds = start.elapsed().as_secs_f64();
        let array = header.array(totals.rows).map_err(|e| Failure::from_error(&e))?;
        let done = Done {
            array,
            bytes: totals.file_bytes,
            seconds,
            slabs: Some(totals.slabs),
            step: None,
            stored: None,
            absolute,
            verified: None,
            choice: None,
        };
        report(args, self.start, files, &done)
    }
}
