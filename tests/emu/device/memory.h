// Atomics, fences and loads with a hint. One thread of the system runs every block, so plain operations are atomic and
// nothing has to be fenced; a missing fence does not show here.
#pragma once

namespace fzemu {
// The device has atomics of these widths only.
template <class T> constexpr bool atomic_width = sizeof(T) == 4 || sizeof(T) == 8;
template <class T, class Op> T atomic(T* p, Op op) {
  static_assert(atomic_width<T>, "the device has no atomics of this width");
  const T old = *p;
  *p = op(old);
  return old;
}
template <class T> struct Same { using type = T; };
template <class T> using same = typename Same<T>::type;  // keeps an argument out of deduction: atomicAdd(p, 1)
}  // namespace fzemu

template <class T> T atomicAdd(T* p, fzemu::same<T> v) { return fzemu::atomic(p, [=](T x) { return T(x + v); }); }
template <class T> T atomicSub(T* p, fzemu::same<T> v) { return fzemu::atomic(p, [=](T x) { return T(x - v); }); }
template <class T> T atomicMin(T* p, fzemu::same<T> v) { return fzemu::atomic(p, [=](T x) { return v < x ? v : x; }); }
template <class T> T atomicMax(T* p, fzemu::same<T> v) { return fzemu::atomic(p, [=](T x) { return v > x ? v : x; }); }
template <class T> T atomicAnd(T* p, fzemu::same<T> v) { return fzemu::atomic(p, [=](T x) { return T(x & v); }); }
template <class T> T atomicOr(T* p, fzemu::same<T> v) { return fzemu::atomic(p, [=](T x) { return T(x | v); }); }
template <class T> T atomicXor(T* p, fzemu::same<T> v) { return fzemu::atomic(p, [=](T x) { return T(x ^ v); }); }
template <class T> T atomicExch(T* p, fzemu::same<T> v) { return fzemu::atomic(p, [=](T) { return v; }); }
template <class T> T atomicCAS(T* p, fzemu::same<T> expected, fzemu::same<T> v) {
  return fzemu::atomic(p, [=](T x) { return x == expected ? v : x; });
}
inline unsigned atomicInc(unsigned* p, unsigned last) { return fzemu::atomic(p, [=](unsigned x) { return x >= last ? 0 : x + 1; }); }
inline unsigned atomicDec(unsigned* p, unsigned last) { return fzemu::atomic(p, [=](unsigned x) { return x == 0 || x > last ? last : x - 1; }); }

inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}
inline void __nanosleep(unsigned) {}

template <class T> T __ldg(const T* p) { return *p; }
template <class T> T __ldca(const T* p) { return *p; }
template <class T> T __ldcg(const T* p) { return *p; }
template <class T> T __ldcs(const T* p) { return *p; }
template <class T> T __ldlu(const T* p) { return *p; }
template <class T> T __ldcv(const T* p) { return *p; }
template <class T> void __stwb(T* p, fzemu::same<T> v) { *p = v; }
template <class T> void __stcg(T* p, fzemu::same<T> v) { *p = v; }
template <class T> void __stcs(T* p, fzemu::same<T> v) { *p = v; }
template <class T> void __stwt(T* p, fzemu::same<T> v) { *p = v; }
