#!/usr/bin/env bash
# Wheels with other versions of HDF5: the tests of h5py in each, and a file of each read by all others. Wheels that there are not for this
# Python are left out, and said; fewer than three versions of HDF5 are a failure.
#
#   versions.sh <python with h5py and netCDF4> <folder for the wheels>      HDF5_PLUGIN_PATH names the folder of the plugin
. "$(dirname "$0")/../shell.sh"
python=$1 wheels=$2
mkdir -p "$wheels"
wheels=$(realpath "$wheels")
cd "$work"

cat >writes.py <<'PY'
import sys
import h5py, numpy as np
from fzgm_hdf5 import fzgm
with h5py.File(sys.argv[1], "w") as f:
    for dtype in ("<f4", ">f8", "<i2", "S3"):
        a = (np.sin(np.arange(3000) / 9) * 50).reshape(50, 60).astype(dtype)
        f.create_dataset(dtype, data=a, chunks=(16, 60), **fzgm(abs=1e-2))
PY
cat >reads.py <<'PY'
import sys
try:
    import tables
    by, opened = f"PyTables {tables.__version__}, HDF5 {tables.hdf5_version}", tables.open_file
    get = lambda f, name: f.get_node("/" + name)[:]
except ImportError:
    import h5py
    by, opened = f"h5py {h5py.__version__}, HDF5 {h5py.version.hdf5_version}", h5py.File
    get = lambda f, name: f[name][()]
import numpy as np
for path in sys.argv[1:]:
    with opened(path, "r") as f:
        for dtype in ("<f4", ">f8", "<i2", "S3"):
            a = (np.sin(np.arange(3000) / 9) * 50).reshape(50, 60).astype(dtype)
            b = get(f, dtype)
            if np.dtype(dtype).kind == "f":
                assert 0 < abs(a.astype("f8") - b).max() <= 1e-2, (path, dtype)
            else:
                assert a.tobytes() == np.asarray(b, dtype).tobytes(), (path, dtype)
print(f"    {by} reads {len(sys.argv) - 1} files")
PY

# in_wheels <folder> <command…>: with the packages of that folder before those of the environment.
in_wheels() { local folder=$1; shift; env PYTHONPATH="$folder:$PYTHONPATH" "$@"; }

found=()
# A folder, and what is in it. h5py 3.8 is from before numpy 2.
while read -r name packages; do
  if [ ! -e "$wheels/$name" ]; then
    # shellcheck disable=SC2086
    "$python" -m pip install --quiet --no-deps --only-binary=:all: --target "$wheels/$name.part" $packages 2>pip.txt \
      || { rm -rf "$wheels/$name.part"; echo "SKIPPED: $packages ($(tail -n 1 pip.txt))"; continue; }
    mv "$wheels/$name.part" "$wheels/$name"
  fi
  found+=("$name")
done <<'LIST'
h5py-3.8 h5py==3.8.0 numpy==1.26.4
h5py-3.11 h5py==3.11.0
h5py-3.12 h5py==3.12.1
h5py-3.14 h5py==3.14.0
LIST
for name in "${found[@]}"; do
  in_wheels "$wheels/$name" "$python" -c 'import h5py; print(f"h5py {h5py.__version__}, HDF5 {h5py.version.hdf5_version}")'
  in_wheels "$wheels/$name" "$python" "$here/test_h5py.py" --quiet
  in_wheels "$wheels/$name" "$python" writes.py "$name.h5"
done
"$python" writes.py own.h5
# The library of the system writes through h5repack.
h5repack -l '/<f4:CHUNK=7x60' own.h5 system.h5
for name in "${found[@]}"; do in_wheels "$wheels/$name" "$python" reads.py ./*.h5; done
"$python" reads.py ./*.h5
for file in ./*.h5; do h5dump "$file" >/dev/null || fail "h5dump does not read $file"; done
"$python" - ./*.h5 <<'PY'
import sys, netCDF4
for path in sys.argv[1:]:
    with netCDF4.Dataset(path) as d:
        assert d["<f4"][:].shape == (50, 60)
print(f"    netCDF4 {netCDF4.__version__}, HDF5 {netCDF4.__hdf5libversion__} reads {len(sys.argv) - 1} files")
PY
if [ -e "$wheels/tables" ] || "$python" -m pip install --quiet --only-binary=:all: --target "$wheels/tables" tables; then
  in_wheels "$wheels/tables" "$python" reads.py ./*.h5
fi
versions=$(for name in "${found[@]}"; do in_wheels "$wheels/$name" "$python" -c 'import h5py; print(h5py.version.hdf5_version)'; done | sort -u | tr '\n' ' ')
[ "$(wc -w <<<"$versions")" -ge 3 ] || fail "of other versions of HDF5 there are only: $versions"
ok "HDF5 $versions"
