"""The operator in ADIOS2, in Python; with the program round_trip, each reads what the other wrote.

ADIOS2_PLUGIN_PATH=<folder of the plugin> python3 test_adios2.py <round_trip>
"""

import os
import signal
import subprocess
import sys
import tempfile
import unittest

import adios2
import numpy as np

PROGRAM = sys.argv.pop() if len(sys.argv) > 1 else None
PLUGIN = {"PluginName": "fzgm", "PluginLibrary": "fzgm_adios2"}
STEPS = 3
ENGINES = ("BP4", "BP5")
# The variables of round_trip.cpp: name, type, shape, parameters, largest error. ADIOS2 writes int8 of numpy as characters.
VARIABLES = (
    ("f32_1d", "f4", (3000,), {"accuracy": "1e-2"}, 1e-2),
    ("f32_2d", "f4", (40, 75), {"accuracy": "1e-2", "preset": "high"}, 1e-2),
    ("f64_3d", "f8", (10, 12, 25), {"accuracy": "1e-2", "preset": "pfpl", "threads": "2"}, 1e-2),
    ("f64_5d", "f8", (6, 5, 4, 5, 5), {"accuracy": "1e-2"}, 1e-2),
    ("f32_lossless", "f4", (3000,), {}, 0),
    ("f64_exact", "f8", (10, 12, 25), {"preset": "exact"}, 0),
    ("f32_tiny", "f4", (3, 1), {"accuracy": "1e-2"}, 1e-2),
    ("c64", "c8", (30, 100), {"accuracy": "1e-2"}, 1e-2),
    ("c128", "c16", (3000,), {"accuracy": "1e-2"}, 1e-2),
    ("chars", "i1", (3000,), {}, 0),
    ("u16", "u2", (3000,), {}, 0),
    ("i32", "i4", (60, 50), {}, 0),
    ("u64", "u8", (3000,), {}, 0),
)


