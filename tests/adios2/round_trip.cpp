// The operator in ADIOS2, in C++. The folder of the plugin is in ADIOS2_PLUGIN_PATH.
//
//   round_trip write BP4|BP5 <file>
//   round_trip read <file>              reads what `write` or test_adios2.py wrote, and compares
//   round_trip damage BP4|BP5 <file>    damaged blocks: an exception, and no crash
//   round_trip without <file>           a reader without the plugin
//   round_trip wrong                    wrong parameters
//
// With MPI, blocks belong to the ranks in turns, and each rank reads all values.
// SPDX-License-Identifier: BSD-3-Clause
#include "check.hpp"

#include <adios2.h>
#if ADIOS2_USE_MPI
#include <mpi.h>
#endif

#include <algorithm>
#include <complex>
#include <filesystem>
#include <fstream>
#include <limits>

using adios2::Dims;
using adios2::Mode;
using adios2::Params;

static constexpr std::size_t steps = 3;
static int this_rank = 0, all_ranks = 1;

#if ADIOS2_USE_MPI
static adios2::ADIOS make_adios() { return adios2::ADIOS(MPI_COMM_WORLD); }
static void barrier() { MPI_Barrier(MPI_COMM_WORLD); }
#else
static adios2::ADIOS make_adios() { return adios2::ADIOS(); }
static void barrier() {}
#endif

template <class T> constexpr bool is_complex = std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

/** The values of a variable at a step; test_adios2.py has the same ones. */
template <class T> std::vector<T> values(std::size_t n, std::size_t step) {
  std::vector<T> made(n);
  for (std::size_t i = 0; i < n; i++) {
    const double wave = static_cast<double>((i * i / 50 + 7 * i + 1000 * step) % 2000);
    if constexpr (is_complex<T>) {
      made[i] = T(static_cast<typename T::value_type>(wave / 8), static_cast<typename T::value_type>(wave / -16));
    } else if constexpr (std::is_floating_point_v<T>) {
      made[i] = static_cast<T>(wave / 8 + 1.0 / 128);
    } else {
      made[i] = static_cast<T>(static_cast<std::size_t>(wave) % 120);
    }
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (n > 200) {
      made[10] = std::numeric_limits<T>::quiet_NaN();
      made[11] = std::numeric_limits<T>::infinity();
      made[12] = -std::numeric_limits<T>::infinity();
      made[13] = static_cast<T>(-0.0);
    }
  }
  return made;
}

template <class T> struct of_type { using type = T; };

/** Every variable of the file: type, name, shape, parameters, largest error. */
template <class F> void variables(F f) {
  f(of_type<float>(), "f32_1d", Dims{3000}, Params{{"accuracy", "1e-2"}}, 1e-2);
  f(of_type<float>(), "f32_2d", Dims{40, 75}, Params{{"accuracy", "1e-2"}, {"preset", "high"}}, 1e-2);
  f(of_type<double>(), "f64_3d", Dims{10, 12, 25}, Params{{"accuracy", "1e-2"}, {"preset", "pfpl"}, {"threads", "2"}}, 1e-2);
  f(of_type<double>(), "f64_5d", Dims{6, 5, 4, 5, 5}, Params{{"accuracy", "1e-2"}}, 1e-2);
  f(of_type<float>(), "f32_lossless", Dims{3000}, Params{}, 0.0);
  f(of_type<double>(), "f64_exact", Dims{10, 12, 25}, Params{{"preset", "exact"}}, 0.0);
  f(of_type<float>(), "f32_tiny", Dims{3, 1}, Params{{"accuracy", "1e-2"}}, 1e-2);
  f(of_type<std::complex<float>>(), "c64", Dims{30, 100}, Params{{"accuracy", "1e-2"}}, 1e-2);
  f(of_type<std::complex<double>>(), "c128", Dims{3000}, Params{{"accuracy", "1e-2"}}, 1e-2);
  f(of_type<std::int8_t>(), "i8", Dims{3000}, Params{{"accuracy", "1"}}, 0.0);
  f(of_type<std::uint16_t>(), "u16", Dims{3000}, Params{}, 0.0);
  f(of_type<std::int32_t>(), "i32", Dims{60, 50}, Params{}, 0.0);
  f(of_type<std::uint64_t>(), "u64", Dims{3000}, Params{}, 0.0);
  f(of_type<char>(), "chars", Dims{3000}, Params{}, 0.0);
}

