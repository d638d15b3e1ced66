// Stage multilevel: the caller's array, at any alignment.
#pragma once
#include "common/memory.cuh"

namespace fz {
namespace multilevel {
template <class T> struct Source {
  const T* at;
  bool whole;
  FZ_DEV explicit Source(const uint8_t* p) : at(reinterpret_cast<const T*>(p)), whole(aligned(p, sizeof(T))) {}
  FZ_DEV T operator[](uint64_t i) const { return whole ? at[i] : load<T>(at + i); }
};
template <class T> struct Target {
  T* at;
  bool whole;
  FZ_DEV explicit Target(uint8_t* p) : at(reinterpret_cast<T*>(p)), whole(aligned(p, sizeof(T))) {}
  FZ_DEV void put(uint64_t i, T x) const {
    if (whole) at[i] = x;
    else store<T>(at + i, x);
  }
};
}  // namespace multilevel
}  // namespace fz
