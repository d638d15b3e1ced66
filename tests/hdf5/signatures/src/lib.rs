//! Compares the types, constants, and functions in `hdf5-filter/src/sys.rs` with hdf5-metno-sys.
//!
//! The compiler is the test. A difference is an error. A declaration of the plugin that is missing
//! here is unused, which is an error too.

#[path = "../../../../hdf5-filter/src/sys.rs"]
mod sys;

use hdf5_metno_sys::{h5::*, h5d::*, h5e::*, h5i::*, h5p::*, h5pl::*, h5s::*, h5t::*, h5z::*};
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::mem::offset_of;

// Equal types.
macro_rules! integers {
    ($($integer:ident)*) => {$(
        const _: fn($integer) -> sys::$integer = |theirs| theirs;
    )*};
}
integers! { hid_t herr_t htri_t hsize_t H5Z_filter_t }

// Enums in hdf5-metno-sys, integers in the plugin: of one size, one alignment, and one sign.
macro_rules! enums {
    ($($enumeration:ident: $negative:ident;)*) => {$(
        const _: () = assert!(size_of::<$enumeration>() == size_of::<sys::$enumeration>());
        const _: () = assert!(align_of::<$enumeration>() == align_of::<sys::$enumeration>());
        const _: () = assert!(($enumeration::$negative as sys::$enumeration) < 0);
    )*};
}
enums! {
    H5T_class_t: H5T_NO_CLASS;
    H5T_order_t: H5T_ORDER_ERROR;
    H5T_sign_t: H5T_SGN_ERROR;
    H5T_norm_t: H5T_NORM_ERROR;
    H5D_fill_value_t: H5D_FILL_VALUE_ERROR;
    H5PL_type_t: H5PL_TYPE_ERROR;
}

macro_rules! constants {
    ($($constant:ident)*) => {$(
        const _: () = assert!($constant as i64 == sys::$constant as i64);
    )*};
}
constants! {
    H5T_INTEGER H5T_FLOAT H5T_ORDER_LE H5T_ORDER_BE H5T_SGN_NONE H5T_NORM_IMPLIED
    H5D_FILL_VALUE_USER_DEFINED H5S_MAX_RANK H5PL_TYPE_FILTER H5Z_CLASS_T_VERS H5Z_FILTER_SHUFFLE
    H5Z_FLAG_REVERSE
}

// Each function has the type that the plugin declares, where the names of types are those of
// hdf5-metno-sys.
macro_rules! declared {
    ($($function:ident: fn($($argument:ty),*) -> $result:ty;)*) => {$(
        const _: unsafe extern "C" fn($($argument),*) -> $result = $function;
    )*};
}
sys::functions!(declared);
const _: sys::H5Epush2 = H5Epush2;
const _: sys::H5Eget_current_stack = H5Eget_current_stack;
const _: sys::H5Epause_stack = H5Eset_current_stack;
// HDF5 has this function from 1.14.5 on; hdf5-metno-sys declares it if such a library is installed.
const _: Option<sys::H5Eis_paused> = None;

// The plugin reads these ids from variables.
const _: fn() -> [&'static sys::hid_t; 3] = || [H5E_ERR_CLS, H5E_PLINE, H5E_CANTFILTER];

// Fields of equal types at equal offsets.
macro_rules! fields {
    ($structure:ident: $($field:ident)*) => {
        const _: fn($structure) -> sys::$structure = |theirs| sys::$structure { $($field: theirs.$field,)* };
        const _: () = assert!(size_of::<$structure>() == size_of::<sys::$structure>());
        $(const _: () = assert!(offset_of!($structure, $field) == offset_of!(sys::$structure, $field));)*
    };
}
fields!(H5Z_class2_t: version id encoder_present decoder_present name can_apply set_local filter);
