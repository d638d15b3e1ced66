// The plugin as a loader sees it, without ADIOS2: memory that ends where ADIOS2 reserves no more, damaged blocks, threads, parameters.
//
//   interface <libfzgm_adios2.so>
// SPDX-License-Identifier: BSD-3-Clause
#include "check.hpp"

#include <adios2/plugin/PluginOperatorInterface.h>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <complex>
#include <limits>
#include <memory>
#include <thread>

using adios2::DataType;
using adios2::Dims;
using adios2::Params;
using plugin = adios2::plugin::PluginOperatorInterface;

static plugin *(*create)(const Params &);
static void (*destroy)(plugin *);

struct destroyer {
  void operator()(plugin *p) const { destroy(p); }
};
using owned = std::unique_ptr<plugin, destroyer>;
static owned make(const Params &params) { return owned(create(params)); }

/** Memory whose last byte is followed by a page without access. */
class fenced {
public:
  explicit fenced(std::size_t bytes) : bytes_(bytes) {
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    all_ = (bytes + page - 1) / page * page + page;
    start_ = static_cast<char *>(mmap(nullptr, all_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    CHECK(start_ != MAP_FAILED);
    CHECK(mprotect(start_ + all_ - page, page, PROT_NONE) == 0);
    data_ = start_ + all_ - page - bytes;
  }
  fenced(const fenced &) = delete;
  fenced &operator=(const fenced &) = delete;
  ~fenced() { munmap(start_, all_); }
  char *data() { return data_; }
  std::size_t size() const { return bytes_; }

private:
  std::size_t bytes_, all_;
  char *start_, *data_;
};

static std::size_t elements(const Dims &count) { return adios2::GetTotalSize(count); }

/** Compresses into memory of the length that ADIOS2 reserves, and restores into memory of the length of the block. */
template <class T> std::vector<T> round_trip(plugin &op, const std::vector<T> &x, const Dims &count, DataType type, std::size_t *stored = nullptr) {
  CHECK(op.IsDataTypeValid(type) && x.size() == elements(count));
  fenced src(x.size() * sizeof(T)), block(op.GetEstimatedSize(x.size(), sizeof(T), count.size(), count.data()));
  if (!x.empty()) std::memcpy(src.data(), x.data(), src.size());
  const std::size_t bytes = op.Operate(src.data(), Dims(count.size(), 0), count, type, block.data());
  CHECK(bytes <= block.size() && bytes <= src.size() + 16);
  fenced exact(bytes), dst(src.size());
  std::memcpy(exact.data(), block.data(), bytes);
  CHECK(op.InverseOperate(exact.data(), bytes, dst.data()) == std::max<std::size_t>(src.size(), 1));
  if (stored != nullptr) *stored = bytes;
  std::vector<T> y(x.size());
  if (!x.empty()) std::memcpy(y.data(), dst.data(), dst.size());
  return y;
}

template <class T> void check_bound(const std::vector<T> &x, const std::vector<T> &y, double bound, bool relative = false) {
  for (std::size_t i = 0; i < x.size(); i++) {
    if (!std::isfinite(x[i])) {
      CHECK(same_bits(x[i], y[i]));
      continue;
    }
    const long double most = relative ? bound * std::fabs(static_cast<long double>(x[i])) : static_cast<long double>(bound);
    CHECK(std::fabs(static_cast<long double>(x[i]) - static_cast<long double>(y[i])) <= most);
  }
}

template <class T> void floats(DataType type) {
  const std::vector<Dims> shapes = {{1},         {2},          {17},          {4096},          {1, 1},          {3, 1},
                                    {33, 65},    {7, 1, 40},   {9, 20, 31},   {3, 4, 10, 21},  {2, 3, 4, 5, 6}, {2, 2, 2, 2, 2, 2, 2, 2, 5, 3},
                                    {1, 1, 500}, {500, 1, 1},  {128, 128}};
  for (const char *preset : {"fast", "high", "pfpl", "fz", "cusz", "cusz_ans", "lc_cr"}) {
    for (const Dims &shape : shapes) {
      auto x = field<T>(elements(shape));
      if (x.size() > 20) {
        x[3] = std::numeric_limits<T>::quiet_NaN();
        x[4] = -std::numeric_limits<T>::infinity();
        x[5] = static_cast<T>(-0.0);
        x[6] = std::numeric_limits<T>::denorm_min();
        x[7] = static_cast<T>(1e20);
      }
      const auto op = make({{"preset", preset}, {"accuracy", "1e-2"}});
      check_bound(x, round_trip(*op, x, shape, type), 1e-2);
    }
  }
  const auto x = field<T>(5000);
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  const double range = static_cast<double>(*high) - static_cast<double>(*low);
  const auto noa = make({{"mode", "noa"}, {"accuracy", "1e-3"}});
  check_bound(x, round_trip(*noa, x, {5000}, type), 1e-3 * range);
  const auto rel = make({{"mode", "rel"}, {"accuracy", "1e-3"}});
  check_bound(x, round_trip(*rel, x, {5000}, type), 1e-3, true);
  CHECK(rel->GetAccuracy().error >= 0.9999e-3 && rel->GetAccuracy().relative);
  // Without accuracy nothing is lost, -0 included, and so it is of integers with one.
  auto special = x;
  special[9] = static_cast<T>(-0.0);
  std::size_t stored = 0;
  CHECK(std::memcmp(round_trip(*make({}), special, {50, 100}, type, &stored).data(), special.data(), special.size() * sizeof(T)) == 0);
  CHECK(stored < special.size() * sizeof(T));
  // A declared fill value is exact, and outside of the range.
  auto filled = x;
  for (std::size_t i = 0; i < filled.size(); i += 7) filled[i] = static_cast<T>(-1e30);
  const auto fill = make({{"mode", "noa"}, {"accuracy", "1e-3"}, {"fill", "nan,-1e30"}});
  const auto y = round_trip(*fill, filled, {5000}, type);
  for (std::size_t i = 0; i < filled.size(); i++) {
    if (i % 7 == 0) CHECK(same_bits(filled[i], y[i]));
    else CHECK(std::fabs(static_cast<double>(filled[i]) - static_cast<double>(y[i])) <= 1e-3 * range);
  }
  // A block that does not shrink is stored uncompressed, 16 bytes longer.
  const auto random = noise<T>(3000);
  for (const Params &params : {Params{}, Params{{"accuracy", sizeof(T) == 4 ? "1e-38" : "1e-307"}}}) {
    CHECK(std::memcmp(round_trip(*make(params), random, {3000}, type, &stored).data(), random.data(), 3000 * sizeof(T)) == 0);
    CHECK(stored == 3000 * sizeof(T) + 16);
  }
  CHECK(round_trip(*make({{"accuracy", "1"}}), std::vector<T>(), {0}, type, &stored).empty() && stored == 16);
  CHECK(round_trip(*make({{"accuracy", "1"}}), std::vector<T>(), {3, 0, 4}, type, &stored).empty() && stored == 16);
}

template <class T> void lossless(DataType type) {
  for (const Dims &shape : std::vector<Dims>{{0}, {1}, {5}, {1000}, {30, 40}, {3, 4, 5, 6}}) {
    std::vector<T> x(elements(shape));
    for (std::size_t i = 0; i < x.size(); i++) x[i] = static_cast<T>(i / 7);
    for (const Params &params : {Params{}, Params{{"accuracy", "10"}, {"preset", "high"}}}) {
      const auto y = round_trip(*make(params), x, shape, type);
      CHECK(x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0);
    }
    if (x.size() == 1000) {
      std::size_t stored = 0;
      round_trip(*make({}), x, shape, type, &stored);
      CHECK(sizeof(T) == 1 || stored < x.size() * sizeof(T));
    }
  }
}

template <class T> void complex_numbers(DataType type) {
  std::vector<std::complex<T>> x(6000);
  for (std::size_t i = 0; i < x.size(); i++) {
    x[i] = {static_cast<T>(std::sin(static_cast<double>(i) / 50)), static_cast<T>(std::cos(static_cast<double>(i) / 50))};
  }
  x[5] = {std::numeric_limits<T>::quiet_NaN(), static_cast<T>(0.5)};
  for (const char *preset : {"fast", "high", "pfpl"}) {
    const auto op = make({{"accuracy", "1e-3"}, {"preset", preset}});
    std::size_t stored = 0;
    const auto y = round_trip(*op, x, {60, 100}, type, &stored);
    CHECK(stored < x.size() * sizeof(x[0]) / 2);
    for (std::size_t i = 0; i < x.size(); i++) {
      if (i == 5) CHECK(same_bits(x[i].real(), y[i].real()));
      else CHECK(std::fabs(static_cast<double>(x[i].real()) - static_cast<double>(y[i].real())) <= 1e-3);
      CHECK(std::fabs(static_cast<double>(x[i].imag()) - static_cast<double>(y[i].imag())) <= 1e-3);
    }
  }
}

/** Blocks with one wrong byte, all their beginnings, and headers that lie: an exception, or for a wrong byte that does not matter the block. */
static void damage(std::size_t count, const Params &params, bool compresses) {
  const auto x = compresses ? field<float>(count) : noise<float>(count);
  const auto op = make(params);
  std::vector<char> block(op->GetEstimatedSize(count, 4, 1, &count));
  block.resize(op->Operate(reinterpret_cast<const char *>(x.data()), {0}, {count}, DataType::Float, block.data()));
  CHECK((block[4] == 1) == compresses);
  fenced dst(count * 4);
  std::size_t refused = 0, restored = 0;
  const auto attempt = [&](const char *bytes, std::size_t length) {
    try {
      op->InverseOperate(bytes, length, dst.data());
      restored++;
    } catch (const std::exception &e) {
      CHECK(std::strncmp(e.what(), "fzgm: a block cannot be restored: ", 34) == 0);
      refused++;
    }
  };
  // With the plan that is kept from a good block, too.
  attempt(block.data(), block.size());
  CHECK(restored == 1 && refused == 0);
  restored = 0;
  for (std::size_t i = 0; i < block.size(); i++) {
    for (const int flip : {1, 0x80, 0xFF}) {
      fenced bad(block.size());
      std::memcpy(bad.data(), block.data(), block.size());
      bad.data()[i] = static_cast<char>(bad.data()[i] ^ flip);
      attempt(bad.data(), bad.size());
    }
  }
  CHECK(refused == 3 * block.size() && restored == 0);
  for (std::size_t length = 0; length < block.size(); length++) {
    fenced bad(length);
    std::memcpy(bad.data(), block.data(), length);
    attempt(bad.data(), length);
  }
  CHECK(refused == 4 * block.size() && restored == 0);
  // ADIOS2 subtracts the length of its own header from that of the block without a look at either.
  attempt(block.data(), std::numeric_limits<std::size_t>::max() - 20);
  std::vector<char> longer = block;
  longer.push_back(0);
  attempt(longer.data(), longer.size());
  CHECK(refused == 4 * block.size() + 2 && restored == 0);
  attempt(block.data(), block.size());
  CHECK(restored == 1);
}

static void texts() {
  const auto wrong = [](const Params &params, const char *expected) {
    std::printf("  %s\n", thrown(expected, [&] { make(params); }).c_str());
  };
  wrong({{"bound", "1e-3"}}, "there is no parameter \"bound\"; parameters: preset, mode, accuracy, fill, device, threads, order");
  for (const char *text : {"0", "-1", "nan", "inf", "1e-3x", "0,001", "1e999", "one"}) {
    wrong({{"accuracy", text}}, "; expected a finite number greater than 0, such as 1e-3");
  }
  wrong({{"accuracy", ""}}, "parameter accuracy is empty");
  wrong({{"accuracy", "1"}, {"mode", "absolute"}}, "parameter mode is \"absolute\"; expected abs, noa, prel, rel, or lossless");
  wrong({{"accuracy", "1"}, {"preset", "fats"}}, "parameter preset is \"fats\": ");
  wrong({{"preset", "fast"}}, "parameter accuracy is missing for preset fast");
  wrong({{"mode", "abs"}}, "parameter accuracy is missing for mode abs");
  wrong({{"mode", "lossless"}, {"accuracy", "1"}}, "parameter accuracy is 1, but mode lossless has no bound");
  wrong({{"preset", "bits"}, {"accuracy", "1"}}, "parameter accuracy is 1, but preset bits loses nothing");
  wrong({{"preset", "exact"}, {"accuracy", "1"}}, "parameter accuracy is 1, but preset exact loses nothing");
  wrong({{"preset", "bits"}, {"mode", "abs"}}, "parameter mode is abs, but preset bits loses nothing");
  wrong({{"preset", "high"}, {"mode", "lossless"}}, "parameter preset is high, but mode lossless has no bound");
  wrong({{"accuracy", "1"}, {"fill", "0"}}, "parameter fill is \"0\"; expected numbers other than 0");
  wrong({{"accuracy", "1"}, {"fill", "1,"}}, "parameter fill is \"1,\"; expected numbers other than 0");
  wrong({{"device", "gpu"}}, "parameter device is \"gpu\"; expected auto, cpu, or cuda:N");
  wrong({{"device", "cuda:"}}, "expected auto, cpu, or cuda:N");
  wrong({{"threads", "-1"}}, "parameter threads is \"-1\"; expected 0 (all cores) to 1024");
  wrong({{"threads", "1025"}}, "expected 0 (all cores) to 1024");
  wrong({{"order", "fortran"}}, "parameter order is \"fortran\"; expected C or F");
  wrong({{"accuracy", "1e-3"}, {"mode", "rel"}, {"preset", "fast"}}, "fzgm: the parameters are not for elements of type float: fast: ");
  // Without a driver, a GPU is not there.
  if (std::getenv("FZGM_REQUIRE_GPU") == nullptr) wrong({{"device", "cuda:77"}}, "parameter device is \"cuda:77\": ");
  // Wrong for one type: ADIOS2 queries each variable.
  const auto narrow = make({{"accuracy", "1e-7"}, {"mode", "rel"}});
  CHECK(narrow->IsDataTypeValid(DataType::Float) && narrow->IsDataTypeValid(DataType::Int32));
  for (const DataType type : {DataType::Double, DataType::DoubleComplex}) {
    std::printf("  %s\n", thrown("fzgm: the parameters are not for elements of type double: ", [&] { narrow->IsDataTypeValid(type); }).c_str());
  }
  const auto op = make({});
  for (const DataType type : {DataType::None, DataType::String, DataType::Struct}) CHECK(!op->IsDataTypeValid(type));
  char block[64];
  thrown("elements of type number", [&] { op->Operate(block, {}, {1}, DataType::String, block); });
  thrown("write smaller blocks", [&] { op->Operate(block, {}, {SIZE_MAX / 2, SIZE_MAX / 2}, DataType::Double, block); });
  op->AddExtraParameters({{"EngineName", "out.bp"}, {"VariableName", "T"}});
  thrown("a block of variable T cannot be restored", [&] { op->InverseOperate(block, 3, block); });
}

static void accuracies() {
  const auto x = field<double>(2000);
  const auto provided = [&x](const Params &params) {
    const auto op = make(params);
    op->SetAccuracy({1e-9, 0.0, false});
    round_trip(*op, x, {2000}, DataType::Double);
    return op->GetAccuracy();
  };
  const auto is = [](adios2::Accuracy a, double error, bool relative) {
    return std::fabs(a.error - error) <= 1e-6 * error && std::isinf(a.norm) && a.relative == relative;
  };
  CHECK(is(provided({}), 0.0, false));
  CHECK(is(provided({{"accuracy", "1e-2"}}), 1e-2, false));
  CHECK(is(provided({{"accuracy", "1e-2"}, {"mode", "prel"}}), 1e-2, true));
  CHECK(is(provided({{"accuracy", "1e-2"}, {"mode", "noa"}}), 2e-2, true));
  CHECK(is(provided({{"accuracy", "1e-2"}, {"mode", "rel"}}), 1e-2, true));
}

/** One operator in many threads, with blocks of other shapes in each; and one with threads of its own, whose bytes are the same. */
static void in_threads() {
  const auto op = make({{"accuracy", "1e-2"}});
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 6; t++) {
    threads.emplace_back([&op, t] {
      for (std::size_t i = 0; i < 40; i++) {
        const Dims shape = {10 + t % 3, 50 + i % 2};
        const auto x = field<float>(elements(shape), 100.0 + static_cast<double>(t));
        check_bound(x, round_trip(*op, x, shape, DataType::Float), 1e-2);
      }
    });
  }
  for (auto &thread : threads) thread.join();
  const std::size_t count = 100000;
  const auto x = field<float>(count);
  std::vector<char> first;
  for (const char *number : {"1", "3", "0"}) {
    const auto with = make({{"accuracy", "1e-2"}, {"threads", number}});
    std::vector<char> block(with->GetEstimatedSize(count, 4, 1, &count));
    block.resize(with->Operate(reinterpret_cast<const char *>(x.data()), {0}, {count}, DataType::Float, block.data()));
    if (first.empty()) first = block;
    CHECK(block == first);
  }
}

/** Numbers that the program of a user may print in another form. */
static void other_locale() {
  if (std::setlocale(LC_ALL, "de_DE.UTF-8") == nullptr) std::puts("  (this system has no locale with a decimal comma)");
  const auto x = field<float>(1000);
  check_bound(x, round_trip(*make({{"accuracy", "0.25"}, {"fill", "-9999.5"}}), x, {1000}, DataType::Float), 0.25);
  std::setlocale(LC_ALL, "C");
}

static void order() {
  // Fast along the first dimension: told so, the operator predicts along it.
  std::vector<float> x(200 * 300);
  for (std::size_t i = 0; i < x.size(); i++) {
    x[i] = static_cast<float>(std::sin(static_cast<double>(i % 200) / 30) * std::cos(static_cast<double>(i / 200) / 40));
  }
  std::size_t c = 0, f = 0;
  const Params high = {{"accuracy", "1e-4"}, {"preset", "high"}};
  Params told = high;
  told["order"] = "F";
  check_bound(x, round_trip(*make(high), x, {200, 300}, DataType::Float, &c), 1e-4);
  check_bound(x, round_trip(*make(told), x, {200, 300}, DataType::Float, &f), 1e-4);
  std::printf("  first dimension fastest: %zu bytes with order C, %zu with order F\n", c, f);
  CHECK(f < c);
}

/** The bytes of the page docs/adios2.md. */
static void format() {
  const unsigned char expected[] = {'F', 'Z', 'A', 1, 0, 5, 4, 0, 0, 0, 0, 0};
  const std::int16_t x[2] = {0x0201, 0x0403};
  unsigned char block[20];
  CHECK(make({})->Operate(reinterpret_cast<const char *>(x), {0}, {2}, DataType::Int16, reinterpret_cast<char *>(block)) == 20);
  CHECK(std::memcmp(block, expected, sizeof expected) == 0 && block[16] == 1 && block[19] == 4);
  std::uint32_t crc = ~0u;
  for (std::size_t i = 0; i < 20; i++) {
    if (i >= 12 && i < 16) continue;
    crc ^= block[i];
    for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xEDB88320u : 0u);
  }
  crc = ~crc;
  for (std::size_t i = 0; i < 4; i++) CHECK(block[12 + i] == (crc >> 8 * i & 255));
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), 1;
  *reinterpret_cast<void **>(&create) = dlsym(library, "OperatorCreate");
  *reinterpret_cast<void **>(&destroy) = dlsym(library, "OperatorDestroy");
  CHECK(create != nullptr && destroy != nullptr);
  floats<float>(DataType::Float);
  floats<double>(DataType::Double);
  lossless<std::int8_t>(DataType::Int8);
  lossless<std::uint8_t>(DataType::UInt8);
  lossless<char>(DataType::Char);
  lossless<std::int16_t>(DataType::Int16);
  lossless<std::uint16_t>(DataType::UInt16);
  lossless<std::int32_t>(DataType::Int32);
  lossless<std::uint32_t>(DataType::UInt32);
  lossless<std::int64_t>(DataType::Int64);
  lossless<std::uint64_t>(DataType::UInt64);
  complex_numbers<float>(DataType::FloatComplex);
  complex_numbers<double>(DataType::DoubleComplex);
  // Padding bytes of long double included.
  const auto words = noise<long double>(500);
  const auto back = round_trip(*make({{"accuracy", "1"}}), words, {20, 25}, DataType::LongDouble);
  CHECK(std::memcmp(words.data(), back.data(), words.size() * sizeof words[0]) == 0);
  std::puts("ok  types, shapes, presets, and modes");
  damage(300, {{"accuracy", "1e-2"}}, true);
  damage(300, {{"accuracy", "1e-2"}, {"preset", "high"}}, true);
  damage(300, {}, true);
  damage(100, {}, false);
  std::puts("ok  damaged blocks");
  texts();
  std::puts("ok  texts of errors");
  accuracies();
  in_threads();
  other_locale();
  order();
  format();
  std::puts("ok  accuracies, threads, locales, order of dimensions, bytes of the header");
  return 0;
}
