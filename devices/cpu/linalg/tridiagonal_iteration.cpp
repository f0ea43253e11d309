// The implicit QR iteration on a tridiagonal matrix, with Wilkinson's shift.
#include <cmath>
#include <limits>

#include "devices/cpu/linalg/tridiagonal.hpp"

namespace tyto::cpu::linalg {

namespace {

/// One sweep of the implicit QR iteration over the rows [begin, end].
template <class T>
void sweep(T* d, T* e, std::int64_t begin, std::int64_t end, RotationSweeps<T>& rotations) noexcept {
  const T half = (d[end - 1] - d[end]) / 2, beside = e[end - 1];
  const T shift = d[end] - beside * (beside / (half + std::copysign(std::hypot(half, beside), half)));
  T x = d[begin] - shift, z = e[begin];
  rotations.begin(begin);
  for (std::int64_t k = begin; k < end; ++k) {
    const Rotation<T> turn = rotation_of(x, z);
    const T c = turn.c, s = turn.s;
    if (k > begin) e[k - 1] = turn.length;
    const T p = d[k], q = d[k + 1], r = e[k];
    const T move = s * (s * (q - p) + 2 * c * r);
    d[k] = p + move;
    d[k + 1] = q - move;
    e[k] = c * s * (q - p) + (c - s) * (c + s) * r;
    if (k + 1 < end) {
      x = e[k];
      z = s * e[k + 1];
      e[k + 1] *= c;
    }
    rotations.add(turn);
  }
}

}  // namespace

template <class T>
bool iterate_tridiagonal(std::int64_t size, T* d, T* e, RotationSweeps<T>& rotations) noexcept {
  constexpr T epsilon = std::numeric_limits<T>::epsilon() / 2;
  const auto negligible = [&](std::int64_t i) {
    return std::abs(e[i]) <= epsilon * (std::abs(d[i]) + std::abs(d[i + 1])) + std::numeric_limits<T>::min();
  };
  std::int64_t sweeps = 60 * size;
  for (std::int64_t end = size - 1; end > 0;) {
    if (negligible(end - 1)) {
      e[--end] = 0;
      continue;
    }
    std::int64_t begin = end - 1;
    while (begin > 0 && !negligible(begin - 1)) --begin;
    if (sweeps-- == 0) return false;
    sweep(d, e, begin, end, rotations);
  }
  return true;
}

#define TYTO_INSTANTIATE(T) template bool iterate_tridiagonal<T>(std::int64_t, T*, T*, RotationSweeps<T>&) noexcept;
TYTO_INSTANTIATE(float)
TYTO_INSTANTIATE(double)
#undef TYTO_INSTANTIATE

}  // namespace tyto::cpu::linalg
