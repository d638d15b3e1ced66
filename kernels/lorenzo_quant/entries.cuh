// Stage lorenzo_quant, decoders, fused or not: parameters and entries of the lists.
#pragma once
#include "lorenzo_quant/multiples.cuh"

namespace fz {
namespace lorenzo_quant {
// A fused decoder has the parameters of the stage in its last fused kernel, and in place of the codes the
// input of their decoder.
FZ_DEV const LorenzoQuantParams& own_params(const Args& a) { return a.fused_count ? fused_params<LorenzoQuantParams>(a, a.fused_count - 1) : params<LorenzoQuantParams>(a); }  // seed: own-params
FZ_DEV uint64_t code_bytes(const Args& a) { return length(a.fused_count ? a.passed : input(a, 0)); }

// The numbers of codes, of 1, 2, or 4 bytes, and of entries, of values of 4 or 8. Divisions would be a large part of the work of a
// block.
FZ_DEV uint64_t elements_of(const Args& a, const LorenzoQuantParams& p) { return code_bytes(a) >> p.code / 2; }
FZ_DEV uint64_t entries_of(const Args& a, const LorenzoQuantParams& p) { return least(length(input(a, 1)) >> (1 + p.value / 4), length(input(a, 2)) / 4); }

// Memory that is zero when the call starts: whether indices do not ascend.
struct Mixed {
  uint32_t outliers, exact;
};
FZ_DEV Mixed* mixed(const Args& a) { return reinterpret_cast<Mixed*>(a.zeroed); }

// The entries of both kinds, as many as the header counts and the lists contain.
struct Entries {
  Lists outliers, exact;
  double bound;
  bool possible;

  FZ_DEV Entries(const Args& a, const LorenzoQuantParams& p) : possible(true) {
    const uint8_t* metadata = address(input(a, 3));
    uint64_t w[4];
#pragma unroll
    for (int i = 0; i < 4; i++) w[i] = load<uint64_t>(metadata + 8 * i);
    LorenzoQuantMetadata f;
    memcpy(&f, w, sizeof f);
    // All ones: the header has stored the f32 alone and no exact values.
    bound = w[0] == ~0ull ? (double)f.bound_f32 : f.bound;
    if (f.exact == ~0ull) f.exact = 0;
    // Lists that fed another stage are as long as their room; the header counts the entries.
    const uint64_t all = entries_of(a, p), elements = elements_of(a, p), count = least(f.outliers, all);
    if (f.exact > 0 && (f.exact > all || f.exact + f.outliers > all)) { possible = false; f.exact = 0; }
    if (p.count > elements) possible = false;
    outliers = {address(input(a, 1)), address(input(a, 2)), count, elements};
    exact = outliers.from(count, f.exact, p.value);
  }
};

// Publishes the length of the array, and checks the lists.
FZ_DEV void open_entries(const Args& a, const Entries& e) {
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    publish(output(a, 0), output(a, 0).max);
    if (!e.possible) fail(a, CORRUPT);
  }
  check_lists(a, e.outliers, &mixed(a)->outliers);
  check_lists(a, e.exact, &mixed(a)->exact);
}

// Elements that both are predicted and have a place in the caller's array, which may end before its
// padding does.
template <class T> FZ_DEV uint64_t wanted(const Args& a, const LorenzoQuantParams& p) {
  return least(least(p.count, elements_of(a, p)), output(a, 0).max / sizeof(T));
}
}  // namespace lorenzo_quant
}  // namespace fz
