//! Element types. The numbers are those of the FZM format and of the C header.

use crate::base::error::{Error, Result};

/// The type of an array element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum DType {
    U8 = 0,
    U16 = 1,
    U32 = 2,
    U64 = 3,
    I8 = 4,
    I16 = 5,
    I32 = 6,
    I64 = 7,
    F32 = 8,
    F64 = 9,
}

impl DType {
    /// Every type, by number.
    pub const ALL: [DType; 10] = [
        DType::U8,
        DType::U16,
        DType::U32,
        DType::U64,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::F32,
        DType::F64,
    ];

    /// f32 and f64.
    pub const FLOATS: &'static [DType] = &[DType::F32, DType::F64];

    /// The unsigned and the signed integers, by number.
    pub const INTEGERS: &'static [DType] =
        &[DType::U8, DType::U16, DType::U32, DType::U64, DType::I8, DType::I16, DType::I32, DType::I64];

    /// Bytes of one element.
    pub const fn bytes(self) -> u64 {
        match self {
            DType::U8 | DType::I8 => 1,
            DType::U16 | DType::I16 => 2,
            DType::U32 | DType::I32 | DType::F32 => 4,
            DType::U64 | DType::I64 | DType::F64 => 8,
        }
    }

    /// True for f32 and f64.
    pub const fn is_float(self) -> bool {
        matches!(self, DType::F32 | DType::F64)
    }

    /// The signed integer of the same width.
    pub const fn signed(self) -> DType {
        match self.bytes() {
            1 => DType::I8,
            2 => DType::I16,
            4 => DType::I32,
            _ => DType::I64,
        }
    }

    /// The unsigned integer of the same width.
    pub const fn unsigned(self) -> DType {
        match self.bytes() {
            1 => DType::U8,
            2 => DType::U16,
            4 => DType::U32,
            _ => DType::U64,
        }
    }

    /// The short name: `f32`, `u16`, …
    pub const fn name(self) -> &'static str {
        match self {
            DType::U8 => "u8",
            DType::U16 => "u16",
            DType::U32 => "u32",
            DType::U64 => "u64",
            DType::I8 => "i8",
            DType::I16 => "i16",
            DType::I32 => "i32",
            DType::I64 => "i64",
            DType::F32 => "f32",
            DType::F64 => "f64",
        }
    }

    /// The type with this number, as stored in headers and passed in C calls.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a number that is no type.
    pub fn from_number(number: i64) -> Result<DType> {
        usize::try_from(number)
            .ok()
            .and_then(|n| DType::ALL.get(n).copied())
            .ok_or_else(|| Error::argument("dtype", number, "0 (u8) to 9 (f64)"))
    }

    /// The type with this name, short (`f32`) or long (`float32`).
    ///
    /// # Errors
    /// [`Error::UnknownName`].
    pub fn from_name(name: &str) -> Result<DType> {
        let short = name.replace("float", "f").replace("uint", "u").replace("int", "i");
        DType::ALL.into_iter().find(|d| d.name() == short).ok_or_else(|| Error::UnknownName {
            kind: "element type",
            name: name.into(),
            place: String::new(),
            known: DType::ALL.map(DType::name).join(", "),
        })
    }
}

impl std::fmt::Display for DType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Runs an expression with `$T` bound to the unsigned integer of a width of 1, 2, 4 or 8 bytes.
/// Two's complement makes it serve the signed types as well.
macro_rules! by_width {
    ($width:expr, $T:ident => $body:expr, else $other:expr) => {
        match $width {
            1 => {
                type $T = u8;
                $body
            }
            2 => {
                type $T = u16;
                $body
            }
            4 => {
                type $T = u32;
                $body
            }
            8 => {
                type $T = u64;
                $body
            }
            _ => $other,
        }
    };
}
pub(crate) use by_width;
