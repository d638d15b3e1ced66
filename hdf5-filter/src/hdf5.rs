//! The functions of HDF5 that the callbacks use.
#![allow(unsafe_code)]

use crate::caller::{Symbols, with_symbols};
use crate::sys::*;
use crate::words::MAX_RANK;
use fzgm::DType;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;

macro_rules! table {
    ($($function:ident: fn($($argument:ty),*) -> $result:ty;)*) => {
        /// Functions of the HDF5 library that called the plugin.
        #[allow(non_snake_case)]
        pub(crate) struct Hdf5 {
            $($function: unsafe extern "C" fn($($argument),*) -> $result,)*
        }

        impl Hdf5 {
            fn resolve(symbols: &Symbols) -> Option<Hdf5> {
                Some(Hdf5 {$(
                    $function: {
                        const NAME: &str = concat!(stringify!($function), "\0");
                        let address = symbols.get(CStr::from_bytes_with_nul(NAME.as_bytes()).unwrap_or_default())?;
                        // SAFETY: the function of this name has had this type since HDF5 1.10.
                        unsafe {
                            std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) -> $result>(address)
                        }
                    },
                )*})
            }
        }
    };
}

functions!(table);

const _: () = assert!(MAX_RANK == H5S_MAX_RANK as usize);

/// The id in a variable of the library. A program that uses the variable by name may have a copy, which the library then sets instead of
/// its own variable. The variable of the library stays negative, and the global symbol of the process is the copy.
fn id(symbols: &Symbols, name: &CStr) -> Option<hid_t> {
    [symbols.get(name), Symbols::of_process().get(name)].into_iter().flatten().find_map(|address| {
        // SAFETY: the symbols of these names are variables of this type.
        let id = unsafe { *address.cast::<hid_t>() };
        (id > 0).then_some(id)
    })
}

impl Hdf5 {
    /// The functions of the library that called the plugin; `None` if a program hides them, or if HDF5 is older than 1.10.
    pub(crate) fn of_caller() -> Option<Hdf5> {
        with_symbols(Hdf5::resolve).filter(|h| {
            let (mut major, mut minor, mut release) = (0, 0, 0);
            // SAFETY: the function writes to three local numbers.
            let ok = unsafe { (h.H5get_libversion)(&mut major, &mut minor, &mut release) } >= 0;
            ok && (major, minor) >= (1, 10)
        })
    }

    pub(crate) fn class(&self, kind: hid_t) -> H5T_class_t {
        // SAFETY: for an invalid id, the function returns an error.
        unsafe { (self.H5Tget_class)(kind) }
    }

    /// Bytes of an element; 0 for an invalid id.
    pub(crate) fn size(&self, kind: hid_t) -> usize {
        // SAFETY: as in `class`.
        unsafe { (self.H5Tget_size)(kind) }
    }

    /// True if numbers are big-endian; `None` for orders other than big-endian and little-endian.
    pub(crate) fn swapped(&self, kind: hid_t) -> Option<bool> {
        // SAFETY: as in `class`.
        match unsafe { (self.H5Tget_order)(kind) } {
            H5T_ORDER_LE => Some(false),
            H5T_ORDER_BE => Some(true),
            _ => None,
        }
    }

    /// True if an integer type has no sign. Other types would leave an error on the error stack.
    pub(crate) fn unsigned(&self, kind: hid_t) -> bool {
        // SAFETY: as in `class`.
        unsafe { (self.H5Tget_sign)(kind) == H5T_SGN_NONE }
    }

    /// The float of IEEE 754 with the layout of the type. `H5Tequal` would be shorter, but requires ids in variables of the library, of
    /// which a program may have copies, see `id`.
    pub(crate) fn ieee(&self, kind: hid_t) -> Option<DType> {
        let mut fields = [0usize; 5];
        let [sign, exponent, exponent_bits, mantissa, mantissa_bits] = &mut fields;
        // SAFETY: as in `class`; the function writes to five local numbers.
        let found = unsafe {
            (self.H5Tget_fields)(kind, sign, exponent, exponent_bits, mantissa, mantissa_bits) >= 0
                && (self.H5Tget_offset)(kind) == 0
                && (self.H5Tget_norm)(kind) == H5T_NORM_IMPLIED
        };
        // SAFETY: as in `class`.
        let (precision, bias) = unsafe { ((self.H5Tget_precision)(kind), (self.H5Tget_ebias)(kind)) };
        match (found, self.size(kind), precision, bias, fields) {
            (true, 4, 32, 127, [31, 23, 8, 0, 23]) => Some(DType::F32),
            (true, 8, 64, 1023, [63, 52, 11, 0, 52]) => Some(DType::F64),
            _ => None,
        }
    }

    /// Dimensions, the slowest first.
    pub(crate) fn dims(&self, space: hid_t) -> Option<Vec<u64>> {
        // SAFETY: as in `class`.
        let rank = usize::try_from(unsafe { (self.H5Sget_simple_extent_ndims)(space) })
            .ok()
            .filter(|r| *r <= MAX_RANK)?;
        let mut dims = vec![0; rank];
        // SAFETY: there is room for one number per dimension of the space, and null requests no maximum
        // dimensions.
        let ok = unsafe { (self.H5Sget_simple_extent_dims)(space, dims.as_mut_ptr(), null_mut()) } >= 0;
        ok.then_some(dims)
    }

