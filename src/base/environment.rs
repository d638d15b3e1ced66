//! The floating-point environment of a call.
//!
//! A program may run in another environment than the default one: `-ffast-math` and Intel's compilers flush
//! subnormal numbers to zero, debug builds of Fortran trap on invalid operations, and some codes round
//! upward. Results of the library must not depend on the environment, so every entry of the library runs in
//! the default one: round to nearest, subnormal numbers kept, no traps. On return the environment of the
//! caller is restored, including exception flags.
#![allow(unsafe_code)]

/// Runs `body` in the default floating-point environment: round to nearest, subnormal numbers kept, no traps.
/// The environment of the calling thread is restored when `body` returns or panics, including exception
/// flags.
///
/// Every function of this crate that computes with floats calls this itself. It applies to x86-64 (MXCSR) and
/// AArch64 (FPCR and FPSR); on other processors it only calls `body`.
pub fn in_default_environment<R>(body: impl FnOnce() -> R) -> R {
    let found = register::read();
    let _restored = Restored(found);
    if found != register::DEFAULT {
        register::write(register::DEFAULT); // seed: environment-default
    }
    apart(body)
}

/// A call of its own: no operation of `body` may move to where the other environment is in force.
#[inline(never)]
fn apart<R>(body: impl FnOnce() -> R) -> R {
    body()
}

/// Restores an environment at the end of its scope.
struct Restored(register::Environment);

impl Drop for Restored {
    fn drop(&mut self) {
        // To read the register costs a tenth of writing it.
        // seed: environment-restored
        if register::read() != self.0 {
            register::write(self.0);
        }
    }
}

// Miri does not support inline assembly; it computes in the default environment.
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod register {
    use std::arch::asm;

    /// MXCSR: control bits and exception flags.
    pub(super) type Environment = u32;

    /// All exceptions masked, round to nearest, no flag raised.
    pub(super) const DEFAULT: Environment = 0x1f80;

    pub(super) fn read() -> Environment {
        let mut mxcsr: u32 = 0;
        // SAFETY: every x86-64 processor has the instruction, which writes four bytes to the variable.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut mxcsr, options(nostack, preserves_flags)) };
        mxcsr
    }

    pub(super) fn write(mxcsr: Environment) {
        // SAFETY: every x86-64 processor has the instruction. The value is the default or was read from the register, so no
        // reserved bit is set. Rust code runs only between the write of the default and the write of the caller's value.
        // The exception flags change, so the block does not preserve flags.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const mxcsr, options(nostack)) };
    }
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
mod register {
    use std::arch::asm;

    /// FPCR, the control bits, and FPSR, the exception flags.
    pub(super) type Environment = (u64, u64);

    /// Round to nearest, no flush to zero, no traps; no flag raised.
    pub(super) const DEFAULT: Environment = (0, 0);

    pub(super) fn read() -> Environment {
        let (fpcr, fpsr): (u64, u64);
        // SAFETY: every AArch64 processor with floats has both registers, and programs may read them.
        unsafe {
            asm!("mrs {}, fpcr", "mrs {}, fpsr", out(reg) fpcr, out(reg) fpsr, options(nostack, preserves_flags));
        }
        (fpcr, fpsr)
    }

    pub(super) fn write((fpcr, fpsr): Environment) {
        // SAFETY: every AArch64 processor with floats has both registers, and programs may write them. The values are the
        // default or were read from the registers. Rust code runs only between the write of the default and that of the caller's.
        unsafe {
            // The exception flags change, so the block does not preserve flags.
            asm!("msr fpcr, {}", "msr fpsr, {}", in(reg) fpcr, in(reg) fpsr, options(nostack));
        }
    }
}

#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod register {
    pub(super) type Environment = ();
    pub(super) const DEFAULT: Environment = ();
    pub(super) fn read() -> Environment {}
    pub(super) fn write((): Environment) {}
}

#[cfg(all(test, not(miri), any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests {
    use super::register::{DEFAULT, read, write};
    use super::*;
    use std::hint::black_box;
    use std::panic::catch_unwind;

    /// Flush to zero, round upward, and on x86-64 subnormal operands as zero, traps and a raised flag.
    #[cfg(target_arch = "x86_64")]
    const STRANGE: u32 = 0x8040 | 0x4000 | 0x20;
    #[cfg(target_arch = "aarch64")]
    const STRANGE: (u64, u64) = (1 << 24 | 1 << 22, 1);

    /// The result of `f` under [`STRANGE`], and the environment that `f` leaves.
    fn strange<R>(f: impl FnOnce() -> R) -> (R, register::Environment) {
        let before = read();
        write(STRANGE);
        let done = apart(f);
        let after = read();
        write(before);
        (done, after)
    }

    fn sum_and_quotient() -> (f64, f64) {
        (black_box(1.0) + black_box(1e-30), black_box(1e-310) / black_box(2.0))
    }

    #[test]
    fn the_body_runs_in_the_default_environment_and_the_callers_is_restored() {
        // Traps are on: the invalid operation ends the process unless they are masked.
        let ((inside, nan, results), after) = strange(|| {
            in_default_environment(|| (read(), black_box(0.0f32) / black_box(0.0), sum_and_quotient()))
        });
        assert_eq!(inside, DEFAULT);
        assert!(nan.is_nan());
        assert_eq!(results, (1.0, 5e-311));
        assert_eq!(after, STRANGE);
    }

    #[test]
    fn a_panic_restores_it_too() {
        let (caught, after) = strange(|| {
            in_default_environment(|| {
                // The hook that prints the panic must not run under STRANGE, nor the panic's own code.
                catch_unwind(|| in_default_environment(|| std::panic::panic_any(1)))
            })
        });
        assert!(caught.is_err());
        assert_eq!(after, STRANGE);
    }

    #[test]
    fn the_test_environment_makes_a_difference() {
        #[cfg(target_arch = "x86_64")]
        let masked = STRANGE | 0x1f80;
        #[cfg(target_arch = "aarch64")]
        let masked = STRANGE;
        let before = read();
        write(masked);
        let results = apart(sum_and_quotient);
        write(before);
        assert!(results.0 > 1.0 && results.1 == 0.0, "{results:?}");
    }
}
