#!/bin/sh
# Compresses the datasets of a file that has been written without the filter, or the variables of a netCDF file.
#
#   hdf5_repack.sh <in.h5> <out.h5> <bound> <chunk, as 100x200> [<dataset>…]
#   hdf5_repack.sh <in.nc> <out.nc> <bound> <chunk, as y/100,x/200> <variable>
#
# The preset is fast, number 3. HDF5_PLUGIN_PATH names the folder of libh5fzgm.so.
set -eu
in=$1 out=$2 bound=$3 chunk=$4
shift 4
case $in in
  *.nc)
    # A d behind a number makes it the two words of a double. -M0: nccopy would ignore small chunks.
    nccopy -M0 -F "$1,32770,1,${bound}d,3" -c "$chunk" "$in" "$out"
    ncdump -hs "$out" | grep -q "$1:_Filter = \"32770,1," || { echo "$out has no filter" >&2; exit 1; }
    ;;
  *)
    words=$(python3 -c 'import struct, sys; print(*struct.unpack("<II", struct.pack("<d", float(sys.argv[1]))), sep=",")' "$bound")
    names=$(IFS=,; echo "$*")
    h5repack -f "${names:+$names:}UD=32770,0,4,1,$words,3" -l "${names:+$names:}CHUNK=$chunk" "$in" "$out"
    # h5repack reports success if a filter rejects a dataset, and copies that dataset unchanged.
    h5dump -pH "$out" | grep -q "FILTER_ID 32770" || { echo "$out has no filter" >&2; exit 1; }
    ;;
esac