    /// Flags and cd_values of a filter of a list, at most `most` of them.
    pub(crate) fn filter(&self, list: hid_t, id: H5Z_filter_t, most: usize) -> Option<(c_uint, Vec<u32>)> {
        let (mut flags, mut count, mut words) = (0, most, vec![0; most]);
        // SAFETY: `words` has room for `count` numbers; name and config are not requested.
        let ok = unsafe {
            (self.H5Pget_filter_by_id2)(
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
    pub(crate) fn filters(&self, list: hid_t) -> c_uint {
        // SAFETY: as in `class`.
        c_uint::try_from(unsafe { (self.H5Pget_nfilters)(list) }).unwrap_or(0)
    }

    /// Id of the filter at a place of the pipeline.
    pub(crate) fn filter_id(&self, list: hid_t, index: c_uint) -> H5Z_filter_t {
        let (mut flags, mut count) = (0, 0);
        // SAFETY: neither cd_values nor the name are requested.
        unsafe {
            (self.H5Pget_filter2)(list, index, &mut flags, &mut count, null_mut(), 0, null_mut(), null_mut())
        }
    }

    pub(crate) fn set_filter(&self, list: hid_t, id: H5Z_filter_t, flags: c_uint, words: &[u32]) -> bool {
        // SAFETY: pointer and length are those of `words`.
        unsafe { (self.H5Pmodify_filter)(list, id, flags, words.len(), words.as_ptr()) >= 0 }
    }

    /// Writes the fill value that a user set to `value`, which has the size of an element; false if there is no such fill value.
    pub(crate) fn fill(&self, list: hid_t, kind: hid_t, value: &mut [u8]) -> bool {
        let mut defined = 0;
        // SAFETY: the function writes to a local number.
        let known = unsafe { (self.H5Pfill_value_defined)(list, &mut defined) } >= 0
            && defined == H5D_FILL_VALUE_USER_DEFINED;
        if !known || self.size(kind) != value.len() {
            return false;
        }
        // SAFETY: `value` has the size of an element, which was compared before.
        unsafe { (self.H5Pget_fill_value)(list, kind, value.as_mut_ptr().cast()) >= 0 }
    }
}

/// Puts a sentence on the error stack of the library that called the plugin; if its functions are hidden, on standard
/// error.
pub(crate) fn report(function: &CStr, text: &str) {
    let text = CString::new(format!("fzgm: {}", text.replace('\0', " "))).unwrap_or_default();
    let pushed = with_symbols(|symbols| {
        // SAFETY: the function of this name has this type in HDF5 1.8 and later.
        let push = unsafe { std::mem::transmute::<*mut c_void, H5Epush2>(symbols.get(c"H5Epush2")?) };
        let class = id(symbols, c"H5E_ERR_CLS_g")?;
        let (major, minor) = (id(symbols, c"H5E_PLINE_g")?, id(symbols, c"H5E_CANTFILTER_g")?);
        Some(unpaused(symbols, || {
            // SAFETY: the texts end with zeros, and the format has one argument, a text.
            unsafe {
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
            }
        }))
    });
    if pushed.is_none() {
        eprintln!("{}", text.to_string_lossy());
    }
}

/// Functions of HDF5 that pause the error stack. Libraries without these functions never pause the stack.
struct Pauses {
    is_paused: H5Eis_paused,
    pause: H5Epause_stack,
    resume: H5Epause_stack,
    take: H5Eget_current_stack,
    put: H5Epause_stack,
}

impl Pauses {
    fn resolve(symbols: &Symbols) -> Option<Pauses> {
        // SAFETY: in every HDF5 version with these functions, they have these types.
        unsafe {
            Some(Pauses {
                is_paused: std::mem::transmute::<*mut c_void, H5Eis_paused>(symbols.get(c"H5Eis_paused")?),
                pause: std::mem::transmute::<*mut c_void, H5Epause_stack>(symbols.get(c"H5Epause_stack")?),
                resume: std::mem::transmute::<*mut c_void, H5Epause_stack>(symbols.get(c"H5Eresume_stack")?),
                take: std::mem::transmute::<*mut c_void, H5Eget_current_stack>(
                    symbols.get(c"H5Eget_current_stack")?,
                ),
                put: std::mem::transmute::<*mut c_void, H5Epause_stack>(
                    symbols.get(c"H5Eset_current_stack")?,
                ),
            })
        }
    }
}

/// Calls `push` while the error stack accepts errors. HDF5 2.0 pauses the stack during a filter call that reads, and
/// drops errors of that call.
fn unpaused<T>(symbols: &Symbols, push: impl FnOnce() -> T) -> T {
    let Some(pauses) = Pauses::resolve(symbols) else { return push() };
    let mut times = 0;
    let mut paused = false;
    // SAFETY: 0 is the stack of this thread, and the pointer is that of a bool.
    while unsafe { (pauses.is_paused)(0, &raw mut paused) >= 0 && paused && (pauses.resume)(0) >= 0 } {
        times += 1;
    }
    let done = push();
    if times > 0 {
        // Pausing clears the stack, so a copy preserves its errors.
        // SAFETY: the copy is a separate stack, which `put` closes.
        unsafe {
            let taken = (pauses.take)();
            (0..times).for_each(|_| {
                (pauses.pause)(0);
            });
            if taken >= 0 {
                (pauses.put)(taken);
            }
        }
    }
    done
}

// SAFETY: no field changes, and all pointers point to constants.
unsafe impl Sync for H5Z_class2_t {}
