#!/usr/bin/env bash
# The filter in parallel HDF5, with one, two and four ranks, and what they wrote read by three and by a serial HDF5; and the example of an
# adaptive mesh.
#
#   parallel.sh <python with h5py> <folder of fzgm_hdf5.h>      HDF5_PLUGIN_PATH names the folder of the plugin
. "$(dirname "$0")/../shell.sh"
python=$1 include=$(realpath "$2")
cd "$work"

# shellcheck disable=SC2046
mpicc -std=c99 -O1 -Wall -Wextra -Werror "${undefined[@]}" -I"$include" $(pkg-config --cflags hdf5-openmpi) "$here/parallel.c" -o parallel $(pkg-config --libs hdf5-openmpi) -lm
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
for ranks in 1 2 4; do
  mpirun -n $ranks --oversubscribe ./parallel p.h5
  mpirun -n 3 --oversubscribe ./parallel p.h5 read
  "$python" - <<'PY'
import h5py, numpy as np
with h5py.File("p.h5") as f:
    d = f["d"]
    want = np.fromfunction(lambda i, j: np.sin(i / 9) * np.cos(j / 7), d.shape)
    assert 0 < abs(d[()] - want).max() <= 1e-3
    assert all(d.id.get_chunk_info(i).filter_mask == 0 for i in range(d.id.get_num_chunks()))
PY
done
printf 'ok  parallel HDF5 with 1, 2 and 4 ranks, read by as many, by 3 and by a serial one\n'

# shellcheck disable=SC2046
mpicc -std=c11 -O1 -Wall -Wextra -Werror "${undefined[@]}" -I"$include" $(pkg-config --cflags hdf5-openmpi) "$here/../../examples/amr_hdf5.c" -o amr \
  $(pkg-config --libs hdf5-openmpi) -lm
for ranks in 1 3; do
  mpirun -n $ranks --oversubscribe ./amr plot.h5
  "$python" - <<'PY'
import h5py, numpy as np
with h5py.File("plot.h5") as f:
    for name, patches, side in [("level_0", 1, 128), ("level_1", 8, 64), ("level_2", 27, 32), ("level_2_fine_patches", 64, 16)]:
        d, origins = f[name]["density"], f[name]["origins"][()]
        assert d.shape == (patches, side, side, side) and len(origins) == patches
        assert all(d.id.get_chunk_info(i).filter_mask == 0 for i in range(patches))
        # Neighbors along x have origins that differ by one side.
        assert patches == 1 or (origins[1] - origins[0]).tolist() == [0, 0, side]
        assert np.isfinite(d[0]).all() and d.id.get_storage_size() < d.size
PY
done
ok "patches of an adaptive mesh in parallel HDF5 with 1 and 3 ranks"
