"""A second reading of files of several containers: slab files (docs/files.md) and series (docs/series.md), by fzm_reader.

    slab_file(data)   the restored array of a slab file
    series(data)      name, element type, dimensions, and restored array of each step of a series with a valid index
"""

import struct
import zlib

import fzm_reader
from fzm_reader import require


def sealed(part, what):
    """The bytes before the CRC-32 at the end of a part."""
    require(struct.unpack("<I", part[-4:])[0] == zlib.crc32(part[:-4]), f"wrong checksum of {what}")
    return part[:-4]


def shape_of(dims, used):
    require(all(dim == 0 for dim in dims[used:]), "an unused dimension is not 0")
    return dims[:used]


def slab(data, dtype, dims):
    """The restored array of a container, which must have this type and shape."""
    container = fzm_reader.parse(data)
    require(container.dtype == dtype, f"a slab has element type {container.dtype}")
    require(list(container.dims)[:len(dims)] == list(dims), f"a slab has the shape {container.dims}, not {dims}")
    return fzm_reader.decode(data)


def slab_file(data):
    header = sealed(data[:48], "the header")
    magic, version, dtype, ndim, *numbers = struct.unpack("<4sHBB3QQI", header)
    dims, rows = shape_of(list(numbers[:3]), ndim), numbers[3]
    require((magic, version, numbers[4]) == (b"FZS1", 1, 0) and 1 <= ndim <= 3 and rows > 0, "not a header of a slab file")
    trailer = sealed(data[-32:], "the trailer")
    end, slabs, slowest, zero = struct.unpack("<3QI", trailer)
    require((end, zero) == (0, 0) and dims[-1] in (0, slowest), "the trailer contradicts the header")
    at, restored, left = 48, b"", slowest
    for _ in range(slabs):
        length, = struct.unpack_from("<Q", data, at)
        require(length > 0, "a slab without bytes")
        here = min(rows, left)
        restored += slab(data[at + 8:at + 8 + length], dtype, [*dims[:-1], here])
        at, left = at + 8 + length, left - here
    require(left == 0 and at + 32 == len(data), "bytes or rows that belong to no slab")
    return restored


def record(data, at, kind):
    """The payload of a record, and the offset after it."""
    head = sealed(data[at:at + 32], "a record")
    name, crc, here, length, zero = struct.unpack("<4sIQQI", head)
    require((name, here, zero) == (kind, at, 0), f"no record {kind} at {at}")
    payload = data[at + 32:at + 32 + length]
    require(len(payload) == length and zlib.crc32(payload) == crc, f"wrong checksum of the payload at {at}")
    return payload, at + 32 + length


def description(data, at):
    """Type, dimensions, rows of a slab, name, and the offset after the description."""
    dtype, n, m, zero, rows = struct.unpack_from("<BBHIQ", data, at)
    require(1 <= n <= 8 and m <= 255 and zero == 0 and rows > 0, "not a description of a step")
    dims = list(struct.unpack_from(f"<{n}Q", data, at + 16))
    end = at + 16 + 8 * n + m
    return dtype, dims, rows, data[end - m:end].decode(), end


def step(data, first, last):
    """The restored array of the step whose records begin and end there, and its description."""
    payload, at = record(data, first, b"STEP")
    dtype, dims, rows, name, end = description(payload, 0)
    require(end == len(payload), "bytes after a description")
    restored = b""
    for k in range(max(1, -(-dims[-1] // rows))):
        payload, at = record(data, at, b"SLAB")
        restored += slab(payload, dtype, [*dims[:-1], min(rows, dims[-1] - k * rows)])
    require(at == last, "a step ends elsewhere")
    return name, dtype, dims, restored


def series(data):
    header = sealed(data[:16], "the header")
    require(header == b"FZS2" + struct.pack("<H", 1) + bytes(6), "not a header of a series")
    place, count, length, magic = struct.unpack("<QQQ4s", sealed(data[-32:], "the footer"))
    require((length, magic) == (len(data), b"FZSX"), "no footer")
    entries, end = record(data, place, b"LIST")
    require(end == len(data) - 32, "the index ends elsewhere")
    at, before, steps = 0, 16, []
    for _ in range(count):
        first, last = struct.unpack_from("<QQ", entries, at)
        begin, (*_, at) = at + 16, description(entries, at + 16)
        require(first >= before, "steps overlap")
        require(record(data, first, b"STEP")[0] == entries[begin:at], "two descriptions of a step")
        steps.append(step(data, first, last))
        before = last
    require(before == place and at == len(entries), "the index contradicts the steps")
    return steps