def values(dtype, shape, step):
    i = np.arange(int(np.prod(shape)), dtype="u8")
    wave = (i * i // 50 + 7 * i + 1000 * step) % 2000
    dtype = np.dtype(dtype)
    if dtype.kind == "c":
        made = (wave / 8 + 1j * (wave / -16)).astype(dtype)
    elif dtype.kind == "f":
        made = (wave / 8 + 1 / 128).astype(dtype)
        if made.size > 200:
            made[10:14] = np.nan, np.inf, -np.inf, -0.0
    else:
        made = (wave % 120).astype(dtype)
    return made.reshape(shape)


def worst(x, y):
    """The largest error; infinite if a value that is not finite has other bits, or for another shape."""
    if x.shape != y.shape or x.dtype.itemsize != y.dtype.itemsize:
        return np.inf
    real = x.dtype.type(0).real.dtype
    x, y = x.reshape(-1).view(real), y.reshape(-1).view(real)
    finite = np.isfinite(x)
    if x[~finite].tobytes() != y[~finite].tobytes():
        return np.inf
    return np.abs(x[finite].astype("f8") - y[finite].astype("f8")).max(initial=0)


class Operator(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "file.bp")

    def run_program(self, *arguments):
        done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)

    def write(self, engine):
        adios = adios2.Adios()
        io = adios.declare_io("write")
        io.set_engine(engine)
        with adios2.Stream(io, self.path, "w") as stream:
            for step in range(STEPS):
                stream.begin_step()
                for name, dtype, shape, params, _ in VARIABLES:
                    operations = [("plugin", {**PLUGIN, **params})] if step == 0 else None
                    stream.write(name, values(dtype, shape, step), shape, [0] * len(shape), shape, operations)
                stream.end_step()

    def read(self):
        count = 0
        with adios2.Stream(self.path, "r") as stream:
            for step, _ in enumerate(stream.steps()):
                for name, dtype, shape, _, bound in VARIABLES:
                    y = np.empty(shape, dtype)  # stream.read() has no complex numbers of 4 bytes a part
                    stream.engine.get(stream.inquire_variable(name), y)
                    self.assertLessEqual(worst(values(dtype, shape, step), y), bound, (name, step))
                    count += 1
        self.assertEqual(count, STEPS * len(VARIABLES))

    def test_python_reads_what_it_wrote(self):
        for engine in ENGINES:
            with self.subTest(engine):
                self.write(engine)
                self.read()

    def test_python_reads_what_cpp_wrote(self):
        for engine in ENGINES:
            with self.subTest(engine):
                self.run_program("write", engine, self.path)
                self.read()

    def test_cpp_reads_what_python_wrote(self):
        for engine in ENGINES:
            with self.subTest(engine):
                self.write(engine)
                self.run_program("read", self.path)

    def one(self, engine, x, params, path=None):
        """Writes an array as variable T, and reads it back."""
        adios = adios2.Adios()
        io = adios.declare_io("one")
        io.set_engine(engine)
        with adios2.Stream(io, path or self.path, "w") as stream:
            stream.begin_step()
            stream.write("T", x, x.shape, [0] * x.ndim, x.shape, [("plugin", {**PLUGIN, **params})])
            stream.end_step()
        with adios2.FileReader(path or self.path) as stream:
            return stream.read("T")

    def stored(self):
        return os.path.getsize(os.path.join(self.path, "data.0"))

    def test_names_of_parameters_in_capitals(self):
        x = values("f4", (300, 100), 0)
        for engine in ENGINES:
            self.assertLessEqual(worst(x, self.one(engine, x, {"Accuracy": "0.5", "PRESET": "high"})), 0.5)
            self.assertLess(self.stored(), x.nbytes / 2)

    def test_a_defined_operator(self):
        x = values("f8", (50, 60), 0)
        for engine in ENGINES:
            with self.subTest(engine):
                adios = adios2.Adios()
                operator = adios.define_operator("fz", "plugin", {**PLUGIN, "accuracy": "0.1"})
                io = adios.declare_io("defined")
                io.set_engine(engine)
                variable = io.define_variable("T", x, x.shape, [0, 0], x.shape)
                variable.add_operation(operator)
                with io.open(self.path, adios2.bindings.Mode.Write) as file:
                    file.begin_step()
                    file.put(variable, x)
                    file.end_step()
                with adios2.FileReader(self.path) as file:
                    self.assertLessEqual(worst(x, file.read("T")), 0.1)

    def test_modes_and_fill_values(self):
        x = values("f4", (3000,), 0)
        x[100:200] = -1e30
        good = np.isfinite(x) & (x > -1e29)
        for engine in ENGINES:
            for params, bound in (
                ({"mode": "noa", "accuracy": "1e-3", "fill": "-1e30"}, 1e-3 * float(np.ptp(x[good]))),
                ({"mode": "rel", "accuracy": "1e-3"}, 1e-3 * np.abs(x[good].astype("f8"))),
                ({"mode": "lossless"}, 0),
            ):
                with self.subTest(engine, **params):
                    y = self.one(engine, x, params)
                    self.assertTrue((np.abs(x[good].astype("f8") - y[good]) <= bound).all())
                    if "rel" not in params.values():
                        self.assertEqual(x[~good].tobytes(), y[~good].tobytes())

    def test_blocks_that_do_not_shrink(self):
        x = np.random.default_rng(1).integers(0, 1 << 32, 20000, "u4").view("f4")
        for engine in ENGINES:
            for params in ({}, {"accuracy": "1e-38"}):
                self.assertEqual(x.tobytes(), self.one(engine, x, params).tobytes())

    WRONG = (
        ({"bound": "1"}, 'there is no parameter "bound"; parameters: preset, mode, accuracy, fill, device, threads, order'),
        ({"accuracy": "1", "preset": "fats"}, "the nearest is `fast`"),
        ({"mode": "abs"}, "parameter accuracy is missing for mode abs"),
        ({"accuracy": "1", "mode": "rel", "preset": "high"}, "the parameters are not for elements of type float: "),
    )

    def test_wrong_parameters_are_exceptions(self):
        for params, text in self.WRONG:
            with self.assertRaises(ValueError) as caught:
                adios2.Adios().define_operator("fz", "plugin", {**PLUGIN, **params})
            self.assertIn(text, str(caught.exception))

    def test_wrong_parameters_of_a_variable_end_the_process_with_the_text(self):
        """ADIOS2 adds operators in a function that lets no exception through."""
        cases = [self.WRONG[0], ({"accuracy": "1e-7", "mode": "rel"}, "not for elements of type double: quantizer.error_bound is 1e-7")]
        for params, text in cases:
            script = (
                # A variable does not keep the objects alive that it belongs to.
                "import adios2, numpy\nx, adios = numpy.ones(100), adios2.Adios()\nio = adios.declare_io('w')\n"
                f"io.define_variable('T', x, [100], [0], [100]).add_operation_string('plugin', {({**PLUGIN, **params})!r})"
            )
            done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, -signal.SIGABRT, done.stderr)
            self.assertIn(text, done.stderr)

    def test_damaged_blocks_are_exceptions(self):
        for engine in ENGINES:
            self.one(engine, values("f4", (3000,), 0), {"accuracy": "1e-2"})
            path = os.path.join(self.path, "data.0")
            with open(path, "rb") as file:
                whole = file.read()
            for place in range(0, 500, 25):
                bad = bytearray(whole)
                bad[whole.index(b"FZA\1") + place] ^= 0x55
                with open(path, "wb") as file:
                    file.write(bad)
                with adios2.FileReader(self.path) as file, self.assertRaisesRegex(RuntimeError, "fzgm: a block.* cannot be restored"):
                    file.read("T")

    def test_the_reader_asks_for_accuracy(self):
        x = values("f4", (3000,), 0)
        for engine in ENGINES:
            self.one(engine, x, {"accuracy": "1e-2"})
            with adios2.FileReader(self.path) as file:
                variable = file.inquire_variable("T")
                variable.set_accuracy(1e-9, 0.0, False)
                self.assertLessEqual(worst(x, file.read(variable)), 1e-2)

    def test_a_reader_without_the_plugin(self):
        for engine in ENGINES:
            self.one(engine, values("f4", (3000,), 0), {"accuracy": "1e-2"})
            script = f"import adios2\nwith adios2.FileReader({self.path!r}) as f: f.read('T')"
            environment = {k: v for k, v in os.environ.items() if k != "ADIOS2_PLUGIN_PATH"}
            done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 1)  # an exception, and no signal
            self.assertIn("Failed to load library", done.stderr)


if __name__ == "__main__":
    unittest.main()
