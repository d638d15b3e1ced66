#!/usr/bin/env python3
"""A second reading of the fzgm containers, written from the format pages alone.

It shares no code with the library, so an encoder and a decoder of the library
cannot agree on the same mistake unnoticed.  Python 3.9+, standard library only.

    fzm_reader.py decode IN OUT   restore the array in IN and write it to OUT
    fzm_reader.py info IN         describe IN as JSON on stdout
    fzm_reader.py golden DIR      decode every case of DIR/golden.json, compare

Two containers are read: FZM 3.x files and compact frames ('FZC1').  Both are a
small graph of stages plus the byte strings (segments) that no stage consumed.
Decoding walks the stages backwards: each stage turns its output ports into its
input again.

Stages: Difference, Lorenzo, RLE, Huffman, Bitpack, ANS, ADM, RRE, Merge, Zigzag, Negabinary, Bitshuffle, RZE, LorenzoQuant,
Quantizer (without linear codes and dither), GInterp, Stored, Fast, and what src/stages/*/reader.py has.  Anything
that is not exactly as described is a FormatError.

The parts, in order: byte helpers, stages, the graph, FZM, compact frame,
command line.
"""

import array
import hashlib
import itertools
import json
import math
import os
import pathlib
import struct
import sys
import zlib


class FormatError(Exception):
    """The input is damaged, truncated, contradictory or not supported."""


def require(condition, message):
    if not condition:
        raise FormatError(message)


def require_possible(dims, dtype, what):
    """A length of 0 counts as 1 in the limit of an array."""
    require(math.prod(max(d, 1) for d in dims) * DTYPE_BYTES[dtype] <= 1 << 56, f"{what}: more than 2^56 bytes")


# --- byte helpers ------------------------------------------------------------

DTYPES = ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64",
          "float32", "float64"]
DTYPE_BYTES = [1, 2, 4, 8, 1, 2, 4, 8, 4, 8]
U8, U16, U32, U64, I8, I16, I32, I64, F32, F64 = range(10)

# Signed type -> unsigned type of the same width.
SIGNED_TO_UNSIGNED = {I8: U8, I16: U16, I32: U32, I64: U64}

# The "not a number" that arithmetic results in, as on a GPU for f32 (the choice
# for f64 is ours); NaNs that are only moved keep their own bits.
ARITHMETIC_NAN = {F32: 0x7FFFFFFF, F64: 0x7FF8000000000000}


