//! The C interface against its header: what it is made of is frozen, and each of its functions is called with every kind of
//! wrong argument. Both go over what the header declares, so that nothing new is missed.

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
mod fixture;
mod frozen;
mod header;
mod overlap;
mod rows;
