// Compresses a raw float32 file in memory, restores it, and prints ratio and errors. C++17.
//
//   quickstart_cpp <file.f32> <nx> [<ny> [<nz>]]        x runs fastest
#include <fzgm.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <vector>

static int run(int argc, char **argv) {
  std::vector<std::uint64_t> dims;
  std::uint64_t count = 1;
  for (int i = 2; i < argc; i++) count *= dims.emplace_back(std::strtoull(argv[i], nullptr, 10));
  std::vector<float> x(count), y(count);
  std::ifstream file(argv[1], std::ios::binary);
  if (!file.read(reinterpret_cast<char *>(x.data()), static_cast<std::streamsize>(count * sizeof(float)))) {
    return std::fprintf(stderr, "cannot read %s\n", argv[1]), 1;
  }

  auto pipeline = fzgm::pipeline::from_text("lorenzo_quant(mode=noa) > bitshuffle(width=2) > rze");
  pipeline.set(fzgm::every_stage, "error_bound", 1e-3); // of the value range
  const auto plan = pipeline.finalize(fzgm::dtype::f32, dims);
  auto workspace = plan.make_workspace();
  std::vector<std::byte> container(plan.max_compressed_bytes());
  container.resize(fzgm::compress(plan, workspace, x, container));
  fzgm::decompress(container, y);

  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  const double bound = 1e-3 * (static_cast<double>(*high) - static_cast<double>(*low));
  double worst = 0.0;
  for (std::size_t i = 0; i < x.size(); i++) {
    worst = std::max(worst, std::fabs(static_cast<double>(x[i]) - static_cast<double>(y[i])));
  }
  std::printf("fzgm %s, %s\n", fzgm::version(), pipeline.to_text().c_str());
  std::printf("%zu -> %zu bytes, worst error / bound %.4f\n", x.size() * sizeof(float), container.size(), worst / bound);
  return worst <= bound ? 0 : 1;
}

int main(int argc, char **argv) {
  if (argc < 3 || argc > 5) return std::fprintf(stderr, "usage: %s <file.f32> <nx> [<ny> [<nz>]]\n", argv[0]), 2;
  try {
    return run(argc, argv);
  } catch (const std::exception &e) { // fzgm::error names the stage, port, or value, and the accepted ones
    return std::fprintf(stderr, "%s\n", e.what()), 1;
  }
}
