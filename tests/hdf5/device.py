"""Files of device.c, without a GPU: device.py <one> <other> [equal]

Both hold the same frames chunk for chunk, and values within their bounds of what `value` of device.c makes, which the dataset that is given
as a file is compared with by `field=path`. With `equal` the files have the same bytes.
"""

import struct
import sys

import h5py
import numpy as np


def value(n):
    i = np.arange(n, dtype=np.uint64)
    slow, fast = (i % 401).astype("f8") - 200, (i // 7 % 97).astype("f8") - 48
    return abs(slow) / 16 + abs(fast) / 4 + (i * 2654435761 % 1024).astype("f8") / 65536


def wanted(name, d, field):
    if name == "field":
        return np.fromfile(field, "<f4").reshape(d.shape)
    x = value(d.size)
    if d.fillvalue:
        x[::11] = d.fillvalue
    if name == "i16":
        x = x * 100
    return x.reshape(d.shape).astype(d.dtype)


def check(name, d, field):
    mode, low, high = d.id.get_create_plist().get_filter(0)[2][:3]
    bound = struct.unpack("<d", struct.pack("<II", low, high))[0]
    if d.dtype.kind == "V":
        x = value(d.size)
        expected = b"".join(struct.pack("<fd", v, v) for v in x)
        assert d[()].tobytes() == expected, name
        return
    a, b = wanted(name, d, field), d[()]
    assert b.dtype == a.dtype, name
    if d.dtype.kind != "f" or mode == 0:
        assert a.tobytes() == b.tobytes(), name
        return
    off = np.abs(a.astype("f8") - b.astype("f8"))
    assert np.all(off <= (bound * np.abs(a.astype("f8")) if mode == 2 else bound)), (name, off.max(), bound)
    assert off.max() > 0 or d.size < 10, f"{name}: nothing is lost, so nothing is tested"
    if d.fillvalue:
        assert np.all(b.ravel()[::11] == np.asarray(d.fillvalue, d.dtype)), name


def compare(one, other, field):
    count = 0
    with h5py.File(one) as f, h5py.File(other) as g:
        assert list(f) == list(g) and len(f) == 16, (list(f), list(g))
        for name in f:
            d, e = f[name], g[name]
            assert d.id.get_create_plist().get_filter(0) == e.id.get_create_plist().get_filter(0), name
            assert d.id.get_num_chunks() == e.id.get_num_chunks() == np.prod([-(-n // c) for n, c in zip(d.shape, d.chunks)]), name
            for i in range(d.id.get_num_chunks()):
                at = d.id.get_chunk_info(i).chunk_offset
                assert d.id.read_direct_chunk(at) == e.id.read_direct_chunk(at), (name, at)
                count += 1
            for x in (d, e):
                check(name, x, field)
    return count


if __name__ == "__main__":
    one, other, *rest = sys.argv[1:]
    field = next(r.removeprefix("field=") for r in rest if r.startswith("field="))
    if "equal" in rest and open(one, "rb").read() != open(other, "rb").read():
        sys.exit(f"FAILED: {one} and {other} differ")
    print(f"    {compare(one, other, field)} chunks of {one} are those of {other}{', and the files are equal' if 'equal' in rest else ''}")
