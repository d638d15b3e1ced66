// A field of openPMD through ADIOS2 with the operator, written and read by MPI ranks. The options are those of docs/adios2.md.
//
//   openpmd <file.bp> [read]
// SPDX-License-Identifier: BSD-3-Clause
#include "check.hpp"

#include <mpi.h>
#include <openPMD/openPMD.hpp>

static const std::string options = R"({
  "adios2": {"dataset": {"operators": [{
    "type": "plugin",
    "parameters": {"PluginName": "fzgm", "PluginLibrary": "fzgm_adios2", "accuracy": "1e-2"}
  }]}}
})";
static constexpr std::size_t rows = 96, columns = 500, iterations = 2;

/** The rows of a rank: the last one has the rest. */
struct share {
  std::size_t first, count;
  share() {
    int rank = 0, ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const std::size_t each = rows / static_cast<std::size_t>(ranks);
    first = static_cast<std::size_t>(rank) * each;
    count = rank + 1 == ranks ? rows - first : each;
  }
};

static std::vector<double> values(std::size_t iteration) { return field<double>(rows * columns, 100.0 + static_cast<double>(iteration)); }

static void write(const std::string &file) {
  const share own;
  openPMD::Series series(file, openPMD::Access::CREATE_LINEAR, MPI_COMM_WORLD, options);
  for (std::size_t i = 0; i < iterations; i++) {
    auto iteration = series.snapshots()[i];
    auto mesh = iteration.meshes["density"];
    mesh.resetDataset({openPMD::Datatype::DOUBLE, {rows, columns}});
    const auto x = values(i);
    const auto first = x.begin() + static_cast<std::ptrdiff_t>(own.first * columns);
    const std::vector<double> part(first, first + static_cast<std::ptrdiff_t>(own.count * columns));
    mesh.storeChunkRaw(part.data(), {own.first, 0}, {own.count, columns});
    iteration.close();
  }
  series.close();
}

static void read(const std::string &file) {
  openPMD::Series series(file, openPMD::Access::READ_ONLY, MPI_COMM_WORLD);
  CHECK(series.snapshots().size() == iterations);
  for (std::size_t i = 0; i < iterations; i++) {
    auto mesh = series.snapshots()[i].open().meshes["density"];
    const auto y = mesh.loadChunk<double>({0, 0}, {rows, columns});
    series.flush();
    const auto x = values(i);
    double worst = 0.0;
    for (std::size_t k = 0; k < x.size(); k++) worst = std::fmax(worst, std::fabs(x[k] - y.get()[k]));
    // A lossless file would be the sign of an operator that is not there.
    CHECK(worst > 0.0 && worst <= 1e-2);
  }
  series.close();
}

int main(int argc, char **argv) {
  int code = argc == 2 || argc == 3 ? 0 : 2;
  MPI_Init(&argc, &argv);
  try {
    if (argc == 2) write(argv[1]);
    if (argc == 3) read(argv[1]);
  } catch (const std::exception &e) {
    std::fprintf(stderr, "%s\n", e.what());
    code = 1;
  }
  MPI_Finalize();
  return code;
}
