//! Instruction sets: a hot loop is compiled for the baseline and for x86-64-v3, and chosen at run time.
//!
//! A hot loop is a [`Kernel`]: a struct of its arguments whose `run` is `#[inline(always)]`, as is all that it
//! calls.  [`dispatch`] runs it inside a function that is compiled for the best set that this machine has.  It
//! costs a load, a branch and a call, so one call should handle a vector of rows or more.

#![expect(unsafe_code, reason = "a function with target features can only be called after detection")]

use std::sync::atomic::{AtomicU8, Ordering};

use crate::error::{KernelError, Result};

/// A set of instructions that loops are compiled for.
pub trait Isa {
    /// Whether `mul_add` is one instruction.
    const HAS_FMA: bool;
}

/// What every machine of the target has.
#[derive(Debug, Clone, Copy)]
pub struct Baseline;

/// x86-64-v3: AVX2, FMA, BMI.
#[derive(Debug, Clone, Copy)]
pub struct V3;

impl Isa for Baseline {
    const HAS_FMA: bool = cfg!(target_arch = "aarch64");
}

impl Isa for V3 {
    const HAS_FMA: bool = true;
}

/// A hot loop with its arguments.
pub trait Kernel {
    /// What the loop gives.
    type Output;

    /// Run the loop; the implementation is `#[inline(always)]`.
    fn run<I: Isa>(self) -> Self::Output;
}

const UNKNOWN: u8 = 0;
const BASELINE: u8 = 1;
const FAST: u8 = 2;

/// The chosen set; it changes how fast answers come, never the answers.
static CHOSEN: AtomicU8 = AtomicU8::new(UNKNOWN);

/// Run a kernel compiled for the chosen set.
#[inline]
pub fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    if chosen() == FAST {
        // SAFETY: `chosen` is FAST only after `detect_fast` found every feature that `run_v3` is compiled for.
        return unsafe { run_v3(kernel) };
    }
    run_baseline(kernel)
}

#[inline(never)]
fn run_baseline<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<Baseline>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
fn run_v3<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<V3>()
}

#[inline]
fn chosen() -> u8 {
    match CHOSEN.load(Ordering::Relaxed) {
        UNKNOWN => detect(),
        known => known,
    }
}

#[cold]
fn detect() -> u8 {
    let found = if detect_fast() { FAST } else { BASELINE };
    CHOSEN.store(found, Ordering::Relaxed);
    found
}

#[cfg(target_arch = "x86_64")]
fn detect_fast() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
}

#[cfg(not(target_arch = "x86_64"))]
fn detect_fast() -> bool {
    false
}

/// Name the chosen set: `baseline` or `v3`.
pub fn name() -> &'static str {
    if chosen() == FAST { "v3" } else { "baseline" }
}

/// Choose a set by name: `baseline`, `v3`, or `auto` for the best that there is.
pub fn choose(name: &str) -> Result<()> {
    let wanted = match name {
        "auto" => UNKNOWN,
        "baseline" => BASELINE,
        "v3" if detect_fast() => FAST,
        "v3" => {
            return Err(KernelError::InvalidArgument(
                "this machine lacks the instructions of 'v3'; choose 'baseline' or 'auto'".to_owned(),
            ));
        }
        _ => {
            return Err(KernelError::InvalidArgument(format!(
                "unknown instruction set '{name}'; there are 'auto', 'baseline', 'v3'"
            )));
        }
    };
    CHOSEN.store(wanted, Ordering::Relaxed);
    Ok(())
}
