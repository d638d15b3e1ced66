// Stage multilevel: the caller's array, at any alignment.
#pragma once
#include "multilevel/num.cuh"

namespace fz {
namespace multilevel {
// Access to arrays that are not aligned.
template <class T> FZ_APART T load_bytes(const T* p) { return load<T>(p); }
template <class T> FZ_APART void store_bytes(T* p, T x) { store<T>(p, x); }

template <class T> struct Source {
  const T* at;
  bool whole;
  FZ_DEV explicit Source(const uint8_t* p) : at(reinterpret_cast<const T*>(p)), whole(aligned(p, sizeof(T))) {}
  FZ_DEV T operator[](uint64_t i) const { return whole ? at[i] : load_bytes(at + i); }
};
// The restored array, which may have fewer places than the shape has elements.
template <class T> struct Target {
  T* at;
  uint64_t room;
  bool whole;
  FZ_DEV Target(const Operand& o, uint64_t n) : at(reinterpret_cast<T*>(address(o))), room(o.max / sizeof(T)) { whole = aligned(at, sizeof(T)) && room >= n; }
  FZ_DEV void put(uint64_t i, T x) const {
    if (whole) at[i] = x;
    else if (i < room) store_bytes(at + i, x);
  }
};
}  // namespace multilevel
}  // namespace fz
