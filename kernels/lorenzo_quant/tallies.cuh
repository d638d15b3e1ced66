// LorenzoQuant, encoders: numbers of entries, the metadata, and the lengths of the lists.
#pragma once
#include "common/lists.cuh"
#include "lorenzo_quant/multiples.cuh"

namespace fz {
namespace lorenzo_quant {
// Entries of both kinds, in memory that is zero when the call starts.
struct Totals {
  uint64_t outliers, exact;
  FZ_DEV uint64_t all() const { return outliers + exact; }
};
FZ_DEV const Totals& totals(const Args& a) { return *reinterpret_cast<const Totals*>(a.zeroed); }
// Room in the lists, in entries.
FZ_DEV uint64_t room_in_lists(const Args& a, const LorenzoQuantParams& p) { return least(output(a, 2).max / p.value, output(a, 3).max / 4); }

// Zeros after the entries, for a stage that reads all of the room.
FZ_DEV void clear(uint8_t* list, uint64_t from, uint64_t to, uint32_t width) {
  const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t i = from * width + (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < to * width; i += step) list[i] = 0;
}

// Publishes the lengths of the lists, and stores the metadata. One thread of the grid calls it.
FZ_DEV void close_lists(const Args& a, const LorenzoQuantParams& p) {
  const Totals all = totals(a);
  const uint64_t room = room_in_lists(a, p), kept = least(all.all(), room);
  publish(output(a, 2), (p.switches & WHOLE_ERRORS ? room : kept) * p.value);
  publish(output(a, 3), (p.switches & WHOLE_INDICES ? room : kept) * 4);
  if (all.all() > room) fail(a, OUTLIER_CAPACITY, all.all());
  const quantizer::BoundMetadata f = quantizer::load_metadata(input(a, 1));
  const LorenzoQuantMetadata made = {f.bound, all.exact, f.bound_f32, f.base, (uint32_t)all.outliers, 0};
  uint64_t w[sizeof made / 8];
  memcpy(w, &made, sizeof w);
  for (uint32_t i = 0; i < sizeof made / 8; i++) store<uint64_t>(address(output(a, 1)) + 8 * i, w[i]);
  publish(output(a, 1), sizeof made);
}
// True if the lists have entries, and room for all of them. Clears the rest of them where another stage reads it.
FZ_DEV bool opens_lists(const Args& a, const LorenzoQuantParams& p) {
  const uint64_t count = totals(a).all(), room = room_in_lists(a, p);
  if (count > room) return false;
  if (p.switches & WHOLE_ERRORS) clear(address(output(a, 2)), count, room, p.value);
  if (p.switches & WHOLE_INDICES) clear(address(output(a, 3)), count, room, 4);
  return count != 0;
}
}  // namespace lorenzo_quant
}  // namespace fz
