#!/usr/bin/env python3
"""Tests of fzm_reader.py: recorded files, vectors, frames made by hand, damage.

    python3 -m unittest discover -s tests/reference
"""

import hashlib
import io
import itertools
import json
import math
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zlib
from contextlib import redirect_stdout

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import file_reader  # noqa: E402
import fzm_reader as reader  # noqa: E402
from fzm_reader import FormatError, Generation, Limits  # noqa: E402

GOLDEN = os.path.join(HERE, "..", "golden")
DIFFERENCE, QUANTIZER, ZIGZAG, NEGABINARY, BITSHUFFLE, RZE, STORED = 2, 14, 15, 16, 17, 18, 0x8001
GINTERP, GINTERP_STRICT = 22, 0x8016


def golden_bytes(name):
    with open(os.path.join(GOLDEN, name), "rb") as file:
        return file.read()


def run_stage(stage_id, config, outputs, ports=None, modern=False, size=1 << 20):
    """One stage alone: output ports -> input."""
    stage = reader.STAGES[stage_id](bytes(config), Generation(ports, modern))
    if isinstance(outputs, dict):
        outputs = [outputs[port] for port in stage.ports]
    return stage.decode(outputs, Limits(size, None))


# --- inputs of the vectors ---------------------------------------------------


def lcg(seed):
    while True:
        seed = (seed * 1664525 + 1013904223) & 0xFFFFFFFF
        yield seed >> 24


