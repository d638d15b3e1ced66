"""Stage multilevel, read a second time from its page. See tests/reference/fzm_reader.py."""

from fractions import Fraction


class Words16:
    """A section: words of 16 bits, taken from the front."""

    def __init__(self, words):
        self.words = words

    def take(self, count):
        require(count <= len(self.words), "Multilevel: a section ends too early")
        own, self.words = self.words[:count], self.words[count:]
        return own

    def number(self, count):
        return sum(word << 16 * i for i, word in enumerate(self.take(count)))


class Bits16:
    """Fields of bits, the lowest first."""

    def __init__(self, words):
        self.value = sum(word << 16 * i for i, word in enumerate(words))
        self.size, self.at = 16 * len(words), 0

    def take(self, count):
        require(self.at + count <= self.size, "Multilevel: bits end too early")
        field = self.value >> self.at & (1 << count) - 1
        self.at += count
        return field

    def words_taken(self):
        return -(-self.at // 16)


class Table:
    """Frequencies of 14 bits."""

    def __init__(self, bits):
        entries, rest = bits.take(6) + 1, bits.take(6)
        require(rest < entries, "Multilevel: a table without its rest")
        expected, frequencies = {}, []
        for i in range(entries):
            frequencies.append(0)
            if i == rest:
                continue
            v = 0
            while bits.take(1):
                v += 4
                require(v <= 208, "Multilevel: a number of a table is too large")
            v += bits.take(2)
            if v:
                k = expected.get(i % 2, expected.get(None, 40)) + unzigzag(v - 1)
                require(0 < k < 52, f"Multilevel: number {k} of a table")
                expected[i % 2] = k
                expected.setdefault(None if i == 0 else i % 2, k)
                frequencies[i] = k if k < 8 else (4 + k % 4) << k // 4 - 1
        frequencies[rest] = (1 << 14) - sum(frequencies)
        require(frequencies[rest] > 0, "Multilevel: frequencies of a table sum to more than one")
        self.slots = [(symbol, f, rank) for symbol, f in enumerate(frequencies) for rank in range(f)]


class TableSet:
    def __init__(self, bits):
        begins = bits.take(15)
        self.map = [0]
        for i in range(15):
            self.map.append(self.map[-1] + (begins >> i & 1))
        require(self.map[-1] < 8, "Multilevel: too many tables")
        self.tables = [Table(bits) for _ in range(self.map[-1] + 1)]

    def of(self, context):
        return self.tables[self.map[context]]


class Run:
    """32 states, of lanes that read their words by turns."""

    def __init__(self, words):
        bits = Bits16(words)
        width, least = bits.take(5), bits.take(11)
        if least == 2047:
            least = bits.take(32)
        lengths = [least + bits.take(width) for _ in range(32)]
        self.left = [max(0, -(-(t - 32) // 16)) for t in lengths]
        self.states = []
        for t, left in zip(lengths, self.left):
            n = t - 16 * left
            self.states.append(1 << n - 1 | bits.take(n - 1) if n else 0)
        self.words = words[bits.words_taken():]
        require(len(self.words) == sum(self.left), "Multilevel: a run has another number of words than its lanes")
        self.at = 0

    def refill(self, lanes):
        for lane in lanes:
            if self.states[lane] < 1 << 16 and self.left[lane]:
                self.states[lane] = self.states[lane] << 16 | self.words[self.at]
                self.left[lane] -= 1
                self.at += 1

    def symbols(self, tables):
        """A symbol for each pair of a lane and a table."""
        out = []
        for lane, table in tables:
            x = self.states[lane]
            symbol, f, rank = table.slots[x % (1 << 14)]
            self.states[lane] = f * (x >> 14) + rank
            out.append(symbol)
        self.refill([lane for lane, _ in tables])
        return out

    def raw(self, counts):
        """As many bits of each lane, 16 at a time."""
        values = [0] * len(counts)
        for group in range(4):
            own = [min(16, max(0, n - 16 * group)) for n in counts]
            for lane, n in enumerate(own):
                values[lane] |= (self.states[lane] & (1 << n) - 1) << 16 * group
                self.states[lane] >>= n
            self.refill([lane for lane, n in enumerate(own) if n])
        return values

    def end(self):
        require(not any(self.states) and not any(self.left), "Multilevel: a run does not end where it should")


class Multilevel:
    """Interpolation level by level, or differences, with tables chosen by restored values."""

    id = 0x8021
    name = "Multilevel"
    ports = ["stream"]
    EXACT = 62

    def __init__(self, config, generation):
        require(len(config) == 112, f"Multilevel: configuration of {len(config)} bytes")
        form, self.dtype, ndim, mode, self.axes, self.differences, flags, zero = config[:8]
        require(form == 1, f"Multilevel: form {form} is not supported")
        require(self.dtype in (F32, F64) and mode in (0, 2, 3), f"Multilevel: type {self.dtype}, mode {mode}")
        require(flags < 2 and not zero, f"Multilevel: flags {flags}")
        self.stencils = [2 * (byte >> shift & 3) + 2 for byte in config[8:24] for shift in (0, 2, 4, 6)]
        step, _bound, threshold, _base, unused, *limits = struct.unpack_from("<dddfIddd", config, 24)
        self.count, *self.dims = struct.unpack_from("<4Q", config, 80)
        require(0 <= step < math.inf and not unused, f"Multilevel: a step of {step}")
        center, low, high = limits
        require(math.isfinite(center) and low <= high, f"Multilevel: values from {low} to {high}")
        long = [d for d in self.dims if d != 1]
        require(max(len(long), 1) == ndim and math.prod(self.dims) <= self.count,
                f"Multilevel: {self.dims} of {self.count} elements in {ndim} dimensions")
        self.dims = (long + [1, 1, 1])[:3]
        interpolates = self.axes & 1 and self.axes < 1 << ndim and not self.differences
        require(interpolates or not self.axes and 1 <= self.differences <= ndim, f"Multilevel: axes {self.axes}")
        self.n = math.prod(self.dims)
        self.width = 4 if self.dtype == F32 else 8
        self.round = rounded = round_f32 if self.dtype == F32 else float
        self.step, self.center, self.low, self.high, self.threshold = map(
            rounded, (step, center, low, high, threshold))
        self.rate = rounded(1 / self.step) if self.step else 0.0
        largest = 3.4028234663852886e38 if self.dtype == F32 else 1.7976931348623157e308
        self.limit = min(rounded(4 * max(abs(self.low), abs(self.high))), rounded(2 * self.threshold), largest)
        self.lattice = flags & 1
        self.magic = 1.5 * 2.0 ** (23 if self.dtype == F32 else 52)
        self.wide = self.n >= 1 << 31

    # Arithmetic: each operation rounds once.

    def fma(self, a, b, c):
        if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
            return a * b + c
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        if not exact:
            return 0.0 if c else a * b + c
        if self.dtype == F64:
            try:
                return float(exact)
            except OverflowError:
                return math.copysign(math.inf, exact)
        # Rounded to odd as a double, so only the step to f32 rounds.
        nearest = float(exact)
        lost = exact - Fraction(nearest)
        if lost and not struct.unpack("<Q", struct.pack("<d", nearest))[0] & 1:
            nearest = math.nextafter(nearest, math.inf if lost > 0 else -math.inf)
        return self.round(nearest)

    def float_of(self, bits):
        return struct.unpack("<f", struct.pack("<I", bits))[0] if self.width == 4 else double(bits)

    def bits_of(self, value):
        return struct.unpack("<I", struct.pack("<f", value))[0] if self.width == 4 else \
            struct.unpack("<Q", struct.pack("<d", value))[0]

    def bucket(self, activity):
        bits = self.bits_of(self.round(activity * self.rate))
        exponent = bits >> 23 & 255 if self.width == 4 else bits >> 52 & 2047
        return max(0, min(11, exponent - (120 if self.width == 4 else 1016)))

    def bounded(self, value):
        return abs(value) < self.threshold

    def formula(self, stencil, left, right, taps):
        """Prediction and activity by the table of the page."""
        r, fma = self.round, self.fma
        t0, a5, a, b, c, d, d5, t7 = taps
        if not right:
            if left == 1:
                return b, self.step
            return (b if stencil == 2 else fma(r(b - a), 0.5, b)), r(abs(r(b - a)) * 0.5)
        if left == right == 1 or stencil == 2 and (left == 1 or right == 1):
            return r(r(b + c) * 0.5), r(abs(r(b - c)) * 0.25)
        if right == 1:
            return fma(b, 0.75, fma(c, 0.375, r(a * -0.125))), r(abs(fma(b, -2.0, r(a + c))) * 0.125)
        if left == 1:
            return fma(c, 0.75, fma(b, 0.375, r(d * -0.125))), r(abs(fma(c, -2.0, r(b + d))) * 0.125)
        s1, s3 = r(b + c), r(a + d)
        w = abs(r(s1 - s3))
        if stencil == 2:
            return r(s1 * 0.5), fma(w, 1 / 16, r(abs(r(b - c)) * (1 / 32)))
        p4 = fma(s1, 0.5625, r(s3 * -0.0625))
        if stencil == 4 or left < 3 or right < 3:
            return p4, r(w * (1 / 16))
        s5 = r(a5 + d5)
        p6 = fma(s5, 3 / 256, fma(s3, -25 / 256, r(s1 * (150 / 256))))
        if stencil == 6 or left < 4 or right < 4:
            return p6, max(abs(r(p6 - p4)), r(w * (1 / 64)))
        s7 = r(t0 + t7)
        p8 = fma(s7, -5 / 2048, fma(s5, 49 / 2048, fma(s3, -245 / 2048, r(s1 * (1225 / 2048)))))
        return p8, max(r(2 * abs(r(p8 - p6))), r(w * (1 / 128)))

    def settled(self, p):
        if self.lattice:
            p = self.round(self.round(self.round(self.round(p * self.rate) + self.magic) - self.magic) * self.step)
        p = p if p > self.low else self.low
        return p if p < self.high else self.high

    def predict(self, values, at, stride, known, i, stencil):
        """Prediction and context; the left neighbor of the point at index `at` is (2 i + 1) strides from the first tap."""
        r, left = self.round, i + 1
        right = known - left
        taps = []
        for j in range(8):
            tap = i + j - 3
            taps.append(values[at + (2 * j - 7) * stride] if 0 <= tap < known else 0)
        floats = [self.float_of(t) for t in taps]
        p, v = self.formula(stencil, left, right, floats)
        if abs(p) <= self.limit:
            return self.settled(p), self.bucket(v)
        b, c = floats[3], floats[4]
        if not right:
            p, context = (b, self.bucket(self.step)) if self.bounded(b) else (self.center, 13)
        elif self.bounded(b) and self.bounded(c):
            p, context = r(r(b * 0.5) + r(c * 0.5)), self.bucket(r(abs(r(b - c)) * 0.25))
        elif self.bounded(b) or self.bounded(c):
            p, context = (b if self.bounded(b) else c), 12
        else:
            p, context = self.center, 13 if taps[3] == taps[4] else 12
        return self.settled(p), context

    # The order of points.

    def spans(self, level, axis):
        """For each axis offset, spacing and number of points of a pass."""
        s, all_of = 1 << level - 1, []
        for d in range(3):
            offset, spacing = 0, 1
            if self.axes >> d & 1:
                spacing = s if d > axis else 2 * s
            if d == axis:
                offset = s
            all_of.append((offset, spacing, -(-(self.dims[d] - offset) // spacing)))
        return all_of

    def passes(self):
        """Pairs of a level and an axis, coarse to fine."""
        longest = max(d for i, d in enumerate(self.dims) if self.axes >> i & 1)
        levels = (longest - 1).bit_length()
        return [(level, axis) for level in range(levels, 0, -1) for axis in (2, 1, 0)
                if self.axes >> axis & 1 and self.dims[axis] > 1 << level - 1]

    def in_base(self, level):
        grid = [-(-d // (1 << level - 1)) if self.axes >> i & 1 else d for i, d in enumerate(self.dims)]
        roots = math.prod(1 if self.axes >> i & 1 else d for i, d in enumerate(self.dims))
        return roots <= 4096 and math.prod(grid) <= 4096

    @staticmethod
    def cut(places):
        return [places[i:i + 32] for i in range(0, len(places), 32)]

    def batches(self, spans, axis):
        """Batches of steps of points, as triples of indices among those of a pass."""
        x, y, z = (span[2] for span in spans)
        if axis == 0:
            steps = [step for k in range(z) for j in range(y) for step in self.cut([(i, j, k) for i in range(x)])]
            return [steps[i:i + 8] for i in range(0, len(steps), 8)]
        out = []
        for other in range(z if axis == 1 else y):
            for strip in self.cut(range(x)):
                line = [[(i, j, other) if axis == 1 else (i, other, j) for i in strip]
                        for j in range(y if axis == 1 else z)]
                out += [line[i:i + 8] for i in range(0, len(line), 8)]
        return out

    # Sections.

    def open(self, section, sizes, classes, base=False):
        """Busy steps with their batches, the runs, their length in steps, and the tables; `sizes` are steps of batches."""
        head, table_words = section.take(2)
        has_masks = head >> 5 & 1
        require(not head & 0xC0 and (not base or not has_masks and not head >> 8), "Multilevel: head of a section")
        require(has_masks or not classes, "Multilevel: differences without classes")
        steps = section.number(4 if self.wide else 2) if has_masks else sum(sizes)
        code = head >> 8
        per_run = max(1, steps) if base else (8 + code % 8) << code // 8
        mask_runs = -(-len(sizes) // 2048) if has_masks else 0
        count = mask_runs + -(-steps // per_run)
        require(steps <= sum(sizes), "Multilevel: more steps than there are")
        lengths = Bits16(section.take(-(-count * (head & 31) // 16)))
        tables = Bits16(section.take(table_words))
        tokens = TableSet(tables)
        mask_set = TableSet(tables) if has_masks else None
        require(tables.words_taken() == table_words, "Multilevel: tables are not where they should be")
        runs = [Run(section.take(lengths.take(head & 31))) for _ in range(count)]
        masks = [(1 << n) - 1 for n in sizes]
        if has_masks:
            masks = self.masks(runs[:mask_runs], mask_set, len(sizes), classes)
        busy = []
        for batch, (mask, n) in enumerate(zip(masks, sizes)):
            own = ((1 << n) - 1 if mask else 0) if classes else mask
            require(own < 1 << n, "Multilevel: a mask has steps that do not exist")
            busy += [(batch, j) for j in range(n) if own >> j & 1]
        require(len(busy) == steps, "Multilevel: masks have another number of steps")
        return busy, masks, runs[mask_runs:], per_run, tokens

    def masks(self, runs, tables, count, classes):
        masks, each = [0] * count, -(-count // (32 * len(runs)))
        parts = 1 if classes else 2
        for g, run in enumerate(runs):
            contexts = [0] * 32
            for i in range(each):
                for part in range(parts):
                    lanes = [lane for lane in range(32) if (32 * g + lane) * each + i < count]
                    symbols = run.symbols([(lane, tables.of(contexts[lane])) for lane in lanes])
                    for lane, symbol in zip(lanes, symbols):
                        require(symbol < 16, "Multilevel: a mask of more than 4 bits")
                        masks[(32 * g + lane) * each + i] |= symbol << 4 * part
                        contexts[lane] = symbol if classes else bin(symbol).count("1")
            run.end()
        return masks

    def codes(self, run, tables, contexts):
        """Codes of a step: numbers, or ("exact", bits)."""
        tokens = run.symbols([(lane, tables.of(context)) for lane, context in enumerate(contexts)])
        starts, counts = [], []
        for t in tokens:
            require(t <= self.EXACT, f"Multilevel: token {t}")
            if t < 16 or 58 <= t < 62:
                starts.append(t)
                counts.append(0)
            elif t == self.EXACT:
                starts.append(0)
                counts.append(8 * self.width)
            else:
                bits = (t - 16) // 4 + 2 if t < 32 else (t - 32) // 2 + 7
                starts.append((4 + t % 4 if t < 32 else 2 + t % 2) << bits)
                counts.append(bits)
        out = []
        for t, start, raw in zip(tokens, starts, run.raw(counts)):
            if t == self.EXACT:
                out.append(("exact", raw))
            elif t >= 58:
                require(t - 58 < len(self.patterns), f"Multilevel: there is no pattern {t - 58}")
                out.append(("exact", self.patterns[t - 58]))
            else:
                out.append(start | raw)
        return out

    def restore(self, values, at, code, p, context, stride):
        if isinstance(code, tuple):
            values[at] = code[1]
        elif context == 13 and code == 0:
            values[at] = values[at - stride]
        else:
            q = unzigzag(code - (context == 13))
            values[at] = self.bits_of(self.fma(float(q), self.step, p))

    def decode(self, outputs, limits):
        require(self.count * self.width <= limits.max_bytes, f"Multilevel: {self.count} values are too many")
        stream = Cursor(outputs[0])
        padding = bytes((self.count - self.n) * self.width)
        if not self.n:
            require(not outputs[0], "Multilevel: a stream of nothing")
            return padding
        head = stream.unsigned(4, "Multilevel")
        if not head:
            values = stream.take(len(outputs[0]) - 4, "Multilevel")
            require(len(values) == self.n * self.width, "Multilevel: values of another length")
            return bytes(values) + padding
        passes = [] if self.differences else self.passes()
        sections = 1 + sum(not self.in_base(level) for level, _ in passes)
        require(head % (1 << 24) == sections and head >> 27 == self.wide, "Multilevel: head of the stream")
        lengths = [stream.unsigned(8 if self.wide else 4, "Multilevel") for _ in range(sections)]
        require(head >> 24 & 7 <= 4, "Multilevel: too many patterns")
        self.patterns = [stream.unsigned(self.width, "Multilevel") for _ in range(head >> 24 & 7)]
        parts = [self.words_of(stream.take(2 * n, "Multilevel")) for n in lengths]
        require(stream.at == len(outputs[0]), "Multilevel: bytes behind the stream")
        values = self.summed(parts[0]) if self.differences else self.interpolated(parts, passes)
        require(not any(len(part.words) for part in parts), "Multilevel: words behind a section")
        return from_words(values, self.width) + padding

    def interpolated(self, parts, passes):
        values = [0] * self.n
        strides = (1, self.dims[0], self.dims[0] * self.dims[1])
        roots = [y * strides[1] + z * strides[2]
                 for z in range(1 if self.axes & 4 else self.dims[2]) for y in range(1 if self.axes & 2 else self.dims[1])]
        spans = [self.spans(*one) for one in passes]
        rasters = []
        for span in spans:
            (ox, tx, x), (oy, ty, y), (oz, tz, z) = span
            rasters.append([(i, j, k) for k in range(z) for j in range(y) for i in range(x)])
        base = [i for i, (level, _) in enumerate(passes) if self.in_base(level)]
        steps = len(self.cut(roots)) + sum(len(self.cut(rasters[i])) for i in base)
        runs = []
        if len(roots) > 4096:
            rows = self.cut(roots)
            found = self.section(parts[0], [rows[i:i + 8] for i in range(0, steps, 8)], lambda *_: 0)
        else:
            sizes = [8] * (steps // 8) + [steps % 8] * (steps % 8 > 0)
            _, _, runs, _, tables = self.open(parts[0], sizes, False, True)
            require(len(runs) == 1, "Multilevel: a serial section has one run")
        q = 0
        for step in self.cut(roots):
            if runs:
                codes = self.codes(runs[0], tables, [0] * len(step))
            else:
                q, codes = 0, [found.get(at, 0) for at in step]
            for at, code in zip(step, codes):
                q = 0 if isinstance(code, tuple) else q + unzigzag(code)
                self.restore(values, at, code if isinstance(code, tuple) else 2 * q if q >= 0 else -2 * q - 1,
                             self.center, 0, 0)
        used = 1
        for i, (level, axis) in enumerate(passes):
            span, s = spans[i], 1 << level - 1
            known, stride = -(-self.dims[axis] // (2 * s)), strides[axis] * s

            def index(place):
                return sum((o + t * p) * n for (o, t, _), p, n in zip(span, place, strides))

            predicted = {place: self.predict(values, index(place), stride, known, place[axis], self.stencils[level - 1])
                         for place in rasters[i]}
            if i in base:
                steps, busy, run_of = self.cut(rasters[i]), None, None
                found = {}
                for step in steps:
                    codes = self.codes(runs[0], tables, [predicted[place][1] for place in step])
                    found.update(zip(step, codes))
            else:
                found = self.section(parts[used], self.batches(span, axis), lambda place, _: predicted[place][1])
                used += 1
            for place, (p, context) in predicted.items():
                self.restore(values, index(place), found.get(place, 0), p, context, stride)
        for run in runs:
            run.end()
        return values

    def section(self, part, batches, context, classes=False):
        """The codes of the points of a section that are in its runs."""
        return self.classed(part, batches, context, classes)[0]

    def classed(self, part, batches, context=lambda _, mask: mask, classes=True):
        """The same, and the masks or classes of the batches."""
        busy, masks, runs, per_run, tables = self.open(part, [len(b) for b in batches], classes)
        found = {}
        for k, run in enumerate(runs):
            for batch, j in busy[k * per_run:(k + 1) * per_run]:
                step = batches[batch][j]
                found.update(zip(step, self.codes(run, tables, [context(place, masks[batch]) for place in step])))
            run.end()
        return found, masks

    @staticmethod
    def words_of(data):
        return Words16(to_words(data, 2, "Multilevel"))

    def summed(self, part):
        steps = self.cut(range(self.n))
        batches = [steps[i:i + 8] for i in range(0, len(steps), 8)]
        found = self.section(part, batches, lambda _, mask: mask, True)
        q = [0] * self.n
        for at, code in found.items():
            require(not isinstance(code, tuple), "Multilevel: an exact value among differences")
            q[at] = unzigzag(code)
        x, y, _ = self.dims
        for axis, stride in list(enumerate((1, x, x * y)))[:self.differences]:
            for at in range(self.n):
                if at // stride % self.dims[axis]:
                    q[at] += q[at - stride]
        q = [(v + (1 << 31)) % (1 << 32) - (1 << 31) for v in q]
        values = [self.bits_of(self.fma(self.round(float(v)), self.step, self.center)) for v in q]
        count = part.number(4 if self.wide else 2)
        places = [part.number(4 if self.wide else 2) for _ in range(count)]
        require(places == sorted(set(places)) and (not places or places[-1] < self.n), "Multilevel: exact values")
        for at in places:
            values[at] = part.number(self.width // 2)
        return values
