"""Stage exact, read a second time from its page. See tests/reference/fzm_reader.py."""


class Exact:
    """Differences, or ranks in a table, with codes by batches."""

    id = 0x8003
    name = "Exact"
    ports = ["stream"]

    def __init__(self, config, generation):
        require(len(config) == 40, f"Exact: configuration of {len(config)} bytes")
        form, self.dtype = config[:2]
        require(form == 1 and not any(config[2:8]), f"Exact: form {form} is not supported")
        require(self.dtype <= F64, f"Exact: type {self.dtype}")
        self.count, *dims = struct.unpack_from("<4Q", config, 8)
        require(max(dims) <= 1 << 40 and math.prod(dims) == self.count, f"Exact: {dims} of {self.count} elements")
        self.dims = ([d for d in dims if d != 1] + [1, 1, 1])[:3]
        self.n = math.prod(self.dims)
        self.width = DTYPE_BYTES[self.dtype]
        self.bits = 8 * self.width
        # The coder of codes is that of another page.
        self.coder = STAGES[0x8021].__new__(STAGES[0x8021])
        self.coder.width, self.coder.patterns = (8 if self.bits == 64 else 4), []

    def decode(self, outputs, limits):
        (stream,) = outputs
        require(self.count * self.width <= limits.max_bytes, f"Exact: {self.count} elements are too many")
        rest = bytes((self.count - self.n) * self.width)
        if not self.n:
            require(not stream, "Exact: a stream of nothing")
            return rest
        require(len(stream) >= 2, "Exact: a stream without its first word")
        if stream[:2] == b"\0\0":
            require(len(stream) == 2 + self.n * self.width, "Exact: elements of another length")
            return stream[2:] + rest
        words = self.coder.words_of(stream)
        return from_words(self.elements(words), self.width) + rest

    def elements(self, words):
        head = words.number(1)
        order, y, z, holes, table, gapped, centered, plain, scaled, ordered = head & 3, *(head >> i & 1 for i in range(2, 11))
        require(head & 0x7800 == 0 and head >> 15, f"Exact: first word {head:#x}")
        require(y <= (self.dims[1] > 1) and z <= (self.dims[2] > 1), "Exact: differences along no axis")
        require(not holes or order < 2 and not y and not z, "Exact: holes and differences of differences")
        require(table or not ordered, "Exact: the order of no table")
        values = words.number(2) if table else 1
        require(1 <= values <= min(self.n, 1 << 20), f"Exact: a table of {values} values")
        mask = (1 << self.bits) - 1
        numbers = [words.number(-(-self.bits // 16)) if there else 0 for there in (gapped, scaled, holes, centered)]
        require(max(numbers) <= mask, "Exact: a number that is too large")
        gap, factor, hole, center = numbers
        is_float = self.dtype in (F32, F64)
        require(not is_float or gap <= mask >> 1, "Exact: a gap that is too large")
        require(not scaled or factor > 1, f"Exact: factor {factor}")
        if table:
            steps = self.section(words, values)
            levels = list(itertools.accumulate(unzigzag(u) if ordered else u for u in steps))
        numbers = self.section(words, self.n, holes)
        require(not words.words, "Exact: words behind the last section")
        found = [u if u is None else center + (u if plain else unzigzag(u)) for u in numbers]
        if holes:
            last = 0
            for i, d in enumerate(found):
                if d is None:
                    found[i] = hole
                else:
                    last = found[i] = (last * order + d) & mask
        else:
            for _ in range(order):
                found = list(itertools.accumulate(found))
            n_x, plane = self.dims[0], self.dims[0] * self.dims[1]
            for i in range(self.n):
                if y and i % plane >= n_x:
                    found[i] += found[i - n_x]
            for i in range(plane, self.n if z else 0):
                found[i] += found[i - plane]
        found = [o & mask for o in found]
        if table:
            require(max(found) < values, "Exact: a rank beyond the table")
            found = [levels[rank] & mask for rank in found]
        factor = factor or 1
        return [self.element(o, gap, factor) for o in found] if is_float else [o * factor + gap & mask for o in found]

    def element(self, o, gap, factor):
        half = 1 << self.bits - 1
        negative = o >= half
        m = 2 * half - 1 - o if negative else o
        return (m * factor + gap) % half + negative * half

    def section(self, words, n, holes=0):
        """The numbers of a section; None in place of holes."""
        scale, code_words, low_words = words.number(1), words.number(4), words.number(4)
        least, step = scale & 255, scale >> 8
        require(least <= 2 * self.bits and step <= 3, f"Exact: scale {scale:#x}")
        codes, low = type(words)(words.take(code_words)), type(words)(words.take(low_words))
        self.coder.wide = n >= 1 << 31
        steps = self.coder.cut(range(n))
        batches = [steps[i:i + 8] for i in range(0, len(steps), 8)]
        found, classes = self.coder.classed(codes, batches)
        require(not codes.words, "Exact: words behind the codes")
        require(self.bits > 16 or not any(isinstance(code, tuple) for code in found.values()), "Exact: a long code")
        numbers = []
        for batch, c in zip(batches, classes):
            places = [place for step_of in batch for place in step_of]
            s = min(max(0, (least + (c - 1 << step)) // 2 - 5), self.bits - 5) if c else 0
            own = [found.get(place, 0) for place in places]
            own = [code[1] if isinstance(code, tuple) else code if code or not holes else None for code in own]
            fields = sum(code is not None for code in own) * s
            value, at = low.number(-(-fields // 16)), 0
            for code in own:
                if code is not None:
                    code = (code - holes << s) + (value >> at & (1 << s) - 1)
                    code %= 1 << self.bits
                    at += s
                numbers.append(code)
        require(not low.words, "Exact: low bits behind the last batch")
        return numbers
