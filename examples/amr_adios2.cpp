// A plotfile of an adaptive mesh with three levels, written and read through ADIOS2 with the fzgm operator, by one process or by MPI ranks.
//
//   cmake -DCMAKE_PREFIX_PATH=<prefixes of fzgm and ADIOS2> …           examples/CMakeLists.txt: amr_adios2 and, with MPI, amr_adios2_mpi
//   ADIOS2_PLUGIN_PATH=<folder of libfzgm_adios2.so> mpirun -n 4 amr_adios2_mpi plot.bp [BP4|BP5]
//
// A variable contains the patches of one level and shape. Its shape is the domain in cells of the level, and each patch is a block at its
// place. Cells outside of all patches are not stored. The operator of a variable keeps one plan and one workspace, which serve all patches
// because they have one shape. Patches of the finer levels are at other places in each step.
#include <adios2.h>
#if ADIOS2_USE_MPI
#include <mpi.h>
#endif

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

using adios2::Dims;

constexpr double bound = 1e-3;
constexpr std::size_t steps = 3;

/** `grid`^3 patches of `side`^3 cells in a domain of `domain`^3 cells. */
struct patches {
  const char *name;
  std::size_t grid, side, domain;
  /** First cell along x of the first patch in step 0. */
  std::size_t x;
};

constexpr std::array<patches, 4> mesh{{
    {"level_0/density", 1, 128, 128, 0},
    {"level_1/density", 2, 64, 256, 64},
    {"level_2/density", 3, 32, 512, 208},
    {"level_2/density_fine", 4, 16, 512, 304},
}};

/** The ranks of the program; one without MPI. */
struct ranks {
  int rank = 0, count = 1;

#if ADIOS2_USE_MPI
  ranks() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
  }
  double largest(double x) const {
    double all = 0.0;
    MPI_Allreduce(&x, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
  }
  adios2::ADIOS adios() const { return adios2::ADIOS(MPI_COMM_WORLD); }
#else
  double largest(double x) const { return x; }
  adios2::ADIOS adios() const { return adios2::ADIOS(); }
#endif

  /** Patches and blocks belong to the ranks in turns. */
  bool own(std::size_t block, int shift = 0) const { return static_cast<int>(block % static_cast<std::size_t>(count)) == (rank + shift) % count; }
};

/** First cell of a patch. The mesh follows the front, by 1/16 of the domain in a step. */
static Dims origin_of(const patches &p, std::size_t patch, std::size_t step) {
  if (p.grid == 1) return {0, 0, 0};
  const std::size_t at[3] = {patch / p.grid / p.grid, patch / p.grid % p.grid, patch % p.grid}, first = (p.domain - p.grid * p.side) / 2;
  return {first + at[0] * p.side, first + at[1] * p.side, p.x + at[2] * p.side + step * p.domain / 16};
}

/** A front around a center that moves along x, and waves. */
static void fill(std::size_t domain, const Dims &origin, std::size_t side, std::size_t step, std::vector<float> &values) {
  const double cell = 1.0 / static_cast<double>(domain), center[3] = {0.5, 0.5, 0.5 + static_cast<double>(step) / 16.0};
  for (std::size_t i = 0; i < side * side * side; i++) {
    const std::size_t at[3] = {i / side / side, i / side % side, i % side};
    double p[3], r = 0.0;
    for (int d = 0; d < 3; d++) p[d] = (static_cast<double>(origin[d] + at[d]) + 0.5) * cell - center[d], r += p[d] * p[d];
    values[i] = static_cast<float>(std::tanh(60.0 * (0.1 - std::sqrt(r))) + 0.2 * std::sin(20.0 * p[0]) * std::cos(15.0 * p[1] + 10.0 * p[2]));
  }
}

static double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

