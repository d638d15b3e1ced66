//! Code that the integration tests share.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod agreement;
pub mod cases;
pub mod corpus;
pub mod damage;
pub mod decoders;
pub mod field;
pub mod fixture;
pub mod gpu;
pub mod oracle;
pub mod rare;
pub mod rng;
pub mod run;
pub mod samples;
