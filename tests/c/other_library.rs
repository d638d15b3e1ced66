//! The other Rust library of `two_runtimes.c`: it panics and catches.

#[unsafe(no_mangle)]
pub extern "C" fn other_library_catches_a_panic() -> i32 {
    std::panic::set_hook(Box::new(|_| {}));
    match std::panic::catch_unwind(|| -> i32 { panic!("{}", "caught below") }) {
        Ok(_) => 0,
        Err(_) => 42,
    }
}
