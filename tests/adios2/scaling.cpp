// Weak scaling: each rank writes and reads the same number of blocks, without an operator and with it. The operator is measured by the plugin
// libfzgm_timed.so, so the seconds outside of it are those of ADIOS2 and of the file system. No test: it prints a table.
//
//   FZGM_TIMED_FOLDER=<folder of libfzgm_adios2.so> ADIOS2_PLUGIN_PATH=<folder of libfzgm_timed.so> mpirun -n N scaling BP4|BP5 <file>
// SPDX-License-Identifier: BSD-3-Clause
#include "check.hpp"

#include <adios2.h>
#include <mpi.h>

#include <algorithm>

/** Of this rank; the plugin adds to it. */
extern "C" double operator_seconds;
double operator_seconds = 0.0;

static constexpr std::size_t side = 128, blocks = 4, steps = 2;
static constexpr double mib_per_rank = steps * blocks * side * side * side * sizeof(float) / 1048576.0;
static int this_rank = 0, all_ranks = 1;

/** Seconds of the slowest rank: the whole loop, the operator, and what is not the operator. */
struct spent {
  double whole, in_operator, outside;
};

template <class F> spent measure(F f) {
  operator_seconds = 0.0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  f();
  const double whole = MPI_Wtime() - start;
  const double mine[3] = {whole, operator_seconds, whole - operator_seconds};
  double all[3];
  MPI_Allreduce(mine, all, 3, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return {all[0], all[1], all[2]};
}

/** Block `b` of this rank in a global array whose slowest dimension has all blocks. */
static adios2::Box<adios2::Dims> place(std::size_t b) {
  return {{(static_cast<std::size_t>(this_rank) * blocks + b) * side, 0, 0}, {side, side, side}};
}

static void write(const std::string &kind, const std::string &file, bool compressed, const std::vector<float> &x) {
  adios2::ADIOS adios(MPI_COMM_WORLD);
  adios2::IO io = adios.DeclareIO("write");
  io.SetEngine(kind);
  const adios2::Dims shape{static_cast<std::size_t>(all_ranks) * blocks * side, side, side};
  auto variable = io.DefineVariable<float>("T", shape, {0, 0, 0}, {side, side, side});
  if (compressed) variable.AddOperation("plugin", {{"PluginName", "timed"}, {"PluginLibrary", "fzgm_timed"}, {"accuracy", "1e-1"}});
  adios2::Engine engine = io.Open(file, adios2::Mode::Write);
  for (std::size_t step = 0; step < steps; step++) {
    engine.BeginStep();
    for (std::size_t b = 0; b < blocks; b++) {
      variable.SetSelection(place(b));
      engine.Put(variable, x.data(), adios2::Mode::Sync);
    }
    engine.EndStep();
  }
  engine.Close();
}

static void read(const std::string &kind, const std::string &file, std::vector<float> &y) {
  adios2::ADIOS adios(MPI_COMM_WORLD);
  adios2::IO io = adios.DeclareIO("read");
  io.SetEngine(kind);
  adios2::Engine engine = io.Open(file, adios2::Mode::Read);
  while (engine.BeginStep() == adios2::StepStatus::OK) {
    auto variable = io.InquireVariable<float>("T");
    for (std::size_t b = 0; b < blocks; b++) {
      variable.SetSelection(place(b));
      engine.Get(variable, y.data(), adios2::Mode::Sync);
    }
    engine.EndStep();
  }
  engine.Close();
}

static void row(const std::string &kind, const char *what, const char *operation, const spent &best) {
  if (this_rank == 0) {
    std::printf("%s %-5s %-12s ranks %d, %4.0f MiB each: %7.3f s; operator %7.3f s, outside %7.3f s\n", kind.c_str(), what, operation, all_ranks,
                mib_per_rank, best.whole, best.in_operator, best.outside);
  }
}

static void run(const std::string &kind, const std::string &file) {
  const auto x = field<float>(side * side * side);
  std::vector<float> y(x.size());
  for (const bool compressed : {false, true}) {
    spent writing{1e9, 0, 0}, reading{1e9, 0, 0};
    for (int i = 0; i < 3; i++) {
      const spent w = measure([&] { write(kind, file, compressed, x); });
      const spent r = measure([&] { read(kind, file, y); });
      if (w.whole < writing.whole) writing = w;
      if (r.whole < reading.whole) reading = r;
      CHECK((w.in_operator > 0.0) == compressed);
      for (std::size_t k = 0; k < x.size(); k++) CHECK(std::fabs(x[k] - y[k]) <= (compressed ? 0.1f : 0.0f));
    }
    row(kind, "write", compressed ? "fzgm" : "uncompressed", writing);
    row(kind, "read", compressed ? "fzgm" : "uncompressed", reading);
  }
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &this_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &all_ranks);
  if (argc == 3) run(argv[1], argv[2]);
  MPI_Finalize();
  return argc == 3 ? 0 : 2;
}
