//! Rules for every call.

use fzgm::capi::*;
use std::collections::BTreeMap;
use std::ffi::CStr;

pub const OK: i32 = fz_status::FZ_OK as i32;
pub const ARGUMENT: i32 = fz_status::FZ_INVALID_ARGUMENT as i32;
pub const NULL: i32 = fz_status::FZ_NULL_POINTER as i32;
pub const MISMATCH: i32 = fz_status::FZ_PLAN_MISMATCH as i32;
pub const NAME: i32 = fz_status::FZ_UNKNOWN_NAME as i32;
pub const TYPE: i32 = fz_status::FZ_TYPE_MISMATCH as i32;
pub const PIPELINE: i32 = fz_status::FZ_INVALID_PIPELINE as i32;
pub const UNSUPPORTED: i32 = fz_status::FZ_UNSUPPORTED as i32;
pub const LARGE: i32 = fz_status::FZ_TOO_LARGE as i32;
pub const CORRUPT: i32 = fz_status::FZ_CORRUPT as i32;
pub const CHECKSUM: i32 = fz_status::FZ_CHECKSUM as i32;
pub const NO_CONTAINER: i32 = fz_status::FZ_NOT_A_CONTAINER as i32;
pub const TRUNCATED: i32 = fz_status::FZ_TRUNCATED as i32;
pub const SMALL: i32 = fz_status::FZ_DST_TOO_SMALL as i32;
pub const OUTLIERS: i32 = fz_status::FZ_OUTLIER_CAPACITY as i32;
pub const MEMORY: i32 = fz_status::FZ_MEMORY_LIMIT as i32;
pub const NO_DEVICE: i32 = fz_status::FZ_NO_DEVICE as i32;
pub const FILE: i32 = fz_status::FZ_FILE as i32;

/// Possible statuses of a damaged container, including success: a bit without a checksum may flip unnoticed.
pub const DAMAGED: &[i32] = &[OK, CORRUPT, CHECKSUM, NO_CONTAINER, UNSUPPORTED, MEMORY, SMALL, MISMATCH];

/// Bytes of every place that no call may write.
pub const UNTOUCHED: u8 = 0xA5;

/// How often each function succeeded and failed.
pub type Tally = BTreeMap<&'static str, [u64; 2]>;

pub struct Judge {
    /// The text of the last failure.
    text: String,
    pub tally: Tally,
}

fn last_error() -> String {
    unsafe { CStr::from_ptr(fz_last_error()) }.to_str().expect("texts are UTF-8").to_owned()
}

impl Judge {
    pub fn new() -> Judge {
        Judge { text: last_error(), tally: Tally::new() }
    }

    /// Judges a status. `wrong` are those of the mistakes in the call, one of which must be named; without mistakes it is one of `right`.
    pub fn call(&mut self, function: &'static str, status: i32, wrong: &[i32], right: &[i32]) -> bool {
        let text = last_error();
        let expected = if wrong.is_empty() { right } else { wrong };
        assert!(
            expected.contains(&status),
            "{function} gives {status} ({text}), expected one of {expected:?}"
        );
        if status == OK {
            assert_eq!(text, self.text, "{function} succeeds and leaves a text");
        } else {
            assert!(!text.is_empty(), "{function} fails without a text");
            self.text = text;
        }
        self.tally.entry(function).or_default()[usize::from(status != OK)] += 1;
        status == OK
    }

    /// A call without mistakes.
    pub fn ok(&mut self, function: &'static str, status: i32) {
        self.call(function, status, &[], &[OK]);
    }
}

/// A place for a result of up to eight bytes between guards, or another argument in its place.
pub struct Place {
    words: Box<[u64; 3]>,
    address: usize,
}

impl Place {
    pub fn new() -> Place {
        let mut words = Box::new([u64::from_ne_bytes([UNTOUCHED; 8]); 3]);
        Place { address: &raw mut words[1] as usize, words }
    }

    /// Good, or with mistake 1 NULL and with 2 misaligned.
    pub fn or(mistake: u8, wrong: &mut Vec<i32>) -> Place {
        let mut place = Place::new();
        match mistake {
            1 => (place.address, _) = (0, wrong.push(NULL)),
            2 => (place.address, _) = (place.address + 1, wrong.push(ARGUMENT)),
            _ => {}
        }
        place
    }

    /// Another place, which the caller looks after.
    pub fn at<T>(address: *const T) -> Place {
        Place { address: address as usize, ..Place::new() }
    }

    pub fn pointer<T>(&self) -> *mut T {
        self.address as *mut T
    }

    /// The result, if there is to be one.
    pub fn take(&self, done: bool) -> u64 {
        let untouched = u64::from_ne_bytes([UNTOUCHED; 8]);
        assert!(self.words[0] == untouched && self.words[2] == untouched, "written beside a result");
        assert!(done || self.words[1] == untouched, "a result is written on failure");
        self.words[1]
    }

    /// The same of four bytes.
    pub fn take_u32(&self, done: bool) -> u32 {
        self.take(done) as u32
    }
}

/// Memory of the caller's with guards around it, at an address that is aligned to nothing.
pub struct Bytes {
    all: Vec<u8>,
    start: usize,
    len: usize,
}

const GUARD: usize = 24;

impl Bytes {
    /// `skew` moves it by up to seven bytes.
    pub fn new(len: usize, skew: u8) -> Bytes {
        let start = GUARD + usize::from(skew % 8);
        Bytes { all: vec![UNTOUCHED; start + len + GUARD], start, len }
    }

    /// A copy that ends with its memory, so that a sanitizer detects reads beyond it.
    pub fn of(bytes: &[u8], skew: u8) -> Bytes {
        let start = usize::from(skew % 8);
        let mut all = vec![UNTOUCHED; start + bytes.len()];
        all[start..].copy_from_slice(bytes);
        Bytes { all, start, len: bytes.len() }
    }

    pub fn pointer<T>(&mut self) -> *mut T {
        self.all[self.start..].as_mut_ptr().cast()
    }

    pub fn len(&self) -> u64 {
        self.len as u64
    }

    pub fn get(&self) -> &[u8] {
        &self.all[self.start..self.start + self.len]
    }

    /// Nothing around the first `used` bytes was written.
    pub fn keeps_to(&self, used: usize) -> bool {
        let outside = self.all[..self.start].iter().chain(&self.all[self.start + used..]);
        outside.into_iter().all(|b| *b == UNTOUCHED)
    }
}
