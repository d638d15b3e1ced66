//! Types, constants, and functions of HDF5, with the names in its reference manual.
//!
//! The declarations are written by hand, because the plugin must build without HDF5. `tests/hdf5/signatures` compares them with
//! hdf5-metno-sys. Exception: `H5Eis_paused`, which the HDF5 of hdf5-metno-sys may lack.
#![allow(non_camel_case_types)]

use std::ffi::{c_char, c_int, c_uint, c_void};

/// 64 bits in HDF5 1.10 and later.
pub(crate) type hid_t = i64;
pub(crate) type herr_t = c_int;
pub(crate) type htri_t = c_int;
pub(crate) type hsize_t = u64;
pub(crate) type H5Z_filter_t = c_int;

// Enums in C, integers here: a newer HDF5 may return a value that the enum lacks.
pub(crate) type H5T_class_t = c_int;
pub(crate) type H5T_order_t = c_int;
pub(crate) type H5T_sign_t = c_int;
pub(crate) type H5T_norm_t = c_int;
pub(crate) type H5D_fill_value_t = c_int;
pub(crate) type H5PL_type_t = c_int;

pub(crate) const H5T_INTEGER: H5T_class_t = 0;
pub(crate) const H5T_FLOAT: H5T_class_t = 1;
pub(crate) const H5T_ORDER_LE: H5T_order_t = 0;
pub(crate) const H5T_ORDER_BE: H5T_order_t = 1;
pub(crate) const H5T_SGN_NONE: H5T_sign_t = 0;
/// The first bit of the mantissa is not stored.
pub(crate) const H5T_NORM_IMPLIED: H5T_norm_t = 0;
pub(crate) const H5D_FILL_VALUE_USER_DEFINED: H5D_fill_value_t = 2;
pub(crate) const H5S_MAX_RANK: c_uint = 32;
pub(crate) const H5PL_TYPE_FILTER: H5PL_type_t = 0;
pub(crate) const H5Z_CLASS_T_VERS: c_int = 1;
pub(crate) const H5Z_FILTER_SHUFFLE: H5Z_filter_t = 2;
pub(crate) const H5Z_FLAG_REVERSE: c_uint = 0x100;

/// The description of a filter, which the plugin loader of HDF5 reads.
#[repr(C)]
pub(crate) struct H5Z_class2_t {
    pub(crate) version: c_int,
    pub(crate) id: H5Z_filter_t,
    pub(crate) encoder_present: c_uint,
    pub(crate) decoder_present: c_uint,
    pub(crate) name: *const c_char,
    pub(crate) can_apply: Option<extern "C" fn(hid_t, hid_t, hid_t) -> htri_t>,
    pub(crate) set_local: Option<extern "C" fn(hid_t, hid_t, hid_t) -> herr_t>,
    pub(crate) filter: Option<
        unsafe extern "C" fn(c_uint, usize, *const c_uint, usize, *mut usize, *mut *mut c_void) -> usize,
    >,
}

pub(crate) type H5Epush2 = unsafe extern "C" fn(
    hid_t,
    *const c_char,
    *const c_char,
    c_uint,
    hid_t,
    hid_t,
    hid_t,
    *const c_char,
    ...
) -> herr_t;

pub(crate) type H5Eis_paused = unsafe extern "C" fn(hid_t, *mut bool) -> herr_t;
/// Also the type of `H5Eresume_stack` and `H5Eset_current_stack`.
pub(crate) type H5Epause_stack = unsafe extern "C" fn(hid_t) -> herr_t;
pub(crate) type H5Eget_current_stack = unsafe extern "C" fn() -> hid_t;

/// Passes the functions that the plugin requires to a macro.
macro_rules! functions {
    ($to:ident) => {
        $to! {
            H5get_libversion: fn(*mut c_uint, *mut c_uint, *mut c_uint) -> herr_t;
            H5Tget_class: fn(hid_t) -> H5T_class_t;
            H5Tget_size: fn(hid_t) -> usize;
            H5Tget_order: fn(hid_t) -> H5T_order_t;
            H5Tget_sign: fn(hid_t) -> H5T_sign_t;
            H5Tget_fields: fn(hid_t, *mut usize, *mut usize, *mut usize, *mut usize, *mut usize) -> herr_t;
            H5Tget_offset: fn(hid_t) -> c_int;
            H5Tget_precision: fn(hid_t) -> usize;
            H5Tget_ebias: fn(hid_t) -> usize;
            H5Tget_norm: fn(hid_t) -> H5T_norm_t;
            H5Sget_simple_extent_ndims: fn(hid_t) -> c_int;
            H5Sget_simple_extent_dims: fn(hid_t, *mut hsize_t, *mut hsize_t) -> c_int;
            H5Pget_filter_by_id2:
                fn(hid_t, H5Z_filter_t, *mut c_uint, *mut usize, *mut c_uint, usize, *mut c_char, *mut c_uint) -> herr_t;
            H5Pget_nfilters: fn(hid_t) -> c_int;
            H5Pget_filter2:
                fn(hid_t, c_uint, *mut c_uint, *mut usize, *mut c_uint, usize, *mut c_char, *mut c_uint) -> H5Z_filter_t;
            H5Pmodify_filter: fn(hid_t, H5Z_filter_t, c_uint, usize, *const c_uint) -> herr_t;
            H5Pfill_value_defined: fn(hid_t, *mut H5D_fill_value_t) -> herr_t;
            H5Pget_fill_value: fn(hid_t, hid_t, *mut c_void) -> herr_t;
        }
    };
}
pub(crate) use functions;
