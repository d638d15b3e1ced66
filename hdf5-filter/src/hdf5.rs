//! The few functions of HDF5 that the callbacks need.
#![allow(unsafe_code)]

use crate::caller::{Symbols, with_symbols};
use crate::words::MAX_RANK;
use fzgm::DType;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;

/// `hid_t`, of 64 bits from HDF5 1.10 on.
pub(crate) type Hid = i64;

/// Classes of types (`H5T_class_t`).
pub(crate) const INTEGER: c_int = 0;
pub(crate) const FLOAT: c_int = 1;
const LITTLE_ENDIAN: c_int = 0;
const BIG_ENDIAN: c_int = 1;
/// `H5T_NORM_IMPLIED`: the first bit of mantissas is not stored.
const IMPLIED: c_int = 0;
const UNSIGNED: c_int = 0;
const FILL_BY_USER: c_int = 2;

macro_rules! functions {
    ($($field:ident = $name:literal : fn($($arg:ty),*) -> $ret:ty;)*) => {
        /// Functions of the library that called us.
        pub(crate) struct Hdf5 {
            $($field: unsafe extern "C" fn($($arg),*) -> $ret,)*
        }

        impl Hdf5 {
            fn resolve(symbols: &Symbols) -> Option<Hdf5> {
                Some(Hdf5 {
                    // SAFETY: the functions of these names have had these types since HDF5 1.10.
                    $($field: unsafe {
                        std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($arg),*) -> $ret>(symbols.get($name)?)
                    },)*
                })
            }
        }
    };
}

functions! {
    libversion = c"H5get_libversion": fn(*mut c_uint, *mut c_uint, *mut c_uint) -> c_int;
    type_class = c"H5Tget_class": fn(Hid) -> c_int;
    type_size = c"H5Tget_size": fn(Hid) -> usize;
    type_order = c"H5Tget_order": fn(Hid) -> c_int;
    type_sign = c"H5Tget_sign": fn(Hid) -> c_int;
    type_fields = c"H5Tget_fields": fn(Hid, *mut usize, *mut usize, *mut usize, *mut usize, *mut usize) -> c_int;
    type_offset = c"H5Tget_offset": fn(Hid) -> c_int;
    type_precision = c"H5Tget_precision": fn(Hid) -> usize;
    type_bias = c"H5Tget_ebias": fn(Hid) -> usize;
    type_norm = c"H5Tget_norm": fn(Hid) -> c_int;
    space_rank = c"H5Sget_simple_extent_ndims": fn(Hid) -> c_int;
    space_dims = c"H5Sget_simple_extent_dims": fn(Hid, *mut u64, *mut u64) -> c_int;
    filter_by_id = c"H5Pget_filter_by_id2":
        fn(Hid, c_int, *mut c_uint, *mut usize, *mut c_uint, usize, *mut c_char, *mut c_uint) -> c_int;
    filters = c"H5Pget_nfilters": fn(Hid) -> c_int;
    filter_at = c"H5Pget_filter2":
        fn(Hid, c_uint, *mut c_uint, *mut usize, *mut c_uint, usize, *mut c_char, *mut c_uint) -> c_int;
    modify_filter = c"H5Pmodify_filter": fn(Hid, c_int, c_uint, usize, *const c_uint) -> c_int;
    fill_defined = c"H5Pfill_value_defined": fn(Hid, *mut c_int) -> c_int;
    fill_value = c"H5Pget_fill_value": fn(Hid, Hid, *mut c_void) -> c_int;
}

/// The id in a variable of the library. A program that uses it by name may have a copy, which the library then sets in place of its own:
/// that stays negative, and the one of the process as a whole is meant.
fn id(symbols: &Symbols, name: &CStr) -> Option<Hid> {
    [symbols.get(name), Symbols::of_process().get(name)].into_iter().flatten().find_map(|address| {
        // SAFETY: the symbols of these names are variables of this type.
        let id = unsafe { *address.cast::<Hid>() };
        (id > 0).then_some(id)
    })
}