def generate(gen):
    """The input generators, as described in tests/golden/README.md."""
    kind, count = gen["kind"], gen["len"]
    if kind == "const":
        return bytes([gen["byte"]]) * count
    if kind == "div":
        return bytes(i // gen["d"] & 255 for i in range(count))
    if kind == "sparse":
        m = gen["m"]
        return bytes((i // m & 255 | 1) if i % m == 0 else 0 for i in range(count))
    if kind == "affine":
        return bytes((gen["a"] * i + gen["b"]) & 255 for i in range(count))
    if kind == "pattern":
        return bytes(itertools.islice(itertools.cycle(bytes.fromhex(gen["hex"])), count))
    if kind == "prefix":
        return (bytes([gen["byte"]]) * gen["nz"]).ljust(count, b"\0")
    if kind == "lcg":
        return bytes(itertools.islice(lcg(gen["seed"]), count))
    if kind == "lcgsmall":
        return bytes(b % gen["m"] for b in itertools.islice(lcg(gen["seed"]), count))
    if kind == "lcgruns":
        out, current = bytearray(), 0
        for b in itertools.islice(lcg(gen["seed"]), count):
            current = b if b < gen["t"] else current
            out.append(current)
        return bytes(out)
    if kind == "points":
        out = bytearray(count)
        for at, value in gen["set"]:
            out[at] = value
        return bytes(out)
    raise ValueError(kind)


def vector_bytes(item):
    """The bytes of a vector item, None when only digests are recorded."""
    if "hex" in item:
        data = bytes.fromhex(item["hex"])
    elif "gen" in item:
        data = generate(item["gen"])
    else:
        return None
    assert len(data) == item["len"] and f"{zlib.crc32(data):08x}" == item["crc32"]
    return data


# --- a small RZE writer, so that digests can be compared too -------------------


def bitmap(flags, size):
    out = bytearray(size)
    for i, flag in enumerate(flags):
        out[i // 8] |= flag << i % 8
    return bytes(out)


def rze_encode_chunk(data, chunk, width, old, repeats=False):
    """The coded payload, None when the chunk has to be stored.  `repeats` drops what stage RRE drops."""
    count, tail = divmod(len(data), width)
    words = [data[i * width:(i + 1) * width] for i in range(count)]
    flags = [any(word) for word in words]
    if repeats:
        flags = [word != before for word, before in zip(words, [bytes(width)] + words)]
    kept = b"".join(itertools.compress(words, flags))
    room = chunk - 2 - tail
    tag = data[count * width:] + struct.pack("<H", len(data) & 0xFFFF)
    if old:
        sizes = [-(-len(data) // 8)]
        sizes.append(-(-sizes[0] // 8))
        sizes.append(-(-sizes[1] // 8))
        top = 4
        # Room that must be left before each level, and the strict limit there.
        limits = [(room - sizes[0], room - 1), (room - sizes[1], room - 1),
                  (room - 4 - sizes[2], room - 5), (room - 5, room - 5)]
    else:
        sizes = [chunk // (8 * width)]
        while sizes[-1] >= 8:
            sizes.append(sizes[-1] // 8)
        top = sizes.pop()
        limits = [(room - 1, room - 1)] + [(room, room)] * len(sizes)
        limits[-1] = (room - top - 1, room)
    if len(kept) > min(limits[0]):
        return None
    if not kept:
        return tag
    body, level = kept, bitmap(flags, sizes[0])
    for limit in limits[1:]:
        flags = [a != b for a, b in zip(level, b"\0" + level)]
        body += bytes(itertools.compress(level, flags))
        if len(body) > min(limit):
            return None
        level = bitmap(flags, -(-len(level) // 8))
    return body + level.ljust(top, b"\0") + tag


def rze_encode(data, chunk, width, old=False, repeats=False):
    pieces, sizes = [], []
    for at in range(0, len(data), chunk):
        piece = data[at:at + chunk]
        coded = rze_encode_chunk(piece, chunk, width, old, repeats)
        if coded is None or (not old and len(coded) >= len(piece)):
            coded, stored = piece, 1 << 31
        else:
            stored = 0
        pieces.append(coded)
        sizes.append(stored | len(coded))
    if not data:
        return b""
    out = struct.pack(f"<II{len(sizes)}I", len(data), len(sizes), *sizes) + b"".join(pieces)
    return out + bytes(-len(out) % 4)


def rze_config(chunk, code, size):
    return struct.pack("<IBI", chunk, code, size)


# --- containers made by hand ---------------------------------------------------


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def compact_frame(dtype, dims, stages, segments, flags=1, original=None):
    """`stages` is a list of (id, config, (producer, port))."""
    if original is None:
        original = math.prod(dims) * reader.DTYPE_BYTES[dtype]
    head = b"FZC1" + bytes([1, flags, dtype, len(dims)])
    head += b"".join(map(varint, dims)) + varint(original) + bytes([len(stages)])
    for stage_id, config, edge in stages:
        head += struct.pack("<HB", stage_id, len(config)) + config + bytes(edge)
    head += b"".join(varint(len(segment)) for segment in segments)
    payload = b"".join(segments)
    if flags & 1:
        head += struct.pack("<I", zlib.crc32(head + payload))
    return head + payload


def seal_fzm(data):
    """Both checksums of a version 3.1 file made right again."""
    out = bytearray(data)
    header_bytes = min(struct.unpack_from("<Q", out, 24)[0], len(out))
    struct.pack_into("<I", out, 72, zlib.crc32(out[header_bytes:]))
    struct.pack_into("<I", out, 76, 0)
    struct.pack_into("<I", out, 76, zlib.crc32(out[:header_bytes]))
    return bytes(out)


def extension(original, dtype, dims, flags=3, bound=1e-3, threshold=math.inf):
    dims = list(dims) + [1] * 3
    block = struct.pack("<4sHHQBBH3Qdd", b"FZX1", 1, flags, original, dtype, 1, 0,
                        *dims[:3], bound, threshold)
    return block.ljust(84, b"\0")


def quantizer_config(bound, n, outliers, code=reader.U32, dtype=reader.F32, mode=0, zigzag=1,
                     in_place=0, radius=32768, length=36, bound64=0.0, linear=0, dither=0):
    full = struct.pack("<fffIIIBBBBfBBBBB3xQfIdd", bound, bound, 0.0, radius, n, outliers,
                       dtype, code, mode, zigzag, math.inf, in_place, linear, dither, 0, 0,
                       0, 1.0, 0, bound64, 0.0)
    assert len(full) == 72
    return full[:length]


def u32s(*values):
    return struct.pack(f"<{len(values)}I", *values)


def f32s(*values):
    return struct.pack(f"<{len(values)}f", *values)


def small_chain():
    """A compact frame with every coder stage in it; 40 floats, one outlier."""
    n = 40
    steps = [0 if i == 7 else (i % 5) - 2 for i in range(n)]
    codes = [2 * q if q >= 0 else -2 * q - 1 for q in steps]
    differences = [(b - a) & 0xFFFFFFFF for a, b in zip([0] + codes, codes)]
    mask = 0xAAAAAAAA
    folded = u32s(*(((d + mask) & 0xFFFFFFFF) ^ mask for d in differences))
    frame = compact_frame(
        reader.F32, [8, 5],
        [(QUANTIZER, quantizer_config(0.25, n, 1), (0, 0)),
         (DIFFERENCE, bytes([reader.I32, reader.U32]) + bytes(4), (1, 0)),
         (BITSHUFFLE, struct.pack("<IB", 4096, 4), (2, 0)),
         (RZE, rze_config(4096, 1, 4 * n), (3, 0))],
        [rze_encode(folded, 4096, 1), f32s(1e30), u32s(7)], flags=3)
    values = [1e30 if i == 7 else q * 0.5 for i, q in enumerate(steps)]
    return frame, f32s(*values)


class Golden(unittest.TestCase):
    def test_every_case(self):
        text = io.StringIO()
        with redirect_stdout(text):
            status = reader.run_golden(GOLDEN)
        self.assertEqual(status, 0, text.getvalue())
        self.assertRegex(text.getvalue(), r"^\d+ passed, 0 failed\n$")


class Releases(unittest.TestCase):
    FOLDERS = sorted(pathlib.Path(GOLDEN, "releases").iterdir())

    def each(self, folder, files, index, decode):
        data, at = (folder / files).read_bytes(), 0
        for line in (folder / index).read_text().splitlines():
            name, length, _, _, crc = line.split("\t")
            with self.subTest(f"{folder.name}: {name}"):
                self.assertEqual(f"{zlib.crc32(decode(data[at:at + int(length)])):08x}", crc)
            at += int(length)
        self.assertEqual(at, len(data))

    def test_every_container(self):
        for folder in self.FOLDERS:
            self.each(folder, "containers.bin", "index.tsv", reader.decode)

    def test_every_slab_file(self):
        for folder in self.FOLDERS:
            self.each(folder, "slabs.bin", "slabs.tsv", file_reader.slab_file)

    def test_every_series(self):
        types = ("u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f32", "f64")
        for folder in self.FOLDERS:
            steps = file_reader.series((folder / "series.bin").read_bytes())
            restored = [f"{name}\t{types[dtype]}\t{'x'.join(map(str, dims))}\t{zlib.crc32(values):08x}" for name, dtype, dims, values in steps]
            self.assertEqual(restored, (folder / "series.tsv").read_text(encoding="utf-8").splitlines())

    def test_damage_of_a_slab_file(self):
        folder = self.FOLDERS[0]
        length = int((folder / "slabs.tsv").read_text().split("\t")[1])
        good = (folder / "slabs.bin").read_bytes()[:length]
        for damaged in (good[:-1], good[:20] + b"x" + good[21:], good[:48] + bytes(8) + good[56:], good[:-32], good[:-32] + good[-64:]):
            with self.assertRaises((FormatError, struct.error)):
                file_reader.slab_file(damaged)

    def test_damage_of_a_series(self):
        good = (self.FOLDERS[0] / "series.bin").read_bytes()
        for damaged in (good[:-1], b"FZS3" + good[4:], good[:60] + b"x" + good[61:], good + bytes(32)):
            with self.assertRaises((FormatError, struct.error)):
                file_reader.series(damaged)


class Vectors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(os.path.join(GOLDEN, "vectors.json"), encoding="utf-8") as file:
            cls.vectors = json.load(file)["vectors"]

    def each(self, kind, check):
        chosen = [v for v in self.vectors if v["kind"] == kind]
        self.assertTrue(chosen)
        for vector in chosen:
            with self.subTest(vector["id"]):
                check(vector, vector_bytes(vector["input"]))

    def test_stages(self):
        ids = {cls.name: number for number, cls in reader.STAGES.items()}

        def check(vector, data):
            outputs = {port: vector_bytes(item) for port, item in vector["outputs"].items()}
            expected = data
            if "Quant" in vector["stage"] or "decoded" in vector:
                expected = vector["decoded"] and vector_bytes(vector["decoded"])
            for key in ("config", "config_2026_08_long"):
                config = bytes.fromhex(vector.get(key, vector["config"]))
                stage_id = ids[vector["stage"]]
                if expected is None:
                    with self.assertRaisesRegex(FormatError, "not supported"):
                        run_stage(stage_id, config, outputs)
                    continue
                if key in vector and "decoded_" + key[7:] in vector:
                    expected = vector_bytes(vector["decoded_" + key[7:]])
                self.assertEqual(run_stage(stage_id, config, outputs), expected)
                if "legacy_outputs" in vector and len(outputs) == 3:
                    legacy = {p: vector_bytes(i) for p, i in vector["legacy_outputs"].items()}
                    self.assertEqual(
                        run_stage(stage_id, config, {**outputs, **legacy}, ports=4), expected)
        self.each("stage", check)

    def test_quantizer_within_the_bound(self):
        def check(vector, data):
            if vector["stage"] != "Quantizer" or not vector["decoded"]:
                return
            letter, width = ("f", 4) if vector["params"]["input_type"] == "f32" else ("d", 8)
            before = struct.unpack(f"<{len(data) // width}{letter}", data)
            after = struct.unpack(f"<{len(before)}{letter}", vector_bytes(vector["decoded"]))
            bound = struct.unpack_from("<f", bytes.fromhex(vector["config"]))[0]
            for x, y in zip(before, after):
                self.assertTrue(x == y or x != x and y != y or abs(x - y) <= bound, (x, y))
        self.each("stage", check)

    def test_rze_chunks(self):
        def check(vector, data):
            params = vector["params"]
            chunk, width, old = params["chunk_size"], params["word_size"], params["layout"] == "2026-05"
            repeats = vector["stage"] == "RRE"
            coded = rze_encode_chunk(data, chunk, width, old, repeats)
            item = vector["outputs"].get("payload")
            if item is None:
                self.assertIsNone(coded)
                self.assertEqual(vector["stored"], "raw")
                return
            self.check_digests(coded, item)
            self.assertEqual(vector["stored"] == "raw", not old and len(coded) >= len(data))
            kind = reader.RRE if repeats else reader.RZE
            stage = kind(rze_config(chunk, 4 if old else width, len(data)), Generation())
            if vector["stored"] == "coded":
                layout = stage.levels_layout if old else stage.words_layout
                self.assertEqual(layout(coded, len(data)), data)
            # And inside a stream, with the layout found out where it has to be.
            stream = rze_encode(data, chunk, width, old, repeats)
            self.assertEqual(stage.decode([stream], Limits(len(data), None)), data)
        self.each("chunk", check)

    def test_rze_streams(self):
        def check(vector, data):
            params = vector["params"]
            stream = rze_encode(data, params["chunk_size"], params["word_size"],
                                params["layout"] == "2026-05", vector["stage"] == "RRE")
            self.check_digests(stream, vector["outputs"]["output"])
            config = bytes.fromhex(vector["config"])
            stage_id = next(n for n, cls in reader.STAGES.items() if cls.name == vector["stage"])
            self.assertEqual(run_stage(stage_id, config, [stream]), data)
        self.each("stream", check)

    def check_digests(self, data, item):
        self.assertEqual(len(data), item["len"])
        self.assertEqual(f"{zlib.crc32(data):08x}", item["crc32"])
        if "hex" in item:
            self.assertEqual(data.hex(), item["hex"])
        else:
            self.assertEqual(hashlib.sha256(data).hexdigest(), item["sha256"])


class GInterpStreams(unittest.TestCase):
    """Streams of the original kernels, in tests/golden/ginterp."""

    NUMBERS = {"f32": reader.F32, "f64": reader.F64, "u8": reader.U8, "u16": reader.U16, "u32": reader.U32}

    @staticmethod
    def config(case):
        e, dims = case["abs_eb"], case["dims"]
        mode = {"ABS": 0, "REL": 1, "NOA": 2}[case["eb_mode"]]
        types = GInterpStreams.NUMBERS[case["type"]], GInterpStreams.NUMBERS[case["code"]]
        head = struct.pack("<f3I4B6I2fI2d", e, case["radius"], math.prod(dims), case["K"], *types, 3 if dims[2] > 1 else 2, mode,
                           *dims, *(-(-d // 16) for d in dims), case["user_eb"], case["value_base"], 0,
                           case["alpha"], case["beta"])
        flags = b"".join(bytes(case[key] + [0, 0]) for key in ("use_md", "use_natural", "reverse"))
        return head + flags + struct.pack("<Bd5x", case["auto_tuning"], e if case["type"] == "f64" else 0.0)

    def test_every_small_case(self):
        arrays = golden_bytes("ginterp/vectors.bin")
        cases = json.loads(golden_bytes("ginterp/cases.json"))
        self.assertEqual(len(cases), 69)
        for case in cases:
            if math.prod(case["dims"]) > 7000:
                continue
            with self.subTest(case["id"]):
                outputs = []
                for port in ("codes", "anchor", "outlier_vals", "outlier_idxs"):
                    at, width = case[port]["offset"], reader.DTYPE_BYTES[self.NUMBERS[case[port]["dtype"]]]
                    outputs.append(arrays[at:at + width * case[port]["count"]])
                stage = reader.STAGES[GINTERP](self.config(case), Generation())
                letter = ">f" if case["type"] == "f32" else ">d"
                self.assertEqual([struct.pack(letter, s).hex() for s in stage.steps], case["step_bits"])
                restored = stage.decode(outputs, Limits(1 << 20, None))
                self.assertEqual(f"{zlib.crc32(restored):08x}", case["recon"]["crc32"])


class GInterpByHand(unittest.TestCase):
    """A plane of 3 x 2 values with step 2, without a prediction from more than two values."""

    CODES, ANCHOR, NAN, INDEX = bytes([4, 5, 4, 3, 6, 0]), f32s(10.0), u32s(0x7FC00123), u32s(4)
    RESTORED = f32s(10.0, 11.0, 12.0, 8.0) + NAN + f32s(16.0)

    @staticmethod
    def config(low=-math.inf, high=math.inf):
        return struct.pack("<4B6BH5I12d", 1, reader.F32, reader.U8, 0, 1, 1, 0, 0, 0, 0, 0, 4, 6, 3, 2, 1,
                           1.0, math.inf, 1.75, 4.0, low, high, *[2.0] * 6)

    def run_strict(self, config, outputs, pairs=1):
        generation = Generation(modern=True)
        generation.exact_pairs = pairs
        return reader.STAGES[GINTERP_STRICT](config, generation).decode(outputs, Limits(1 << 20, None))

    def test_values(self):
        outputs = [self.CODES, self.ANCHOR, self.NAN, self.INDEX]
        self.assertEqual(self.run_strict(self.config(), outputs), self.RESTORED)
        # Predictions of 10 become 11, but the anchor stays.
        clamped = f32s(10.0, 11.0, 13.0, 9.0) + self.NAN + f32s(17.0)
        self.assertEqual(self.run_strict(self.config(11.0, 13.0), outputs), clamped[:4] + f32s(11.5) + clamped[8:])
        # Padding is restored as 0.
        padded = bytearray(self.config())
        struct.pack_into("<I", padded, 16, 8)
        self.assertEqual(self.run_strict(padded, outputs), self.RESTORED + bytes(8))

    def test_frame(self):
        head = b"FZC1" + bytes([1, 2, reader.F32, 2, 3, 2, 24, 1]) + struct.pack("<HB", GINTERP_STRICT, 128)
        frame = head + self.config() + bytes([1, 0, 0, 6, 4, 4, 4])
        frame += self.CODES + self.ANCHOR + self.NAN + self.INDEX
        self.assertEqual(reader.decode(frame), self.RESTORED)

    def test_damage(self):
        good = [self.CODES, self.ANCHOR, self.NAN, self.INDEX]
        self.run_strict(self.config(), good)
        for at, data in [(0, b"\2"), (1, b"\6"), (2, b"\3"), (3, b"\1"), (3, b"\x60"), (5, b"\x08"), (10, b"\1"), (12, bytes(4)),
                         (12, u32s(129)), (16, u32s(5)), (20, u32s(4)), (24, u32s(3)), (32, struct.pack("<d", -1.0)),
                         (40, struct.pack("<d", math.nan)), (64, struct.pack("<d", -0.0)), (64, struct.pack("<d", math.inf)),
                         (72, struct.pack("<d", 0.0)), (72, struct.pack("<d", math.nan)), (80, struct.pack("<d", -2.0)),
                         (120, struct.pack("<d", math.inf))]:
            config = bytearray(self.config())
            config[at:at + len(data)] = data
            with self.subTest(at=at, data=data), self.assertRaises(FormatError):
                self.run_strict(config, good)
        with self.assertRaises(FormatError):
            self.run_strict(self.config() + b"\0", good)
        for port, data in [(0, self.CODES + b"\4"), (0, b"\5" + self.CODES[1:]), (0, bytes([4, 5, 0, 3, 6, 0])), (1, f32s(1.0, 2.0)),
                           (2, b""), (3, u32s(3)), (3, u32s(6)), (3, u32s(4, 4))]:
            outputs = list(good)
            outputs[port] = data
            with self.subTest(port=port, data=data), self.assertRaises(FormatError):
                self.run_strict(self.config(), outputs)
        for pairs in (0, 2):
            with self.assertRaises(FormatError):
                self.run_strict(self.config(), good, pairs)
        swapped = [bytes([4, 5, 4, 0, 6, 0]), self.ANCHOR, self.NAN * 2, u32s(4, 3)]
        with self.assertRaises(FormatError):
            self.run_strict(self.config(), swapped, 2)
        swapped[3] = u32s(3, 4)
        self.run_strict(self.config(), swapped, 2)

    def test_rounding(self):
        names = reader.STAGES[GINTERP_STRICT].decode.__globals__
        f32, f64 = names["Operations"](reader.F32), names["Operations"](reader.F64)
        # The product is 2^-24 - 2^-70: the sum is close to the middle of two f32, and as an f64 it is that middle.
        above = 1.0 + 2.0 ** -23
        product = 1.0 - 2.0 ** -23, above * 2.0 ** -24
        self.assertEqual(f32.fma(*product, above), above)
        self.assertEqual(f32.fma(-product[0], product[1], above), above)
        self.assertEqual(f64.fma(2.0 ** -60, 2.0 ** -60, 1.0), 1.0)
        self.assertEqual(f64.fma(1.0 + 2.0 ** -52, 1.0 + 2.0 ** -52, -1.0 - 2.0 ** -51), 2.0 ** -104)
        self.assertEqual(f64.fma(2.0 ** 1000, 2.0 ** 1000, 0.0), math.inf)
        self.assertEqual(f64.fma(2.0 ** 1000, 2.0 ** 1000, -math.inf), -math.inf)
        for fma in (f32.fma, f64.fma):
            for a, c, sign in [(0.0, -0.0, 1), (-0.0, -0.0, -1), (-0.0, 0.0, 1)]:
                self.assertEqual(math.copysign(1, fma(a, 1.0, c)), sign)
            self.assertEqual(math.copysign(1, fma(-1.0, 1.0, 1.0)), 1)


class SpotValues(unittest.TestCase):
    def test_zigzag(self):
        codes = u32s(0, 1, 2, 3, 4, 5, 6, 0xFFFFFFFE, 0xFFFFFFFF)
        values = struct.pack("<9i", 0, -1, 1, -2, 2, -3, 3, 2**31 - 1, -2**31)
        for config in (b"", b"\6", b"\6\2", b"\6\2\0", b"\6\2\1"):
            self.assertEqual(run_stage(ZIGZAG, config, [codes]), values)
        self.assertEqual(run_stage(ZIGZAG, b"\4\0", [bytes([125, 126, 255])]),
                         struct.pack("<3b", -63, 63, -128))

    def test_negabinary(self):
        codes = u32s(0, 1, 3, 6, 2, 0xD, 0x80000003, 0x80000000)
        values = struct.pack("<8i", 0, 1, -1, 2, -2, -3, 2**31 - 1, -2**31)
        for config in (b"", b"\6\2"):
            self.assertEqual(run_stage(NEGABINARY, config, [codes]), values)

    def test_pairs(self):
        for stage in (ZIGZAG, NEGABINARY):
            for pair in (b"\0\4", b"\4\1", b"\6\6", b"\x08\x02", b"\6\2\2"):
                with self.assertRaises(FormatError):
                    run_stage(stage, pair, [bytes(8)])
            with self.assertRaises(FormatError):
                run_stage(stage, b"\6\2", [bytes(7)])

    def test_difference(self):
        cases = [("0606 00000000", struct.pack("<5i", 10, 3, -2, 0, -16),
                  struct.pack("<5i", 10, 13, 11, 11, -5)),
                 ("0602 10000000", u32s(0x1E, 7, 2, 0, 0x1B, 3),
                  struct.pack("<6i", 10, 13, 11, 11, 7, 6)),
                 ("0602 10000000 00", u32s(0x1E, 7, 2, 0, 0x1B, 3),
                  struct.pack("<6i", 10, 13, 11, 11, 7, 6)),
                 ("0101 00000000", bytes.fromhex("0100ffffffff0300"),
                  struct.pack("<4H", 1, 0, 65535, 2)),
                 ("0606 10000000", struct.pack("<12i", 10, 1, 1, 1, 20, 1, 1, 1, 30, 1, 1, 1),
                  struct.pack("<12i", 10, 11, 12, 13, 20, 21, 22, 23, 30, 31, 32, 33)),
                 ("06", struct.pack("<3i", 1, 1, 1), struct.pack("<3i", 1, 2, 3)),
                 ("0602", u32s(1, 1, 1), struct.pack("<3i", 1, 2, 3))]
        for config, stored, values in cases:
            self.assertEqual(run_stage(DIFFERENCE, bytes.fromhex(config), [stored]), values)
        for config in ("0600 00000000", "0602 00000000 02", "0606 00000000 01", "0a0a 00000000"):
            with self.assertRaises(FormatError):
                run_stage(DIFFERENCE, bytes.fromhex(config), [bytes(16)])

    def test_difference_of_floats(self):
        config = bytes.fromhex("0808 00000000")
        tiny = 2.0 ** -25
        self.assertEqual(run_stage(DIFFERENCE, config, [f32s(1, tiny, tiny, 1)]), f32s(1, 1, 1, 2))
        self.assertEqual(run_stage(DIFFERENCE, b"", [f32s(1, 2)]), f32s(1, 3))
        self.assertEqual(run_stage(DIFFERENCE, config, [f32s(-0.0)]), f32s(-0.0))
        big = struct.unpack("<f", u32s(0x7F7FFFFF))[0]
        self.assertEqual(run_stage(DIFFERENCE, config, [f32s(big, big)]), f32s(big, math.inf))
        nan = u32s(0x7F800001)  # moved, then used
        self.assertEqual(run_stage(DIFFERENCE, config, [nan + f32s(1)]), nan + u32s(0x7FFFFFFF))
        config = bytes.fromhex("0909 10000000")
        self.assertEqual(run_stage(DIFFERENCE, config, [struct.pack("<3d", 1, 1e-20, 2)]),
                         struct.pack("<3d", 1, 1, 2))

    def test_bitshuffle(self):
        # (width, block, element, its value, offset of the one byte, that byte)
        for width, block, element, value, offset, byte in [
                (4, 4096, 5, 1, 3971, 0x04), (8, 8192, 70, 1 << 63, 15, 0x02),
                (1, 1024, 33, 0x80, 4, 0x02), (2, 2048, 0, 1, 1920, 0x01)]:
            stored = bytearray(block + 3)
            stored[offset] = byte
            stored[block:] = b"abc"
            plain = bytearray(block)
            plain[element * width:(element + 1) * width] = value.to_bytes(width, "little")
            config = struct.pack("<IB", block, width)
            self.assertEqual(run_stage(BITSHUFFLE, config, [bytes(stored)]), bytes(plain) + b"abc")
        planes = u32s(*[0xFFFFFFFF] * 32 + [0] * 992)
        self.assertEqual(run_stage(BITSHUFFLE, u32s(4096), [planes]), u32s(*[0x80000000] * 1024))
        for block, width in [(0, 4), (4096, 3), (1024, 4), (6144, 4), (4096, 0)]:
            with self.assertRaises(FormatError):
                run_stage(BITSHUFFLE, struct.pack("<IB", block, width), [bytes(8)])

    def test_bitshuffle_bit_by_bit(self):
        """The element -> word and bit rule, written out literally."""
        for width in (1, 2, 4, 8):
            block, planes = 1024 * width, 8 * width
            group = 64 if width == 8 else 32
            count = block // width
            data = generate({"kind": "lcg", "seed": width, "len": block})
            words = [0] * (planes * count // group)
            for e in range(count):
                value = int.from_bytes(data[e * width:(e + 1) * width], "little")
                bit = e % group if width <= 2 else group - 1 - e % group
                for p in range(planes):
                    words[p * (count // group) + e // group] |= (value >> planes - 1 - p & 1) << bit
            stored = b"".join(word.to_bytes(group // 8, "little") for word in words)
            self.assertEqual(run_stage(BITSHUFFLE, struct.pack("<IB", block, width), [stored]), data)

    def test_quantizer_forms(self):
        n, vals, idxs = 4, f32s(9.5), u32s(2)
        codes = u32s(1, 2, 0, 4)  # zigzag: -1 1 0 2
        wanted = f32s(-0.5, 0.5, 9.5, 1.0)
        for length in (28, 36, 48, 56, 72):
            config = quantizer_config(0.25, n, 1, length=length)
            self.assertEqual(run_stage(QUANTIZER, config, [codes, vals, idxs]), wanted)
            for count, status in ((1, wanted), (9, wanted), (0, f32s(-0.5, 0.5, 0, 1.0))):
                ports = [codes, vals, idxs, u32s(count)]
                self.assertEqual(run_stage(QUANTIZER, config, ports, ports=4), status)
        # Only the longest form has a double bound, and zero means absent.
        config = quantizer_config(0.25, n, 1, length=72, bound64=0.5)
        self.assertEqual(run_stage(QUANTIZER, config, [codes, vals, idxs]), f32s(-1, 1, 9.5, 2))
        for noise in (dict(length=40), dict(mode=4), dict(linear=1), dict(dither=1),
                      dict(zigzag=2), dict(code=reader.U64), dict(code=reader.I32),
                      dict(dtype=reader.U32), dict(in_place=2), dict(bound=math.nan)):
            config = quantizer_config(**{**dict(bound=0.25, n=n, outliers=1), **noise})
            with self.assertRaises(FormatError):
                run_stage(QUANTIZER, config, [codes, vals, idxs])

    def test_quantizer_logarithmic(self):
        # A bound of 1 has steps of 2 in log2: 1, -1, 4, 1/4, -16, 0 and an outlier.
        codes, vals, idxs = u32s(1, 2, 5, 7, 10, 0, 0), f32s(1e-40), u32s(6)
        wanted = f32s(1, -1, 4, 0.25, -16, 0, 1e-40)
        for zigzag, in_place in ((0, 0), (1, 0), (1, 1)):
            config = quantizer_config(1.0, 7, 1, mode=1, zigzag=zigzag, in_place=in_place)
            self.assertEqual(run_stage(QUANTIZER, config, [codes, vals, idxs]), wanted)
        # Far bins go to infinity and to zero.
        config = quantizer_config(1.0, 4, 0, mode=1)
        stored = u32s(4 * 64 + 1, 4 * 75 + 3, 4 * 64 + 2, 0xFFFFFFFF)
        self.assertEqual(run_stage(QUANTIZER, config, [stored, b"", b""]),
                         f32s(math.inf, 0, -math.inf, 0))
        # f64 is f32 made wider, with codes of 64 bits too.
        config = quantizer_config(1.0, 2, 0, mode=1, dtype=reader.F64, code=reader.U64)
        stored = struct.pack("<QQ", 5, 1 << 63)
        self.assertEqual(run_stage(QUANTIZER, config, [stored, b"", b""]),
                         struct.pack("<dd", 4, -0.0))
        for noise in (dict(bound=0.0), dict(bound=-1.0), dict(bound=math.inf), dict(bound=math.nan),
                      dict(code=reader.U64), dict(code=reader.U8)):
            config = quantizer_config(**{**dict(bound=1.0, n=7, outliers=1, mode=1), **noise})
            with self.assertRaises(FormatError):
                run_stage(QUANTIZER, config, [codes, vals, idxs])

    def test_powers(self):
        functions = {"log2": reader.log2, "exp2": reader.power_of_two}
        count = 0
        for line in golden_bytes("power.txt").decode().splitlines():
            if line.startswith("#"):
                continue
            name, *bits = line.split()
            argument, wanted, nearest = (reader.double(int(word, 16)) for word in bits)
            self.assertEqual(functions[name](argument), wanted, line)
            self.assertLessEqual(abs(wanted - nearest), 2 * math.ulp(nearest), line)
            count += 1
        self.assertEqual(count, 1000)

    def test_quantizer_ports(self):
        config = quantizer_config(0.25, 4, 2)
        codes, vals = u32s(0, 0, 0, 0), f32s(1, 2)
        self.assertEqual(run_stage(QUANTIZER, config, [codes, vals, u32s(3, 0)]), f32s(2, 0, 0, 1))
        # A capacity-sized port holds more entries than there are.
        self.assertEqual(run_stage(QUANTIZER, config, [codes, vals + bytes(400), u32s(3, 0)]),
                         f32s(2, 0, 0, 1))
        for bad in ([codes, vals, u32s(3, 4)], [codes, vals, u32s(3, 3)], [codes, vals, u32s(3)],
                    [codes, vals[:4], u32s(3, 0)], [codes, vals[:7], u32s(3, 0)],
                    [codes[:-4], vals, u32s(2, 0)], [codes[:-1], vals, u32s(2, 0)]):
            with self.assertRaises(FormatError):
                run_stage(QUANTIZER, config, bad)

    def test_quantizer_in_place(self):
        raw = u32s(0x437A0000, 0xFF61B1E6, 0x7FC00001, 0x00010000)
        config = quantizer_config(0.5, 6, 0, in_place=1)
        self.assertEqual(run_stage(QUANTIZER, config, [u32s(2, 1) + raw]), f32s(1, -1) + raw)
        edge = u32s(0xFFFF, 0xFFFE, 0, 0, 0, 0)  # the largest codes below the sentinel
        self.assertEqual(run_stage(QUANTIZER, config, [edge]), f32s(-32768, 32767, 0, 0, 0, 0))
        config = quantizer_config(0.5, 3, 0, in_place=1, dtype=reader.F64, code=reader.U64,
                                  length=72, bound64=0.1)
        exact = struct.pack("<d", math.pi)
        stored = struct.pack("<QQ", 3, 6) + exact
        self.assertEqual(run_stage(QUANTIZER, config, [stored]),
                         struct.pack("<dd", -2 * (2 * 0.1), 3 * (2 * 0.1)) + exact)
        for noise in (dict(zigzag=0), dict(code=reader.U16), dict(dtype=reader.F64)):
            with self.assertRaises(FormatError):
                run_stage(QUANTIZER, quantizer_config(0.5, 2, 0, in_place=1, **noise),
                          [u32s(2, 1)])

    def test_quantizer_rounds_in_f32(self):
        """Both the integer and the product are rounded to f32, once each."""
        q, bound = 16777217, struct.unpack("<f", f32s(0.1))[0]
        config = quantizer_config(0.1, 1, 0, zigzag=0)
        step = struct.unpack("<f", f32s(2 * bound))[0]
        wanted = f32s(16777216.0 * step)
        self.assertEqual(run_stage(QUANTIZER, config, [u32s(q), b"", b""]), wanted)
        self.assertEqual(run_stage(QUANTIZER, quantizer_config(3e38, 1, 0), [u32s(4), b"", b""]),
                         f32s(math.inf))

    def test_rze_examples(self):
        zeros = rze_encode(bytes(16384), 16384, 1)
        self.assertEqual(zeros.hex(), "0040000001000000" "02000000" "0040" "0000")
        for code in (1, 2, 4, 8):
            self.assertEqual(run_stage(RZE, rze_config(16384, code, 16384), [zeros]), bytes(16384))
        self.assertEqual(run_stage(RZE, rze_config(16384, 1, 0), [b""]), b"")
        one = bytes.fromhex("0100000001000000" "0a000000" "41010101010000000100" "0000")
        self.assertEqual(run_stage(RZE, rze_config(16384, 4, 1), [one]), b"A")
        for config, data in [(rze_config(16384, 1, 0), zeros), (rze_config(16384, 1, 16384), b""),
                             (rze_config(16384, 1, 16383), zeros), (rze_config(2048, 1, 16384), zeros),
                             (rze_config(16384, 3, 16384), zeros), (rze_config(4096, 1, 16384), zeros),
                             (rze_config(16384, 1, 1), one), (rze_config(16384, 1, 16384), zeros[:-1]),
                             (rze_config(16384, 1, 16384), zeros + bytes(4)),
                             (rze_config(16384, 1, 16384), zeros[:-1] + b"\1")]:
            with self.assertRaises(FormatError):
                run_stage(RZE, config, [data])

    def test_rze_both_meanings_of_four(self):
        data = generate({"kind": "sparse", "m": 61, "len": 40003})
        config = rze_config(16384, 4, len(data))
        old, new = rze_encode(data, 16384, 1, old=True), rze_encode(data, 16384, 4)
        self.assertEqual(run_stage(RZE, config, [old]), data)
        self.assertEqual(run_stage(RZE, config, [new]), data)
        # A compact frame never holds the old layout.
        self.assertEqual(run_stage(RZE, config, [new], modern=True), data)
        with self.assertRaises(FormatError):
            run_stage(RZE, config, [old], modern=True)
        # All chunks alike in both layouts, the bare tag of an odd tail only in the old one.
        data = bytes(16384 + 5)
        config = rze_config(16384, 4, len(data))
        for stream in (rze_encode(data, 16384, 1, old=True), rze_encode(data, 16384, 4)):
            self.assertEqual(run_stage(RZE, config, [stream]), data)

    def test_rze_lost_geometries(self):
        for chunk, width in [(4096, 2), (4096, 4), (8192, 4)]:
            stored = generate({"kind": "lcg", "seed": 1, "len": chunk})
            stream = struct.pack("<4I", 2 * chunk, 2, 1 << 31 | chunk, 2) + stored
            stream += struct.pack("<HH", chunk, 0)
            config = rze_config(chunk, width, 2 * chunk)
            self.assertEqual(run_stage(RZE, config, [stream]), stored + bytes(chunk))
            sparse = bytes(2 * chunk - 8) + b"\1" + bytes(7)
            with self.assertRaises(FormatError):
                run_stage(RZE, config, [rze_encode(sparse, chunk, width)])


class LorenzoQuantConfigs(unittest.TestCase):
    def config(self, bound, asked):
        numbers = struct.pack("<fIII4B3I", bound, 0, 3, 0, reader.F32, reader.U32, 1, 0, 3, 1, 1)
        return numbers + struct.pack("<ff", asked, 0) + bytes(4)

    def test_codes_that_f32_does_not_hold(self):
        # 2^24 + 1 goes to the even neighbor before anything is added to it or multiplied with it.
        codes = struct.pack("<3I", 2**24 + 1, 1, 2)
        out = run_stage(1, self.config(1.5, 1.5), [codes, b"", b""])
        self.assertEqual(struct.unpack("<3f", out), (3 * 2.0**24, 3 * 2.0**24, 3 * 2.0**24 + 8))

    def test_bounds_that_were_asked_for(self):
        for bound, asked, good in [(0, 0.5, True), (0.5, 0, True), (0, 0, False), (0.5, -1, False),
                                   (0.5, math.inf, False), (0.5, math.nan, False)]:
            if good:
                run_stage(1, self.config(bound, asked), [bytes(12), b"", b""])
            else:
                with self.assertRaises(FormatError):
                    run_stage(1, self.config(bound, asked), [bytes(12), b"", b""])


class FastStreams(unittest.TestCase):
    """A stream that no encoder writes, one chunk of 16 values."""

    def restored(self, stream):
        dims = (16, 1, 1)
        config = struct.pack("<4Bf3d4Q", 1, 8, 1, 0, 0, 0.5, 0.5, math.inf, 16, *dims)
        return run_stage(0x8020, config, [stream], modern=True)

    def test_multiples_are_rounded_once(self):
        # Half a place of f32 and a little, which a double does not hold.
        code = (1 << 60) + (1 << 36) + 1
        for entry, bits in ((1 << 63 | code, 0x5D800001), (1 << 63 | -code & (1 << 62) - 1, 0xDD800001)):
            self.assertEqual(self.restored(struct.pack("<Q", entry)), struct.pack("<I", bits) * 16)

    def test_streams_beyond_table_and_values(self):
        constant = struct.pack("<Q", 1 << 63)
        self.assertEqual(self.restored(constant + bytes(64)), bytes(64))
        with self.assertRaises(FormatError):
            self.restored(constant + bytes(68))


class CompactFrames(unittest.TestCase):
    def test_by_hand(self):
        """Byte by byte: three int32 behind a zigzag stage."""
        head = bytes.fromhex(
            "465a4331"    # FZC1
            "01" "01"     # version, checksum present
            "06" "01"     # int32, one dimension
            "03" "0c"     # 3 elements, 12 bytes
            "01"          # one stage
            "0f00" "02" "0602" "0000"  # Zigzag, int32 to uint32, reads the array
            "0c")         # its output has 12 bytes
        payload = u32s(1, 2, 3)
        frame = head + struct.pack("<I", zlib.crc32(head + payload)) + payload
        self.assertEqual(reader.decode(frame), struct.pack("<3i", -1, 1, -2))
        self.assertEqual(frame, compact_frame(reader.I32, [3], [(ZIGZAG, b"\6\2", (0, 0))], [payload]))
        info = reader.describe(reader.parse(frame))
        self.assertEqual((info["format"], info["dtype"], info["dims"]), ("compact", "int32", [3]))
        self.assertEqual(info["checksums"], {"frame": "verified"})

    def test_chain(self):
        frame, wanted = small_chain()
        self.assertEqual(reader.decode(frame), wanted)
        names = [s["name"] for s in reader.describe(reader.parse(frame))["segments"]]
        self.assertEqual(names, ["output", "outlier_vals", "outlier_idxs"])

    def test_stored_and_empty(self):
        frame = compact_frame(reader.U8, [300], [(STORED, b"", (0, 0))], [bytes(300)], flags=0)
        self.assertEqual(reader.decode(frame), bytes(300))
        frame = compact_frame(reader.F32, [0], [(RZE, rze_config(4096, 1, 0), (0, 0))], [b""])
        self.assertEqual(reader.decode(frame), b"")

    def test_fan_out(self):
        """Of two readers of one edge the last one gives it back."""
        good, other = u32s(4, 5, 6), u32s(9, 9, 9)
        stages = [(ZIGZAG, b"\6\2", (0, 0)), (STORED, b"", (1, 0)), (STORED, b"", (1, 0))]
        frame = compact_frame(reader.I32, [3], stages, [good, other])
        self.assertEqual(reader.decode(frame), struct.pack("<3i", 2, -3, 3))
        frame = compact_frame(reader.I32, [3], [(STORED, b"", (0, 0))] * 2, [good, other])
        self.assertEqual(reader.decode(frame), good)

    def test_refusals(self):
        zigzag, payload = (ZIGZAG, b"\6\2", (0, 0)), bytes(12)
        good = compact_frame(reader.I32, [3], [zigzag], [payload], flags=0)
        self.assertEqual(reader.decode(good), payload)
        long_dim = good[:8] + b"\x83\x00" + good[9:]
        bad = [
            long_dim,                                                            # 3 in two bytes
            good[:8] + b"\xff" * 9 + b"\x7f" + good[9:],                         # over 64 bits
            good + b"\0", good[:-1], b"FZC2" + good[4:],
            compact_frame(reader.I32, [3], [zigzag], [payload], original=8),
            compact_frame(reader.I32, [3, 1, 1, 1], [zigzag], [payload]),
            compact_frame(reader.I32, [], [zigzag], [payload], original=12),
            compact_frame(reader.I32, [3], [], []),
            compact_frame(reader.I32, [3], [(ZIGZAG, b"\6\2", (1, 0))], [payload]),
            compact_frame(reader.I32, [3], [(ZIGZAG, b"\6\2", (0, 1))], [payload]),
            compact_frame(reader.I32, [3], [(ZIGZAG, b"", (0, 0))], [payload]),
            compact_frame(reader.I32, [3], [(STORED, b"\0", (0, 0))], [payload]),
            compact_frame(reader.I32, [3], [(0xfffe, b"", (0, 0))], [payload]),
            compact_frame(reader.I32, [3], [zigzag], [payload + payload]),
            compact_frame(reader.I32, [3], [zigzag], [payload], flags=4),
        ]
        for frame in bad:
            with self.assertRaises(FormatError):
                reader.decode(frame)

    def test_speed(self):
        """The chain of the usual pipeline, 2 MB of it."""
        n = 1 << 19
        folded = generate({"kind": "lcgsmall", "seed": 5, "m": 3, "len": 4 * n})
        frame = compact_frame(
            reader.F32, [n],
            [(QUANTIZER, quantizer_config(0.25, n, 0), (0, 0)),
             (DIFFERENCE, bytes([reader.I32, reader.U32]) + u32s(16384), (1, 0)),
             (BITSHUFFLE, struct.pack("<IB", 16384, 4), (2, 0)),
             (RZE, rze_config(16384, 1, 4 * n), (3, 0))],
            [rze_encode(folded, 16384, 1), b"", b""])
        start = time.monotonic()
        self.assertEqual(len(reader.decode(frame)), 4 * n)
        self.assertLess(time.monotonic() - start, 15)


class FzmFiles(unittest.TestCase):
    """Recorded files with single things changed."""

    STAGE = 80  # the first stage record

    def setUp(self):
        self.file = golden_bytes("c353.fzm")  # four stages, padded, 4-port Quantizer
        self.whole = reader.decode(self.file)

    def changed(self, at, data, file=None):
        file = self.file if file is None else file
        return seal_fzm(file[:at] + data + file[at + len(data):])

    def refuse(self, at, data, file=None):
        with self.assertRaises(FormatError):
            reader.decode(self.changed(at, data, file))

    def test_core_example(self):
        payload = u32s(0, 1, 2, 3)
        core = struct.pack("<IHHQQQIHH4QII", 0x464D5A32, 0x0301, 1, 16, 16, 592, 1, 1, 3,
                           16, 0, 0, 0, 0x278EAFA9, 0xFEC5197C)
        ids = struct.pack("<8H", *[0xFFFF] * 8)
        stage = struct.pack("<HHBBH", 15, 1, 1, 1, 0) + b"\1\0" + ids[2:] + b"\0\0" + ids[2:]
        stage += b"\6\2".ljust(128, b"\0") + u32s(2)
        buffer = struct.pack("<HHBBH", 15, 1, 2, 0, 0) + b"output".ljust(64, b"\0")
        buffer += struct.pack("<4Q", 16, 16, 16, 0) + b"\6\2".ljust(128, b"\0") + u32s(2)
        file = core + stage.ljust(256, b"\0") + buffer.ljust(256, b"\0") + payload
        self.assertEqual(hashlib.sha256(file).hexdigest(),
                         "5edfd56f14bba5770359dfcda6230dfe99624b2fd0a252e4ac39be09e60167f4")
        self.assertEqual(reader.decode(file), struct.pack("<4i", 0, -1, 1, -2))

    def test_checksums(self):
        for at in (72, 76, 100, 2000, len(self.file) - 1):
            broken = bytearray(self.file)
            broken[at] ^= 1
            with self.assertRaises(FormatError):
                reader.decode(broken)
        unsealed = bytearray(self.file)
        unsealed[38:40] = bytes(2)
        unsealed[72:80] = bytes(8)
        self.assertEqual(reader.decode(unsealed), self.whole)

    def test_versions(self):
        old = bytearray(self.file[:72] + self.file[80:])
        old[4:6] = b"\0\3"
        old[38:40] = bytes(2)
        struct.pack_into("<Q", old, 24, struct.unpack_from("<Q", old, 24)[0] - 8)
        self.assertEqual(reader.decode(old), self.whole)
        # A later minor version: its header checksum is not ours to judge.
        later = bytearray(self.file)
        later[4] = 2
        self.assertEqual(reader.decode(later), self.whole)
        self.refuse(5, b"\4")
        self.refuse(4, b"\2\0")
        self.refuse(0, b"\0")

    def test_three_ports(self):
        """The same file without the outlier_count port."""
        container = reader.parse(self.file)
        stages, buffers = len(container.nodes), len(container.segments)
        records = 80 + 256 * stages
        kept = [i for i, s in enumerate(container.segments) if s.name != "outlier_count"]
        file = bytearray(self.file[:records])
        file[self.STAGE + 5] = 3
        struct.pack_into("<H", file, self.STAGE + 24 + 6, 0xFFFF)
        payload, offset = b"", 0
        for i in kept:
            record = bytearray(self.file[records + 256 * i:records + 256 * (i + 1)])
            struct.pack_into("<Q", record, 96, offset)
            file += record
            payload += container.segments[i].data
            offset += len(container.segments[i].data)
        struct.pack_into("<H", file, 6, buffers - 1)
        struct.pack_into("<QQ", file, 16, offset, 80 + 256 * (stages + buffers - 1))
        self.assertEqual(reader.decode(seal_fzm(bytes(file) + payload)), self.whole)

    def test_any_segment_order(self):
        container = reader.parse(golden_bytes("c141.fzm"))
        file = golden_bytes("c141.fzm")
        records = 80 + 256
        wanted = reader.decode(file)
        for order in itertools.permutations(range(4)):
            out, payload = bytearray(file[:records]), b""
            for i in order:
                record = bytearray(file[records + 256 * i:records + 256 * (i + 1)])
                struct.pack_into("<Q", record, 96, len(payload))
                out += record
                payload += container.segments[i].data
            self.assertEqual(reader.decode(seal_fzm(bytes(out) + payload)), wanted)

    def test_extension(self):
        block = self.STAGE + 172
        n = 33 * 17 * 9
        good = self.changed(block, extension(4 * n, reader.F32, [n]))
        self.assertEqual(reader.decode(good), self.whole[:4 * n])
        info = reader.describe(reader.parse(good))
        self.assertEqual(info["original_bytes"], 4 * n)
        self.assertEqual(info["padded_bytes"], len(self.whole))
        self.assertEqual(info["extension"]["outlier_threshold"], "inf")
        json.dumps(info, allow_nan=False)
        # Another stage may carry a block with nothing in it.
        empty = struct.pack("<4sHH", b"FZX1", 1, 0)
        self.assertEqual(reader.decode(self.changed(block + 256, empty)), self.whole)
        self.refuse(block, b"FZX2")
        self.refuse(block + 40, b"\1")
        for change in [(4, b"\2"), (6, b"\4"), (6, b"\1"), (8, u32s(4 * n + 4)), (16, b"\x0a"), (17, b"\0"),
                       (17, b"\4"), (18, b"\1"), (28, b"\2"), (44, struct.pack("<d", math.nan)),
                       (60, b"\1"), (68, b"\1"), (83, b"\1")]:
            with self.subTest(change):
                self.refuse(block + change[0], change[1], good)
        self.refuse(block, extension(1 << 40, reader.U8, [1 << 40]))

    def test_counts_and_ids(self):
        for at, data in [(6, b"\0"), (6, b"\x21"), (32, b"\0"), (32, b"\x21"), (36, b"\5"), (36, b"\2"),
                         (24, b"\0"), (16, b"\0"), (38, b"\7"), (48, b"\1"), (40, b"\1")]:
            self.refuse(at, data)
        stage = self.STAGE
        for at, data in [(4, b"\2"), (4, b"\x09"), (5, b"\2"), (8, b"\0"), (24, b"\1"), (26, b"\xff\xff"),
                         (168, b"\x81"), (168, b"\x23"), (0, b"\1"), (6, b"\2"), (40, b"\0\0\xc0\x7f")]:
            self.refuse(stage + at, data)
        buffer = self.STAGE + 4 * 256
        for at, data in [(0, b"\1"), (4, b"\x0a"), (5, b"\1"), (6, b"\0"), (6, b"\x63"), (8, b"O"),
                         (20, b"x"), (72, b"\0"), (96, b"\1"), (104, b"\1"), (232, b"\0")]:
            self.refuse(buffer + at, data)
        with self.assertRaises(FormatError):
            reader.decode(self.file + b"\0")

    def test_other_stages(self):
        file = bytearray(golden_bytes("c008.fzm"))
        file[80], file[80 + 256] = 23, 23
        with self.assertRaisesRegex(FormatError, "BitplaneRZE is not supported"):
            reader.decode(seal_fzm(file))
        self.assertEqual(reader.describe(reader.parse(seal_fzm(file)))["stages"][0]["name"],
                         "BitplaneRZE")


class Damage(unittest.TestCase):
    """Whatever is done to a container, the reader answers or refuses."""

    def attempt(self, data):
        try:
            container = reader.parse(data)
            json.dumps(reader.describe(container), allow_nan=False)
            reader.restore(container)
        except FormatError as error:
            self.assertNotIn("\n", str(error))
            return False
        return True

    def test_truncation(self):
        for file in (golden_bytes("c125.fzm"), small_chain()[0]):
            self.assertTrue(self.attempt(file))
            for size in range(len(file)):
                self.assertFalse(self.attempt(file[:size]), size)
        file = golden_bytes("c324.fzm")
        for size in range(0, len(file), 7):
            self.assertFalse(self.attempt(file[:size]), size)

    def test_truncation_with_lengths_made_right(self):
        """The header states the shortened length, so the stages must detect it."""
        file = golden_bytes("c324.fzm")
        header = struct.unpack_from("<Q", file, 24)[0]
        for size in range(0, 2440, 41):
            short = bytearray(file[:header + size])
            struct.pack_into("<Q", short, 16, size)
            self.attempt(seal_fzm(short))

    def flips(self, file, reseal, offsets):
        for at in offsets:
            for mask in (0x01, 0x04, 0x80, 0xFF):
                broken = bytearray(file)
                broken[at] ^= mask
                self.attempt(reseal(bytes(broken)))

    def test_flips_in_a_small_file(self):
        file = golden_bytes("c125.fzm")
        self.flips(file, seal_fzm, range(len(file)))

    def test_flips_in_a_chain(self):
        file = golden_bytes("c324.fzm")
        self.flips(file, seal_fzm, range(0, len(file), 11))

    def test_flips_in_a_compact_frame(self):
        frame = small_chain()[0]
        payload = sum(len(s.data) for s in reader.parse(frame).segments)

        def reseal(broken):
            head = broken[:len(frame) - payload - 4]
            body = broken[len(frame) - payload:]
            return head + struct.pack("<I", zlib.crc32(head + body)) + body
        self.assertEqual(reseal(frame), frame)
        self.flips(frame, reseal, range(len(frame)))
        self.flips(frame[:5] + b"\0" + frame[6:-payload - 4] + frame[-payload:], bytes,
                   range(len(frame) - 4))

    def test_a_checksum_notices_every_flip(self):
        for file in (golden_bytes("c125.fzm"), small_chain()[0]):
            for at in range(len(file)):
                broken = bytearray(file)
                broken[at] ^= 0x10
                readable = self.attempt(bytes(broken))
                # Flags and a minor version can switch checks off; nothing else.
                self.assertFalse(readable and at not in (4, 5, 38), at)

    def test_noise(self):
        noise = generate({"kind": "lcg", "seed": 3, "len": 4000})
        for prefix in (b"", b"2ZMF", b"2ZMF\1\3", b"FZC1", b"FZC1\1\0\x08\1"):
            for at in range(0, 2000, 50):
                self.assertFalse(self.attempt(prefix + noise[at:at + at]))

    def test_promised_sizes(self):
        """A length that the data cannot back is refused before it is produced."""
        stage = (RZE, rze_config(16384, 1, 0xFFFFFFFF), (0, 0))
        stream = struct.pack("<II", 0xFFFFFFFF, 262144) + bytes(64)
        self.assertFalse(self.attempt(compact_frame(reader.U8, [0xFFFFFFFF], [stage], [stream])))
        self.assertFalse(self.attempt(compact_frame(reader.U8, [10], [stage], [stream])))


class CommandLine(unittest.TestCase):
    def run_reader(self, *arguments):
        return subprocess.run([sys.executable, os.path.join(HERE, "fzm_reader.py"), *arguments],
                              capture_output=True, text=True, check=False)

    def test_decode_info_golden(self):
        frame, wanted = small_chain()
        with tempfile.TemporaryDirectory() as folder:
            source, target = os.path.join(folder, "in"), os.path.join(folder, "out")
            with open(source, "wb") as file:
                file.write(frame)
            done = self.run_reader("decode", source, target)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
            with open(target, "rb") as file:
                self.assertEqual(file.read(), wanted)
            done = self.run_reader("info", source)
            self.assertEqual(done.returncode, 0)
            self.assertEqual(json.loads(done.stdout)["original_bytes"], len(wanted))

            with open(source, "wb") as file:
                file.write(frame[:-1])
            for arguments in (["decode", source, target], ["info", source],
                              ["info", os.path.join(folder, "absent")], ["golden", folder]):
                done = self.run_reader(*arguments)
                self.assertEqual(done.returncode, 1)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertNotIn("Traceback", done.stderr)

    def test_golden(self):
        done = self.run_reader("golden", GOLDEN)
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout.splitlines()[-1], r"^\d+ passed, 0 failed$")


if __name__ == "__main__":
    unittest.main()
