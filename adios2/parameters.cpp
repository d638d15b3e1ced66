// SPDX-License-Identifier: BSD-3-Clause
#include "parameters.hpp"

#include <fzgm.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <locale>
#include <sstream>
#include <stdexcept>

namespace fzgm_adios2 {
namespace {

[[noreturn]] void refuse(const std::string &what) { throw std::invalid_argument("fzgm: " + what); }

[[noreturn]] void refuse(const std::string &name, const std::string &value, const std::string &expected) {
  refuse("parameter " + name + " is \"" + value + "\"; expected " + expected);
}

/** A number as C writes it, whatever the locale of the program; false if the text is none. NaN and infinity are none. */
template <class T> bool read_number(const std::string &text, T &number) {
  std::istringstream stream(text);
  stream.imbue(std::locale::classic());
  return stream >> number && stream.eof();
}

/** The fill values of a list such as "1e20,-9999". NaN and infinities are exact without being declared. */
double read_fill(const std::string &value) {
  static constexpr const char *expected = "numbers other than 0, separated by commas, such as 1e20,-9999";
  double threshold = std::numeric_limits<double>::infinity();
  std::istringstream list(value);
  std::string item;
  if (value.empty() || value.back() == ',') refuse("fill", value, expected);
  while (std::getline(list, item, ',')) {
    std::string word = item.substr(std::min(item.find_first_not_of("+-"), item.size()));
    std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
    if (word == "nan" || word == "inf" || word == "infinity") continue;
    double fill = 0.0;
    if (!read_number(item, fill) || fill == 0.0) refuse("fill", value, expected);
    threshold = std::min(threshold, std::fabs(fill));
  }
  return threshold;
}

std::int32_t read_device(const std::string &value) {
  if (value == "auto") return FZ_DEVICE_AUTO;
  if (value == "cpu") return FZ_DEVICE_CPU;
  const std::string digits = value.compare(0, 5, "cuda:") == 0 ? value.substr(5) : "";
  if (digits.empty() || digits.size() > 4 || digits.find_first_not_of("0123456789") != std::string::npos) {
    refuse("device", value, "auto, cpu, or cuda:N");
  }
  const auto index = static_cast<std::int32_t>(std::stoi(digits));
  fz_device info;
  FZ_INIT(info);
  if (fz_device_info(static_cast<std::uint32_t>(index), &info) != FZ_OK) {
    refuse("parameter device is \"" + value + "\": " + fz_last_error() + "; give auto or cpu");
  }
  return index;
}

std::uint32_t read_threads(const std::string &value) {
  std::uint32_t threads = 0;
  if (value.find_first_not_of("0123456789") != std::string::npos || !read_number(value, threads) || threads > 1024) {
    refuse("threads", value, "0 (all cores) to 1024");
  }
  return threads;
}

/** Preset, mode, and accuracy, which depend on each other. */
void read_bound(const std::map<std::string, std::string> &given, parameters &read) {
  const auto get = [&given](const char *name) {
    const auto found = given.find(name);
    return found == given.end() ? std::string() : found->second;
  };
  const std::string preset = get("preset"), mode = get("mode"), accuracy = get("accuracy");
  if (!mode.empty() && mode != "abs" && mode != "noa" && mode != "prel" && mode != "rel" && mode != "lossless") {
    refuse("mode", mode, "abs, noa, prel, rel, or lossless");
  }
  if (!preset.empty()) {
    fz_pipeline *made = nullptr;
    if (fz_pipeline_from_preset(preset.c_str(), FZ_F32, &made) != FZ_OK) {
      refuse("parameter preset is \"" + preset + "\": " + fz_last_error());
    }
    fz_pipeline_free(made);
  }
  const bool never_loses = preset == "bits" || preset == "exact";
  const bool without_loss = mode == "lossless" || never_loses || (mode.empty() && preset.empty() && accuracy.empty());
  if (without_loss) {
    const std::string reason = never_loses ? "preset " + preset + " loses nothing" : "mode lossless has no bound";
    if (!accuracy.empty()) refuse("parameter accuracy is " + accuracy + ", but " + reason + "; leave one of them out");
    if (never_loses && !mode.empty() && mode != "lossless") refuse("parameter mode is " + mode + ", but " + reason + "; leave one of them out");
    if (mode == "lossless" && !preset.empty() && !never_loses) refuse("parameter preset is " + preset + ", but " + reason + "; leave one of them out");
    if (never_loses) read.preset = preset;
    return;
  }
  if (accuracy.empty()) {
    refuse("parameter accuracy is missing for " + (preset.empty() ? "mode " + mode : "preset " + preset) +
           "; give it, or leave preset and mode out to lose nothing");
  }
  if (!read_number(accuracy, read.accuracy) || !(read.accuracy > 0.0) || !std::isfinite(read.accuracy)) {
    refuse("accuracy", accuracy, "a finite number greater than 0, such as 1e-3");
  }
  read.mode = mode.empty() ? "abs" : mode;
  read.preset = !preset.empty() ? preset : read.mode == "rel" ? "pfpl" : "fast";
}

} // namespace

parameters read_parameters(const std::map<std::string, std::string> &given) {
  parameters read;
  read.threshold = std::numeric_limits<double>::infinity();
  read.device = FZ_DEVICE_AUTO;
  for (const auto &[name, value] : given) {
    if (name == "preset" || name == "mode" || name == "accuracy") {
      if (value.empty()) refuse("parameter " + name + " is empty; give a value, or leave it out");
    } else if (name == "fill") {
      read.threshold = read_fill(value);
    } else if (name == "device") {
      read.device = read_device(value);
    } else if (name == "threads") {
      read.threads = read_threads(value);
    } else if (name == "order") {
      if (value != "C" && value != "F") refuse("order", value, "C or F");
      read.first_is_fastest = value == "F";
    } else if (name == "verbose") {
      read.verbose = value != "0";
    } else if (name != "pluginname" && name != "pluginlibrary") {
      refuse("there is no parameter \"" + name + "\"; parameters: preset, mode, accuracy, fill, device, threads, order");
    }
  }
  read_bound(given, read);
  return read;
}

} // namespace fzgm_adios2
