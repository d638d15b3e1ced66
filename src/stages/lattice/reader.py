"""Stage lattice, read a second time from its page. See tests/reference/fzm_reader.py."""


class Lattice:
    """Whole numbers and what they lack to the values."""

    id = 0x8002
    name = "Lattice"
    ports = ["levels", "rest"]

    def __init__(self, config, generation):
        require(len(config) == 20, f"Lattice: configuration of {len(config)} bytes")
        form, self.dtype, self.formula, zero, self.scale, self.offset = struct.unpack("<BBBBdd", config)
        require(form == 1 and zero == 0, f"Lattice: form {form}, byte 3 is {zero}")
        require(self.dtype in (F32, F64), f"Lattice: type {self.dtype}")
        require(self.formula <= 2, f"Lattice: formula {self.formula}")
        narrow = self.dtype == F32 or self.formula == 1
        low, high = (1e-37, 1e37) if narrow else (1e-300, 1e300)
        require(low <= self.scale <= high, f"Lattice: scale {self.scale}")
        require(abs(self.offset) <= high, f"Lattice: offset {self.offset}")
        self.limit = 2.0**22 if self.dtype == F32 else 2.0**50
        self.letter = "fI" if self.dtype == F32 else "dQ"
        self.width = DTYPE_BYTES[self.dtype]

    def value(self, n):
        if self.formula == 1:
            product = round_f32(round_f32(n) * round_f32(self.scale))
            value = round_f32(product + round_f32(self.offset))
        elif self.formula == 2:
            value = n / self.scale + self.offset
        else:
            value = n * self.scale + self.offset
        return round_f32(value) if self.dtype == F32 else value

    def bits(self, value):
        return struct.unpack("<" + self.letter[1], struct.pack("<" + self.letter[0], value))[0]

    def decode(self, outputs, limits):
        levels, rest = outputs
        require(len(levels) == len(rest) and len(levels) % self.width == 0, "Lattice: ports of different lengths")
        words = to_words(levels, self.width, "Lattice levels")
        rests = to_words(rest, self.width, "Lattice rest")
        numbers = struct.unpack(f"<{len(words)}{self.letter[0]}", levels)
        magic = 1.5 * 2.0**52
        restored = []
        for word, number, part in zip(words, numbers, rests):
            if abs(number) < self.limit:
                word = self.bits(self.value((number + magic) - magic))
            restored.append((word + unzigzag(part)) % (1 << 8 * self.width))
        return from_words(restored, self.width)
