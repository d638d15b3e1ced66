/* fzgm: C++17 interface. Wraps fzgm.h with owning handle classes, views of memory, and exceptions.
 * Header only. SPDX-License-Identifier: BSD-3-Clause
 *
 * Quick start
 *
 *   auto container = fzgm::compress("fast", {nx, ny, nz}, fzgm::mode::abs, 0.01, field);
 *   fzgm::decompress(container, restored);
 *
 * For several arrays of one shape, or for a pipeline of your own:
 *
 *   auto pipeline = fzgm::pipeline::from_text("lorenzo_quant(eb=1e-3,mode=noa) > bitshuffle(width=2) > rze");
 *   auto plan = pipeline.finalize(fzgm::dtype::f32, {nx, ny, nz});
 *   auto workspace = plan.make_workspace();
 *   std::vector<std::byte> container(plan.max_compressed_bytes());
 *   container.resize(fzgm::compress(plan, workspace, field, container));
 *   fzgm::decompress(container, restored);
 *
 * Rules
 *
 *   - Every function calls the C function of the same name, which fzgm.h documents. The rules of fzgm.h
 *     for threads, lifetimes, and streams apply.
 *   - A function that fails throws an fzgm::error with its status and error text.
 *   - If FZGM_NO_EXCEPTIONS is defined, or exceptions are disabled in the compiler, nothing is thrown.
 *     A function that otherwise returns T then returns an fzgm::result<T>. It converts to true on
 *     success and contains the value in value(). A program may contain both forms.
 *   - pipeline, plan, and workspace own their handles. They are movable and not copyable. An empty
 *     object, for example after a move, is passed to C as NULL.
 */
#ifndef FZGM_HPP
#define FZGM_HPP

#include <fzgm.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#if !defined(FZGM_NO_EXCEPTIONS) && !defined(__cpp_exceptions)
#define FZGM_NO_EXCEPTIONS
#endif
#ifndef FZGM_NO_EXCEPTIONS
#include <stdexcept>
#endif