impl Hdf5 {
    /// The functions of the library that called us; none where a program holds them without their names, or they are older
    /// than 1.10.
    pub(crate) fn of_caller() -> Option<Hdf5> {
        with_symbols(Hdf5::resolve).filter(|h| {
            let (mut major, mut minor, mut release) = (0, 0, 0);
            // SAFETY: three numbers of ours to write to.
            let ok = unsafe { (h.libversion)(&mut major, &mut minor, &mut release) } >= 0;
            ok && (major, minor) >= (1, 10)
        })
    }

    pub(crate) fn class(&self, kind: Hid) -> c_int {
        // SAFETY: an id that is none gives a negative number.
        unsafe { (self.type_class)(kind) }
    }

    /// Bytes of an element, 0 for an id that is none.
    pub(crate) fn size(&self, kind: Hid) -> usize {
        // SAFETY: as in `class`.
        unsafe { (self.type_size)(kind) }
    }

    /// Whether bytes stand in the other order; nothing for orders that are neither.
    pub(crate) fn swapped(&self, kind: Hid) -> Option<bool> {
        // SAFETY: as in `class`.
        match unsafe { (self.type_order)(kind) } {
            LITTLE_ENDIAN => Some(false),
            BIG_ENDIAN => Some(true),
            _ => None,
        }
    }

    /// Of an integer; of another type it would leave noise on the error stack.
    pub(crate) fn unsigned(&self, kind: Hid) -> bool {
        // SAFETY: as in `class`.
        unsafe { (self.type_sign)(kind) == UNSIGNED }
    }

    /// The float of IEEE 754 whose bits those of the type are. `H5Tequal` would be shorter, but takes the ids of types from variables, of
    /// which a program may have a copy that the library uses in place of its own.
    pub(crate) fn ieee(&self, kind: Hid) -> Option<DType> {
        let mut fields = [0usize; 5];
        let [sign, exponent, exponent_bits, mantissa, mantissa_bits] = &mut fields;
        // SAFETY: as in `class`, with five numbers of ours to write to.
        let found = unsafe {
            (self.type_fields)(kind, sign, exponent, exponent_bits, mantissa, mantissa_bits) >= 0
                && (self.type_offset)(kind) == 0
                && (self.type_norm)(kind) == IMPLIED
        };
        // SAFETY: as in `class`.
        let (precision, bias) = unsafe { ((self.type_precision)(kind), (self.type_bias)(kind)) };
        match (found, self.size(kind), precision, bias, fields) {
            (true, 4, 32, 127, [31, 23, 8, 0, 23]) => Some(DType::F32),
            (true, 8, 64, 1023, [63, 52, 11, 0, 52]) => Some(DType::F64),
            _ => None,
        }
    }

    /// Dimensions, the slowest first.
    pub(crate) fn dims(&self, space: Hid) -> Option<Vec<u64>> {
        // SAFETY: as in `class`.
        let rank = usize::try_from(unsafe { (self.space_rank)(space) }).ok().filter(|r| *r <= MAX_RANK)?;
        let mut dims = vec![0; rank];
        // SAFETY: there is room for as many numbers as the space has dimensions, and null asks for no other ones.
        let ok = unsafe { (self.space_dims)(space, dims.as_mut_ptr(), null_mut()) } >= 0;
        ok.then_some(dims)
    }

    /// Flags and cd_values of a filter of a list, at most `most` of them.
    pub(crate) fn filter(&self, list: Hid, id: c_int, most: usize) -> Option<(c_uint, Vec<u32>)> {
        let (mut flags, mut count, mut words) = (0, most, vec![0; most]);
        // SAFETY: `words` has room for `count` numbers; name and config are not asked for.
        let ok = unsafe {
            (self.filter_by_id)(
                list,
                id,
                &mut flags,
                &mut count,
                words.as_mut_ptr(),
                0,
                null_mut(),
                null_mut(),
            )
        } >= 0;
        words.truncate(count);
        (ok && count <= most).then_some((flags, words))
    }