static void write(const ranks &world, const std::string &path, const std::string &engine_type) {
  adios2::ADIOS adios = world.adios();
  adios2::IO io = adios.DeclareIO("write");
  io.SetEngine(engine_type);
  const adios2::Operator compress = adios.DefineOperator(
      "fzgm", "plugin", {{"PluginName", "fzgm"}, {"PluginLibrary", "fzgm_adios2"}, {"accuracy", std::to_string(bound)}, {"preset", "fast"}});
  std::vector<adios2::Variable<float>> variables;
  for (const patches &p : mesh) {
    variables.push_back(io.DefineVariable<float>(p.name, Dims(3, p.domain), Dims(3, 0), Dims(3, p.side)));
    variables.back().AddOperation(compress);
    io.DefineAttribute<double>("cell", 1.0 / static_cast<double>(p.domain), p.name);
  }
  // Put() in mode Sync compresses before it returns, so one buffer serves all patches. A simulation passes its own patches.
  std::vector<float> values(mesh[0].side * mesh[0].side * mesh[0].side);
  adios2::Engine engine = io.Open(path, adios2::Mode::Write);
  for (std::size_t step = 0; step < steps; step++) {
    double put = 0.0;
    engine.BeginStep();
    for (std::size_t k = 0; k < mesh.size(); k++) {
      const patches &p = mesh[k];
      for (std::size_t patch = 0; patch < p.grid * p.grid * p.grid; patch++) {
        if (!world.own(patch)) continue;
        const Dims origin = origin_of(p, patch, step);
        fill(p.domain, origin, p.side, step, values);
        const double start = now();
        variables[k].SetSelection({origin, Dims(3, p.side)});
        engine.Put(variables[k], values.data(), adios2::Mode::Sync);
        put += now() - start;
      }
    }
    const double start = now();
    engine.EndStep();
    const double end = world.largest(now() - start), slowest = world.largest(put);
    if (world.rank == 0) std::printf("step %zu, %d ranks: Put %.3f s, EndStep %.3f s\n", step, world.count, slowest, end);
  }
  engine.Close();
}

/** Each rank reads the patches that another rank has written. Returns the largest error of all ranks. */
static double read(const ranks &world, const std::string &path, const std::string &engine_type) {
  adios2::ADIOS adios = world.adios();
  adios2::IO io = adios.DeclareIO("read");
  io.SetEngine(engine_type);
  std::vector<float> values(mesh[0].side * mesh[0].side * mesh[0].side), expected(values.size());
  double worst = 0.0;
  std::size_t count = 0;
  adios2::Engine engine = io.Open(path, adios2::Mode::Read);
  for (; engine.BeginStep() == adios2::StepStatus::OK; count++) {
    for (const patches &p : mesh) {
      auto variable = io.InquireVariable<float>(p.name);
      const auto blocks = engine.BlocksInfo(variable, engine.CurrentStep());
      if (blocks.size() != p.grid * p.grid * p.grid) throw std::runtime_error(std::string(p.name) + " does not have all patches");
      for (std::size_t b = 0; b < blocks.size(); b++) {
        if (!world.own(b, 1)) continue;
        variable.SetSelection({blocks[b].Start, blocks[b].Count});
        engine.Get(variable, values.data(), adios2::Mode::Sync);
        fill(variable.Shape()[0], blocks[b].Start, blocks[b].Count[0], count, expected);
        for (std::size_t i = 0; i < p.side * p.side * p.side; i++) {
          worst = std::max(worst, std::fabs(static_cast<double>(values[i]) - static_cast<double>(expected[i])));
        }
      }
    }
    engine.EndStep();
  }
  engine.Close();
  if (count != steps) throw std::runtime_error("the file has " + std::to_string(count) + " steps");
  return world.largest(worst);
}

/** Length of all files in a folder. */
static double bytes_of(const std::string &folder) {
  double bytes = 0.0;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) bytes += static_cast<double>(entry.file_size());
  }
  return bytes;
}

static bool run(const std::string &path, const std::string &engine_type) {
  const ranks world;
  write(world, path, engine_type);
  const double worst = read(world, path, engine_type);
  if (world.rank == 0) {
    double cells = 0.0;
    for (const patches &p : mesh) cells += std::pow(static_cast<double>(p.grid * p.side), 3);
    std::printf("%s, %d ranks: 100 patches in %zu steps, ratio %.2f, largest error %.6f\n", engine_type.c_str(), world.count, steps,
                static_cast<double>(steps) * cells * sizeof(float) / bytes_of(path), worst);
  }
  return worst <= bound;
}

int main(int argc, char **argv) {
  bool good = false;
#if ADIOS2_USE_MPI
  MPI_Init(&argc, &argv);
#endif
  try {
    good = run(argc > 1 ? argv[1] : "plot.bp", argc > 2 ? argv[2] : "BP5");
  } catch (const std::exception &e) {
    std::fprintf(stderr, "%s\n", e.what());
#if ADIOS2_USE_MPI
    MPI_Abort(MPI_COMM_WORLD, 1);
#endif
  }
#if ADIOS2_USE_MPI
  MPI_Finalize();
#endif
  return good ? 0 : 1;
}
