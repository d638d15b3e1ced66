//! Formats that the first bytes of a file identify. A file of one of them is not a raw array.

/// Number of first bytes that [`kind`] requires to identify every format.
pub(crate) const LONGEST: usize = 16;

/// A format, with a noun phrase for it and advice for a user.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) advice: &'static str,
    magic: &'static [u8],
}

const fn other(magic: &'static [u8], name: &'static str, advice: &'static str) -> Kind {
    Kind { name, advice, magic }
}

const EXTRACT: &str = "extract the array into a raw file or a .npy file";
const UNPACK: &str = "decompress the file first";

static KINDS: &[Kind] = &[
    other(
        b"\x89HDF\r\n\x1a\n",
        "an HDF5 or netCDF-4 file",
        "use the HDF5 filter, or write one dataset into a .npy file",
    ),
    other(b"CDF\x01", "a netCDF file", EXTRACT),
    other(b"CDF\x02", "a netCDF file", EXTRACT),
    other(b"CDF\x05", "a netCDF file", EXTRACT),
    other(b"GRIB", "a GRIB file", EXTRACT),
    other(b"SIMPLE  =", "a FITS file", EXTRACT),
    other(b"MATLAB 5.0 MAT-f", "a MATLAB file", EXTRACT),
    other(b"NRRD00", "an NRRD file", EXTRACT),
    other(b"II*\0", "a TIFF file", EXTRACT),
    other(b"MM\0*", "a TIFF file", EXTRACT),
    other(b"\x89PNG\r\n\x1a\n", "a PNG file", EXTRACT),
    other(b"PAR1", "a Parquet file", EXTRACT),
    other(b"PK\x03\x04", "a zip file, such as .npz", "save each array as a .npy file"),
    other(b"\x1f\x8b\x08", "a gzip file", UNPACK),
    other(b"\x28\xb5\x2f\xfd", "a zstd file", UNPACK),
    other(b"\x04\x22\x4d\x18", "an LZ4 file", UNPACK),
    other(b"\xfd7zXZ\0", "an xz file", UNPACK),
    other(b"BZh", "a bzip2 file", UNPACK),
    other(b"\x89BLSC", "a Blosc file", UNPACK),
    other(super::npy::MAGIC, "a NumPy file", "remove --raw"),
    other(&fzgm::series::MAGIC, "a series of fzgm", "restore a step with fzgm decompress --step"),
];

const RESTORE: &str = "restore it with fzgm decompress";

/// The formats of fzgm.
static OWN: &[Kind] = &[
    other(&fzgm::slabs::MAGIC, "a slab file of fzgm", RESTORE),
    other(b"2ZMF", "a container of fzgm", RESTORE),
    other(b"FZC1", "a container of fzgm", RESTORE),
];

/// The format that the first bytes of a file identify.
pub(crate) fn kind(beginning: &[u8]) -> Option<&'static Kind> {
    KINDS.iter().chain(OWN).find(|k| beginning.starts_with(k.magic) && complete(k, beginning))
}

/// True if the first bytes identify a container or a slab file.
pub(crate) fn is_container(beginning: &[u8]) -> bool {
    OWN.iter().any(|k| beginning.starts_with(k.magic))
}

/// Checks more bytes than the magic number if it is short, because raw values may begin with a short one by chance.
fn complete(kind: &Kind, beginning: &[u8]) -> bool {
    let at = |i: usize| beginning.get(i).copied();
    match kind.magic {
        // The byte of flags: its three highest bits are reserved and zero.
        b"\x1f\x8b\x08" => at(3).is_some_and(|flags| flags < 32),
        b"BZh" => {
            at(3).is_some_and(|level| level.is_ascii_digit() && level != b'0')
                && beginning.get(4..10).is_some_and(|b| b == b"1AY&SY" || b == b"\x17rE8P\x90")
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::{KINDS, LONGEST, OWN, kind};

    #[test]
    fn formats_are_detected_and_values_are_not() {
        for k in KINDS.iter().chain(OWN) {
            let mut file = k.magic.to_vec();
            file.extend_from_slice(if k.magic == b"BZh" { b"91AY&SY" } else { &[0; LONGEST] });
            assert_eq!(kind(&file).map(|k| k.name), Some(k.name));
            assert!(kind(&k.magic[..k.magic.len() - 1]).is_none(), "{}", k.name);
            assert!(k.magic.len() <= LONGEST);
        }
        let values = [0.0f32, 1.0, -273.15, 1e20, f32::NAN, 12.5, 4e-38];
        for x in values {
            assert!(kind(&x.to_le_bytes().repeat(4)).is_none(), "{x}");
        }
        assert!(
            kind(b"").is_none() && kind(b"BZh9 no block").is_none() && kind(b"\x1f\x8b\x08\xff").is_none()
        );
    }
}