    /// Filters of the pipeline.
    pub(crate) fn filters(&self, list: Hid) -> c_uint {
        // SAFETY: as in `class`.
        c_uint::try_from(unsafe { (self.filters)(list) }).unwrap_or(0)
    }

    /// Id of the filter at a place of the pipeline.
    pub(crate) fn filter_id(&self, list: Hid, index: c_uint) -> c_int {
        let (mut flags, mut count) = (0, 0);
        // SAFETY: no cd_values are asked for, nor the name.
        unsafe {
            (self.filter_at)(list, index, &mut flags, &mut count, null_mut(), 0, null_mut(), null_mut())
        }
    }

    pub(crate) fn set_filter(&self, list: Hid, id: c_int, flags: c_uint, words: &[u32]) -> bool {
        // SAFETY: as many numbers as are said.
        unsafe { (self.modify_filter)(list, id, flags, words.len(), words.as_ptr()) >= 0 }
    }

    /// The fill value that a user set, as an element of the type, whose size is that of `value`.
    pub(crate) fn fill(&self, list: Hid, kind: Hid, value: &mut [u8]) -> bool {
        let mut defined = 0;
        // SAFETY: one number of ours to write to.
        let known = unsafe { (self.fill_defined)(list, &mut defined) } >= 0 && defined == FILL_BY_USER;
        if !known || self.size(kind) != value.len() {
            return false;
        }
        // SAFETY: the room is that of an element of the type, which has just been compared.
        unsafe { (self.fill_value)(list, kind, value.as_mut_ptr().cast()) >= 0 }
    }
}

type Push = unsafe extern "C" fn(
    Hid,
    *const c_char,
    *const c_char,
    c_uint,
    Hid,
    Hid,
    Hid,
    *const c_char,
    ...
) -> c_int;

/// Puts a sentence on the error stack of the library that called us; on standard error where there is none to be found.
pub(crate) fn report(function: &CStr, text: &str) {
    let text = CString::new(format!("fzgm: {}", text.replace('\0', " "))).unwrap_or_default();
    let pushed = with_symbols(|symbols| {
        // SAFETY: the function of this name has had this type since HDF5 1.8.
        let push = unsafe { std::mem::transmute::<*mut c_void, Push>(symbols.get(c"H5Epush2")?) };
        let class = id(symbols, c"H5E_ERR_CLS_g")?;
        let (major, minor) = (id(symbols, c"H5E_PLINE_g")?, id(symbols, c"H5E_CANTFILTER_g")?);
        // SAFETY: the texts end with zeros, and the format takes one of them.
        let rc = unsafe {
            push(
                0,
                c"h5fzgm".as_ptr(),
                function.as_ptr(),
                0,
                class,
                major,
                minor,
                c"%s".as_ptr(),
                text.as_ptr(),
            )
        };
        Some(rc)
    });
    if pushed.is_none() {
        eprintln!("{}", text.to_string_lossy());
    }
}

/// What the loader of plugins of HDF5 reads: `H5Z_class2_t`.
#[repr(C)]
pub(crate) struct FilterClass {
    pub(crate) version: c_int,
    pub(crate) id: c_int,
    pub(crate) encoder_present: c_uint,
    pub(crate) decoder_present: c_uint,
    pub(crate) name: *const c_char,
    pub(crate) can_apply: Option<extern "C" fn(Hid, Hid, Hid) -> c_int>,
    pub(crate) set_local: Option<extern "C" fn(Hid, Hid, Hid) -> c_int>,
    pub(crate) filter: Option<
        unsafe extern "C" fn(c_uint, usize, *const c_uint, usize, *mut usize, *mut *mut c_void) -> usize,
    >,
}

// SAFETY: nothing in it changes, and what it points to is constant.
unsafe impl Sync for FilterClass {}
