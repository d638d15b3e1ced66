"""Both forms of stage ginterp, read a second time from its page. See tests/reference/fzm_reader.py."""

from fractions import Fraction


class Operations:
    """The operations of f32 or f64 on Python floats. Each rounds once."""

    def __init__(self, dtype):
        self.round = round_f32 if dtype == F32 else float
        self.fma = self.fma_f32 if dtype == F32 else self.fma_f64

    @staticmethod
    def fma_f32(a, b, c):
        """The product is exact as a double, and the sum is rounded to odd, so only the step to f32 rounds."""
        product = a * b
        total = product + c
        if math.isfinite(total):
            part = total - product
            lost = (product - (total - part)) + (c - part)
            if lost and not struct.unpack("<Q", struct.pack("<d", total))[0] & 1:
                total = math.nextafter(total, math.copysign(math.inf, lost))
        return round_f32(total)

    @staticmethod
    def fma_f64(a, b, c):
        if not (math.isfinite(a) and math.isfinite(b)):
            return a * b + c
        if not math.isfinite(c):
            return c
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        if not exact:
            return 0.0 if c else a * b + c
        try:
            rounded = float(exact)
        except OverflowError:
            rounded = math.inf
        return math.copysign(rounded, 1 if exact > 0 else -1)


class Grid:
    """The points of an array of two or three dimensions, x fastest, in tiles."""

    def __init__(self, dims, planes_tile, planes_levels):
        self.dims = dims
        self.tile, self.levels = (16, 4) if dims[2] > 1 else (planes_tile, planes_levels)
        self.strides = (1, dims[0], dims[0] * dims[1])
        self.count = math.prod(dims)
        self.tiles = [-(-d // self.tile) for d in dims]

    def points(self, spacing):
        x, y, z = (range(0, d, spacing) for d in self.dims)
        return [(i, j, k) for k in z for j in y for i in x] if self.count else []

    def index(self, point):
        return sum(c * s for c, s in zip(point, self.strides))

    def passes(self, level, md, reverse):
        """Points of a level with the axes that are odd there, in the order of the passes."""
        order = (0, 1, 2) if reverse else (2, 1, 0)
        passes = [[], [], []]
        for point in self.points(1 << level):
            odd = [axis for axis in range(3) if point[axis] >> level & 1]
            if odd and md:
                passes[len(odd) - 1].append((point, odd))
            elif odd:
                last = max(odd, key=order.index)
                passes[order.index(last)].append((point, [last]))
        return passes

    def neighbors(self, values, point, axis, spacing):
        """Values at -3, -1, 1 and 3 times the spacing; None where the tile has no point."""
        at, step = self.index(point), self.strides[axis] * spacing
        c = point[axis] % self.tile
        length = min(self.tile + 1, self.dims[axis] - (point[axis] - c))
        return (values[at - 3 * step] if c >= 3 * spacing else None,
                values[at - step],
                values[at + step] if c + spacing < length else None,
                values[at + 3 * step] if c + 3 * spacing < length else None)


class Interpolated:
    """Shared by both forms: prediction, level by level, along one axis or several."""

    ports = ["codes", "anchor", "outlier_vals", "outlier_idxs"]
    NAN = {F32: 0x7FFFFFFF, F64: 0x7FFFFFFFFFFFFFFF}

    def set_types(self, dtype, code_dtype):
        require(dtype in (F32, F64) and code_dtype in (U8, U16, U32),
                f"{self.name}: types {dtype} and {code_dtype}")
        self.dtype, self.width = dtype, DTYPE_BYTES[dtype]
        self.code_width = DTYPE_BYTES[code_dtype]
        self.operations = Operations(dtype)

    def set_radius(self, radius, largest):
        require(0 < radius <= largest, f"{self.name}: a radius of {radius}")
        self.radius = radius

    def set_shape(self, dims, *planes):
        require(math.prod(dims) <= self.count, f"{self.name}: {dims} of {self.count} elements")
        self.grid = Grid(dims, *planes)

    def read_ports(self, outputs, limits, codes):
        """The words of each port. There must be one code for each element and one anchor for each tile."""
        require(self.count * self.width <= limits.max_bytes, f"{self.name}: {self.count} values are too many")
        widths = self.code_width, self.width, self.width, 4
        words = [to_words(data, width, f"{self.name} {port}")
                 for data, width, port in zip(outputs, widths, self.ports)]
        require(len(words[0]) == codes, f"{self.name}: {len(words[0])} codes, not {codes}")
        anchors = math.prod(self.grid.tiles)
        require(len(words[1]) == anchors, f"{self.name}: {len(words[1])} anchors, not {anchors}")
        return words

    def floats(self, words):
        values = array.array("f" if self.dtype == F32 else "d")
        values.frombytes(words.tobytes())
        return values.tolist()

    def settled(self, values):
        """Bits of restored values."""
        return [self.NAN[self.dtype] if value != value else word
                for value, word in zip(values, float_words(values, self.dtype))]

    def walk(self, values, restore):
        """Calls `restore` with index, prediction, level, and rank of each point, and keeps its value for the next ones."""
        for level in reversed(range(self.grid.levels)):
            md, natural, reverse = self.flags[level]
            for points in self.grid.passes(level, md, reverse):
                restored = []
                for point, odd in points:
                    rank, p = self.predict(values, point, odd, 1 << level, md, natural)
                    at = self.grid.index(point)
                    restored.append((at, restore(at, p, level, rank)))
                for at, value in restored:
                    values[at] = value

    def predict(self, values, point, odd, spacing, md, natural):
        """The rank and the prediction of a point, along all of the axes `odd`."""
        rounded = self.operations.round
        not_a_knot = bool(md) != bool(natural)
        axes = len(odd) if md else 0
        along = [self.along(self.grid.neighbors(values, point, axis, spacing), not_a_knot, axes) for axis in odd]
        if len(odd) == 1:
            return along[0]
        if len(odd) == 3:
            best = [p for rank, p in along if rank == 3]
            if len(best) == 3:
                return 3, rounded(rounded(rounded(best[0] + best[1]) + best[2]) / 3)
            if len(best) == 2:
                return 3, rounded(rounded(best[0] + best[1]) * 0.5)
            return (3, best[0]) if best else along[0]
        (rank_a, a), (rank_b, b) = along
        if rank_a != rank_b:
            return max(along, key=lambda pair: pair[0])
        if rank_a:
            return rank_a, rounded(rounded(a + b) * 0.5)
        at = self.grid.index(point)
        step_a, step_b = (self.grid.strides[axis] * spacing for axis in odd)
        total = rounded(values[at - step_a] + values[at - step_b])
        return 0, rounded(total - values[at - step_a - step_b])

    def along(self, neighbors, not_a_knot, axes):
        """The rank and the prediction along one axis: of `axes` on a level with md, else 0."""
        a, b, c, d = neighbors
        rounded, fma = self.operations.round, self.operations.fma
        if c is None:
            return 0, self.alone(b)
        if a is None and d is None:
            return 1, rounded(rounded(b + c) * 0.5)
        if d is None:
            return 2, rounded(fma(3.0, c, fma(6.0, b, -a)) * 0.125)
        if a is None:
            return 2, rounded(rounded(self.left(b, c, axes) - d) * 0.125)
        if not_a_knot:
            return 3, rounded(rounded(self.not_a_knot(a, b, c, axes) - d) * 0.0625)
        return 3, rounded(fma(-3.0, d, self.natural(a, b, c, axes)) / 40)

    # Partial sums, in the order of id 0x8016.

    def alone(self, b):
        return b + 0.0

    def left(self, b, c, axes):
        return self.operations.fma(6.0, c, self.operations.round(3.0 * b))

    def not_a_knot(self, a, b, c, axes):
        fma = self.operations.fma
        return fma(9.0, c, fma(9.0, b, -a))

    def natural(self, a, b, c, axes):
        fma = self.operations.fma
        return fma(23.0, c, fma(23.0, b, self.operations.round(-3.0 * a)))


class GInterpStrict(Interpolated):
    """Residuals of spline predictions in whole steps; every value without a code is kept exactly."""

    id = 0x8016
    name = "GInterp strict"
    has_exact_pairs = True

    def __init__(self, config, generation):
        require(len(config) == 128, f"{self.name}: configuration of {len(config)} bytes")
        form, dtype, code_dtype, mode = config[:4]
        require(form == 1, f"{self.name}: form {form} is not supported")
        self.set_types(dtype, code_dtype)
        require(mode & 15 in (0, 2, 3) and mode >> 4 <= 5, f"{self.name}: mode and tuning {mode:#x}")
        flags = config[4:10]
        require(max(flags) <= 7, f"{self.name}: unknown flags")
        self.flags = [(f & 1, f & 2, f & 4) for f in flags]
        require(config[10:12] == bytes(2), f"{self.name}: configuration is not zero where it should be")
        radius, self.count, *dims = struct.unpack_from("<5I", config, 12)
        self.set_radius(radius, min(1 << 8 * self.code_width - 1, 1 << (22 if dtype == F32 else 30)))
        x, y, z = dims[0], dims[1] or 1, dims[2] or 1
        dims = [x or self.count // (y * z), y, z]
        self.set_shape(([d for d in dims if d != 1] + [1, 1, 1])[:3], 64, 6)
        bound, threshold, _alpha, _beta, low, high, *steps = struct.unpack_from("<12d", config, 32)
        require(0 < bound < math.inf and threshold > 0, f"{self.name}: a bound of {bound}, a threshold of {threshold}")
        require(all(0 <= step < math.inf for step in steps), f"{self.name}: steps {steps}")
        zeros_fit = all(end or math.copysign(1, end) == sign for end, sign in ((low, 1), (high, -1)))
        require(low <= high and zeros_fit and low < math.inf and high > -math.inf,
                f"{self.name}: values from {low} to {high}")
        self.threshold, self.low, self.high, *self.steps = map(self.operations.round, (threshold, low, high, *steps))
        self.exact = generation.exact_pairs

    def decode(self, outputs, limits):
        grid = self.grid
        codes, anchors, listed, indices = self.read_ports(outputs, limits, grid.count)
        order = self.order()
        without = [at for at, code in zip(order, codes) if code == 0]
        require(len(without) == len(listed) == self.exact, f"{self.name}: {len(without)} codes of 0, {self.exact} values")
        require(list(indices) == without, f"{self.name}: the list is not that of the codes of 0")
        code_of, exact = [0] * grid.count, dict(zip(indices, self.floats(listed)))
        for at, code in zip(order, codes):
            code_of[at] = code
        words = [0] * self.count
        values = [0.0] * grid.count
        places = [grid.index(point) for point in grid.points(grid.tile)]
        for at, value in zip(places, self.floats(anchors)):
            require(code_of[at] == self.radius, f"{self.name}: code {code_of[at]} of an anchor")
            values[at] = value if self.bounded(value) else self.clamped(0.0)

        def restore(at, p, level, rank):
            p = self.clamped(p)
            if code_of[at]:
                q = self.operations.round(float(signed32(code_of[at] - self.radius)))
                return self.operations.fma(q, self.steps[level], p)
            if self.bounded(exact[at]):
                return exact[at]
            return p if math.isfinite(p) else 0.0

        self.walk(values, restore)
        words[:grid.count] = self.settled(values)
        for at, word in itertools.chain(zip(places, anchors), zip(indices, listed)):
            words[at] = word
        return from_words(words, self.width)

    def order(self):
        """Indices of the elements in the order of their codes."""
        def key(point):
            inside = [c % self.grid.tile for c in point]
            level = 0 if any(c & 1 for c in inside) else 1 if any(c & 2 for c in inside) else 2
            kind = sum((c >> level & 1) << axis for axis, c in enumerate(inside)) if level < 2 else 0
            return [c // self.grid.tile for c in reversed(point)], -level, kind, inside[::-1]
        return [self.grid.index(point) for point in sorted(self.grid.points(1), key=key)]

    def bounded(self, value):
        return abs(value) < self.threshold and math.isfinite(value)

    def clamped(self, p):
        p = p if p > self.low else self.low
        return p if p < self.high else self.high


class GInterp(Interpolated):
    """Residuals of spline predictions in whole steps; those of too many steps are listed as numbers."""

    id = 22
    name = "GInterp"

    def __init__(self, config, generation):
        require(len(config) == 104, f"{self.name}: configuration of {len(config)} bytes")
        bound32, radius, self.count, self.outliers = struct.unpack_from("<f3I", config, 0)
        dtype, code_dtype, dimensions, mode = config[16:20]
        self.set_types(dtype, code_dtype)
        require(mode <= 2 and config[90] <= 5, f"{self.name}: mode {mode}, tuning {config[90]}")
        self.set_radius(radius, 1 << 31)
        dims = list(struct.unpack_from("<3I", config, 20))
        require(all(dims) and dims[1] > 1 and dimensions == (3 if dims[2] > 1 else 2),
                f"{self.name}: {dims} in {dimensions} dimensions")
        self.set_shape(dims, 16, 4)
        tiles = list(struct.unpack_from("<3I", config, 32))
        require(tiles == self.grid.tiles, f"{self.name}: {tiles} anchors of {dims} elements")
        requested = struct.unpack_from("<f", config, 44)[0]
        require(0 <= requested < math.inf, f"{self.name}: a requested bound of {requested}")
        alpha, beta = struct.unpack_from("<2d", config, 56)
        self.flags = list(zip(config[72:78], config[78:84], config[84:90]))
        bound64 = struct.unpack_from("<d", config, 91)[0]
        bound = bound32
        if dtype == F64 and bound64 > 0 and round_f32(bound64) == bound32:
            bound = bound64
        require(bound >= 0, f"{self.name}: a bound of {bound}")
        require(alpha > 0 and beta > 0, f"{self.name}: alpha {alpha}, beta {beta}")
        rounded = self.operations.round
        step = rounded(2 * bound)
        least, self.steps = step / beta, []
        for level in range(self.grid.levels):
            self.steps.append(rounded(least) if step < least else step)
            step = rounded(step / alpha)

    def decode(self, outputs, limits):
        grid, rounded = self.grid, self.operations.round
        codes, anchors, listed, indices = self.read_ports(outputs, limits, self.count)
        # Lists that feed other stages may be longer.
        entries = min(self.outliers, len(listed), len(indices))
        require(all(at < grid.count for at in indices[:entries]), f"{self.name}: index out of range")
        listed = dict(zip(indices[:entries], self.floats(listed)))
        radius = rounded(float(self.radius))
        steps_of = [0.0] * grid.count
        for at, code in zip(self.order(), codes):
            code = rounded(rounded(float(code)) + listed.get(at, 0.0))
            steps_of[at] = rounded(code - radius)
        values = [0.0] * grid.count
        places = [grid.index(point) for point in grid.points(grid.tile)]
        for at, value in zip(places, self.floats(anchors)):
            values[at] = value

        def restore(at, p, level, rank):
            step = self.steps[level]
            if grid.dims[2] == 1 and level == 3 and not self.flags[3][0] and rank == 1:
                return rounded(p + rounded(steps_of[at] * step))
            return self.operations.fma(steps_of[at], step, p)

        self.walk(values, restore)
        words = self.settled(values) + [0] * (self.count - grid.count)
        for at, word in zip(places, anchors):
            words[at] = word
        return from_words(words, self.width)

    def order(self):
        """Indices of the elements in the order of their codes."""
        def level(point):
            return max(l for l in range(5) if all(c % (1 << l) == 0 for c in point))
        points = self.grid.points(1)
        return [self.grid.index(point) for point in sorted(points, key=lambda point: -level(point))]

    # Partial sums that id 22 has in another order.

    def alone(self, b):
        return b

    def left(self, b, c, axes):
        if axes > 2:
            return super().left(b, c, axes)
        return self.operations.fma(3.0, b, self.operations.round(6.0 * c))

    def not_a_knot(self, a, b, c, axes):
        if axes > 0:
            return super().not_a_knot(a, b, c, axes)
        rounded = self.operations.round
        return self.operations.fma(9.0, c, rounded(rounded(9.0 * b) - a))

    def natural(self, a, b, c, axes):
        if axes > 0:
            return super().natural(a, b, c, axes)
        fma = self.operations.fma
        return fma(23.0, c, fma(-3.0, a, self.operations.round(23.0 * b)))