template <class T> void compare(const std::vector<T> &x, const std::vector<T> &y, double bound) {
  CHECK(x.size() == y.size());
  const auto near = [bound](double a, double b) { return std::fabs(a - b) <= bound; };
  for (std::size_t i = 0; i < x.size(); i++) {
    if (same_bits(x[i], y[i])) continue;
    if constexpr (is_complex<T>) CHECK(near(x[i].real(), y[i].real()) && near(x[i].imag(), y[i].imag()));
    else CHECK(near(static_cast<double>(x[i]), static_cast<double>(y[i])));
  }
}

/** Three blocks along the slowest dimension: one with Put in mode Sync, an empty one, and one in mode Deferred. */
template <class T> void put(adios2::Engine &engine, adios2::Variable<T> variable, const std::vector<T> &all) {
  const Dims shape = variable.Shape();
  const std::size_t row = all.size() / shape[0], first = shape[0] / 3;
  Dims start(shape.size(), 0), count = shape;
  const auto block = [&](int number, std::size_t from, std::size_t rows, Mode mode) {
    if (number % all_ranks != this_rank) return;
    start[0] = from;
    count[0] = rows;
    variable.SetSelection({start, count});
    engine.Put(variable, all.data() + from * row, mode);
  };
  block(0, 0, first, Mode::Sync);
  block(1, first, 0, Mode::Sync);
  block(2, first, shape[0] - first, Mode::Deferred);
}

static void write(const std::string &kind, const std::string &file) {
  adios2::ADIOS adios = make_adios();
  adios2::IO io = adios.DeclareIO("write");
  io.SetEngine(kind);
  variables([&](auto type, const char *name, const Dims &shape, Params params, double) {
    using T = typename decltype(type)::type;
    params["PluginName"] = "fzgm";
    params["PluginLibrary"] = "fzgm_adios2";
    auto variable = io.DefineVariable<T>(name, shape, Dims(shape.size(), 0), shape);
    variable.AddOperation("plugin", params);
    CHECK(variable.Operations().size() == 1);
  });
  io.DefineAttribute<std::string>("written by", "round_trip");
  adios2::Engine engine = io.Open(file, Mode::Write);
  for (std::size_t step = 0; step < steps; step++) {
    engine.BeginStep();
    variables([&](auto type, const char *name, const Dims &shape, const Params &, double) {
      using T = typename decltype(type)::type;
      const auto all = values<T>(adios2::GetTotalSize(shape), step);
      put<T>(engine, io.InquireVariable<T>(name), all);
      engine.PerformPuts();
    });
    engine.EndStep();
  }
  engine.Close();
}

/** Reads a variable of a step whole, by block, and in a part that meets both blocks. */
template <class T> void read_variable(adios2::IO &io, adios2::Engine &engine, const char *name, const Dims &shape, std::size_t step, double bound) {
  // Python writes int8 as characters.
  if (std::is_same_v<T, std::int8_t> && !io.InquireAttribute<std::string>("written by")) return;
  auto variable = io.InquireVariable<T>(name);
  CHECK(variable && variable.Shape() == shape);
  const auto expected = values<T>(adios2::GetTotalSize(shape), step);
  Dims start(shape.size(), 0), count = shape;
  variable.SetSelection({start, count}); // that of the step before is still set
  std::vector<T> all;
  engine.Get(variable, all, Mode::Sync);
  compare(expected, all, bound);
  const std::size_t row = all.size() / shape[0], first = shape[0] / 3;
  if (shape[0] < 6) return;
  start[0] = first - 1;
  count[0] = 3;
  variable.SetSelection({start, count});
  std::vector<T> part;
  engine.Get(variable, part, Mode::Sync);
  compare(std::vector<T>(expected.begin() + static_cast<std::ptrdiff_t>((first - 1) * row),
                         expected.begin() + static_cast<std::ptrdiff_t>((first + 2) * row)), part, bound);
}

static void read(const std::string &file) {
  adios2::ADIOS adios = make_adios();
  adios2::IO io = adios.DeclareIO("read");
  adios2::Engine engine = io.Open(file, Mode::Read);
  std::size_t step = 0;
  for (; engine.BeginStep() == adios2::StepStatus::OK; step++) {
    variables([&](auto type, const char *name, const Dims &shape, const Params &, double bound) {
      read_variable<typename decltype(type)::type>(io, engine, name, shape, step, bound);
    });
    engine.EndStep();
  }
  CHECK(step == steps);
  engine.Close();
}

