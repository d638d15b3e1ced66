//! What the build script of the HDF5 plugin says to its sources, which the target `hdf5` consists of.

fn main() {
    let header = "../hdf5-filter/fzgm_hdf5.h";
    println!("cargo:rerun-if-changed={header}");
    let text = std::fs::read_to_string(header).unwrap_or_default();
    let id = text.lines().find_map(|line| line.strip_prefix("#define H5Z_FILTER_FZGM "));
    println!("cargo:rustc-env=FZGM_HDF5_ID={}", id.unwrap_or_default().trim());
}