namespace fzgm {

/** Element types, see fz_dtype. */
enum class dtype : std::int32_t {
  u8 = FZ_U8, u16 = FZ_U16, u32 = FZ_U32, u64 = FZ_U64,
  i8 = FZ_I8, i16 = FZ_I16, i32 = FZ_I32, i64 = FZ_I64,
  f32 = FZ_F32, f64 = FZ_F64,
};

/** Directions of ports, see fz_port_direction. */
enum class direction : std::int32_t { input = FZ_PORT_INPUT, output = FZ_PORT_OUTPUT };

/** Instead of a stage index: every stage that has the parameter. */
inline constexpr std::uint32_t every_stage = FZ_EVERY_STAGE;

/** Element type of an arithmetic C++ type. */
template <class T> constexpr dtype dtype_of() {
  using U = std::remove_cv_t<T>;
  static_assert(std::is_arithmetic_v<U> && !std::is_same_v<U, bool> && sizeof(U) <= 8, "not an element type of fzgm");
  if constexpr (std::is_floating_point_v<U>) {
    return sizeof(U) == 4 ? dtype::f32 : dtype::f64;
  } else {
    constexpr int width = sizeof(U) == 1 ? 0 : sizeof(U) == 2 ? 1 : sizeof(U) == 4 ? 2 : 3;
    return static_cast<dtype>(width + (std::is_signed_v<U> ? FZ_I8 : FZ_U8));
  }
}

namespace traits {

template <class C> using element = std::remove_pointer_t<decltype(std::data(std::declval<C &>()))>;

/* True if C is a container, a span, or an array of trivially copyable elements, which are writable if `Written` is true. */
template <class C, bool Written, class = void> struct is_memory : std::false_type {};
template <class C, bool Written>
struct is_memory<C, Written, std::void_t<element<C>, decltype(std::size(std::declval<C &>()))>>
    : std::bool_constant<std::is_trivially_copyable_v<element<C>> && !(Written && std::is_const_v<element<C>>)> {};

template <class T> struct is_list : std::false_type {};
template <class T> struct is_list<std::initializer_list<T>> : std::true_type {};

} // namespace traits

/** View of host or device memory to read: a pointer and a length in bytes, or any object with data() and size(). */
class const_bytes {
public:
  const_bytes(const void *data, std::uint64_t size) noexcept : data_(data), size_(size) {}
  template <class C, class = std::enable_if_t<traits::is_memory<const C, false>::value && !traits::is_list<C>::value>>
  const_bytes(const C &c) noexcept : data_(std::data(c)), size_(std::size(c) * sizeof(traits::element<const C>)) {}
  const void *data() const noexcept { return data_; }
  std::uint64_t size() const noexcept { return size_; }

private:
  const void *data_;
  std::uint64_t size_;
};

/** View of host or device memory to write; otherwise the same as const_bytes. */
class mutable_bytes {
public:
  mutable_bytes(void *data, std::uint64_t size) noexcept : data_(data), size_(size) {}
  template <class C, class = std::enable_if_t<traits::is_memory<C, true>::value && !std::is_same_v<std::decay_t<C>, mutable_bytes>>>
  mutable_bytes(C &&c) noexcept : data_(std::data(c)), size_(std::size(c) * sizeof(traits::element<C>)) {}
  void *data() const noexcept { return data_; }
  std::uint64_t size() const noexcept { return size_; }

private:
  void *data_;
  std::uint64_t size_;
};

/** Lengths of 1 to FZ_MAX_DIMS dimensions in elements, x first. Functions that use a shape with more dimensions fail. */
class shape {
public:
  shape(std::initializer_list<std::uint64_t> dims) noexcept : shape(dims.begin(), dims.size()) {}
  shape(const std::uint64_t *dims, std::size_t ndim) noexcept : ndim_(static_cast<std::uint32_t>(ndim <= FZ_MAX_DIMS ? ndim : FZ_MAX_DIMS + 1)) {
    for (std::size_t d = 0; d < ndim && d < FZ_MAX_DIMS; d++) dims_[d] = dims[d];
  }
  template <class C, class = std::enable_if_t<std::is_same_v<std::remove_const_t<traits::element<const C>>, std::uint64_t>>>
  shape(const C &dims) noexcept : shape(std::data(dims), std::size(dims)) {}
  const std::uint64_t *data() const noexcept { return dims_; }
  std::uint32_t size() const noexcept { return ndim_; }

private:
  std::uint64_t dims_[FZ_MAX_DIMS] = {};
  std::uint32_t ndim_;
};

/* The two forms have different linker names, so that a program may contain both. */
#ifdef FZGM_NO_EXCEPTIONS
inline namespace returning {

/** Value of a call, or its status on failure; fz_last_error() returns the error text. */
template <class T> class [[nodiscard]] result {
public:
  result(std::int32_t status, T &&value) : status_(status), value_(std::move(value)) {}
  explicit operator bool() const noexcept { return status_ == FZ_OK; }
  std::int32_t status() const noexcept { return status_; }
  /** The value; empty or zero on failure. */
  T &value() & noexcept { return value_; }
  const T &value() const & noexcept { return value_; }
  T value() && { return std::move(value_); }

private:
  std::int32_t status_;
  T value_;
};

template <> class [[nodiscard]] result<void> {
public:
  explicit result(std::int32_t status) noexcept : status_(status) {}
  explicit operator bool() const noexcept { return status_ == FZ_OK; }
  std::int32_t status() const noexcept { return status_; }

private:
  std::int32_t status_;
};

namespace detail {
template <class T> result<T> outcome(std::int32_t status, T value) { return result<T>(status, std::move(value)); }
inline result<void> outcome(std::int32_t status) { return result<void>(status); }
} // namespace detail
#else
inline namespace throwing {

/** Exception of a failed call; what() is the text of fz_last_error(). */
class error : public std::runtime_error {
public:
  explicit error(std::int32_t status) : std::runtime_error(fz_last_error()), status_(status) {}
  /** Status of the call, an fz_status. */
  std::int32_t status() const noexcept { return status_; }

private:
  std::int32_t status_;
};

template <class T> using result = T;

namespace detail {
inline void outcome(std::int32_t status) {
  if (status != FZ_OK) throw error(status);
}
template <class T> T outcome(std::int32_t status, T value) {
  outcome(status);
  return value;
}
} // namespace detail
#endif

namespace detail {

/* Owns a handle. */
template <class H, void (*Free)(H *)> class owner {
public:
  owner() noexcept = default;
  explicit owner(H *raw) noexcept : raw_(raw) {}
  owner(owner &&other) noexcept : raw_(other.release()) {}
  owner &operator=(owner &&other) noexcept {
    if (this != &other) {
      Free(raw_);
      raw_ = other.release();
    }
    return *this;
  }
  owner(const owner &) = delete;
  owner &operator=(const owner &) = delete;
  ~owner() { Free(raw_); }
  explicit operator bool() const noexcept { return raw_ != nullptr; }
  /** Returns the handle for C functions; the object keeps ownership. */
  H *get() const noexcept { return raw_; }
  /** Returns the handle and gives up ownership: the caller must free the handle. */
  H *release() noexcept { return std::exchange(raw_, nullptr); }

private:
  H *raw_ = nullptr;
};

/* A zeroed structure with struct_bytes set. */
template <class T> T sized() noexcept {
  T made{};
  made.struct_bytes = sizeof(T);
  return made;
}

} // namespace detail

/** Working memory, see fz_workspace: one call at a time. */
class workspace : public detail::owner<fz_workspace, fz_workspace_free> {
public:
  using owner::owner;
};

/** Returns the default options; change individual fields. */
inline fz_options options() noexcept {
  fz_options made{};
  fz_options_init(&made);
  return made;
}

/** Optional options: a copy, or the defaults if none are given. */
class chosen_options {
public:
  chosen_options() noexcept = default;
  chosen_options(const fz_options &options) noexcept : options_(options), given_(true) {}
  chosen_options(const fz_options *options) noexcept : given_(options != nullptr) {
    if (given_) options_ = *options;
  }
  const fz_options *get() const noexcept { return given_ ? &options_ : nullptr; }

private:
  fz_options options_{};
  bool given_ = false;
};

/** Encoder or decoder for one element type and shape, see fz_plan. Any number of threads may use a plan at the same time. */
class plan : public detail::owner<fz_plan, fz_plan_free> {
public:
  using owner::owner;

  /** Creates the decoder of a container from its header. */
  static result<plan> open(const_bytes container, const chosen_options &options = {}) {
    fz_plan *made = nullptr;
    const std::int32_t status = fz_plan_open(container.data(), container.size(), options.get(), &made);
    return detail::outcome(status, plan(made));
  }
  /** Creates the decoder of all containers of this encoder. */
  result<plan> decoder() const {
    fz_plan *made = nullptr;
    const std::int32_t status = fz_plan_decoder(get(), &made);
    return detail::outcome(status, plan(made));
  }
  /** Returns a capacity in bytes that is sufficient for every array. */
  result<std::uint64_t> max_compressed_bytes() const {
    std::uint64_t bytes = 0;
    const std::int32_t status = fz_max_compressed_bytes(get(), &bytes);
    return detail::outcome(status, bytes);
  }
  /** Returns the size of a workspace in bytes, see fz_workspace_bytes(). */
  result<std::uint64_t> workspace_bytes() const {
    std::uint64_t bytes = 0;
    const std::int32_t status = fz_workspace_bytes(get(), &bytes);
    return detail::outcome(status, bytes);
  }
  /** Creates a workspace for this plan. */
  result<workspace> make_workspace() const {
    fz_workspace *made = nullptr;
    const std::int32_t status = fz_workspace_new(get(), &made);
    return detail::outcome(status, workspace(made));
  }
  /** Creates a workspace in host memory of at least workspace_bytes(). Only the workspace may use the memory until it is destroyed. */
  result<workspace> make_workspace_in(mutable_bytes memory) const {
    fz_workspace *made = nullptr;
    const std::int32_t status = fz_workspace_from_buffer(get(), memory.data(), memory.size(), &made);
    return detail::outcome(status, workspace(made));
  }
  /** Prepares a workspace for asynchronous calls on `stream`, see fz_plan_preload(). */
  result<void> preload(workspace &ws, fz_cuda_stream stream) const {
    return detail::outcome(fz_plan_preload(get(), ws.get(), stream));
  }
};

/** Stages, their parameters, and their connections, see fz_pipeline. */
class pipeline : public detail::owner<fz_pipeline, fz_pipeline_free> {
public:
  /** Takes ownership of a C handle. Create pipelines with the functions below; a pipeline is empty only after a move. */
  explicit pipeline(fz_pipeline *raw) noexcept : owner(raw) {}

  /** Creates a pipeline without stages, for add_stage() and connect(). */
  static result<pipeline> make() {
    fz_pipeline *made = nullptr;
    const std::int32_t status = fz_pipeline_new(&made);
    return detail::outcome(status, pipeline(made));
  }
  /** Creates the pipeline of a preset for arrays of `type`. */
  static result<pipeline> from_preset(const std::string &name, dtype type) {
    fz_pipeline *made = nullptr;
    const std::int32_t status = fz_pipeline_from_preset(name.c_str(), static_cast<std::int32_t>(type), &made);
    return detail::outcome(status, pipeline(made));
  }
  /** Creates a pipeline from TOML text. */
  static result<pipeline> from_toml(const std::string &toml) {
    fz_pipeline *made = nullptr;
    const std::int32_t status = fz_pipeline_from_toml(toml.c_str(), &made);
    return detail::outcome(status, pipeline(made));
  }
  /** Creates a pipeline from a chain of stages. */
  static result<pipeline> from_text(const std::string &chain) {
    fz_pipeline *made = nullptr;
    const std::int32_t status = fz_pipeline_from_text(chain.c_str(), &made);
    return detail::outcome(status, pipeline(made));
  }
  /** Creates the pipeline that wrote a container. */
  static result<pipeline> from_container(const_bytes container) {
    fz_pipeline *made = nullptr;
    const std::int32_t status = fz_pipeline_from_container(container.data(), container.size(), &made);
    return detail::outcome(status, pipeline(made));
  }
  result<std::string> to_toml() const { return written(fz_pipeline_to_toml); }
  result<std::string> to_text() const { return written(fz_pipeline_to_text); }

  /** Adds a stage; returns its index. */
  result<std::uint32_t> add_stage(const std::string &name) {
    std::uint32_t stage = 0;
    const std::int32_t status = fz_pipeline_add_stage(get(), name.c_str(), &stage);
    return detail::outcome(status, stage);
  }
  /** Connects an output port of `producer` to the next input of `consumer`. */
  result<void> connect(std::uint32_t producer, const std::string &port, std::uint32_t consumer) {
    return detail::outcome(fz_pipeline_connect(get(), producer, port.c_str(), consumer));
  }
  /** Sets a parameter of one stage, or with every_stage of each stage with this parameter, from a number, a flag, or text. */
  template <class T> result<void> set(std::uint32_t stage, const std::string &parameter, const T &value) {
    if constexpr (std::is_floating_point_v<T>) {
      return detail::outcome(fz_pipeline_set_double(get(), stage, parameter.c_str(), static_cast<double>(value)));
    } else if constexpr (std::is_integral_v<T>) {
      return detail::outcome(fz_pipeline_set_int(get(), stage, parameter.c_str(), static_cast<std::int64_t>(value)));
    } else {
      return detail::outcome(fz_pipeline_set_string(get(), stage, parameter.c_str(), std::string(value).c_str()));
    }
  }

  result<std::uint32_t> stage_count() const {
    std::uint32_t count = 0;
    const std::int32_t status = fz_pipeline_stage_count(get(), &count);
    return detail::outcome(status, count);
  }
  result<fz_stage> stage_info(std::uint32_t stage) const {
    auto info = detail::sized<fz_stage>();
    const std::int32_t status = fz_pipeline_stage_info(get(), stage, &info);
    return detail::outcome(status, info);
  }
  result<fz_port> stage_port(std::uint32_t stage, direction way, std::uint32_t port) const {
    auto info = detail::sized<fz_port>();
    const std::int32_t status = fz_pipeline_stage_port(get(), stage, static_cast<std::int32_t>(way), port, &info);
    return detail::outcome(status, info);
  }
  result<fz_parameter> stage_parameter(std::uint32_t stage, std::uint32_t parameter) const {
    auto info = detail::sized<fz_parameter>();
    const std::int32_t status = fz_pipeline_stage_parameter(get(), stage, parameter, &info);
    return detail::outcome(status, info);
  }

  /** Creates the encoder for arrays of one element type and shape. */
  result<plan> finalize(dtype type, shape dims, const chosen_options &options = {}) const {
    fz_plan *made = nullptr;
    const std::int32_t status =
        fz_pipeline_finalize(get(), static_cast<std::int32_t>(type), dims.data(), dims.size(), options.get(), &made);
    return detail::outcome(status, plan(made));
  }

private:
  result<std::string> written(std::int32_t (*write)(const fz_pipeline *, char *, std::uint64_t, std::uint64_t *)) const {
    std::uint64_t bytes = 0;
    std::string text;
    std::int32_t status = write(get(), nullptr, 0, &bytes);
    if (status == FZ_OK) {
      text.resize(static_cast<std::size_t>(bytes)); // including the terminating zero, which is removed below
      status = write(get(), text.data(), bytes, &bytes);
      text.pop_back();
    }
    return detail::outcome(status, std::move(text));
  }
};

/** The reference of a bound, see fz_mode. */
enum class mode : std::int32_t {
  lossless = FZ_MODE_LOSSLESS, abs = FZ_MODE_ABS, rel = FZ_MODE_REL, noa = FZ_MODE_NOA, prel = FZ_MODE_PREL,
};

/**
 * Compresses an array with a preset: `auto container = fzgm::compress("fast", {nx, ny, nz}, fzgm::mode::abs, 0.01, field)`.
 * The element type is that of `src`. `Bytes` is a vector or string of 1-byte elements.
 */
template <class Bytes = std::vector<std::byte>, class C>
result<Bytes> compress(const std::string &preset, shape dims, mode what, double bound, const C &src) {
  const std::int32_t type = static_cast<std::int32_t>(dtype_of<traits::element<const C>>());
  const const_bytes given(src);
  const auto call = [&](void *dst, std::uint64_t capacity, std::uint64_t *bytes) {
    return fz_compress_simple(preset.c_str(), type, dims.data(), dims.size(), static_cast<std::int32_t>(what), bound, given.data(),
                              given.size(), dst, capacity, bytes);
  };
  static_assert(sizeof(traits::element<Bytes>) == 1, "Bytes must have elements of 1 byte");
  std::uint64_t bytes = 0;
  Bytes container;
  std::int32_t status = call(nullptr, 0, &bytes);
  if (status == FZ_OK) {
    container.resize(static_cast<std::size_t>(bytes));
    status = call(container.data(), bytes, &bytes);
    container.resize(status == FZ_OK ? static_cast<std::size_t>(bytes) : 0);
  }
  return detail::outcome(status, std::move(container));
}

/** Searches an array in host or device memory for undeclared fill values; `found` is 0 if there is none. */
template <class C> result<fz_fill> find_fill_value(const C &src, double outlier_threshold = HUGE_VAL) {
  auto fill = detail::sized<fz_fill>();
  const const_bytes given(src);
  const std::int32_t status = fz_find_fill_value(static_cast<std::int32_t>(dtype_of<traits::element<const C>>()), given.data(),
                                                 given.size(), outlier_threshold, &fill);
  return detail::outcome(status, fill);
}

/** Goals of choose(), see fz_goal. */
enum class goal : std::int32_t { balanced = FZ_GOAL_BALANCED, speed = FZ_GOAL_SPEED, ratio = FZ_GOAL_RATIO };

/** Returns a request to choose() without bound and target; set fields. */
inline fz_wish wish() noexcept { return detail::sized<fz_wish>(); }

/** Result of choose(). */
struct choice {
  fzgm::pipeline pipeline;
  /** Preset, mode, error bound, expected ratio, and lattice of the pipeline. */
  fz_choice info;
};

/** Chooses a pipeline for an array in host or device memory. The element type is that of `src`. */
template <class C> result<choice> choose(shape dims, const fz_wish &request, const C &src) {
  fz_pipeline *made = nullptr;
  auto info = detail::sized<fz_choice>();
  const const_bytes given(src);
  const std::int32_t status = fz_pipeline_choose(&request, static_cast<std::int32_t>(dtype_of<traits::element<const C>>()), dims.data(),
                                                 dims.size(), given.data(), given.size(), &made, &info);
  return detail::outcome(status, choice{pipeline(made), info});
}

/** As above, within an error bound; with mode::lossless and a bound of 0 the pipeline is lossless. */
template <class C> result<choice> choose(shape dims, mode what, double bound, const C &src, goal aim = goal::balanced) {
  fz_wish request = wish();
  request.goal = static_cast<std::int32_t>(aim);
  request.mode = static_cast<std::int32_t>(what);
  request.bound = bound;
  return choose(dims, request, src);
}

/** Compresses `src` into `dst`; returns the length of the container in bytes. */
inline result<std::uint64_t> compress(const plan &encoder, workspace &ws, const_bytes src, mutable_bytes dst) {
  std::uint64_t bytes = 0;
  const std::int32_t status =
      fz_compress(encoder.get(), ws.get(), src.data(), src.size(), dst.data(), dst.size(), &bytes);
  return detail::outcome(status, bytes);
}

/** As above; the call creates a workspace for itself. */
inline result<std::uint64_t> compress(const plan &encoder, const_bytes src, mutable_bytes dst) {
  workspace none;
  return compress(encoder, none, src, dst);
}

/** Restores an array into `dst`; returns its length in bytes. */
inline result<std::uint64_t> decompress(const plan &decoder, workspace &ws, const_bytes container, mutable_bytes dst) {
  std::uint64_t bytes = 0;
  const std::int32_t status =
      fz_decompress(decoder.get(), ws.get(), container.data(), container.size(), dst.data(), dst.size(), &bytes);
  return detail::outcome(status, bytes);
}

/** As above; the call creates a workspace for itself. */
inline result<std::uint64_t> decompress(const plan &decoder, const_bytes container, mutable_bytes dst) {
  workspace none;
  return decompress(decoder, none, container, dst);
}

/** As above; the call creates a plan from the container. */
inline result<std::uint64_t> decompress(const_bytes container, mutable_bytes dst) {
  workspace none;
  return decompress(plan(), none, container, dst);
}

/**
 * Restores the region that begins at `origin` and has `extent` elements, both x first; returns its length in bytes. If `origin` and
 * `extent` have different numbers of dimensions, the call fails with FZ_INVALID_ARGUMENT.
 */
inline result<std::uint64_t> decompress_region(const_bytes container, shape origin, shape extent, mutable_bytes dst) {
  std::uint64_t bytes = 0;
  // 0 is rejected: the two shapes have different numbers of dimensions.
  const std::uint32_t ndim = origin.size() == extent.size() ? origin.size() : 0;
  const std::int32_t status = fz_decompress_region(container.data(), container.size(), origin.data(), extent.data(), ndim, dst.data(),
                                                dst.size(), &bytes);
  return detail::outcome(status, bytes);
}

/**
 * Restores a preview: the elements whose coordinates are multiples of `step`, a power of two, in every dimension. Returns
 * its length in bytes. `container` may be the first bytes of a container.
 */
inline result<std::uint64_t> decompress_preview(const_bytes container, std::uint64_t step, mutable_bytes dst) {
  std::uint64_t bytes = 0;
  const std::int32_t status = fz_decompress_preview(container.data(), container.size(), step, dst.data(), dst.size(), &bytes);
  return detail::outcome(status, bytes);
}

/** Deprecated name of decompress_region(). */
[[deprecated("use decompress_region")]] inline result<std::uint64_t> decompress_box(const_bytes container, shape origin, shape extent,
                                                                                    mutable_bytes dst) {
  return decompress_region(container, origin, extent, dst);
}

/** Memory that calls for a batch use while they run, see fz_batch_workspace. */
class batch_workspace : public detail::owner<fz_batch_workspace, fz_batch_workspace_free> {
public:
  using owner::owner;
};

/** The plans of one call for many arrays, see fz_batch_plan. Array i of a call has the plan `plans[i]`. */
class batch_plan : public detail::owner<fz_batch_plan, fz_batch_plan_free> {
public:
  batch_plan() = default;
  /** Owns a handle for `count` arrays. */
  batch_plan(fz_batch_plan *handle, std::size_t count) noexcept : owner(handle), count_(count) {}

  /** Creates a batch plan from encoders, or from decoders; see fz_batch_plan_new(). */
  static result<batch_plan> make(const std::vector<const plan *> &plans, std::uint32_t threads = 1) {
    std::vector<const fz_plan *> handles;
    for (const plan *each : plans) handles.push_back(each ? each->get() : nullptr);
    fz_batch_plan *made = nullptr;
    const std::int32_t status = fz_batch_plan_new(handles.data(), handles.size(), threads, &made);
    return detail::outcome(status, batch_plan(made, plans.size()));
  }
  /** The number of arrays. */
  std::size_t size() const noexcept { return count_; }
  result<batch_workspace> make_workspace() const {
    fz_batch_workspace *made = nullptr;
    const std::int32_t status = fz_batch_workspace_new(get(), &made);
    return detail::outcome(status, batch_workspace(made));
  }
  /** Prepares a workspace for asynchronous calls on `stream`, see fz_batch_preload(). */
  result<void> preload(batch_workspace &ws, fz_cuda_stream stream) const {
    return detail::outcome(fz_batch_preload(get(), ws.get(), stream));
  }
  result<std::uint64_t> workspace_bytes() const {
    std::uint64_t bytes = 0;
    const std::int32_t status = fz_batch_workspace_bytes(get(), &bytes);
    return detail::outcome(status, bytes);
  }

private:
  std::size_t count_ = 0;
};

namespace detail {
// Addresses and lengths, as C has them. Without an entry for each array the addresses are NULL, which is rejected.
template <class View, class Pointer> struct table {
  std::vector<Pointer> addresses;
  std::vector<std::uint64_t> bytes;
  bool complete;
  table(const std::vector<View> &views, std::size_t count) : complete(views.size() == count) {
    for (const View &view : views) {
      addresses.push_back(view.data());
      bytes.push_back(view.size());
    }
  }
  const Pointer *data() const noexcept { return complete ? addresses.data() : nullptr; }
};
} // namespace detail

/**
 * Compresses many arrays, `src[i]` into `dst[i]`; see fz_compress_batch(). `results` receives the result of each array, also if
 * arrays fail.
 */
inline result<void> compress_batch(const batch_plan &batch, batch_workspace &ws, const std::vector<const_bytes> &src,
                                   const std::vector<mutable_bytes> &dst, std::vector<fz_result> &results) {
  const detail::table<const_bytes, const void *> from(src, batch.size());
  const detail::table<mutable_bytes, void *> to(dst, batch.size());
  results.assign(batch.size(), fz_result{0, 0, -1, 0});
  return detail::outcome(fz_compress_batch(batch.get(), ws.get(), from.data(), from.bytes.data(), to.data(), to.bytes.data(),
                                           results.data()));
}

/** Restores many arrays from their containers, `containers[i]` into `dst[i]`; see fz_decompress_batch(). */
inline result<void> decompress_batch(const batch_plan &batch, batch_workspace &ws, const std::vector<const_bytes> &containers,
                                     const std::vector<mutable_bytes> &dst, std::vector<fz_result> &results) {
  const detail::table<const_bytes, const void *> from(containers, batch.size());
  const detail::table<mutable_bytes, void *> to(dst, batch.size());
  results.assign(batch.size(), fz_result{0, 0, -1, 0});
  return detail::outcome(fz_decompress_batch(batch.get(), ws.get(), from.data(), from.bytes.data(), to.data(), to.bytes.data(),
                                             results.data()));
}

/**
 * Enqueues the compression of many arrays on `stream` and returns before the work completes. All pointers are tables in device
 * memory, with an entry for each array of the batch; see fz_compress_batch_async().
 */
inline result<void> compress_batch_async(const batch_plan &batch, batch_workspace &ws, const void *const *src, void *const *dst,
                                         const std::uint64_t *dst_capacity_bytes, fz_result *results, fz_cuda_stream stream) {
  return detail::outcome(fz_compress_batch_async(batch.get(), ws.get(), src, dst, dst_capacity_bytes, results, stream));
}

/** Enqueues the decompression of many arrays on `stream`, as above; see fz_decompress_batch_async(). */
inline result<void> decompress_batch_async(const batch_plan &batch, batch_workspace &ws, const void *const *containers,
                                           const std::uint64_t *container_capacity_bytes, void *const *dst,
                                           const std::uint64_t *dst_capacity_bytes, fz_result *results, fz_cuda_stream stream) {
  return detail::outcome(fz_decompress_batch_async(batch.get(), ws.get(), containers, container_capacity_bytes, dst,
                                                   dst_capacity_bytes, results, stream));
}

/**
 * Enqueues a compression on `stream` and returns before the work completes. `src`, `dst`, and `outcome` are device memory or
 * other memory that the device of the stream can access; `outcome` may be null. Lifetimes: see fz_compress_async().
 */
inline result<void> compress_async(const plan &encoder, workspace &ws, const_bytes src, mutable_bytes dst,
                                   fz_result *outcome, fz_cuda_stream stream) {
  return detail::outcome(fz_compress_async(encoder.get(), ws.get(), src.data(), src.size(), dst.data(), dst.size(),
                                           outcome, stream));
}

/**
 * Enqueues a decompression on `stream` and returns before the work completes. The size of `container` is its capacity, at
 * least the length of the container. Lifetimes: see fz_decompress_async().
 */
inline result<void> decompress_async(const plan &decoder, workspace &ws, const_bytes container, mutable_bytes dst,
                                     fz_result *outcome, fz_cuda_stream stream) {
  return detail::outcome(fz_decompress_async(decoder.get(), ws.get(), container.data(), container.size(), dst.data(),
                                             dst.size(), outcome, stream));
}

/** Reads the header of a container. */
inline result<fz_info> container_info(const_bytes container) {
  auto info = detail::sized<fz_info>();
  const std::int32_t status = fz_container_info(container.data(), container.size(), &info);
  return detail::outcome(status, info);
}

/** Reads the shape of the array of a container, with all dimensions. fz_info has at most 3, the slowest ones joined. */
inline result<shape> container_shape(const_bytes container) {
  std::uint64_t dims[FZ_MAX_DIMS] = {};
  std::uint32_t ndim = 0;
  const std::int32_t status = fz_container_shape(container.data(), container.size(), dims, &ndim);
  return detail::outcome(status, shape(dims, ndim));
}

/** Result of container_info_partial(). */
struct partial_info {
  /** Valid only if `complete` is true. */
  fz_info info;
  /** If complete: length of the header. Otherwise: number of bytes to pass to the next call. */
  std::uint64_t needed_bytes;
  /** False: more bytes are required. */
  bool complete;
};

/** Reads the header of a container from its first bytes. Too few bytes are not a failure. */
inline result<partial_info> container_info_partial(const_bytes beginning) {
  partial_info made{detail::sized<fz_info>(), 0, false};
  const std::int32_t status =
      fz_container_info_partial(beginning.data(), beginning.size(), &made.info, &made.needed_bytes);
  made.complete = status == FZ_OK;
  return detail::outcome(status == FZ_TRUNCATED ? FZ_OK : status, made);
}

/** Compresses `src` into a file, replacing an existing file; returns the length of the file in bytes. */
inline result<std::uint64_t> compress_file(const plan &encoder, workspace &ws, const_bytes src, const std::string &path) {
  std::uint64_t bytes = 0;
  const std::int32_t status = fz_compress_file(encoder.get(), ws.get(), src.data(), src.size(), path.c_str(), &bytes);
  return detail::outcome(status, bytes);
}

/** As above; the call creates a workspace for itself. */
inline result<std::uint64_t> compress_file(const plan &encoder, const_bytes src, const std::string &path) {
  workspace none;
  return compress_file(encoder, none, src, path);
}

/** Restores the array of a file into `dst`; returns its length in bytes. */
inline result<std::uint64_t> decompress_file(const plan &decoder, workspace &ws, const std::string &path,
                                             mutable_bytes dst) {
  std::uint64_t bytes = 0;
  const std::int32_t status =
      fz_decompress_file(decoder.get(), ws.get(), path.c_str(), dst.data(), dst.size(), &bytes);
  return detail::outcome(status, bytes);
}

/** As above; the call creates a plan from the file. */
inline result<std::uint64_t> decompress_file(const std::string &path, mutable_bytes dst) {
  workspace none;
  return decompress_file(plan(), none, path, dst);
}

/** Restores a region from a file, see decompress_region(). Preset "fast": only the header and the chunks of the region are read. */
inline result<std::uint64_t> decompress_region_file(const std::string &path, shape origin, shape extent, mutable_bytes dst) {
  std::uint64_t bytes = 0;
  // 0 is rejected: the two shapes have different numbers of dimensions.
  const std::uint32_t ndim = origin.size() == extent.size() ? origin.size() : 0;
  const std::int32_t status =
      fz_decompress_region_file(path.c_str(), origin.data(), extent.data(), ndim, dst.data(), dst.size(), &bytes);
  return detail::outcome(status, bytes);
}

/** Restores a preview from a file, see decompress_preview(). Preset "high": only the first bytes of the file are read. */
inline result<std::uint64_t> decompress_preview_file(const std::string &path, std::uint64_t step, mutable_bytes dst) {
  std::uint64_t bytes = 0;
  const std::int32_t status = fz_decompress_preview_file(path.c_str(), step, dst.data(), dst.size(), &bytes);
  return detail::outcome(status, bytes);
}

/** Deprecated name of decompress_region_file(). */
[[deprecated("use decompress_region_file")]] inline result<std::uint64_t> decompress_box_file(const std::string &path, shape origin,
                                                                                              shape extent, mutable_bytes dst) {
  return decompress_region_file(path, origin, extent, dst);
}

/** Reads the header of the container in a file. */
inline result<fz_info> file_info(const std::string &path) {
  auto info = detail::sized<fz_info>();
  const std::int32_t status = fz_file_info(path.c_str(), &info);
  return detail::outcome(status, info);
}

/** A series that is read, see fz_series. Any number of threads may read from it at the same time. */
class series : public detail::owner<fz_series, fz_series_free> {
public:
  /** Takes ownership of a C handle. Create a series with open(); it is empty only after a move. */
  explicit series(fz_series *raw) noexcept : owner(raw) {}

  /** Opens a file. */
  static result<series> open(const std::string &path) {
    fz_series *made = nullptr;
    const std::int32_t status = fz_series_open(path.c_str(), &made);
    return detail::outcome(status, series(made));
  }
  result<fz_series_summary> info() const {
    auto summary = detail::sized<fz_series_summary>();
    const std::int32_t status = fz_series_info(get(), &summary);
    return detail::outcome(status, summary);
  }
  /** Describes the step at a position, from 0. */
  result<fz_step> step_info(std::uint64_t step) const {
    auto info = detail::sized<fz_step>();
    const std::int32_t status = fz_series_step_info(get(), step, &info);
    return detail::outcome(status, info);
  }
  /** Returns the position of the step with a name. */
  result<std::uint64_t> find(const std::string &name) const {
    std::uint64_t step = 0;
    const std::int32_t status = fz_series_find(get(), name.c_str(), &step);
    return detail::outcome(status, step);
  }
  /** Restores a step into `dst`; returns its length in bytes. */
  result<std::uint64_t> read(std::uint64_t step, mutable_bytes dst, const chosen_options &options = {}) const {
    std::uint64_t bytes = 0;
    const std::int32_t status = fz_series_read(get(), step, options.get(), dst.data(), dst.size(), &bytes);
    return detail::outcome(status, bytes);
  }
  /** Restores a region of a step into `dst`; returns its length in bytes. */
  result<std::uint64_t> read_region(std::uint64_t step, shape origin, shape extent, mutable_bytes dst) const {
    std::uint64_t bytes = 0;
    // 0 is rejected: the two shapes have different numbers of dimensions.
    const std::uint32_t ndim = origin.size() == extent.size() ? origin.size() : 0;
    const std::int32_t status =
        fz_series_read_region(get(), step, origin.data(), extent.data(), ndim, dst.data(), dst.size(), &bytes);
    return detail::outcome(status, bytes);
  }
};

/** Appends steps to a series, see fz_series_writer: one call at a time. An empty name means none. */
class series_writer : public detail::owner<fz_series_writer, fz_series_writer_free> {
public:
  /** Takes ownership of a C handle. Create a writer with open(); it is empty only after a move. */
  explicit series_writer(fz_series_writer *raw) noexcept : owner(raw) {}

  /** Opens a file to append, or creates it. If `sync` is true, each append waits until the disk has the step. */
  static result<series_writer> open(const std::string &path, bool sync = true) {
    fz_series_writer *made = nullptr;
    const std::int32_t status = fz_series_writer_open(path.c_str(), sync ? 1 : 0, &made);
    return detail::outcome(status, series_writer(made));
  }
  /** Compresses an array and appends it; returns the position of the step. */
  result<std::uint64_t> append(const std::string &name, const plan &encoder, workspace &ws, const_bytes src) {
    std::uint64_t step = 0;
    const std::int32_t status =
        fz_series_append(get(), name.c_str(), encoder.get(), ws.get(), src.data(), src.size(), &step);
    return detail::outcome(status, step);
  }
  /** Appends a container; returns the position of the step. */
  result<std::uint64_t> append_container(const std::string &name, const_bytes container) {
    std::uint64_t step = 0;
    const std::int32_t status =
        fz_series_append_container(get(), name.c_str(), container.data(), container.size(), &step);
    return detail::outcome(status, step);
  }
  /** Begins a step of several slabs along the slowest dimension. */
  result<void> begin(const std::string &name, dtype type, shape dims, std::uint64_t slab_rows) {
    return detail::outcome(fz_series_begin(get(), name.c_str(), static_cast<std::int32_t>(type), dims.data(), dims.size(), slab_rows));
  }
  /** Writes the container of the next slab. */
  result<void> slab(const_bytes container) { return detail::outcome(fz_series_slab(get(), container.data(), container.size())); }
  /** Completes the step; returns its position. */
  result<std::uint64_t> end() {
    std::uint64_t step = 0;
    const std::int32_t status = fz_series_end(get(), &step);
    return detail::outcome(status, step);
  }
  /** Removes the step that was begun. */
  result<void> abandon() { return detail::outcome(fz_series_abandon(get())); }
};

/**
 * View of a strided array in host or device memory, see fz_view: the address of its first element, lengths, and strides in
 * elements, x first. Ghost cells around the elements are neither read nor written.
 */
class view {
public:
  template <class T>
  view(T *origin, shape dims, std::initializer_list<std::int64_t> strides) noexcept
      : view(origin, dims, strides.begin(), strides.size()) {}
  template <class T>
  view(T *origin, shape dims, const std::int64_t *strides, std::size_t count) noexcept : raw_(detail::sized<fz_view>()) {
    raw_.dtype = static_cast<std::int32_t>(dtype_of<T>());
    // 0 is rejected: lengths and strides have different numbers of dimensions.
    raw_.ndim = dims.size() == count ? dims.size() : 0;
    raw_.origin = const_cast<std::remove_const_t<T> *>(origin);
    for (std::size_t d = 0; d < count && d < FZ_MAX_DIMS; d++) {
      raw_.dims[d] = dims.data()[d];
      raw_.strides[d] = strides[d];
    }
  }
  /** View of an object like std::mdspan: its last extent is the fastest dimension. Its elements must be addresses, as by default. */
  template <class M, class = std::enable_if_t<std::is_pointer_v<typename M::data_handle_type>>>
  view(const M &span) noexcept : raw_(detail::sized<fz_view>()) {
    static_assert(M::rank() >= 1 && M::rank() <= FZ_MAX_DIMS, "fzgm supports 1 to 8 dimensions");
    raw_.dtype = static_cast<std::int32_t>(dtype_of<typename M::element_type>());
    raw_.ndim = static_cast<std::uint32_t>(M::rank());
    raw_.origin = const_cast<std::remove_const_t<typename M::element_type> *>(span.data_handle());
    for (std::size_t d = 0; d < M::rank(); d++) {
      raw_.dims[M::rank() - 1 - d] = static_cast<std::uint64_t>(span.extent(d));
      raw_.strides[M::rank() - 1 - d] = static_cast<std::int64_t>(span.stride(d));
    }
  }
  const fz_view *get() const noexcept { return &raw_; }

private:
  fz_view raw_;
};

/** Compresses a strided array into `dst`; returns the length of the container in bytes. */
inline result<std::uint64_t> compress_view(const plan &encoder, workspace &ws, const view &src, mutable_bytes dst) {
  std::uint64_t bytes = 0;
  const std::int32_t status = fz_compress_view(encoder.get(), ws.get(), src.get(), dst.data(), dst.size(), &bytes);
  return detail::outcome(status, bytes);
}

/** As above; the call creates a workspace for itself. */
inline result<std::uint64_t> compress_view(const plan &encoder, const view &src, mutable_bytes dst) {
  workspace none;
  return compress_view(encoder, none, src, dst);
}

/** Restores a strided array; returns its length in bytes. */
inline result<std::uint64_t> decompress_view(const plan &decoder, workspace &ws, const_bytes container, const view &dst) {
  std::uint64_t bytes = 0;
  const std::int32_t status =
      fz_decompress_view(decoder.get(), ws.get(), container.data(), container.size(), dst.get(), &bytes);
  return detail::outcome(status, bytes);
}

/** As above; the call creates a plan from the container. */
inline result<std::uint64_t> decompress_view(const_bytes container, const view &dst) {
  workspace none;
  return decompress_view(plan(), none, container, dst);
}

/**
 * Enqueues the compression of a strided array on `stream` and returns before the work completes. `scratch` is memory of the
 * device for the packed array. Lifetimes: see fz_compress_view_async().
 */
inline result<void> compress_view_async(const plan &encoder, workspace &ws, const view &src, mutable_bytes scratch,
                                        mutable_bytes dst, fz_result *outcome, fz_cuda_stream stream) {
  return detail::outcome(fz_compress_view_async(encoder.get(), ws.get(), src.get(), scratch.data(), scratch.size(),
                                                dst.data(), dst.size(), outcome, stream));
}

/**
 * Enqueues the decompression of a strided array on `stream` and returns before the work completes. The work writes the
 * elements only if it succeeds. `scratch` is memory of the device for the packed array. Lifetimes: see
 * fz_decompress_view_async().
 */
inline result<void> decompress_view_async(const plan &decoder, workspace &ws, const_bytes container, const view &dst,
                                          mutable_bytes scratch, fz_result *outcome, fz_cuda_stream stream) {
  return detail::outcome(fz_decompress_view_async(decoder.get(), ws.get(), container.data(), container.size(), dst.get(),
                                                  scratch.data(), scratch.size(), outcome, stream));
}

/** Returns the number of GPUs that CUDA reports. */
inline result<std::uint32_t> device_count() {
  std::uint32_t count = 0;
  const std::int32_t status = fz_device_count(&count);
  return detail::outcome(status, count);
}

/** Describes a GPU. */
inline result<fz_device> device_info(std::uint32_t index) {
  auto info = detail::sized<fz_device>();
  const std::int32_t status = fz_device_info(index, &info);
  return detail::outcome(status, info);
}

/** Returns the number of stages of the library. */
inline result<std::uint32_t> stage_count() {
  std::uint32_t count = 0;
  const std::int32_t status = fz_stage_count(&count);
  return detail::outcome(status, count);
}

/** Describes a stage of the library. */
inline result<fz_stage> stage_info(std::uint32_t index) {
  auto info = detail::sized<fz_stage>();
  const std::int32_t status = fz_stage_info(index, &info);
  return detail::outcome(status, info);
}

/** Describes a port of a stage of the library. */
inline result<fz_port> stage_port(std::uint32_t index, direction way, std::uint32_t port) {
  auto info = detail::sized<fz_port>();
  const std::int32_t status = fz_stage_port(index, static_cast<std::int32_t>(way), port, &info);
  return detail::outcome(status, info);
}

/** Describes a parameter of a stage of the library. */
inline result<fz_parameter> stage_parameter(std::uint32_t index, std::uint32_t parameter) {
  auto info = detail::sized<fz_parameter>();
  const std::int32_t status = fz_stage_parameter(index, parameter, &info);
  return detail::outcome(status, info);
}

/** Returns the number of listed presets. */
inline result<std::uint32_t> preset_count() {
  std::uint32_t count = 0;
  const std::int32_t status = fz_preset_count(&count);
  return detail::outcome(status, count);
}

/** Describes a listed preset. */
inline result<fz_preset> preset_info(std::uint32_t index) {
  auto info = detail::sized<fz_preset>();
  const std::int32_t status = fz_preset_info(index, &info);
  return detail::outcome(status, info);
}

} // inline namespace

inline const char *version() noexcept { return fz_version(); }
inline std::uint32_t abi_version() noexcept { return fz_abi_version(); }
inline const char *build_info() noexcept { return fz_build_info(); }
inline const char *strerror(std::int32_t status) noexcept { return fz_strerror(status); }
inline const char *last_error() noexcept { return fz_last_error(); }

} // namespace fzgm

#endif
