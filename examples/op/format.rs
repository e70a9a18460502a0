// rustc -O --crate-type cdylib -o format.so examples/op/format.rs && oscost run --op ./format.so
//! Formatting a number, as an operation for `oscost run --op`. Rust needs no header: these are its functions.

use std::ffi::{c_char, c_int};
use std::fmt::Write;
use std::hint::black_box;

#[unsafe(no_mangle)]
pub extern "C" fn oscost_version() -> u32 {
    1 // OSCOST_VERSION
}

#[unsafe(no_mangle)]
pub extern "C" fn oscost_name() -> *const c_char {
    c"format a u64".as_ptr()
}

#[unsafe(no_mangle)]
pub extern "C" fn oscost_operation(n: u64) -> c_int {
    let mut text = String::with_capacity(32);
    for number in 0..n {
        text.clear();
        if write!(text, "{}", black_box(number)).is_err() {
            return 5; // EIO
        }
        black_box(&text);
    }
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn oscost_expected_syscalls() -> f64 {
    0.0
}
