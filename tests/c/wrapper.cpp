// fzgm.hpp, once with exceptions and once without: owners of handles, views of memory, every function.
#include <fzgm.hpp>

#include "check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

namespace {

#ifdef FZGM_NO_EXCEPTIONS
template <class T> T good(fzgm::result<T> made) {
  if (!made) CHECK(!fz_last_error());
  CHECK(made.status() == FZ_OK);
  return std::move(made).value();
}
void good(fzgm::result<void> done) { CHECK(done && done.status() == FZ_OK); }
template <class F> std::int32_t status_of(F &&call) { return call().status(); }
#else
template <class T> T good(T made) { return made; }
template <class F> std::int32_t status_of(F &&call) {
  try {
    static_cast<void>(call());
  } catch (const fzgm::error &e) {
    CHECK(std::string(e.what()) == fzgm::last_error() && e.what()[0] != '\0');
    return e.status();
  }
  return FZ_OK;
}
#endif
/* A call that returns nothing, in either form. */
#ifdef FZGM_NO_EXCEPTIONS
#define GOOD(call) good(call)
#else
#define GOOD(call) (call)
#endif

static_assert(fzgm::dtype_of<float>() == fzgm::dtype::f32 && fzgm::dtype_of<const double>() == fzgm::dtype::f64);
static_assert(fzgm::dtype_of<unsigned char>() == fzgm::dtype::u8 && fzgm::dtype_of<long long>() == fzgm::dtype::i64);
static_assert(fzgm::dtype_of<std::uint16_t>() == fzgm::dtype::u16 && fzgm::dtype_of<std::int32_t>() == fzgm::dtype::i32);
template <class T> constexpr bool moves_only =
    std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T> && !std::is_copy_constructible_v<T>;
static_assert(!std::is_default_constructible_v<fzgm::pipeline>, "a pipeline is made by a function that fills it");
static_assert(moves_only<fzgm::pipeline> && moves_only<fzgm::plan> && moves_only<fzgm::workspace>);
static_assert(std::is_convertible_v<const std::vector<float> &, fzgm::const_bytes>);
static_assert(std::is_convertible_v<std::array<double, 3> &, fzgm::mutable_bytes>);
static_assert(!std::is_convertible_v<const std::vector<float> &, fzgm::mutable_bytes>, "what is const is not written");
static_assert(!std::is_convertible_v<std::vector<std::string> &, fzgm::const_bytes>, "no bytes of their own");

void round_trip() {
  std::vector<float> x(120 * 100), y(x.size());
  fill(x.data(), x.size());
  auto pipeline = good(fzgm::pipeline::from_preset("pfpl", fzgm::dtype_of<float>()));
  GOOD(pipeline.set(fzgm::every_stage, "mode", "noa"));
  GOOD(pipeline.set(0, std::string("error_bound"), 1e-3f));
  GOOD(pipeline.set(0, "inplace_outliers", true));
  GOOD(pipeline.set(0, "quant_radius", 0));
  auto options = fzgm::options();
  options.container = FZ_CONTAINER_COMPACT;
  const auto plan = good(pipeline.finalize(fzgm::dtype::f32, {120, 100}, &options));
  const auto decoder = good(plan.decoder());
  auto in = good(plan.make_workspace()), out = good(decoder.make_workspace());
  CHECK(good(plan.workspace_bytes()) > 0);
  std::vector<unsigned char> container(good(plan.max_compressed_bytes())), same(container.size());
  container.resize(good(fzgm::compress(plan, in, x, container)));
  same.resize(good(fzgm::compress(plan, x, same)));
  CHECK(same == container && container.size() < x.size());

  const double bound = 1e-3 * range_of(x.data(), x.size());
  const auto opened = good(fzgm::plan::open(container));
  for (int way = 0; way < 4; way++) {
    std::fill(y.begin(), y.end(), 0.0f);
    const std::uint64_t bytes = way == 0   ? good(fzgm::decompress(container, y))
                                : way == 1 ? good(fzgm::decompress(decoder, out, container, y))
                                : way == 2 ? good(fzgm::decompress(decoder, container, y))
                                           : good(fzgm::decompress(opened, container, {y.data(), y.size() * sizeof(float)}));
    CHECK(bytes == x.size() * sizeof(float) && worst_error(x.data(), y.data(), x.size()) <= bound);
  }
  const fz_info info = good(fzgm::container_info(container));
  CHECK(info.container == FZ_CONTAINER_COMPACT && info.dims[0] == 120 && info.mode == FZ_MODE_NOA);

  const auto dims = good(fzgm::container_shape(good(fzgm::compress("fast", {10, 8, 5, 6, 5}, fzgm::mode::noa, 1e-3, x))));
  CHECK(dims.size() == 5 && std::equal(dims.data(), dims.data() + 5, std::vector<std::uint64_t>{10, 8, 5, 6, 5}.begin()));
  CHECK(status_of([&] { return fzgm::compress("fast", {10, 8, 5, 6, 5, 1, 1, 1, 1}, fzgm::mode::noa, 1e-3, x); }) == FZ_INVALID_ARGUMENT);

  // One call, and options by value.
  const auto simple = good(fzgm::compress("fast", {120, 100}, fzgm::mode::noa, 1e-3, x));
  CHECK(good(fzgm::decompress(simple, y)) == x.size() * sizeof(float) && worst_error(x.data(), y.data(), x.size()) <= bound);
  const auto text = good(fzgm::compress<std::string>("bits", {120, 100}, fzgm::mode::lossless, 0, x));
  CHECK(good(fzgm::decompress(text, y)) == x.size() * sizeof(float) && x == y);
  CHECK(status_of([&] { return fzgm::compress("fast", {120, 101}, fzgm::mode::noa, 1e-3, x); }) == FZ_PLAN_MISMATCH);
  CHECK(good(good(pipeline.finalize(fzgm::dtype::f32, {120, 100}, options)).max_compressed_bytes()) == good(plan.max_compressed_bytes()));
  CHECK(good(fzgm::find_fill_value(x)).found == 0);
  auto filled = x;
  filled[5] = -1e20f;
  const fz_fill fill = good(fzgm::find_fill_value(filled));
  CHECK(fill.found == 1 && fill.value == static_cast<double>(-1e20f) && fill.count == 1 && fill.threshold == -fill.value);

  // A chosen pipeline.
  auto chosen = good(fzgm::choose({120, 100}, fzgm::mode::noa, 1e-3, x, fzgm::goal::speed));
  CHECK(std::string(chosen.info.preset) == "fast" && chosen.info.mode == FZ_MODE_NOA && chosen.info.bound == 1e-3);
  const auto chosen_plan = good(chosen.pipeline.finalize(fzgm::dtype::f32, {120, 100}));
  std::vector<unsigned char> packed(good(chosen_plan.max_compressed_bytes()));
  packed.resize(good(fzgm::compress(chosen_plan, x, packed)));
  CHECK(good(fzgm::decompress(packed, y)) == x.size() * sizeof(float) && worst_error(x.data(), y.data(), x.size()) <= bound);
  const auto exact = good(fzgm::choose({120, 100}, fzgm::mode::lossless, 0, x));
  CHECK(exact.info.mode == FZ_MODE_LOSSLESS && exact.info.expected_ratio > 0);
  fz_wish wish = fzgm::wish();
  wish.target_ratio = 8;
  const auto eighth = good(fzgm::choose({120, 100}, wish, x));
  CHECK(eighth.pipeline && eighth.info.mode == FZ_MODE_NOA && eighth.info.bound > 0);
  wish.target_psnr = 60;
  CHECK(status_of([&] { return fzgm::choose({120, 100}, wish, x); }) == FZ_INVALID_ARGUMENT);
  CHECK(status_of([&] { return fzgm::choose({120, 101}, fzgm::mode::noa, 1e-3, x); }) == FZ_INVALID_ARGUMENT);
  const std::vector<int> integers(12000);
  CHECK(status_of([&] { return fzgm::choose({120, 100}, fzgm::mode::abs, 1, integers); }) == FZ_UNSUPPORTED);

  float few[4] = {};
  CHECK(status_of([&] { return fzgm::decompress(container, few); }) == FZ_DST_TOO_SMALL);
  CHECK(status_of([&] { return fzgm::compress(decoder, x, container); }) == FZ_INVALID_ARGUMENT);
  CHECK(status_of([&] { return fzgm::compress(plan, out, x, container); }) == FZ_PLAN_MISMATCH);
  CHECK(status_of([&] { return fzgm::plan::open(std::vector<char>(100)); }) == FZ_NOT_A_CONTAINER);
}

void boxes(const std::string &path) {
  std::vector<double> x(120 * 100), part(40 * 30), same(part.size());
  for (std::size_t i = 0; i < x.size(); i++) x[i] = static_cast<double>(i % 977) * 0.1;
  const auto plan = good(good(fzgm::pipeline::from_preset("fast", fzgm::dtype::f64)).finalize(fzgm::dtype::f64, {120, 100}));
  std::vector<std::byte> container(good(plan.max_compressed_bytes()));
  container.resize(good(fzgm::compress(plan, x, container)));
  CHECK(good(fzgm::compress_file(plan, x, path)) == container.size());
  CHECK(good(fzgm::decompress_region(container, {50, 60}, {40, 30}, same)) == same.size() * sizeof(double));
  CHECK(good(fzgm::decompress_region_file(path, {50, 60}, {40, 30}, part)) == part.size() * sizeof(double));
  std::vector<double> coarse(30 * 25), again(coarse.size());
  CHECK(good(fzgm::decompress_preview(container, 4, coarse)) == coarse.size() * sizeof(double));
  CHECK(good(fzgm::decompress_preview_file(path, 4, again)) == again.size() * sizeof(double));
  CHECK(coarse == again && status_of([&] { return fzgm::decompress_preview(container, 3, coarse); }) == FZ_INVALID_ARGUMENT);
  const double bound = 1.01e-3 * 97.6;
  CHECK(std::abs(coarse[31] - x[4 * 120 + 4]) <= bound);
  CHECK(part == same && std::abs(part[41] - x[61 * 120 + 51]) <= bound);
  CHECK(status_of([&] { return fzgm::decompress_region_file(path, {50, 80}, {40, 30}, part); }) == FZ_INVALID_ARGUMENT);
  CHECK(status_of([&] { return fzgm::decompress_region_file(path, {50}, {40, 30}, part); }) == FZ_INVALID_ARGUMENT);
  CHECK(std::string(fzgm::last_error()).find("no common number of dimensions") != std::string::npos);
  CHECK(std::remove(path.c_str()) == 0);
  CHECK(status_of([&] { return fzgm::decompress_region_file(path, {50, 60}, {40, 30}, part); }) == FZ_FILE);
}

void files_and_buffers(const std::string &program) {
  const std::string path = program + ".fzm"; // several of these programs may run at once
  std::vector<float> x(120 * 100), y(x.size());
  fill(x.data(), x.size());
  auto pipeline = good(fzgm::pipeline::from_text("quantizer(eb=0.001,mode=noa) > rze"));
  const auto plan = good(pipeline.finalize(fzgm::dtype::f32, {120, 100}));
  std::vector<std::byte> memory(good(plan.workspace_bytes())), container(good(plan.max_compressed_bytes()));
  auto ws = good(plan.make_workspace_in(memory));
  container.resize(good(fzgm::compress(plan, ws, x, container)));
  CHECK(status_of([&] { return plan.make_workspace_in({memory.data(), 8}); }) == FZ_INVALID_ARGUMENT);

  CHECK(good(fzgm::compress_file(plan, ws, x, path)) == container.size());
  CHECK(good(fzgm::compress_file(plan, x, path)) == container.size());
  CHECK(good(fzgm::file_info(path)).container_bytes == container.size());
  const auto decoder = good(plan.decoder());
  auto out = good(decoder.make_workspace());
  CHECK(good(fzgm::decompress_file(path, y)) == y.size() * sizeof(float));
  CHECK(good(fzgm::decompress_file(decoder, out, path, y)) == y.size() * sizeof(float));
  CHECK(worst_error(x.data(), y.data(), x.size()) <= 1e-3 * range_of(x.data(), x.size()));
  CHECK(std::remove(path.c_str()) == 0);
  CHECK(status_of([&] { return fzgm::file_info(path); }) == FZ_FILE);

  boxes(path);

  const auto some = good(fzgm::container_info_partial({container.data(), 100}));
  CHECK(!some.complete && some.needed_bytes > 100 && some.needed_bytes <= container.size());
  const auto all = good(fzgm::container_info_partial(container));
  CHECK(all.complete && all.info.dims[1] == 100 && all.info.container_bytes == container.size());
  CHECK(status_of([] { return fzgm::container_info_partial(std::vector<char>(100)); }) == FZ_NOT_A_CONTAINER);
  CHECK(good(good(fzgm::pipeline::from_container(container)).to_text()) == good(pipeline.to_text()));
}

void owners() {
  auto a = good(fzgm::pipeline::make());
  CHECK(good(a.add_stage("rze")) == 0 && a);
  auto b = std::move(a);
  CHECK(!a && b && good(b.stage_count()) == 1);
  CHECK(status_of([&] { return a.stage_count(); }) == FZ_NULL_POINTER);
  a = std::move(b);
  CHECK(a && !b);
  auto &self = a;
  a = std::move(self);
  CHECK(a);
  fz_pipeline *raw = a.release();
  CHECK(!a && raw != nullptr);
  fzgm::pipeline again(raw);
  CHECK(again.get() == raw);
  CHECK(status_of([&] { return again.add_stage("no such stage"); }) == FZ_UNKNOWN_NAME);
}

void texts() {
  const std::string chain = "quantizer(eb=0.5,mode=abs).outlier_vals > rze";
  auto p = good(fzgm::pipeline::from_text(chain));
  CHECK(good(p.to_text()) == chain);
  auto q = good(fzgm::pipeline::from_toml(good(p.to_toml())));
  CHECK(good(q.to_text()) == chain && good(q.to_toml()) == good(p.to_toml()));
  CHECK(good(p.stage_port(1, fzgm::direction::input, 0)).producer_port == 1);
  CHECK(std::string(good(p.stage_info(0)).name) == "quantizer");
  CHECK(std::string(good(p.stage_parameter(0, 1)).value_text) == "0.5");
  CHECK(status_of([&] { return p.set(0, "error_bound", "wide"); }) == FZ_INVALID_ARGUMENT);
  const auto stage = good(p.add_stage("stored"));
  GOOD(p.connect(0, "codes", stage));
  CHECK(status_of([&] { return p.to_text(); }) == FZ_INVALID_PIPELINE);
  CHECK(status_of([] { return fzgm::pipeline::from_text("rze >"); }) == FZ_INVALID_PIPELINE);
}

void listings() {
  for (std::uint32_t i = 0; i < good(fzgm::stage_count()); i++) {
    const fz_stage stage = good(fzgm::stage_info(i));
    CHECK(std::string(good(fzgm::stage_port(i, fzgm::direction::output, 0)).name).size() > 0);
    for (std::uint32_t k = 0; k < stage.parameters; k++) CHECK(good(fzgm::stage_parameter(i, k)).about[0] != '\0');
  }
  CHECK(good(fzgm::preset_count()) >= 3 && good(fzgm::preset_info(0)).name[0] != '\0');
  CHECK(status_of([] { return fzgm::stage_info(1000); }) == FZ_INVALID_ARGUMENT);
  CHECK(fzgm::abi_version() == FZ_ABI_VERSION && fzgm::version()[0] != '\0' && fzgm::build_info()[0] != '\0');
  CHECK(std::string(fzgm::strerror(FZ_OK)) == "ok");
}

// As std::mdspan with layout_stride, which C++17 does not have.
struct span {
  using data_handle_type = float *;
  using element_type = float;
  static constexpr std::size_t rank() { return 2; }
  data_handle_type data_handle() const { return at; }
  std::size_t extent(std::size_t d) const { return d == 0 ? 10 : 20; }
  std::size_t stride(std::size_t d) const { return d == 0 ? 24 : 1; }
  float *at;
};

void views_and_series(const std::string &path) {
  std::vector<float> grid(24 * 14), same(grid.size(), 9.0f);
  fill(grid.data(), grid.size());
  float *inside = grid.data() + 2 * 24 + 2;
  const auto plan = good(good(fzgm::pipeline::from_preset("bits", fzgm::dtype::f32)).finalize(fzgm::dtype::f32, {20, 10}));
  std::vector<std::byte> container(good(plan.max_compressed_bytes())), again(container.size());
  auto ws = good(plan.make_workspace());
  container.resize(good(fzgm::compress_view(plan, ws, {static_cast<const float *>(inside), {20, 10}, {1, 24}}, container)));
  again.resize(good(fzgm::compress_view(plan, span{inside}, again)));
  CHECK(container == again);
  const auto decoder = good(plan.decoder());
  auto out = good(decoder.make_workspace());
  const fzgm::view to(same.data() + 2 * 24 + 2, {20, 10}, {1, 24});
  CHECK(good(fzgm::decompress_view(decoder, out, container, to)) == 800);
  CHECK(good(fzgm::decompress_view(container, to)) == 800);
  for (std::size_t i = 0; i < grid.size(); i++) {
    const bool interior = i / 24 >= 2 && i / 24 < 12 && i % 24 >= 2 && i % 24 < 22;
    CHECK(std::memcmp(&same[i], interior ? &grid[i] : &same[0], sizeof(float)) == 0);
  }
  CHECK(status_of([&] { return fzgm::decompress_view(container, fzgm::view(inside, {20, 10}, {1})); }) == FZ_INVALID_ARGUMENT);

  std::remove(path.c_str());
  {
    auto writer = good(fzgm::series_writer::open(path, false));
    std::vector<float> x(200);
    fill(x.data(), x.size());
    CHECK(good(writer.append("first", plan, ws, x)) == 0);
    CHECK(good(writer.append_container("", container)) == 1);
    CHECK(status_of([&] { return writer.append_container("first", container); }) == FZ_INVALID_ARGUMENT);
    CHECK(status_of([&] { return writer.begin("slabs", fzgm::dtype::f32, {20, 20}, 10); }) == FZ_OK);
    CHECK(status_of([&] { return writer.end(); }) == FZ_PLAN_MISMATCH);
    for (int k = 0; k < 2; k++) CHECK(status_of([&] { return writer.slab(container); }) == FZ_OK);
    CHECK(good(writer.end()) == 2);
    CHECK(status_of([&] { return writer.begin("none", fzgm::dtype::f32, {20, 20}, 10); }) == FZ_OK);
    CHECK(status_of([&] { return writer.abandon(); }) == FZ_OK);
  }
  const auto series = good(fzgm::series::open(path));
  CHECK(good(series.info()).steps == 3 && good(series.find("slabs")) == 2 && good(series.step_info(2)).slabs == 2);
  std::vector<float> whole(400), part(20);
  CHECK(good(series.read(2, whole)) == 1600 && good(series.read_region(2, {0, 15}, {20, 1}, part)) == 80);
  CHECK(std::memcmp(part.data(), whole.data() + 300, 80) == 0 && std::memcmp(whole.data(), inside, 80) == 0);
  CHECK(status_of([&] { return series.read_region(2, {0}, {20, 1}, part); }) == FZ_INVALID_ARGUMENT);
  CHECK(status_of([&] { return series.find("none"); }) == FZ_UNKNOWN_NAME);
  CHECK(std::remove(path.c_str()) == 0);
}

// A GPU is described; without one every call reports that there is none.
void devices() {
  const auto status = status_of([] { return fzgm::device_count(); });
  CHECK(status == FZ_OK || status == FZ_NO_DEVICE);
  CHECK(status_of([] { return fzgm::device_info(0); }) == status);
  auto plan = good(good(fzgm::pipeline::from_text("rze")).finalize(fzgm::dtype::u8, {100}));
  auto ws = good(plan.make_workspace());
  std::vector<char> src(100), dst(1000);
  if (status == FZ_OK) return;
  CHECK(status_of([&] { return plan.preload(ws, nullptr); }) == FZ_NO_DEVICE);
  CHECK(status_of([&] { return fzgm::compress_async(plan, ws, src, dst, nullptr, nullptr); }) == FZ_NO_DEVICE);
  const auto decoder = good(plan.decoder());
  auto other = good(decoder.make_workspace());
  CHECK(status_of([&] { return fzgm::decompress_async(decoder, other, dst, src, nullptr, nullptr); }) == FZ_NO_DEVICE);
  std::vector<std::uint8_t> grid(200), scratch(100);
  const fzgm::view view(grid.data(), {100}, {2});
  CHECK(status_of([&] { return fzgm::compress_view_async(plan, ws, view, scratch, dst, nullptr, nullptr); }) == FZ_NO_DEVICE);
  CHECK(status_of([&] { return fzgm::decompress_view_async(decoder, other, dst, view, scratch, nullptr, nullptr); }) == FZ_NO_DEVICE);
}

} // namespace

int main(int, char **arguments) {
  round_trip();
  files_and_buffers(arguments[0]);
  views_and_series(std::string(arguments[0]) + ".fzs");
  owners();
  texts();
  listings();
  devices();
#ifdef FZGM_NO_EXCEPTIONS
  std::printf("fzgm.hpp without exceptions\n");
#else
  std::printf("fzgm.hpp with exceptions\n");
#endif
  return 0;
}
