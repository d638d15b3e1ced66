// Zigzag: word by word, for words of 1, 2, 4 and 8 bytes. The parameter is their width.
#include "common/units.cuh"

extern "C" __global__ void __launch_bounds__(256, 4) zigzag_encode(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  fz::encode_words<fz::Zigzag>(a, fz::params<uint64_t>(a));
}

extern "C" __global__ void __launch_bounds__(256, 4) zigzag_decode(FZ_ARGS) {
  if (fz::cancelled(a)) return;
  fz::decode_words<fz::Zigzag>(a, fz::params<uint64_t>(a));
}