class Cursor:
    """Little-endian reads from the front of a byte string, every one checked."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    def take(self, count, what):
        require(count <= len(self.data) - self.at, f"truncated in {what}")
        piece = self.data[self.at:self.at + count]
        self.at += count
        return piece

    def unsigned(self, width, what):
        return int.from_bytes(self.take(width, what), "little")

    def varint(self, what):
        """LEB128, at most 64 bits, in as few bytes as possible."""
        value = 0
        for shift in range(0, 70, 7):
            byte = self.unsigned(1, what)
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                require(byte or not shift, f"{what}: varint is not minimal")
                require(value < 1 << 64, f"{what}: varint exceeds 64 bits")
                return value
        raise FormatError(f"{what}: varint exceeds 64 bits")


def to_words(data, width, what):
    """Bytes -> array of unsigned little-endian words."""
    require(len(data) % width == 0, f"{what}: {len(data)} bytes is no multiple of {width}")
    words = array.array({1: "B", 2: "H", 4: "I", 8: "Q"}[width])
    assert words.itemsize == width
    words.frombytes(data)
    if sys.byteorder == "big":
        words.byteswap()
    return words


def from_words(words, width):
    """Unsigned words (any iterable) -> little-endian bytes."""
    out = array.array({1: "B", 2: "H", 4: "I", 8: "Q"}[width], words)
    if sys.byteorder == "big":
        out.byteswap()
    return out.tobytes()


def float_words(values, dtype):
    """Doubles -> words holding their bits, each rounded once to the float type.

    array('f') converts by a plain C cast: nearest even, overflow to infinity.
    """
    floats = array.array("f" if dtype == F32 else "d", values)
    words = array.array("I" if dtype == F32 else "Q", floats.tobytes())
    for i, value in enumerate(floats):
        if value != value:
            words[i] = ARITHMETIC_NAN[dtype]
    return words


def round_f32(value):
    return array.array("f", [value])[0]


def unzigzag(u):
    """0, 1, 2, 3, 4 -> 0, -1, 1, -2, 2."""
    return (u >> 1) ^ -(u & 1)


def double(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


# log2 and 2^y as the page of the Quantizer fixes them.  Python rounds each of
# + - * / to a double once, as the page requires.

LOG2_TERMS = [double(bits) for bits in (
    0x40071547652B82FE, 0x3FEEC709DC3A03FD, 0x3FE2776C50EF9BFE, 0x3FDA61762A7ADED9,
    0x3FD484B13D7C02A9, 0x3FD0C9A84994022D, 0x3FCC68F568D31760, 0x3FC89F3B1694CFFE,
    0x3FC5B9AC9B743F0D, 0x3FC3703C1F4D0FFE, 0x3FC1964EC6FC9491, 0x3FC00ECD7E080215)]

POWER_TERMS = [double(bits) for bits in (
    0x3FE62E42FEFA39EF, 0x3FCEBFBDFF82C58F, 0x3FAC6B08D704A0C0, 0x3F83B2AB6FBA4E77,
    0x3F55D87FE78A6731, 0x3F2430912F86C787, 0x3EEFFCBFC588B0C7, 0x3EB62C0223A5C824,
    0x3E7B5253D395E7C4, 0x3E3E4CF5158B8ECA, 0x3DFE8CAC7351BB25, 0x3DBC3BD650FC2986,
    0x3D7816193166D0F9, 0x3D3314964D5878A9)]

LEAST_MANTISSA = double(0x3FE6A09E667F3BCD)


def log2(x):
    """The logarithm of a positive normal number."""
    m, e = math.frexp(x)  # m in [1/2, 1)
    if m < LEAST_MANTISSA:
        m, e = 2 * m, e - 1
    f = (m - 1) / (m + 1)
    z = f * f
    p = LOG2_TERMS[-1]
    for term in reversed(LOG2_TERMS[:-1]):
        p = p * z + term
    return e + f * p


def power_of_two(y):
    y = max(-200.0, min(200.0, y))
    n = round(y)  # half to even
    r = y - n
    p = POWER_TERMS[-1]
    for term in reversed(POWER_TERMS[:-1]):
        p = p * r + term
    return (1 + r * p) * 2.0 ** n


# Every byte as its eight bits, least significant first.
BITS_OF_BYTE = [tuple(byte >> i & 1 for i in range(8)) for byte in range(256)]


def bits_of(data):
    return list(itertools.chain.from_iterable(map(BITS_OF_BYTE.__getitem__, data)))


# --- stages ------------------------------------------------------------------
#
# A stage is made from its configuration bytes.  `generation.ports` is how many
# output ports the file records for it, None when the container does not state them;
# `generation.modern` is true where only the 2026-08 forms may occur;
# `generation.levels` states, if a container does, whether byte 4 of an RZE
# configuration is a number of levels (True) or a word size (False).
# `generation.exact_pairs` is how many entries at the end of the outlier lists of a stage
# with `has_exact_pairs` are values bit for bit.
# It has `ports` (names of its outputs) and `decode(outputs, limits) -> input`.


class Generation:
    def __init__(self, ports=None, modern=False):
        self.ports = ports
        self.modern = modern
        self.levels = False if modern else None
        self.exact_pairs = 0


class Limits:
    """The sizes that the container states, to judge stage fields against."""

    def __init__(self, padded_bytes, original_bytes):
        self.padded_bytes = padded_bytes
        self.original_bytes = original_bytes
        # No edge of a sane pipeline is far larger than the array itself.
        self.max_bytes = 8 * padded_bytes + (64 << 20)


class OnePort:
    """Shared by the stages whose only output is called "output"."""

    ports = ["output"]

    def decode(self, outputs, limits):
        return self.decode_bytes(outputs[0], limits)


class Huffman(OnePort):
    """Symbols as codes of whole bits, in partitions of their own."""

    name = "Huffman"

    def __init__(self, config, generation):
        require(len(config) == 11, f"Huffman: configuration of {len(config)} bytes")
        number, bklen, self.count = struct.unpack("<BHQ", config)
        require(number in (U8, U16, U32), f"Huffman: symbols of type {number}")
        self.width = DTYPE_BYTES[number]
        self.bklen = bklen or 65536

    def decode_bytes(self, data, limits):
        require(self.count * self.width <= limits.max_bytes, f"Huffman: {self.count} symbols are too many")
        if not data or not self.count:
            require(not data and not self.count, "Huffman: empty on one side only")
            return b""
        require(len(data) >= 384 + self.width * self.bklen, "Huffman: truncated")
        bklen, _, size, parts, _, count, bits, cells = struct.unpack_from("<HHIIIQQQ", data)
        require(bklen == self.bklen % 65536 and count == self.count, "Huffman: stream and configuration disagree")
        require(size and parts == -(-count // size), f"Huffman: {parts} partitions of {size} symbols")
        keys_end = 384 + self.width * self.bklen
        offsets = (0, 128, keys_end, keys_end + 4 * parts, keys_end + 8 * parts, keys_end + 8 * parts + 4 * cells)
        require(struct.unpack_from("<6I", data, 40) == offsets, "Huffman: offsets are not where they should be")
        require(offsets[5] == len(data), "Huffman: the stream has another length")
        first = struct.unpack_from("<32I", data, 128)
        entry = struct.unpack_from("<32I", data, 256)
        keys = to_words(data[384:keys_end], self.width, "Huffman")
        if not bits and not cells and entry[:2] == (0, 1):
            require(keys[0] < self.bklen, "Huffman: key out of range")
            return from_words([keys[0]] * count, self.width)
        symbols = self.symbols(first, entry, keys)
        words = to_words(data[offsets[4]:], 4, "Huffman")
        out = []
        for i, (used, start) in enumerate(zip(to_words(data[offsets[2]:offsets[3]], 4, "Huffman"),
                                              to_words(data[offsets[3]:offsets[4]], 4, "Huffman"))):
            own = words[start:start + -(-used // 32)]
            require(start + -(-used // 32) <= cells, f"Huffman: partition {i} reaches beyond the cells")
            text = "".join(f"{word:032b}" for word in own)[:used]
            out += self.partition(text, first, symbols, min(size, count - i * size))
        return from_words(out, self.width)

    def symbols(self, first, entry, keys):
        """(length, code) -> symbol, of a book that an encoder can have written."""
        numbers = [entry[k + 1] - entry[k] for k in range(31)] + [2 * first[30]]
        require(entry[0] == 0 and min(numbers) >= 0 and numbers[0] == 0, "Huffman: entries are not ascending")
        used = entry[31] + numbers[31]
        require(0 < used <= self.bklen, f"Huffman: {used} codes")
        require(all(key < self.bklen for key in keys[:used]), "Huffman: key out of range")
        want, symbols = 0, {}
        for length in range(31, 0, -1):
            if length < 31:
                want = -(-(want + numbers[length + 1]) // 2)
            require(first[length] == want, f"Huffman: first code of length {length}")
            require(want + numbers[length] <= 1 << length, f"Huffman: too many codes of length {length}")
            for rank in range(numbers[length]):
                symbols[length, want + rank] = keys[entry[length] + rank]
        return symbols

    @staticmethod
    def partition(text, first, symbols, count):
        out, at = [], 0
        for _ in range(count):
            length, code = 1, int(text[at:at + 1] or "0", 2)
            while code < first[length]:
                length += 1
                code = 2 * code + int(text[at + length - 1:at + length] or "0", 2)
            require((length, code) in symbols, "Huffman: bits that are no code")
            out.append(symbols[length, code])
            at += length
        require(at == len(text), "Huffman: a partition has other bits than its symbols")
        return out


class Ans(OnePort):
    """Bytes by 32 interleaved range coders per block of 4096, backwards."""

    name = "ANS"

    def __init__(self, config, generation):
        require(len(config) == 12, f"ANS: configuration of {len(config)} bytes")
        bits, zero, self.count = struct.unpack("<B3sQ", config)
        require(bits == 10, f"ANS: {bits} bits of probability")
        require(zero == bytes(3), "ANS: configuration is not zero where it should be")

    def decode_bytes(self, data, limits):
        require(self.count <= limits.max_bytes, f"ANS: {self.count} bytes are too many")
        if not data or not self.count:
            require(not data and not self.count, "ANS: empty on one side only")
            return b""
        blocks = -(-self.count // 4096)
        states_at = 544
        table_at = states_at + 128 * blocks
        words_at = table_at + 8 * (blocks + blocks % 2)
        require(len(data) >= words_at, "ANS: truncated")
        magic, count, total, words, options = struct.unpack_from("<5I", data)
        require(magic == 0xD00D0001 and options % 32 == 10, "ANS: not such a stream")
        require((count, total) == (blocks, self.count), "ANS: stream and configuration disagree")
        require(len(data) == words_at + 2 * words, "ANS: the stream has another length")
        weights = struct.unpack_from("<256H", data, 32)
        require(sum(weights) == 1024, "ANS: probabilities do not sum to one")
        slots = [(symbol, weight, rank) for symbol, weight in enumerate(weights) for rank in range(weight)]
        out, start = [], 0
        for i in range(blocks):
            states = list(struct.unpack_from("<32I", data, states_at + 128 * i))
            sizes, at = struct.unpack_from("<2I", data, table_at + 8 * i)
            size, have = sizes >> 16, sizes & 0xFFFF
            require(size == min(4096, self.count - 4096 * i), f"ANS: block {i} of {size} bytes")
            require(at == start and have <= 2560, f"ANS: block {i} has {have} words at {at}")
            start += -(-have // 8) * 8
            require(start <= words, f"ANS: block {i} reaches beyond the stream")
            out.append(self.block(states, struct.unpack_from(f"<{have}H", data, words_at + 2 * at), size, slots))
        require(start == words, "ANS: words that no block has")
        return b"".join(out)

    @staticmethod
    def block(states, words, size, slots):
        out, left = bytearray(size), len(words)
        for row in range(-(-size // 32) - 1, -1, -1):
            readers = []
            for lane in range(min(32, size - 32 * row)):
                symbol, weight, rank = slots[states[lane] & 1023]
                out[32 * row + lane] = symbol
                states[lane] = weight * (states[lane] >> 10) + rank
                if states[lane] < 1 << 15:
                    readers.append(lane)
            left -= len(readers)
            require(left >= 0, "ANS: a block needs more words than it has")
            for k, lane in enumerate(readers):
                states[lane] = states[lane] << 16 | words[left + k]
        require(not left and states == [1 << 15] * 32, "ANS: a block does not end where it began")
        return bytes(out)


class Adm(OnePort):
    """Distances to the mean of each 512 elements: a byte, and a string of bits for its multiples of 126."""

    name = "ADM"

    def __init__(self, config, generation):
        require(len(config) == 12, f"ADM: configuration of {len(config)} bytes")
        number, zero, self.count = struct.unpack("<B3sQ", config)
        require(number < 2 and zero == bytes(3), "ADM: unknown element type")
        self.width = (2, 4)[number]

    def decode_bytes(self, data, limits):
        require(self.count * self.width <= limits.max_bytes, f"ADM: {self.count} elements are too many")
        if not data or not self.count:
            require(not data and not self.count, "ADM: empty on one side only")
            return b""
        groups, width = -(-self.count // 512), self.width
        cursor = Cursor(data)
        starts = to_words(cursor.take(4 * groups, "ADM"), 4, "ADM")
        centers = to_words(cursor.take(width * groups, "ADM"), width, "ADM")
        flags = cursor.take(-(-groups // 8), "ADM")
        codes = cursor.take(self.count, "ADM")
        signals = data[cursor.at:]
        require(len(signals) % 32 == 0 and starts[0] == 0, "ADM: signals are not those of whole groups")
        ends = list(starts[1:]) + [len(signals) // 32]
        out, mask = [], (1 << 8 * width) - 1
        for b, (start, end) in enumerate(zip(starts, ends)):
            require(0 <= end - start <= 16 * width, f"ADM: group {b} has {end - start} bytes per lane")
            plain = not flags[b // 8] >> b % 8 & 1
            require(not plain or end - start == 16 * (width - 1), f"ADM: plain group {b} of another length")
            require(32 * end <= len(signals), f"ADM: group {b} reaches beyond the stream")
            for lane in range(32):
                mine = codes[512 * b + 16 * lane:512 * b + 16 * lane + 16][:max(0, self.count - 512 * b - 16 * lane)]
                own = signals[32 * start + lane * (end - start):][:end - start]
                if plain:
                    high = width - 1
                    out += [code | int.from_bytes(own[i * high:i * high + high], "little") << 8
                            for i, code in enumerate(mine)]
                else:
                    out += [v & mask for v in self.lane(centers[b], mine, own)]
        return from_words(out, width)

    @staticmethod
    def lane(center, codes, signal):
        if not codes:
            return
        text = "".join(f"{byte:08b}" for byte in signal)
        require(text[:1] == "1", "ADM: a lane does not start with a one")
        zeros = [len(run) for run in text.split("1")[1:]]
        require(len(zeros) >= len(codes), "ADM: a lane has fewer ones than elements")
        for code, more in zip(codes, zeros):
            require(1 <= code <= 253, f"ADM: code {code}")
            far = code // 2 + 126 * more
            yield center - far if code % 2 else center + far


class Difference(OnePort):
    """Each element minus its predecessor, restarting at every chunk.

    Integer differences wrap.  Signed ones may be folded to unsigned in the same
    step, by negabinary or (later files) by zigzag.
    """

    name = "Difference"

    def __init__(self, config, generation):
        size = len(config)
        require(size in (6, 7) or size < 6 and not generation.modern,
                f"Difference: configuration of {size} bytes")
        self.dtype = config[0] if size >= 1 else F32
        coded = config[1] if size >= 2 else self.dtype
        chunk_bytes = struct.unpack_from("<I", config, 2)[0] if size >= 6 else 0
        fusion = config[6] if size >= 7 else 0
        require(self.dtype < len(DTYPES), f"Difference: unknown type {self.dtype}")
        require(fusion in (0, 1), f"Difference: unknown fusion {fusion}")
        self.width = DTYPE_BYTES[self.dtype]
        self.chunk = chunk_bytes // self.width  # elements; 0 means one chunk
        if coded == self.dtype:
            require(fusion == 0, "Difference: fusion without a change of type")
            self.fold = None
        else:
            require(SIGNED_TO_UNSIGNED.get(self.dtype) == coded,
                    f"Difference: type pair {self.dtype},{coded} does not exist")
            self.fold = "zigzag" if fusion else "negabinary"

    def decode_bytes(self, data, limits):
        words = to_words(data, self.width, "Difference")
        chunk = self.chunk or max(len(words), 1)
        parts = [words[i:i + chunk] for i in range(0, len(words), chunk)]
        if self.dtype in (F32, F64):
            return b"".join(self.float_sums(part) for part in parts)
        mask = (1 << 8 * self.width) - 1
        if self.fold == "zigzag":
            parts = [map(unzigzag, part) for part in parts]
        elif self.fold == "negabinary":
            alternating = mask // 3 * 2  # 0xAA...
            parts = [[(u ^ alternating) - alternating for u in part] for part in parts]
        sums = itertools.chain.from_iterable(map(itertools.accumulate, parts))
        return from_words([s & mask for s in sums], self.width)

    def float_sums(self, words):
        """Left to right in the element type; the first element is only moved."""
        letter = "f" if self.dtype == F32 else "d"
        values = array.array(letter, words.tobytes())
        if self.dtype == F32:
            sums = itertools.accumulate(values, lambda a, b: round_f32(a + b))
        else:
            sums = itertools.accumulate(values)
        out = float_words(sums, self.dtype)
        out[0] = words[0]
        return from_words(out, self.width)


class Folded(OnePort):
    """Zigzag and Negabinary: signed elements as unsigned ones, one by one."""

    lengths = ()

    def __init__(self, config, generation):
        size = len(config)
        require(size in self.lengths or size < 2 and not generation.modern,
                f"{self.name}: configuration of {size} bytes")
        plain, coded = config[:2] if size >= 2 else (I32, U32)
        require(SIGNED_TO_UNSIGNED.get(plain) == coded,
                f"{self.name}: type pair {plain},{coded} does not exist")
        require(size < 3 or config[2] < 2, f"{self.name}: third byte is not 0 or 1")
        self.width = DTYPE_BYTES[plain]
        self.transparent = size == 3 and config[2] == 1

    def decode_bytes(self, data, limits):
        mask = (1 << 8 * self.width) - 1
        whole = len(data) - (len(data) % self.width if self.transparent else 0)
        words = to_words(data[:whole], self.width, self.name)
        return from_words([self.unfold(u, mask) & mask for u in words], self.width) + bytes(data[whole:])


class Zigzag(Folded):
    name = "Zigzag"
    lengths = (2, 3)  # the third byte: any bytes are words, and what is behind the last one stays

    @staticmethod
    def unfold(u, mask):
        return unzigzag(u)


class Negabinary(Folded):
    name = "Negabinary"
    lengths = (2,)

    @staticmethod
    def unfold(u, mask):
        alternating = mask // 3 * 2  # 0xAA...
        return (u ^ alternating) - alternating


class Bitshuffle(OnePort):
    """Blocks stored as bit planes, the most significant plane first.

    A plane is a bitmap over the elements.  For 1- and 2-byte elements bit i of
    it is element i, counted from the least significant bit of the first byte.
    For wider ones every plane word (u32, u64 for 8-byte elements) counts from
    its most significant bit; with the bytes of each word turned round that is
    a bitmap read from the top bit of the first byte.
    A last partial block is not transformed.
    """

    name = "Bitshuffle"

    # A bitmap byte as eight bytes 0 or 1, in the two bit orders.
    LOW_FIRST = [bytes(BITS_OF_BYTE[byte]) for byte in range(256)]
    HIGH_FIRST = [bytes(reversed(BITS_OF_BYTE[byte])) for byte in range(256)]

    def __init__(self, config, generation):
        size = len(config)
        require(size == 5 or size == 4 and not generation.modern,
                f"Bitshuffle: configuration of {size} bytes")
        self.block = struct.unpack_from("<I", config)[0]
        self.width = config[4] if size == 5 else 4
        require(self.width in (1, 2, 4, 8), f"Bitshuffle: element width {self.width}")
        require(self.block and self.block % (1024 * self.width) == 0,
                f"Bitshuffle: block of {self.block} bytes for width {self.width}")

    def decode_bytes(self, data, limits):
        whole = len(data) - len(data) % self.block
        blocks = [self.decode_block(data[at:at + self.block])
                  for at in range(0, whole, self.block)]
        return b"".join(blocks) + bytes(data[whole:])

    def decode_block(self, block):
        plane_bytes = len(block) // (8 * self.width)
        out = bytearray(len(block))
        # Byte k of every element collects bits 8k..8k+7, which are eight planes.
        # The planes are spread to one byte per element and added as one integer.
        for k in range(self.width):
            lanes = 0
            for bit in range(8):
                plane = 8 * self.width - 1 - (8 * k + bit)
                piece = block[plane * plane_bytes:(plane + 1) * plane_bytes]
                lanes |= int.from_bytes(self.spread(piece), "little") << bit
            out[k::self.width] = lanes.to_bytes(8 * plane_bytes, "little")
        return bytes(out)

    def spread(self, plane):
        if self.width <= 2:
            return b"".join(map(self.LOW_FIRST.__getitem__, plane))
        words = to_words(plane, self.width, "Bitshuffle")
        words.byteswap()
        turned = from_words(words, self.width)
        return b"".join(map(self.HIGH_FIRST.__getitem__, turned))


class RLE(OnePort):
    """Runs of equal integers: all values, then all lengths."""

    name = "RLE"

    def __init__(self, config, generation):
        size = len(config)
        require(size in (5, 9), f"RLE: configuration of {size} bytes")
        self.dtype, self.count = struct.unpack_from("<BI", config)
        chunk_bytes = struct.unpack_from("<I", config, 5)[0] if size == 9 else 0
        require(self.dtype < F32, f"RLE: type {self.dtype}")
        self.width = DTYPE_BYTES[self.dtype]
        self.chunk = chunk_bytes // self.width
        require(self.chunk or not chunk_bytes, "RLE: chunks without an element")

    def decode_bytes(self, data, limits):
        require(self.count * self.width <= limits.max_bytes, f"RLE: {self.count} elements is too much")
        cursor = Cursor(data)
        runs = cursor.unsigned(4, "RLE head")
        first_of_chunk = [0, runs]
        if self.chunk and self.count:
            require(runs == -(-self.count // self.chunk), f"RLE: {runs} chunks")
            first_of_chunk = to_words(cursor.take(4 * (runs + 1), "RLE table"), 4, "RLE table")
            runs = first_of_chunk[-1]
        if self.width == 8 and self.count:
            require(not any(cursor.take(-cursor.at % 8, "RLE head")), "RLE: padding is not zero")
        require(runs <= self.count, f"RLE: {runs} runs of {self.count} elements")
        values = to_words(cursor.take(runs * self.width, "RLE values"), self.width, "RLE values")
        require(not any(cursor.take(-runs * self.width % 4, "RLE values")), "RLE: padding is not zero")
        lengths = to_words(cursor.take(4 * runs, "RLE lengths"), 4, "RLE lengths")
        require(cursor.at == len(data), "RLE: bytes behind the last length")
        require(all(lengths) and sum(lengths) == self.count, "RLE: lengths do not make up the input")
        if self.chunk and self.count:
            for k, (a, b) in enumerate(zip(first_of_chunk, first_of_chunk[1:])):
                size = min(self.chunk, self.count - k * self.chunk)
                require(a <= b and sum(lengths[a:b]) == size, f"RLE: chunk {k} has another length")
        return b"".join(from_words([v], self.width) * n for v, n in zip(values, lengths))


class Bitpack(OnePort):
    """The low bits of each element, side by side, the lowest bit first."""

    name = "Bitpack"

    def __init__(self, config, generation):
        size = len(config)
        require(size in (10, 15), f"Bitpack: configuration of {size} bytes")
        self.dtype, self.bits, self.count = struct.unpack_from("<BBQ", config)
        require(self.dtype in (U8, U16, U32), f"Bitpack: type {self.dtype}")
        self.width = DTYPE_BYTES[self.dtype]
        require(self.bits in (1, 2, 4, 8, 16, 32) and self.bits <= 8 * self.width,
                f"Bitpack: {self.bits} bits")
        self.shift, self.base = struct.unpack_from("<BI", bytes(config) + bytes(5), 10)
        require(self.shift < 8 * self.width and self.base < 1 << 8 * self.width,
                f"Bitpack: shift {self.shift}, base {self.base}")

    def decode_bytes(self, data, limits):
        require(self.count * self.width <= limits.max_bytes, f"Bitpack: {self.count} elements is too much")
        require(len(data) == -(-self.count * self.bits // 8), f"Bitpack: {len(data)} bytes")
        if self.bits >= 8:
            words = to_words(data, self.bits // 8, "Bitpack")
        else:
            mask = (1 << self.bits) - 1
            words = [byte >> shift & mask for byte in data for shift in range(0, 8, self.bits)]
            require(not any(words[self.count:]), "Bitpack: bits behind the last element")
        mask = (1 << 8 * self.width) - 1
        return from_words([(w << self.shift) + self.base & mask for w in words[:self.count]], self.width)


class Merge(OnePort):
    """Concatenated streams; the configuration contains their lengths."""

    name = "Merge"

    def __init__(self, config, generation):
        cursor = Cursor(config)
        self.inputs = cursor.unsigned(1, "Merge")
        require(1 <= self.inputs <= 8, f"Merge: {self.inputs} segments")
        self.sizes = [cursor.unsigned(4, "Merge sizes") for _ in range(self.inputs)]
        for _ in range(self.inputs):
            name = cursor.take(cursor.unsigned(1, "Merge names"), "Merge names")
            require(name and all(c in self.LETTERS for c in name), f"Merge: name {name!r} is not supported")
        require(cursor.at == len(config), "Merge: bytes behind the last name")

    LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-."

    def decode_bytes(self, data, limits):
        require(sum(self.sizes) == len(data), f"Merge: {len(data)} bytes for {self.sizes}")
        ends = list(itertools.accumulate(self.sizes))
        return [bytes(data[end - size:end]) for end, size in zip(ends, self.sizes)]


class ChunkError(Exception):
    """A coded RZE chunk does not fit the layout it was tried with."""


class RZE(OnePort):
    """Chunks whose zero words are dropped, with a compressed bitmap of the rest.

    Stream: u32 bytes, u32 chunks, a u32 size per chunk (top bit: stored as it
    is), the payloads, zeros up to a multiple of four.
    Payload: kept words, then per bitmap level the bytes that differ from their
    left neighbor, then the last level whole, the bytes behind the last whole
    word, and u16 chunk length.  Level j+1 marks the stored bytes of level j.
    """

    name = "RZE"
    CHUNKS = (4096, 8192, 16384)
    # Geometries whose last level is lost in the reference's own files.
    UNREADABLE = ((4096, 2), (4096, 4), (8192, 4))

    def __init__(self, config, generation):
        require(len(config) == 9, f"RZE: configuration of {len(config)} bytes")
        self.chunk, self.code, self.bytes = struct.unpack("<IBI", config)
        require(self.chunk in self.CHUNKS, f"RZE: chunk of {self.chunk} bytes")
        require(self.code in (1, 2, 4, 8), f"RZE: word size or level count {self.code}")
        # The May-2026 writer put "4 levels" where later ones put the word size.
        self.levels = generation.levels
        if self.levels:
            require((self.chunk, self.code) == (16384, 4), f"RZE: {self.code} levels of {self.chunk} bytes")
        if self.levels is None and (self.chunk, self.code) != (16384, 4):
            self.levels = False

    def decode_bytes(self, data, limits):
        require(self.bytes <= limits.max_bytes, f"RZE: {self.bytes} bytes is too much")
        if not data or not self.bytes:
            require(not data and not self.bytes, "RZE: empty on one side only")
            return b""
        chunks = self.split(data)
        if self.levels is None:
            layout = self.choose_layout(chunks)
        else:
            layout = self.levels_layout if self.levels else self.words_layout
        out = []
        for i, (stored, payload, length) in enumerate(chunks):
            try:
                out.append(bytes(payload) if stored else layout(payload, length))
            except ChunkError as error:
                raise FormatError(f"RZE: chunk {i} {error}") from None
        return b"".join(out)

    def split(self, data):
        """The stream as a list of (stored, payload, length of the chunk)."""
        cursor = Cursor(data)
        total = cursor.unsigned(4, "RZE header")
        count = cursor.unsigned(4, "RZE header")
        require(total == self.bytes, "RZE: stream and configuration disagree on the length")
        require(count == -(-total // self.chunk), f"RZE: {count} chunks for {total} bytes")
        sizes = to_words(cursor.take(4 * count, "RZE size table"), 4, "RZE size table")
        chunks = []
        for i, size in enumerate(sizes):
            length = min(self.chunk, total - i * self.chunk)
            stored, size = size >> 31, size & 0x7FFFFFFF
            if stored:
                require(size == length, f"RZE: stored chunk {i} of {size} bytes, not {length}")
            else:
                require(2 <= size <= self.chunk, f"RZE: chunk {i} of {size} bytes")
            chunks.append((stored, cursor.take(size, f"RZE chunk {i}"), length))
        rest = data[cursor.at:]
        require(len(rest) == -cursor.at % 4, f"RZE: {len(rest)} bytes behind the last chunk")
        require(not any(rest), "RZE: padding is not zero")
        return chunks

    def choose_layout(self, chunks):
        """Let the first chunk that can tell decide; the old layout is tried first.

        Bare tags and stored chunks are alike in both, but for a bare tag of a
        length that is no multiple of four: only the old layout has that.
        """
        for i, (stored, payload, length) in enumerate(chunks):
            if stored or len(payload) == 2:
                continue
            for layout in (self.levels_layout, self.words_layout):
                try:
                    layout(payload, length)
                    return layout
                except ChunkError:
                    pass
            raise FormatError(f"RZE: chunk {i} fits neither layout")
        return self.levels_layout

    def words_layout(self, payload, length):
        """Any word size; bitmaps always as large as for a full chunk."""
        if len(payload) >= length:
            raise ChunkError("is not smaller than its contents")
        levels = [self.chunk // (8 * self.code)]
        while levels[-1] >= 8:
            levels.append(levels[-1] // 8)
        if (self.chunk, self.code) in self.UNREADABLE:
            levels = None
        return self.decode_chunk(payload, length, self.code, levels, self.fill)

    def levels_layout(self, payload, length):
        """May 2026: bytes, bitmaps shrunk to the chunk, four bytes on top."""
        levels = [-(-length // 8)]
        levels.append(-(-levels[0] // 8))
        levels.append(-(-levels[1] // 8))
        levels.append(4)
        return self.decode_chunk(payload, length, 1, levels, self.fill)

    @staticmethod
    def decode_chunk(payload, length, width, levels, restore):
        body = bytes(payload)

        def cut_end(count):
            nonlocal body
            if count > len(body):
                raise ChunkError("ends too early")
            piece = body[len(body) - count:]
            body = body[:len(body) - count]
            return piece

        if int.from_bytes(cut_end(2), "little") != length % 65536:
            raise ChunkError("has a wrong length tag")
        count, tail = divmod(length, width)
        tail = cut_end(tail)
        if not body:
            return bytes(count * width) + tail
        if levels is None:
            raise ChunkError("was written with a geometry that cannot be read back")
        bitmap = cut_end(levels[-1])
        for size in reversed(levels[:-1]):
            present = bits_of(bitmap)
            if any(present[size:]):
                raise ChunkError("has bits beyond the end of a bitmap")
            fresh = iter(cut_end(sum(present)))
            below = bytearray(size)
            last = 0
            for i in range(size):
                if present[i]:
                    last = next(fresh)
                below[i] = last
            bitmap = bytes(below)
        kept = bits_of(bitmap)
        if any(kept[count:]):
            raise ChunkError("has bits beyond the end of the chunk")
        if sum(kept) * width != len(body):
            raise ChunkError("has a wrong number of kept words")
        words = iter(to_words(body, width, "RZE"))
        return from_words(restore(words, kept[:count]), width) + tail

    @staticmethod
    def fill(words, kept):
        """Zeros between the kept words."""
        return [next(words) if bit else 0 for bit in kept]


class RRE(RZE):
    """Chunks whose words that repeat the one before are dropped; else it is RZE with word sizes."""

    name = "RRE"

    def __init__(self, config, generation):
        super().__init__(config, Generation(modern=True))

    @staticmethod
    def fill(words, kept):
        """The kept word before, where one was dropped."""
        out, last = [], 0
        for bit in kept:
            last = next(words) if bit else last
            out.append(last)
        return out


class Quantizer:
    """Floats, or their logarithms, as integer multiples of a step; what does
    not fit is kept exactly.

    Exact values travel in two more ports (value, index), or in-place: there a
    word whose upper bits reach the radius is the float itself.
    """

    name = "Quantizer"
    LENGTHS = (28, 36, 48, 56, 72)
    MODES = {0: "ABS", 1: "REL", 2: "NOA", 3: "PREL"}

    def __init__(self, config, generation):
        size = len(config)
        require(size in self.LENGTHS and not (generation.modern and size < 36),
                f"Quantizer: configuration of {size} bytes")
        bound32, user = struct.unpack_from("<ff", config, 0)
        self.radius, self.count, self.outliers = struct.unpack_from("<III", config, 12)
        self.dtype, self.code_dtype, self.mode, self.zigzag = config[24:28]
        tail = (bytes(config) + bytes(72 - size))[32:]  # absent bytes count as zero
        self.in_place, linear, dither, linear_f64 = tail[:4]

        require(self.mode in self.MODES, f"Quantizer: mode {self.mode} is not supported")
        require(self.zigzag < 2 and self.in_place < 2, "Quantizer: switch is not 0 or 1")
        require(not linear and not linear_f64, "Quantizer: linear mode is not supported")
        require(not dither, "Quantizer: dither is not supported")
        require(self.dtype in (F32, F64), f"Quantizer: value type {self.dtype}")
        same_width = {F32: U32, F64: U64}[self.dtype]
        self.logarithmic = self.MODES[self.mode] == "REL"
        if self.logarithmic:
            self.in_place = 0  # the switch means nothing there
            require(0 < user < math.inf, "Quantizer: bound of mode REL is not positive")
            self.step = 2 * round_f32(log2(round_f32(1 + user)))
        if self.in_place:
            require(self.code_dtype == same_width,
                    "Quantizer: in-place codes have another width than the values")
            require(self.zigzag, "Quantizer: in-place codes without zigzag")
            self.ports = ["codes"]
        else:
            wide = self.logarithmic and self.dtype == F64 and self.code_dtype == U64
            require(self.code_dtype in (U16, U32) or wide, f"Quantizer: code type {self.code_dtype}")
            self.ports = ["codes", "outlier_vals", "outlier_idxs"]
            if generation.ports == 4:
                self.ports = self.ports + ["outlier_count"]

        bound64 = struct.unpack_from("<d", tail, 56 - 32)[0]
        self.bound = bound64 if bound64 != 0 else bound32
        if self.dtype == F32:
            self.bound = round_f32(self.bound)
        require(self.bound >= 0 and (self.logarithmic or bound32 >= 0), "Quantizer: bound is negative or not a number")
        require(bound64 < math.inf or self.MODES[self.mode] != "ABS", "Quantizer: bound of mode ABS is infinite")
        self.width = DTYPE_BYTES[self.dtype]
        self.code_width = DTYPE_BYTES[self.code_dtype]

    def decode(self, outputs, limits):
        codes = to_words(outputs[0], self.code_width, "Quantizer codes")
        # Some writers count the padding, others only the array itself.
        counts = {len(codes)}
        if limits.original_bytes is not None:
            counts.add(limits.original_bytes // self.width)
        require(self.count in counts and self.count <= len(codes),
                f"Quantizer: {len(codes)} codes, header says {self.count}")
        require(not any(codes[self.count:]), "Quantizer: codes of the padding are not zero")
        if self.in_place:
            is_raw = [code >> 1 >= self.radius for code in codes]
            words = self.multiply([0 if raw else unzigzag(code)
                                   for code, raw in zip(codes, is_raw)])
            for i in itertools.compress(range(len(codes)), is_raw):
                words[i] = codes[i]
        else:
            words = self.powers(codes) if self.logarithmic else self.multiply(self.signed(codes))
            for index, value in self.read_outliers(outputs):
                words[index] = value
        return from_words(words, self.width)

    def powers(self, codes):
        """Codes of mode REL: 0 for zero, else 1 + 4 |bin| + 2 [bin < 0] + [value < 0]."""
        known = {0: 0.0}
        for code in set(codes) - {0}:
            steps, negative, sign = code - 1 >> 2, code - 1 >> 1 & 1, code - 1 & 1
            power = round_f32(power_of_two(round_f32(round_f32(steps) * self.step)
                                           * (-1 if negative else 1)))
            known[code] = -power if sign else power
        return float_words([known[code] for code in codes], self.dtype)

    def signed(self, codes):
        if self.zigzag:
            return [unzigzag(code) for code in codes]
        half = 1 << (8 * self.code_width - 1)
        return [(code ^ half) - half for code in codes]

    def multiply(self, steps):
        """Integers times the step 2*bound, every operation in the value type.

        A product of two f32 is exact in double, so rounding it once is right.
        """
        if self.dtype == F64:
            step = 2.0 * self.bound
            return float_words([float(q) * step for q in steps], F64)
        step = round_f32(2.0 * self.bound)
        return float_words([q * step for q in array.array("f", steps)], F32)

    def read_outliers(self, outputs):
        values = to_words(outputs[1], self.width, "Quantizer outlier_vals")
        indices = to_words(outputs[2], 4, "Quantizer outlier_idxs")
        count = self.outliers
        if len(outputs) == 4:
            require(len(outputs[3]) == 4, "Quantizer: outlier_count is not 4 bytes")
            count = min(count, int.from_bytes(outputs[3], "little"))
        # A port may be longer (it is capacity-sized when a stage read it).
        require(count <= min(len(values), len(indices)),
                f"Quantizer: {count} outliers, but {len(values)} values and {len(indices)} indices")
        indices = indices[:count]
        require(all(index < self.count for index in indices), "Quantizer: outlier index out of range")
        require(len(set(indices)) == count, "Quantizer: outlier index twice")
        return zip(indices, values)


class Lorenzo(OnePort):
    """Integers minus what their neighbors predict; undone by sums along each axis."""

    name = "Lorenzo"

    def __init__(self, config, generation):
        size = len(config)
        require(size in (16, 20), f"Lorenzo: configuration of {size} bytes")
        self.dtype, ndim, self.centered, order = config[:4]
        dims = list(struct.unpack_from("<3I", config, 4))
        self.block = struct.unpack_from("<I", config, 16)[0] if size == 20 else 0
        self.order = order or 1
        require(self.dtype in SIGNED_TO_UNSIGNED, f"Lorenzo: type {self.dtype}")
        require(self.centered < 2 and ndim < 4 and self.order < 3 and self.block <= 1024,
                "Lorenzo: bad switch, dimensions, order or blocks")
        require(self.block or (self.order == 1 and not self.centered), "Lorenzo: order 2 or means without blocks")
        self.ports = ["output", "means"] if self.centered else ["output"]
        for axis in (1, 2):
            dims[axis] = max(dims[axis], 1) if ndim > axis else 1
        self.dims = dims
        self.width = DTYPE_BYTES[self.dtype]

    def decode(self, outputs, limits):
        data = outputs[0]
        whole = len(data) - len(data) % self.width
        words = list(to_words(data[:whole], self.width, "Lorenzo"))
        mask = (1 << 8 * self.width) - 1
        if self.block or self.dims[1:] == [1, 1]:
            run = self.block or 256
            for _ in range(self.order):
                words = [s for at in range(0, len(words), run)
                         for s in itertools.accumulate(words[at:at + run])]
            if self.centered:
                means = to_words(outputs[1], self.width, "Lorenzo means")
                require(len(means) == -(-len(words) // run), f"Lorenzo: {len(means)} means")
                words = [w + means[i // run] for i, w in enumerate(words)]
        else:
            nx, ny, nz = self.dims
            nx = nx or len(words) // (ny * nz)
            require(nx * ny * nz <= len(words), f"Lorenzo: {self.dims} of {len(words)} elements")
            for stride, lines in ((1, nx), (nx, ny), (nx * ny, nz)):
                for i in range(nx * ny * nz):
                    if i // stride % lines:
                        words[i] += words[i - stride]
        return from_words([w & mask for w in words], self.width) + bytes(data[whole:])


class LorenzoQuant:
    """Floats as multiples of a step, kept as differences inside of tiles.

    Large differences travel in two more ports (difference, index), and behind
    them values that no multiple represents (bits, index).
    """

    name = "LorenzoQuant"
    has_exact_pairs = True
    LENGTHS = (32, 40, 44, 64)
    NAN = {F32: 0x7FFFFFFF, F64: 0x7FFFFFFFFFFFFFFF}
    TILES = {1: (1024, 1, 1), 2: (32, 32, 1), 3: (8, 8, 8)}

    def __init__(self, config, generation):
        size = len(config)
        require(size in self.LENGTHS, f"LorenzoQuant: configuration of {size} bytes")
        bound32, _radius, self.count, self.outliers = struct.unpack_from("<fIII", config, 0)
        self.dtype, self.code_dtype, ndim, mode = config[16:20]
        dims = list(struct.unpack_from("<3I", config, 20))
        tail = (bytes(config) + bytes(64 - size))[40:]  # absent bytes count as zero
        self.zigzag, self.centered = tail[:2]
        require(not generation.modern or size == (64 if self.centered else 44),
                f"LorenzoQuant: configuration of {size} bytes")
        require(size == 32 or mode in (0, 1, 2, 3), f"LorenzoQuant: mode {mode}")
        require(self.zigzag < 2 and self.centered < 2 and ndim < 4, "LorenzoQuant: bad switch or dimensions")
        require(not self.centered or ndim < 2, f"LorenzoQuant: means of tiles in {ndim} dimensions")
        require((self.dtype, self.code_dtype) in
                [(F32, U8), (F32, U16), (F32, U32), (F64, U16), (F64, U32)],
                f"LorenzoQuant: types {self.dtype} and {self.code_dtype}")
        for axis in (1, 2):
            dims[axis] = max(dims[axis], 1) if ndim > axis else 1
        dims[0] = dims[0] or self.count // (dims[1] * dims[2])
        require(math.prod(dims) <= self.count, f"LorenzoQuant: {dims} of {self.count} elements")
        self.dims = dims
        self.ndim = 3 if dims[2] > 1 else 2 if dims[1] > 1 else 1
        bound64 = struct.unpack_from("<d", tail, 48 - 40)[0]
        self.bound = bound64 if bound64 != 0 else bound32
        asked = struct.unpack_from("<f", config, 32)[0] if size > 32 else 0.0
        require(0 < asked < math.inf or (asked == 0 and self.bound > 0), f"LorenzoQuant: a bound of {asked}")
        if self.dtype == F32:
            self.bound = round_f32(self.bound)
        require(self.bound >= 0 and bound32 >= 0, "LorenzoQuant: bound is negative or not a number")
        self.width = DTYPE_BYTES[self.dtype]
        self.code_width = DTYPE_BYTES[self.code_dtype]
        self.generation = generation
        self.ports = ["codes", "outlier_errors", "outlier_indices"]
        if self.centered:
            self.ports = self.ports + ["means"]
        elif generation.ports == 4:
            self.ports = self.ports + ["outlier_count"]

    def decode(self, outputs, limits):
        codes = to_words(outputs[0], self.code_width, "LorenzoQuant codes")
        require(len(codes) == self.count,
                f"LorenzoQuant: {len(codes)} codes, header says {self.count}")
        if self.zigzag:
            differences = [float(unzigzag(code)) for code in codes]
        else:
            half = 1 << (8 * self.code_width - 1)
            differences = [float((code ^ half) - half) for code in codes]
        if self.dtype == F32:
            differences = array.array("f", differences).tolist()
        errors = to_words(outputs[1], self.width, "LorenzoQuant outlier_errors")
        indices = to_words(outputs[2], 4, "LorenzoQuant outlier_indices")
        listed = min(len(errors), len(indices))
        pairs = self.generation.exact_pairs
        require(pairs == 0 or self.outliers + pairs <= listed,
                f"LorenzoQuant: {self.outliers} outliers and {pairs} pairs in {listed} entries")
        outliers = min(self.outliers, listed)
        require(all(i < self.count for i in indices[:outliers + pairs]),
                "LorenzoQuant: index out of range")
        as_floats = array.array("f" if self.dtype == F32 else "d")
        as_floats.frombytes(errors.tobytes())
        for i, error in zip(indices[:outliers], as_floats):
            differences[i] = self.add([error], [differences[i]])[0]
        sums = self.integrate(differences)
        if self.centered:
            means = array.array(as_floats.typecode)
            means.frombytes(to_words(outputs[3], self.width, "LorenzoQuant means").tobytes())
            require(len(means) == -(-self.count // 1024), f"LorenzoQuant: {len(means)} means")
            sums = self.add(sums, [means[i // 1024] for i in range(self.count)])
        words = self.multiply(sums)
        for i, bits in zip(indices[outliers:outliers + pairs], errors[outliers:]):
            words[i] = bits
        return from_words(words, self.width)

    def integrate(self, differences):
        """Undo the differences, tile by tile."""
        if self.ndim == 1:
            tiles = range(0, self.count, 1024)
            return list(itertools.chain.from_iterable(
                self.sum_1d(differences[at:at + 1024]) for at in tiles))
        nx, ny, nz = self.dims
        tx, ty, tz = self.TILES[self.ndim]
        sums = [0.0] * self.count
        for z, y, x in itertools.product(range(0, nz, tz), range(0, ny, ty), range(0, nx, tx)):
            width = min(tx, nx - x)
            starts = [[(k * ny + j) * nx + x for j in range(y, min(y + ty, ny))]
                      for k in range(z, min(z + tz, nz))]
            planes = [self.sum_2d([differences[at:at + width] for at in rows]) for rows in starts]
            if self.ndim == 3:
                flat = self.scan([list(itertools.chain.from_iterable(p)) for p in planes])
                planes = [[p[at:at + width] for at in range(0, len(p), width)] for p in flat]
            for rows, plane in zip(starts, planes):
                for at, row in zip(rows, plane):
                    sums[at:at + width] = row
        return sums

    def sum_1d(self, tile):
        """8 parts of 32 groups of 4; vectors run over all groups."""
        padded = tile + [0.0] * (1024 - len(tile))
        fours = [padded[k::4] for k in range(4)]
        for k in (1, 2, 3):
            fours[k] = self.add(fours[k - 1], fours[k])
        totals = self.scan([fours[3][g::32] for g in range(32)])  # of group g in each part
        before = [totals[g % 32 - 1][g // 32] if g % 32 else 0.0 for g in range(256)]
        fours = [self.add_where(v, before, lambda g: g % 32) for v in fours]
        parts = [p[0] for p in self.scan([[fours[3][32 * p + 31]] for p in range(8)])]
        before = [parts[g // 32 - 1] for g in range(256)]
        fours = [self.add_where(v, before, lambda g: g // 32) for v in fours]
        return [fours[i % 4][i // 4] for i in range(len(tile))]

    def sum_2d(self, rows):
        """Along y in pieces of eight rows, then along x."""
        out = []
        for at in range(0, len(rows), 8):
            piece = [rows[at]]
            for row in rows[at + 1:at + 8]:
                piece.append(self.add(piece[-1], row))
            out += [self.add(row, out[at - 1]) for row in piece] if at else piece
        columns = self.scan([list(column) for column in zip(*out)])
        return [list(row) for row in zip(*columns)]

    def scan(self, lanes):
        distance = 1
        while distance < len(lanes):
            lanes = lanes[:distance] + [self.add(lanes[i], lanes[i - distance])
                                        for i in range(distance, len(lanes))]
            distance *= 2
        return lanes

    def add(self, a, b):
        """Sums of the value type; one of two f32 in double rounds to the right one."""
        sums = [x + y for x, y in zip(a, b)]
        return sums if self.dtype == F64 else array.array("f", sums).tolist()

    def add_where(self, a, b, wanted):
        sums = self.add(a, b)
        return [sums[i] if wanted(i) else a[i] for i in range(len(a))]

    def multiply(self, sums):
        step = 2.0 * self.bound if self.dtype == F64 else round_f32(2.0 * self.bound)
        values = [q * step for q in sums]
        words = float_words(values, self.dtype)
        for i, value in enumerate(values):
            if value != value:
                words[i] = self.NAN[self.dtype]
        return words


class Fast:
    """Floats as multiples of a step, differences inside of units of 1024, and bit planes of parts of 16."""

    name = "Fast"
    ports = ["stream"]
    CHUNKS = {1: (8192, 1, 1), 2: (32, 256, 1), 3: (32, 32, 8)}

    def __init__(self, config, generation):
        require(len(config) == 64, f"Fast: configuration of {len(config)} bytes")
        form, self.dtype, self.ndim, mode, _base, self.bound = struct.unpack_from("<BBBBfd", config, 0)
        self.count, *self.dims = struct.unpack_from("<4Q", config, 32)
        require(form == 1, f"Fast: form {form} is not supported")
        require(self.dtype in (F32, F64) and mode in (0, 2, 3), f"Fast: type {self.dtype}, mode {mode}")
        require(0 <= self.bound < math.inf, "Fast: bound is negative, infinite or not a number")
        long = [d for d in self.dims if d != 1]
        require(max(len(long), 1) == self.ndim and math.prod(self.dims) <= self.count,
                f"Fast: {self.dims} of {self.count} elements in {self.ndim} dimensions")
        self.dims = (long + [1, 1, 1])[:3]
        self.words_of_value = 1 if self.dtype == F32 else 2
        if self.dtype == F32:
            self.step = 2 * min(round_f32(self.bound), 2.0 ** 126)
        else:
            self.step = 2 * min(self.bound, 2.0 ** 1022)

    def decode(self, outputs, limits):
        require(self.count * 4 * self.words_of_value <= limits.max_bytes, f"Fast: {self.count} values are too many")
        size = self.CHUNKS[self.ndim]
        counts = [-(-d // s) for d, s in zip(self.dims, size)]
        chunks = math.prod(counts)
        stream = outputs[0]
        require(len(stream) >= 8 * chunks, "Fast: the stream is shorter than its table")
        values = math.prod(self.dims) * 4 * self.words_of_value
        require(len(stream) <= 8 * chunks + values, "Fast: the stream is longer than its table and the values")
        table = struct.unpack_from(f"<{chunks}Q", stream)
        words = to_words(stream[8 * chunks:], 4, "Fast")
        out = array.array("I" if self.dtype == F32 else "Q", bytes(self.count * 4 * self.words_of_value))
        for k, entry in enumerate(table):
            index = (k % counts[0], k // counts[0] % counts[1], k // counts[0] // counts[1])
            origin = [i * s for i, s in zip(index, size)]
            extent = [min(s, d - o) for s, d, o in zip(size, self.dims, origin)]
            for place, bits in self.chunk(entry, words, extent):
                x, y, z = (o + p for o, p in zip(origin, place))
                out[(z * self.dims[1] + y) * self.dims[0] + x] = bits
        return from_words(out, 4 * self.words_of_value)

    def inside(self, extent):
        """Places of the values of a chunk, x fastest."""
        return [(x, y, z) for z in range(extent[2]) for y in range(extent[1]) for x in range(extent[0])]

    def value(self, words):
        return words[0] if self.words_of_value == 1 else words[0] | words[1] << 32

    def restored(self, multiples):
        """Bits of the multiples of the step.  A product of two f32 is exact as a double."""
        if self.dtype == F32:
            multiples = [nearest_f32(q) for q in multiples]
        return float_words([float(q) * self.step for q in multiples], self.dtype)

    def chunk(self, entry, words, extent):
        """Pairs of a place and the bits of its value."""
        places = self.inside(extent)
        if entry >> 63:
            require(not entry >> 62 & 1, "Fast: a constant chunk is not raw")
            code = entry & (1 << 62) - 1
            bits = self.restored([code - (code >> 61 << 62)])[0]
            return [(place, bits) for place in places]
        first, count, marks = entry & (1 << 44) - 1, entry >> 44 & 0xFFFF, entry >> 60
        require(marks in (0, 4) or (marks == 1 and self.dtype == F64), f"Fast: marks {marks} of a chunk")
        require(first + count <= len(words), "Fast: words of a chunk are outside of the stream")
        read = Words32(words[first:first + count])
        if marks == 4:
            require(count == len(places) * self.words_of_value, "Fast: a raw chunk of another length")
            return [(place, self.value(read.take(self.words_of_value))) for place in places]
        reference = 0
        if marks == 1:
            reference = self.value(read.take(2))
            reference -= reference >> 63 << 64
        units = [-(-extent[0] // 1024), -(-extent[1] // 32), extent[2]][self.ndim - 1]
        halves = [half for word in read.take((units + 1) // 2) for half in (word & 0xFFFF, word >> 16)]
        result, codes = [], None
        for u in range(units):
            codes, exact = self.unit(halves[u], codes, read)
            # 64 bits in two's complement.
            bits = self.restored([((reference + c + (1 << 63)) % (1 << 64)) - (1 << 63) for c in codes])
            for i, value in exact:
                bits[i] = value
            for i in range(1024):
                x, y = i % 32, i // 32
                place = {1: (1024 * u + i, 0, 0), 2: (x, 32 * u + y, 0), 3: (x, y, u)}[self.ndim]
                if all(p < e for p, e in zip(place, extent)):
                    result.append((place, bits[i]))
        require(not read.left(), "Fast: words behind the last unit of a chunk")
        return result

    def element(self, lane, e):
        """The place of an element of a lane in its unit, row by row."""
        if self.ndim == 1:
            return 32 * lane + e
        return 32 * (8 * (lane // 8) + e // 4) + 4 * (lane % 8) + e % 4

    def unit(self, descriptor, before, read):
        """The codes of a unit, row by row, and its exact values with their places."""
        mode, least, planes, kind = (descriptor & 3, descriptor >> 2 & 63, descriptor >> 8 & 7, descriptor >> 11 & 3)
        joint = descriptor >> 13 & 1
        require(not descriptor >> 14 and mode != 1, f"Fast: descriptor {descriptor:#x}")
        require(mode != 3 or (self.ndim == 3 and before is not None), "Fast: no unit before the first one")
        base = signed32(read.take(1)[0]) if mode != 3 else 0
        widths = [least] * 64
        for i in range(planes):
            pair = read.take(1) * 2 if joint else read.take(2)
            for h, word in enumerate(pair):
                for lane in range(32):
                    widths[2 * lane + h] += (word >> lane & 1) << i
        require(max(widths) <= 32, f"Fast: a width of {max(widths)} bits")
        exact = self.exact(kind, read)
        values = [0] * 1024
        order = [2 * lane + h for h in (0, 1) for lane in range(32)]
        cells = [(p, part) for p in range(max(widths)) for part in order if widths[part] > p]
        packed = read.take((len(cells) + 1) // 2)
        for n, (p, part) in enumerate(cells):
            half = packed[n // 2] >> 16 * (n % 2) & 0xFFFF
            for i in range(16):
                values[self.element(part // 2, 16 * (part % 2) + i)] |= (half >> i & 1) << p
        if mode == 0:
            return [signed32(base + v) for v in values], exact
        for part, width in enumerate(widths):
            for i in range(16):
                at = self.element(part // 2, 16 * (part % 2) + i)
                if width and values[at] >> width - 1 & 1:
                    values[at] -= 1 << width
        for i in range(1, 1024):
            if self.ndim == 1 or i % 32:
                values[i] += values[i - 1]
        if self.ndim > 1:
            for i in range(32, 1024):
                values[i] += values[i - 32]
        start = before if mode == 3 else [base] * 1024
        return [signed32(s + v) for s, v in zip(start, values)], exact

    def exact(self, kind, read):
        size = self.words_of_value
        if kind == 0:
            return []
        if kind == 3:
            value = self.value(read.take(size))
            return [(i, value) for i in range(1024)]
        lanes = read.take(1)[0]
        masks = [(lane, read.take(1)[0]) for lane in range(32) if lanes >> lane & 1]
        places = [self.element(lane, e) for lane, mask in masks for e in range(32) if mask >> e & 1]
        if kind == 1:
            value = self.value(read.take(size))
            return [(i, value) for i in places]
        return [(i, self.value(read.take(size))) for i in places]


def nearest_f32(q):
    """An integer rounded to f32, half to even, at once: by way of a double it would be rounded twice."""
    below = max(abs(q).bit_length() - 24, 0)
    head, tail = abs(q) >> below, abs(q) & (1 << below) - 1
    if 2 * tail + (head & 1) > 1 << below:
        head += 1
    return math.copysign(math.ldexp(head, below), q)


class Words32:
    """Words of a chunk from front to back."""

    def __init__(self, words):
        self.words, self.at = words, 0

    def take(self, n):
        require(self.at + n <= len(self.words), "Fast: a chunk ends before its last unit")
        self.at += n
        return self.words[self.at - n:self.at]

    def left(self):
        return len(self.words) - self.at


def signed32(v):
    return ((v + (1 << 31)) % (1 << 32)) - (1 << 31)


STAGES = {1: LorenzoQuant, 2: Difference, 5: RLE, 6: Huffman, 7: Bitpack, 11: Merge, 12: Lorenzo, 14: Quantizer, 15: Zigzag, 16: Negabinary,
          17: Bitshuffle, 18: RZE, 19: Adm, 20: Ans, 26: RRE, 0x8020: Fast}

# A stage may have its reading in its own folder: src/stages/NAME/reader.py, a class with an `id` for each form. It sees the names above.
for path in sorted(pathlib.Path(__file__).resolve().parents[2].glob("src/stages/*/reader.py")):
    names = dict(globals())
    exec(compile(path.read_text(), str(path), "exec"), names)
    STAGES.update({c.id: c for c in names.values() if isinstance(c, type) and "id" in vars(c)})

# Only for messages and `info`; these are not decoded here.
OTHER_STAGES = {3: "Scale", 4: "PassThrough", 10: "Split",
                23: "BitplaneRZE", 24: "AdaptiveBitpack", 25: "TiledLorenzo"}


def has_exact_pairs(stage_id):
    """True if the container states for this stage how many values are listed bit for bit."""
    return getattr(STAGES.get(stage_id), "has_exact_pairs", False)


def stage_name(stage_id):
    if stage_id in STAGES:
        return STAGES[stage_id].name
    return OTHER_STAGES.get(stage_id, f"stage {stage_id:#x}")


# --- the graph ---------------------------------------------------------------


class Node:
    """One stage of a container; edges are named by any hashable key."""

    def __init__(self, stage_id, config, inputs, outputs, generation):
        self.id = stage_id
        self.name = stage_name(stage_id)
        self.config = config
        self.inputs = inputs
        self.outputs = outputs
        self.generation = generation

    def build(self):
        require(self.id in STAGES, f"{self.name} is not supported: neither STAGES nor a src/stages/*/reader.py has it")
        stage = STAGES[self.id](self.config, self.generation)
        inputs = stage.inputs if isinstance(stage, Merge) else 1
        require(len(self.inputs) == inputs, f"{self.name}: {len(self.inputs)} inputs instead of {inputs}")
        require(len(self.outputs) == len(stage.ports),
                f"{self.name}: {len(self.outputs)} outputs instead of {len(stage.ports)}")
        return stage


class Segment:
    def __init__(self, edge, stage, port, name, offset, data):
        self.edge = edge
        self.stage = stage  # index of the producer
        self.port = port
        self.name = name
        self.offset = offset  # from the start of the payload
        self.data = data


class Container:
    def __init__(self, form, version, nodes, segments, result, padded_bytes):
        self.form = form
        self.version = version
        self.nodes = nodes
        self.segments = segments
        self.result = result  # index of the stage whose input is the array
        produced = {edge for node in nodes for edge in node.outputs}
        self.array = next((e for e in nodes[result].inputs if e not in produced), None)
        self.padded_bytes = padded_bytes
        self.original_bytes = None
        self.dtype = None
        self.dims = None
        self.strict = None
        self.extension = None
        self.checksums = {}


def restore(container):
    """Run the graph backwards; gives the array with its padding."""
    limits = Limits(container.padded_bytes, container.original_bytes)
    stages = [node.build() for node in container.nodes]
    last_consumer = {edge: i for i, node in enumerate(container.nodes) for edge in node.inputs}
    for segment in container.segments:
        name = stages[segment.stage].ports[segment.port]
        require(segment.name == name, f"port {segment.name!r} should be called {name!r}")
    known = {segment.edge: segment.data for segment in container.segments}
    array_bytes = None
    for i in reversed(range(len(stages))):
        node = container.nodes[i]
        value = stages[i].decode([known[edge] for edge in node.outputs], limits)
        values = value if isinstance(stages[i], Merge) else [value]
        # Several consumers saw the same data; the last of them gives it back.
        for edge, value in zip(node.inputs, values):
            if last_consumer[edge] == i:
                known[edge] = value
            if i == container.result and edge == container.array:
                array_bytes = value
    require(len(array_bytes) == container.padded_bytes,
            f"decoded {len(array_bytes)} bytes, the header says {container.padded_bytes}")
    return array_bytes


def decode(data):
    """The array in a container: original length if known, else padded."""
    container = parse(data)
    whole = restore(container)
    if container.original_bytes is None:
        return whole
    return whole[:container.original_bytes]


def parse(data):
    data = bytes(data)
    if data[:4] == FZM_MAGIC:
        return parse_fzm(data)
    if data[:4] == COMPACT_MAGIC:
        return parse_compact(data)
    raise FormatError("neither an FZM file nor a compact frame")


# --- FZM 3.x -----------------------------------------------------------------
#
# core header (80 bytes, 72 in version 3.0), stage records and buffer records of
# 256 bytes each, then the segments without gaps.

FZM_MAGIC = b"2ZMF"
RECORD = 256
UNUSED = 0xFFFF
EXTENSION_AT = 172


def parse_fzm(data):
    require(len(data) >= 72, "FZM: truncated in the core header")
    version, num_buffers = struct.unpack_from("<HH", data, 4)
    major, minor = (version, 0) if version <= 0xFF else divmod(version, 256)
    require(major == 3, f"FZM: version {major}.{minor} is not supported")
    core_bytes = 72 if minor == 0 else 80
    require(len(data) >= core_bytes, "FZM: truncated in the core header")
    padded, payload_bytes, header_bytes = struct.unpack_from("<QQQ", data, 8)
    num_stages, num_sources, flags = struct.unpack_from("<IHH", data, 32)
    source_sizes = struct.unpack_from("<4Q", data, 40)

    require(1 <= num_stages <= 32, f"FZM: {num_stages} stages")
    require(1 <= num_buffers <= 32, f"FZM: {num_buffers} buffers")
    require(num_sources <= 4, f"FZM: {num_sources} sources")
    require(not any(source_sizes[num_sources:]), "FZM: size of a source that does not exist")
    require(flags & ~3 == 0, f"FZM: unknown flags {flags:#x}")
    require(minor > 0 or flags == 0, "FZM: version 3.0 has no checksums")
    require(header_bytes == core_bytes + RECORD * (num_stages + num_buffers),
            f"FZM: header of {header_bytes} bytes does not match its counts")
    require(len(data) >= header_bytes, "FZM: truncated in the records")
    require(len(data) == header_bytes + payload_bytes,
            f"FZM: {len(data)} bytes, the header says {header_bytes + payload_bytes}")
    payload = data[header_bytes:]

    checksums = {"header": "absent", "data": "absent"}
    if flags & 1:
        require(zlib.crc32(payload) == struct.unpack_from("<I", data, 72)[0],
                "FZM: checksum of the data does not match")
        checksums["data"] = "verified"
    if flags & 2 and minor == 1:  # another minor may sum other bytes
        header = data[:76] + bytes(4) + data[80:header_bytes]
        require(zlib.crc32(header) == struct.unpack_from("<I", data, 76)[0],
                "FZM: checksum of the header does not match")
        checksums["header"] = "verified"
    elif flags & 2:
        checksums["header"] = "not checked"

    records = [data[at:at + RECORD] for at in range(core_bytes, header_bytes, RECORD)]
    stage_records, buffer_records = records[:num_stages], records[num_stages:]
    nodes = [parse_stage_record(record, i) for i, record in enumerate(stage_records)]

    producer = {}  # edge -> (stage, port)
    for i, node in enumerate(nodes):
        for port, edge in enumerate(node.outputs):
            require(edge not in producer, f"FZM: buffer id {edge} is produced twice")
            producer[edge] = (i, port)
    consumed = set()
    sources = []
    for i, node in enumerate(nodes):
        require(node.inputs, f"FZM: stage {i} has no input")
        for edge in node.inputs:
            require(edge not in producer or producer[edge][0] < i,
                    f"FZM: stage {i} stands before its producer")
            consumed.add(edge)
        if all(edge not in producer for edge in node.inputs):
            sources.append(i)
    require(num_sources in (0, min(len(sources), 4)),
            f"FZM: {num_sources} sources in the header, {len(sources)} in the graph")

    segments = parse_buffer_records(buffer_records, nodes, producer, consumed, payload)
    result = choose_result(nodes, sources, stage_records)
    k = sources.index(result)
    size = source_sizes[k] if k < num_sources and source_sizes[k] else padded

    container = Container("fzm", f"{major}.{minor}", nodes, segments, result, size)
    container.checksums = checksums
    read_extension(container, stage_records)
    return container


def read_ids(record, at, count, what):
    ids = struct.unpack_from("<8H", record, at)
    require(count <= 8, f"FZM: {what}: {count} ids")
    require(UNUSED not in ids[:count], f"FZM: {what}: id missing")
    require(all(i == UNUSED for i in ids[count:]), f"FZM: {what}: more ids than counted")
    require(len(set(ids[:count])) == count, f"FZM: {what}: id twice")
    return list(ids[:count])


def read_config(record, at, what):
    size = struct.unpack_from("<I", record, at + 128)[0]
    require(size <= 128, f"FZM: {what}: configuration of {size} bytes")
    return record[at:at + size]


def parse_stage_record(record, i):
    stage_id, _version, num_inputs, num_outputs, flags = struct.unpack_from("<HHBBH", record, 0)
    what = f"stage {i}"
    require(flags & ~1 == 0, f"FZM: {what}: unknown flags {flags:#x}")
    return Node(stage_id, read_config(record, 40, what),
                read_ids(record, 8, num_inputs, what + " inputs"),
                read_ids(record, 24, num_outputs, what + " outputs"),
                Generation(ports=num_outputs))


def parse_buffer_records(records, nodes, producer, consumed, payload):
    segments = []
    for i, record in enumerate(records):
        what = f"buffer {i}"
        stage_id, _version, dtype, port, edge = struct.unpack_from("<HHBBH", record, 0)
        size, _allocated, _size_again, offset = struct.unpack_from("<4Q", record, 72)
        name, _, rest = record[8:72].partition(b"\0")
        require(edge in producer, f"FZM: {what}: nobody produces id {edge}")
        require(edge not in consumed, f"FZM: {what}: id {edge} is consumed by a stage")
        stage, true_port = producer[edge]
        require(stage_id == nodes[stage].id and port == true_port,
                f"FZM: {what}: does not name the producer of id {edge}")
        require(read_config(record, 104, what) == nodes[stage].config,
                f"FZM: {what}: configuration differs from that of its stage")
        require(dtype < len(DTYPES) or dtype == 255, f"FZM: {what}: unknown type {dtype}")
        require(name.isascii() and len(name) < 64 and not any(rest), f"FZM: {what}: bad port name")
        require(offset + size <= len(payload), f"FZM: {what}: outside of the data")
        segments.append(Segment(edge, stage, port, name.decode(), offset,
                                payload[offset:offset + size]))
    at = 0
    for segment in sorted(segments, key=lambda s: (s.offset, len(s.data))):
        require(segment.offset == at, "FZM: segments overlap or leave a gap")
        at += len(segment.data)
    require(at == len(payload), "FZM: bytes behind the last segment")
    edges = [segment.edge for segment in segments]
    require(len(set(edges)) == len(edges), "FZM: id has two segments")
    for edge in producer:
        require(edge in consumed or edge in edges, f"FZM: id {edge} has no segment")
    return segments


def choose_result(nodes, sources, records):
    """The stage whose input is the array: the marked one, or the only candidate."""
    marked = [i for i in sources if struct.unpack_from("<H", records[i], 6)[0] & 1]
    require(len(marked) <= 1, "FZM: two stages are marked as primary source")
    if marked:
        return marked[0]
    external = {edge for i in sources for edge in nodes[i].inputs}
    require(len(external) == 1, "FZM: several sources and none is marked")
    return sources[-1]


def read_extension(container, records):
    """Bytes 172..255 of the stage records: zero, or our own block."""
    for i, record in enumerate(records):
        block = record[EXTENSION_AT:]
        what = f"FZM: extension of stage {i}"
        if not any(block):
            continue
        magic, version, flags, original, dtype, ndim, zero = struct.unpack_from("<4sHHQBBH", block)
        x, y, z, bound, threshold, pairs = struct.unpack_from("<QQQddQ", block, 20)
        require(magic == b"FZX1", f"{what}: unknown contents")
        require(version == 1 or version == 2 and i == container.result,
                f"{what}: version {version} is not supported")
        slow = Cursor(block[68:])
        slowest = [slow.varint("a dimension") for _ in range(2, ndim)] if version == 2 else []
        require(not any(slow.data[slow.at:]), f"{what}: reserved bytes are not zero")
        require(pairs == 0 or has_exact_pairs(container.nodes[i].id),
                f"{what}: {stage_name(container.nodes[i].id)} has no exact pairs")
        container.nodes[i].generation.exact_pairs = pairs
        if i != container.result:
            require(not any(block[6:60]), f"{what}: fields that belong to the source")
            continue
        require(flags & ~3 == 0, f"{what}: unknown flags {flags:#x}")
        for node in container.nodes:  # bit 1: the file is in the form of May 2026
            node.generation.levels = bool(flags & 2)
        require(dtype < len(DTYPES), f"{what}: unknown type {dtype}")
        possible = range(4, 9) if version == 2 else range(1, 4)
        require(ndim in possible and zero == 0, f"{what}: bad number of dimensions")
        dims = [x, y, z]
        if version == 2:  # stages see the third dimension and the slower ones as one
            require(math.prod(slowest) == z, f"{what}: the slowest dimensions do not make the third")
            dims = [x, y, *slowest]
        require(all(d in (0, 1) for d in dims[ndim:]), f"{what}: surplus dimension")
        dims = dims[:ndim]
        require(math.prod(dims) * DTYPE_BYTES[dtype] == original,
                f"{what}: dimensions and length disagree")
        require_possible(dims, dtype, what)
        require(original <= container.padded_bytes, f"{what}: longer than the padded array")
        require(0 <= bound < math.inf, f"{what}: bad bound")
        require(threshold >= 0, f"{what}: bad outlier threshold")
        container.original_bytes = original
        container.dtype = dtype
        container.dims = dims
        container.strict = bool(flags & 1)
        container.extension = {"version": version, "flags": flags, "original_bytes": original,
                               "dtype": DTYPES[dtype], "dims": dims,
                               "requested_bound": json_number(bound),
                               "outlier_threshold": json_number(threshold), "exact_pairs": pairs}


# --- compact frame -----------------------------------------------------------
#
# 'FZC1', version, flags, dtype, ndim, dims, bytes of the array, the stages with
# their configurations and edges, segment lengths, checksum, segments.

COMPACT_MAGIC = b"FZC1"


def parse_compact(data):
    cursor = Cursor(data)
    cursor.take(4, "the magic")
    version = cursor.unsigned(1, "the version")
    require(version in (1, 2), f"compact frame: version {version} is not supported")
    flags = cursor.unsigned(1, "the flags")
    require(flags & ~3 == 0, f"compact frame: unknown flags {flags:#x}")
    dtype = cursor.unsigned(1, "the type")
    require(dtype < len(DTYPES), f"compact frame: unknown type {dtype}")
    ndim = cursor.unsigned(1, "the number of dimensions")
    require(ndim in (range(4, 9) if version == 2 else range(1, 4)), f"compact frame: {ndim} dimensions")
    dims = [cursor.varint("a dimension") for _ in range(ndim)]
    original = cursor.varint("the length of the array")
    require(original == math.prod(dims) * DTYPE_BYTES[dtype],
            "compact frame: dimensions and length disagree")
    require_possible(dims, dtype, "compact frame")

    nodes = []
    num_stages = cursor.unsigned(1, "the number of stages")
    require(num_stages, "compact frame: no stages")
    for k in range(1, num_stages + 1):
        what = f"stage {k}"
        stage_id = cursor.unsigned(2, what)
        require(stage_id in STAGES, f"compact frame: {stage_name(stage_id)} is not supported")
        config = cursor.take(cursor.unsigned(1, what), what)
        pairs = cursor.varint("a number of exact pairs") if has_exact_pairs(stage_id) else 0
        edges = []
        for _ in range(config[0] if STAGES[stage_id] is Merge and config else 1):
            producer, port = cursor.take(2, what)
            require(producer < k, f"compact frame: {what} stands before its producer")
            ports = 1 if producer == 0 else len(nodes[producer - 1].outputs)
            require(port < ports, f"compact frame: {what} reads a port that does not exist")
            edges.append((producer, port))
        generation = Generation(modern=True)
        generation.exact_pairs = pairs
        outputs = STAGES[stage_id](config, generation).ports
        nodes.append(Node(stage_id, config, edges,
                          [(k, p) for p in range(len(outputs))], generation))

    # Every output that no stage reads is a segment: last stage first.
    consumed = {edge for node in nodes for edge in node.inputs}
    order = [edge for node in reversed(nodes) for edge in node.outputs if edge not in consumed]
    sizes = [cursor.varint("a segment length") for _ in order]
    head_bytes = cursor.at
    checksum = cursor.unsigned(4, "the checksum") if flags & 1 else None
    payload = data[cursor.at:]
    require(sum(sizes) == len(payload),
            f"compact frame: {len(payload)} bytes of segments, the head says {sum(sizes)}")
    if checksum is not None:
        require(zlib.crc32(payload, zlib.crc32(data[:head_bytes])) == checksum,
                "compact frame: checksum does not match")

    segments = []
    offset = 0
    for (k, port), size in zip(order, sizes):
        name = nodes[k - 1].build().ports[port]
        segments.append(Segment((k, port), k - 1, port, name, offset,
                                payload[offset:offset + size]))
        offset += size
    readers_of_array = [i for i, node in enumerate(nodes) if (0, 0) in node.inputs]
    container = Container("compact", str(version), nodes, segments, readers_of_array[-1], original)
    container.original_bytes = original
    container.dtype = dtype
    container.dims = dims
    container.strict = bool(flags & 2)
    container.checksums = {"frame": "absent" if checksum is None else "verified"}
    return container


# --- command line ------------------------------------------------------------


def json_number(value):
    return value if math.isfinite(value) else repr(value)


def describe(container):
    return {
        "format": container.form,
        "version": container.version,
        "dtype": None if container.dtype is None else DTYPES[container.dtype],
        "dims": container.dims,
        "strict": container.strict,
        "original_bytes": container.original_bytes,
        "padded_bytes": container.padded_bytes,
        "checksums": container.checksums,
        "stages": [{"id": node.id, "name": node.name, "config": node.config.hex(),
                    "inputs": node.inputs, "outputs": node.outputs} for node in container.nodes],
        "segments": [{"edge": s.edge, "stage": container.nodes[s.stage].name, "port": s.port,
                      "name": s.name, "offset": s.offset, "bytes": len(s.data)}
                     for s in container.segments],
        "extension": container.extension,
    }


def same_but_for_arithmetic_nan(a, b):
    """f32 arrays; which NaN an operation yields is a matter of the processor."""
    def settle(data):
        return [0x7FFFFFFF if word == 0xFFC00000 else word for word in to_words(data, 4, "NaN")]
    return settle(a) == settle(b)


def close(a, b, dtype):
    """Values of mode REL: within two units in the last place of f32."""
    code, words = ("f", "I") if dtype == F32 else ("d", "Q")
    for x, y, xw, yw in zip(array.array(code, a), array.array(code, b),
                            array.array(words, a), array.array(words, b)):
        if xw == yw:
            continue
        if round_f32(x) != x or round_f32(y) != y:
            return False
        x, y = (array.array("I", array.array("f", [v]).tobytes())[0] for v in (x, y))
        if abs(x - y) > 2:
            return False
    return True


def check_golden_case(folder, case):
    """None when the case decodes as recorded, else what is wrong."""
    def read(name):
        with open(os.path.join(folder, name), "rb") as file:
            return file.read()

    data = read(case["id"] + ".fzm")
    if hashlib.sha256(data).hexdigest() != case["fzm_sha256"]:
        return "the file itself is not the recorded one"
    try:
        container = parse(data)
        whole = restore(container)
    except FormatError as error:
        return f"not readable: {error}"
    seen = [(s.edge, s.name, container.nodes[s.stage].name, len(s.data),
             hashlib.sha256(s.data).hexdigest()) for s in container.segments]
    listed = [(s["id"], s["name"], s["stage"], s["bytes"], s["sha256"]) for s in case["segments"]]
    if seen != listed:
        return "segments differ from the recorded ones"
    if len(whole) != case["padded_len"]:
        return f"decodes to {len(whole)} bytes, not {case['padded_len']}"
    wanted = read(case["dec_file"])
    if len(wanted) != case["dec_len"] or hashlib.sha256(wanted).hexdigest() != case["dec_sha256"]:
        return "the expected decode is not the recorded one"
    if "nan" in case["expected"] and same_but_for_arithmetic_nan(whole, wanted):
        return None
    if case["expected"]["decode"] == "rel-tolerance":
        dtype = next(n.build().dtype for n in container.nodes if n.name == "Quantizer")
        if not close(whole[:len(wanted)], wanted, dtype):
            return f"is not close to {case['dec_file']}"
        return "differs in the padding" if any(whole[len(wanted):]) else None
    if whole[:len(wanted)] != wanted:
        at = next(i for i, pair in enumerate(zip(whole, wanted)) if pair[0] != pair[1])
        return f"differs from {case['dec_file']} at byte {at}"
    if hashlib.sha256(whole).hexdigest() != case["full_decode_sha256"]:
        return "differs in the padding"
    return None


def run_golden(folder):
    try:
        with open(os.path.join(folder, "golden.json"), encoding="utf-8") as file:
            cases = json.load(file)["cases"]
    except (ValueError, KeyError, TypeError):
        raise FormatError("golden.json does not list any cases") from None
    failed = 0
    for case in cases:
        try:
            problem = check_golden_case(folder, case)
        except OSError as error:
            problem = str(error)
        if problem:
            failed += 1
            print(f"{case['id']} ({' > '.join(case['stages'])}): {problem}")
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


def main(arguments):
    command, operands = (arguments[0], arguments[1:]) if arguments else ("", [])
    try:
        if command == "decode" and len(operands) == 2:
            with open(operands[0], "rb") as file:
                restored = decode(file.read())
            with open(operands[1], "wb") as file:
                file.write(restored)
            return 0
        if command == "info" and len(operands) == 1:
            with open(operands[0], "rb") as file:
                container = parse(file.read())
            print(json.dumps(describe(container), indent=2, allow_nan=False))
            return 0
        if command == "golden" and len(operands) == 1:
            return run_golden(operands[0])
    except (FormatError, OSError) as error:
        print(f"fzm_reader: {error}", file=sys.stderr)
        return 1
    except MemoryError:
        print("fzm_reader: not enough memory", file=sys.stderr)
        return 1
    print("usage: fzm_reader.py decode IN OUT | info IN | golden DIR", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
