#!/usr/bin/env bash
# The plugin and the library in one process, loaded in either order: each must keep its own name, or the loader takes one for the other.
#
#   together.sh <python with h5py> <libfzgm.so>      HDF5_PLUGIN_PATH names the folder of the plugin
. "$(dirname "$0")/../shell.sh"
cd "$(dirname "$0")/../.."
soname() { readelf -d "$1" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p'; }
plugin=$(soname "$HDF5_PLUGIN_PATH/libh5fzgm.so") library=$(soname "$2")
[ "$plugin" = libh5fzgm.so ] || fail "the SONAME of the plugin is $plugin"
[ "$library" = "libfzgm.so.$(sed -n 's/^#define FZ_ABI_VERSION //p' include/fzgm.h)" ] || fail "the SONAME of the library is $library"

cp "$2" "$work/$library"
printf '#include <fzgm.h>\nconst char *version(void) { return fz_version(); }\n' >"$work/user.c"
cc -shared -fPIC -Iinclude "$work/user.c" "$work/$library" -Wl,-rpath,"$work" -o "$work/libuser.so"
cat >"$work/both.py" <<'PYTHON'
import ctypes, sys
import fzgm_hdf5, h5py, numpy

def use_plugin(path):
    x = numpy.linspace(0, 1, 10000, dtype="f4")
    with h5py.File(path, "w") as f:
        f.create_dataset("x", data=x, chunks=(1000,), **fzgm_hdf5.fzgm(abs=1e-3))
    with h5py.File(path) as f:
        assert abs(f["x"][()] - x).max() <= 1e-3 and f["x"].id.get_storage_size() < x.nbytes

def use_library(path):
    user = ctypes.CDLL(path)
    user.version.restype = ctypes.c_char_p
    assert user.version()

order, folder = sys.argv[1:]
steps = {"plugin": lambda: use_plugin(folder + "/both.h5"), "library": lambda: use_library(folder + "/libuser.so")}
for step in order.split(","):
    steps[step]()
PYTHON
for order in plugin,library,plugin library,plugin,library; do
  "$1" "$work/both.py" "$order" "$work" || fail "loaded in the order $order"
done
ok "plugin and library in one process, in either order"