/** All values of variable T of a file, with a request for more accuracy than there is. */
static std::vector<float> read_one(const std::string &file) {
  adios2::ADIOS adios = make_adios();
  adios2::IO io = adios.DeclareIO("read");
  adios2::Engine engine = io.Open(file, Mode::ReadRandomAccess);
  auto variable = io.InquireVariable<float>("T");
  CHECK(variable);
  variable.SetAccuracy({1e-9, std::numeric_limits<double>::infinity(), false});
  std::vector<float> all;
  engine.Get(variable, all, Mode::Sync);
  engine.Close();
  return all;
}

static void write_one(const std::string &kind, const std::string &file, const std::vector<float> &x, const Params &given) {
  adios2::ADIOS adios = make_adios();
  adios2::IO io = adios.DeclareIO("write");
  io.SetEngine(kind);
  auto variable = io.DefineVariable<float>("T", {x.size()}, {0}, {x.size()});
  Params params = given;
  params["PluginName"] = "fzgm";
  params["PluginLibrary"] = "fzgm_adios2";
  variable.AddOperation("plugin", params);
  adios2::Engine engine = io.Open(file, Mode::Write);
  engine.BeginStep();
  if (this_rank == 0) engine.Put(variable, x.data(), Mode::Sync);
  engine.EndStep();
  engine.Close();
}

static std::string contents(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

/** All ranks read the file with these contents. */
static std::string rejected(const std::string &path, const std::string &bytes, const std::string &file) {
  barrier();
  if (this_rank == 0) std::ofstream(path, std::ios::binary) << bytes;
  barrier();
  return thrown("fzgm: a block", [&] { read_one(file); });
}

static void damage(const std::string &kind, const std::string &file) {
  for (const bool compresses : {true, false}) {
    const auto x = compresses ? field<float>(400) : noise<float>(100);
    write_one(kind, file, x, {{"accuracy", "1e-2"}});
    compare(x, read_one(file), 1e-2);
    const std::string path = file + "/data.0", whole = contents(path);
    const std::size_t begin = whole.find("FZA\1");
    CHECK(begin != std::string::npos && (whole[begin + 4] == 1) == compresses);
    const std::size_t block = compresses ? 200 : 16 + 400;
    for (std::size_t i = begin; i < begin + block && i < whole.size(); i += i < begin + 20 ? 1 : 7) {
      std::string bad = whole;
      bad[i] = static_cast<char>(bad[i] ^ 0x55);
      const std::string text = rejected(path, bad, file);
      if (i == begin || i == begin + 17) std::printf("  %s\n", text.c_str());
    }
    // Not files that end early: ADIOS2 waits for the rest. After a crash of the system the rest may be zeros.
    for (std::size_t kept = 0; kept < block; kept += kept < 20 ? 1 : 7) {
      std::string bad = whole;
      std::fill(bad.begin() + static_cast<std::ptrdiff_t>(begin + kept), bad.end(), '\0');
      rejected(path, bad, file);
    }
  }
}

/** Wrong parameters are known before there is a file. */
static void wrong() {
  const auto define = [](Params params) {
    params["PluginName"] = "fzgm";
    params["PluginLibrary"] = "fzgm_adios2";
    adios2::ADIOS().DefineOperator("fz", "plugin", params);
  };
  define({{"accuracy", "1"}});
  std::printf("  %s\n", thrown("fzgm: there is no parameter \"bound\"", [&] { define({{"bound", "1e-3"}}); }).c_str());
  thrown("fzgm: parameter accuracy is \"-1\"", [&] { define({{"Accuracy", "-1"}}); });
  thrown("fzgm: the parameters are not for elements of type float", [&] { define({{"accuracy", "1"}, {"mode", "rel"}, {"preset", "high"}}); });
}

static int run(int argc, char **argv) {
  const std::string action = argc > 1 ? argv[1] : "";
  if (action == "write" && argc == 4) write(argv[2], argv[3]);
  else if (action == "read" && argc == 3) read(argv[2]);
  else if (action == "damage" && argc == 4) damage(argv[2], argv[3]);
  else if (action == "without" && argc == 3) std::printf("  %s\n", thrown("[ADIOS2 EXCEPTION]", [&] { read_one(argv[2]); }).c_str());
  else if (action == "wrong" && argc == 2) wrong();
  else return std::fprintf(stderr, "usage: see the source\n"), 2;
  return 0;
}

int main(int argc, char **argv) {
#if ADIOS2_USE_MPI
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &this_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &all_ranks);
#endif
  const int code = run(argc, argv);
#if ADIOS2_USE_MPI
  MPI_Finalize();
#endif
  return code;
}
