//! The C interface against its header: its parts are frozen, and each of its functions is called with every
//! kind of wrong argument. Both tests go over the declarations of the header, so that no new one is missed.

#![cfg(feature = "capi")]
#![allow(
    unsafe_code,
    clippy::undocumented_unsafe_blocks,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod arguments;
mod attack;
mod batches;
mod fixture;
mod frozen;
mod header;
mod overlap;
mod rows;
mod steps;
