// SPDX-License-Identifier: MIT
// The loops of Fourier transforms, compiled once an instruction set.
//
// The build defines TYTO_ISA and TYTO_VECTOR_BYTES. Nothing here instantiates a standard template: such code would
// be shared by name between sets, and the linker could keep the wrong one. Loops are plain; compilers turn them into
// vectors, the arrays being apart.
#include "devices/cpu/fft/passes.hpp"
#include "devices/cpu/arithmetic/independent_loop.hpp"
#include "devices/cpu/arithmetic/simd.hpp"

namespace tyto::cpu::fourier::TYTO_ISA {

namespace {

using Index = std::int64_t;

/// The transform of a few points in place, forward.
template <class T, int radix>
struct Butterfly;

template <class T>
struct Butterfly<T, 2> {
  [[gnu::always_inline]] static inline void run(T (&re)[2], T (&im)[2]) {
    const T r = re[0] - re[1], i = im[0] - im[1];
    re[0] += re[1];
    im[0] += im[1];
    re[1] = r;
    im[1] = i;
  }
};

template <class T>
struct Butterfly<T, 3> {
  [[gnu::always_inline]] static inline void run(T (&re)[3], T (&im)[3]) {
    constexpr T half = T(0.5), height = T(0.86602540378443864676);
    const T sum_re = re[1] + re[2], sum_im = im[1] + im[2];
    const T middle_re = re[0] - half * sum_re, middle_im = im[0] - half * sum_im;
    const T off_re = height * (im[1] - im[2]), off_im = height * (re[2] - re[1]);
    re[0] += sum_re;
    im[0] += sum_im;
    re[1] = middle_re + off_re;
    im[1] = middle_im + off_im;
    re[2] = middle_re - off_re;
    im[2] = middle_im - off_im;
  }
};

template <class T>
struct Butterfly<T, 4> {
  [[gnu::always_inline]] static inline void run(T (&re)[4], T (&im)[4]) {
    const T a_re = re[0] + re[2], a_im = im[0] + im[2], b_re = re[0] - re[2], b_im = im[0] - im[2];
    const T c_re = re[1] + re[3], c_im = im[1] + im[3], d_re = im[1] - im[3], d_im = re[3] - re[1];
    re[0] = a_re + c_re;
    im[0] = a_im + c_im;
    re[1] = b_re + d_re;
    im[1] = b_im + d_im;
    re[2] = a_re - c_re;
    im[2] = a_im - c_im;
    re[3] = b_re - d_re;
    im[3] = b_im - d_im;
  }
};

template <class T>
struct Butterfly<T, 5> {
  [[gnu::always_inline]] static inline void run(T (&re)[5], T (&im)[5]) {
    constexpr T c1 = T(0.30901699437494742410), c2 = T(-0.80901699437494742410);
    constexpr T s1 = T(0.95105651629515357212), s2 = T(0.58778525229247312917);
    const T a_re = re[1] + re[4], a_im = im[1] + im[4], b_re = re[2] + re[3], b_im = im[2] + im[3];
    const T c_re = re[1] - re[4], c_im = im[1] - im[4], d_re = re[2] - re[3], d_im = im[2] - im[3];
    const T e_re = re[0] + c1 * a_re + c2 * b_re, e_im = im[0] + c1 * a_im + c2 * b_im;
    const T f_re = re[0] + c2 * a_re + c1 * b_re, f_im = im[0] + c2 * a_im + c1 * b_im;
    const T g_re = s1 * c_re + s2 * d_re, g_im = s1 * c_im + s2 * d_im;
    const T h_re = s2 * c_re - s1 * d_re, h_im = s2 * c_im - s1 * d_im;
    re[0] += a_re + b_re;
    im[0] += a_im + b_im;
    re[1] = e_re + g_im;
    im[1] = e_im - g_re;
    re[4] = e_re - g_im;
    im[4] = e_im + g_re;
    re[2] = f_re + h_im;
    im[2] = f_im - h_re;
    re[3] = f_re - h_im;
    im[3] = f_im + h_re;
  }
};

template <class T>
struct Butterfly<T, 8> {
  [[gnu::always_inline]] static inline void run(T (&re)[8], T (&im)[8]) {
    constexpr T root = T(0.70710678118654752440);
    T even_re[4] = {re[0], re[2], re[4], re[6]}, even_im[4] = {im[0], im[2], im[4], im[6]};
    T odd_re[4] = {re[1], re[3], re[5], re[7]}, odd_im[4] = {im[1], im[3], im[5], im[7]};
    Butterfly<T, 4>::run(even_re, even_im);
    Butterfly<T, 4>::run(odd_re, odd_im);
    const T turned_re[4] = {odd_re[0], root * (odd_re[1] + odd_im[1]), odd_im[2], root * (odd_im[3] - odd_re[3])};
    const T turned_im[4] = {odd_im[0], root * (odd_im[1] - odd_re[1]), -odd_re[2], -root * (odd_re[3] + odd_im[3])};
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      re[k] = even_re[k] + turned_re[k];
      im[k] = even_im[k] + turned_im[k];
      re[k + 4] = even_re[k] - turned_re[k];
      im[k + 4] = even_im[k] - turned_im[k];
    }
  }
};

/// One pass where neighbouring butterflies have one twiddle: s is a multiple of the lines, or many passes were before.
/// `fixed` is s where it is that short, else 0.
template <class T, int radix, int fixed, bool last>
void pass_along_s(Index m, Index given, const T* __restrict x_re, const T* __restrict x_im, T* __restrict y_re,
                  T* __restrict y_im, const T* w_re, const T* w_im) {
  const Index s = fixed != 0 ? fixed : given;
  for (Index p = 0; p < m; ++p) {
    T root_re[radix], root_im[radix];
#pragma GCC unroll 8
    for (int j = 1; j < radix; ++j) {
      root_re[j] = last ? T(1) : w_re[(j - 1) * m + p];
      root_im[j] = last ? T(0) : w_im[(j - 1) * m + p];
    }
    const T* const from_re = x_re + p * s;
    const T* const from_im = x_im + p * s;
    T* const to_re = y_re + p * s * radix;
    T* const to_im = y_im + p * s * radix;
    const Index apart = m * s;
    TYTO_INDEPENDENT
    for (Index q = 0; q < s; ++q) {
      T re[radix], im[radix];
#pragma GCC unroll 8
      for (int k = 0; k < radix; ++k) {
        re[k] = from_re[q + k * apart];
        im[k] = from_im[q + k * apart];
      }
      Butterfly<T, radix>::run(re, im);
      to_re[q] = re[0];
      to_im[q] = im[0];
#pragma GCC unroll 8
      for (int j = 1; j < radix; ++j) {
        to_re[q + j * s] = last ? re[j] : re[j] * root_re[j] - im[j] * root_im[j];
        to_im[q + j * s] = last ? im[j] : re[j] * root_im[j] + im[j] * root_re[j];
      }
    }
  }
}

/// The first pass over a single line.
template <class T, int radix>
void pass_along_p(Index m, const T* __restrict x_re, const T* __restrict x_im, T* __restrict y_re, T* __restrict y_im,
                  const T* __restrict w_re, const T* __restrict w_im) {
  TYTO_INDEPENDENT
  for (Index p = 0; p < m; ++p) {
    T re[radix], im[radix];
#pragma GCC unroll 8
    for (int k = 0; k < radix; ++k) {
      re[k] = x_re[p + k * m];
      im[k] = x_im[p + k * m];
    }
    Butterfly<T, radix>::run(re, im);
    y_re[radix * p] = re[0];
    y_im[radix * p] = im[0];
#pragma GCC unroll 8
    for (int j = 1; j < radix; ++j) {
      const T root_re = w_re[(j - 1) * m + p], root_im = w_im[(j - 1) * m + p];
      y_re[radix * p + j] = re[j] * root_re - im[j] * root_im;
      y_im[radix * p + j] = re[j] * root_im + im[j] * root_re;
    }
  }
}

template <class T, int radix>
void pass_of(Index m, Index s, Points<const T> x, Points<T> y, Points<const T> w) {
  if (m == 1) return pass_along_s<T, radix, 0, true>(m, s, x.re, x.im, y.re, y.im, w.re, w.im);
  if (s == 1) return pass_along_p<T, radix>(m, x.re, x.im, y.re, y.im, w.re, w.im);
  if (s == 4) return pass_along_s<T, radix, 4, false>(m, s, x.re, x.im, y.re, y.im, w.re, w.im);
  if (s == 8) return pass_along_s<T, radix, 8, false>(m, s, x.re, x.im, y.re, y.im, w.re, w.im);
  if (s == 16) return pass_along_s<T, radix, 16, false>(m, s, x.re, x.im, y.re, y.im, w.re, w.im);
  pass_along_s<T, radix, 0, false>(m, s, x.re, x.im, y.re, y.im, w.re, w.im);
}

/// One vector of neighbouring points, and how many of them there are.
template <class T>
struct Lanes {
  using Vector = typename Simd<T, TYTO_VECTOR_BYTES>::Vector;
  static constexpr Index count = Simd<T, TYTO_VECTOR_BYTES>::lanes;

  [[gnu::always_inline]] static inline Vector load(const T* from, Index points) {
    Vector found{};
    if (points == count) __builtin_memcpy(&found, from, sizeof found);
    else __builtin_memcpy(&found, from, static_cast<std::size_t>(points) * sizeof(T));
    return found;
  }
};

/// Any odd radix r: sums of the points k and r - k, whose roots are conjugate, and so are those of the results j and
/// r - j: a quarter of the products of the plain sums. Points x[i + k apart] with neighbouring i fill a vector however
/// short s is.
template <class T>
void pass_of_odd(Index radix, Index m, Index s, Points<const T> x, Points<T> y, Points<const T> w,
                 Points<const T> roots) {
  using L = Lanes<T>;
  using Vector = typename L::Vector;
  const Index apart = m * s, half = radix / 2;
  Vector sum_re[largest_radix / 2], sum_im[largest_radix / 2], off_re[largest_radix / 2], off_im[largest_radix / 2];
  for (Index i = 0; i < apart; i += L::count) {
    const Index points = apart - i < L::count ? apart - i : L::count;
    const Index first_p = i / s, first_q = i - first_p * s;
    const auto put = [&](Index j, Vector re, Vector im) __attribute__((always_inline)) {
      Index p = first_p, q = first_q;
      for (Index l = 0; l < points; ++p, q = 0) {
        // The points of this vector that have one twiddle.
        const Index run = points - l < s - q ? points - l : s - q;
        Vector turned_re = re, turned_im = im;
        if (j != 0 && m != 1) {
          const T root_re = w.re[(j - 1) * m + p], root_im = w.im[(j - 1) * m + p];
          turned_re = re * root_re - im * root_im;
          turned_im = re * root_im + im * root_re;
        }
        T* const to_re = y.re + (radix * p + j) * s + q;
        T* const to_im = y.im + (radix * p + j) * s + q;
        if (run == L::count) {
          __builtin_memcpy(to_re, &turned_re, sizeof re);
          __builtin_memcpy(to_im, &turned_im, sizeof im);
        } else {
          for (Index k = 0; k < run; ++k) {
            to_re[k] = turned_re[l + k];
            to_im[k] = turned_im[l + k];
          }
        }
        l += run;
      }
    };
    const Vector first_re = L::load(x.re + i, points), first_im = L::load(x.im + i, points);
    Vector all_re = first_re, all_im = first_im;
    for (Index k = 1; k <= half; ++k) {
      const Index here = i + k * apart, there = i + (radix - k) * apart;
      const Vector a_re = L::load(x.re + here, points), a_im = L::load(x.im + here, points);
      const Vector b_re = L::load(x.re + there, points), b_im = L::load(x.im + there, points);
      all_re += sum_re[k - 1] = a_re + b_re;
      all_im += sum_im[k - 1] = a_im + b_im;
      off_re[k - 1] = a_re - b_re;
      off_im[k - 1] = a_im - b_im;
    }
    put(0, all_re, all_im);
    for (Index j = 1; j <= half; ++j) {
      Vector even_re = first_re, even_im = first_im, odd_re{}, odd_im{};
      Index turn = 0;
      for (Index k = 0; k < half; ++k) {
        turn += j;
        if (turn >= radix) turn -= radix;
        const T root_re = roots.re[turn], root_im = roots.im[turn];
        even_re += sum_re[k] * root_re;
        even_im += sum_im[k] * root_re;
        odd_re -= off_im[k] * root_im;
        odd_im += off_re[k] * root_im;
      }
      put(j, even_re + odd_re, even_im + odd_im);
      put(radix - j, even_re - odd_re, even_im - odd_im);
    }
  }
}

template <class T>
void pass(Index radix, Index m, Index s, Points<const T> x, Points<T> y, Points<const T> w, Points<const T> roots) {
  switch (radix) {
    case 2: return pass_of<T, 2>(m, s, x, y, w);
    case 3: return pass_of<T, 3>(m, s, x, y, w);
    case 4: return pass_of<T, 4>(m, s, x, y, w);
    case 5: return pass_of<T, 5>(m, s, x, y, w);
    case 8: return pass_of<T, 8>(m, s, x, y, w);
    default: return pass_of_odd<T>(radix, m, s, x, y, w, roots);
  }
}

template <class T>
void fetch(Index points, Index lines, const T* from, Placement at, Points<T> to, Index to_step) {
  T* __restrict re = to.re;
  T* __restrict im = to.im;
  if (lines == 1 && to_step == 1 && at.step == 2 && at.second == 1) {
    TYTO_INDEPENDENT
    for (Index j = 0; j < points; ++j) {
      re[j] = from[2 * j];
      im[j] = from[2 * j + 1];
    }
    return;
  }
  for (Index j = 0; j < points; ++j) {
    const T* const row = from + j * at.step;
    if (at.line_step == 2 && at.second == 1) {
      TYTO_INDEPENDENT
      for (Index l = 0; l < lines; ++l) {
        re[j * to_step + l] = row[2 * l];
        im[j * to_step + l] = row[2 * l + 1];
      }
    } else if (at.line_step == 1) {
      TYTO_INDEPENDENT
      for (Index l = 0; l < lines; ++l) {
        re[j * to_step + l] = row[l];
        im[j * to_step + l] = row[l + at.second];
      }
    } else {
      for (Index l = 0; l < lines; ++l) {
        re[j * to_step + l] = row[l * at.line_step];
        im[j * to_step + l] = row[l * at.line_step + at.second];
      }
    }
  }
}

template <class T>
void put(Index points, Index lines, Points<const T> from, Index from_step, T scale, T* to, Placement at) {
  const T* __restrict re = from.re;
  const T* __restrict im = from.im;
  if (lines == 1 && from_step == 1 && at.step == 2 && at.second == 1) {
    TYTO_INDEPENDENT
    for (Index j = 0; j < points; ++j) {
      to[2 * j] = scale * re[j];
      to[2 * j + 1] = scale * im[j];
    }
    return;
  }
  for (Index j = 0; j < points; ++j) {
    T* const row = to + j * at.step;
    if (at.line_step == 2 && at.second == 1) {
      TYTO_INDEPENDENT
      for (Index l = 0; l < lines; ++l) {
        row[2 * l] = scale * re[j * from_step + l];
        row[2 * l + 1] = scale * im[j * from_step + l];
      }
    } else if (at.line_step == 1) {
      TYTO_INDEPENDENT
      for (Index l = 0; l < lines; ++l) row[l] = scale * re[j * from_step + l];
      TYTO_INDEPENDENT
      for (Index l = 0; l < lines; ++l) row[l + at.second] = scale * im[j * from_step + l];
    } else {
      for (Index l = 0; l < lines; ++l) {
        row[l * at.line_step] = scale * re[j * from_step + l];
        row[l * at.line_step + at.second] = scale * im[j * from_step + l];
      }
    }
  }
}

template <class T, bool pairs>
void fetch_transposed(Index points, const T* const* from, Points<T> to) {
  using L = Lanes<T>;
  constexpr Index width = pairs ? 2 : 1;
  Index done = 0;
  for (; done + L::count / width <= points; done += L::count / width) {
    typename L::Vector rows[L::count];
#pragma GCC unroll 16
    for (int l = 0; l < L::count; ++l) __builtin_memcpy(&rows[l], from[l] + done * width, sizeof rows[l]);
    transpose(rows);
#pragma GCC unroll 16
    for (int j = 0; j < L::count; ++j) {
      T* const part = pairs && j % 2 == 1 ? to.im : to.re;
      __builtin_memcpy(part + (done + j / width) * L::count, &rows[j], sizeof rows[j]);
    }
  }
  for (; done < points; ++done) {
    for (Index l = 0; l < L::count; ++l) {
      to.re[done * L::count + l] = from[l][done * width];
      if (pairs) to.im[done * L::count + l] = from[l][done * width + 1];
    }
  }
}

template <class T, bool pairs>
void put_transposed(Index points, Index lines, Points<const T> from, T scale, T* const* to) {
  using L = Lanes<T>;
  constexpr Index width = pairs ? 2 : 1;
  Index done = 0;
  for (; done + L::count / width <= points; done += L::count / width) {
    typename L::Vector rows[L::count];
#pragma GCC unroll 16
    for (int j = 0; j < L::count; ++j) {
      const T* const part = pairs && j % 2 == 1 ? from.im : from.re;
      __builtin_memcpy(&rows[j], part + (done + j / width) * L::count, sizeof rows[j]);
      rows[j] *= scale;
    }
    transpose(rows);
#pragma GCC unroll 16
    for (int l = 0; l < L::count; ++l) {
      if (l < lines) __builtin_memcpy(to[l] + done * width, &rows[l], sizeof rows[l]);
    }
  }
  for (; done < points; ++done) {
    for (Index l = 0; l < lines; ++l) {
      to[l][done * width] = scale * from.re[done * L::count + l];
      if (pairs) to[l][done * width + 1] = scale * from.im[done * L::count + l];
    }
  }
}

template <class T>
void fetch_lines(Index points, bool pairs, const T* const* from, Points<T> to) {
  return pairs ? fetch_transposed<T, true>(points, from, to) : fetch_transposed<T, false>(points, from, to);
}

template <class T>
void put_lines(Index points, Index lines, bool pairs, Points<const T> from, T scale, T* const* to) {
  return pairs ? put_transposed<T, true>(points, lines, from, scale, to)
               : put_transposed<T, false>(points, lines, from, scale, to);
}

template <class T>
void multiply(Index count, Index lanes, Points<T> x, Points<const T> y) {
  T* __restrict re = x.re;
  T* __restrict im = x.im;
  if (lanes == 1) {
    TYTO_INDEPENDENT
    for (Index j = 0; j < count; ++j) {
      const T a = re[j], b = im[j];
      re[j] = a * y.re[j] - b * y.im[j];
      im[j] = a * y.im[j] + b * y.re[j];
    }
    return;
  }
  for (Index j = 0; j < count; ++j) {
    const T c = y.re[j], d = y.im[j];
    TYTO_INDEPENDENT
    for (Index l = j * lanes; l < (j + 1) * lanes; ++l) {
      const T a = re[l], b = im[l];
      re[l] = a * c - b * d;
      im[l] = a * d + b * c;
    }
  }
}

// Calls pair() for the points from 1 to m - 1, each with the one as far from the end.
template <auto pair, class T>
[[gnu::always_inline]] inline void each_pair(Index m, Index lanes, Points<const T> x, Points<T> y,
                                             Points<const T> roots) {
  if (lanes == 1) {
    TYTO_INDEPENDENT
    for (Index k = 1; k < m; ++k) {
      pair(x.re[k], x.im[k], x.re[m - k], x.im[m - k], roots.re[k], roots.im[k], y.re[k], y.im[k]);
    }
    return;
  }
  for (Index k = 1; k < m; ++k) {
    const T root_re = roots.re[k], root_im = roots.im[k];
    const Index here = k * lanes, other = (m - k) * lanes;
    TYTO_INDEPENDENT
    for (Index l = 0; l < lanes; ++l) {
      pair(x.re[here + l], x.im[here + l], x.re[other + l], x.im[other + l], root_re, root_im, y.re[here + l],
           y.im[here + l]);
    }
  }
}

// With Z of the pairs x_2j + i x_2j+1, their even part E and odd part O: E_k = (Z_k + conj Z_m-k) / 2,
// O_k = (Z_k - conj Z_m-k) / 2i, X_k = E_k + root_k O_k.
template <class T>
[[gnu::always_inline]] inline void unpack_pair(T a, T b, T c, T d, T root_re, T root_im, T& re, T& im) {
  const T even_re = a + c, even_im = b - d, odd_re = b + d, odd_im = c - a;
  re = T(0.5) * (even_re + odd_re * root_re - odd_im * root_im);
  im = T(0.5) * (even_im + odd_re * root_im + odd_im * root_re);
}
template <class T>
void unpack_pairs(Index m, Index lanes, Points<const T> x, Points<T> y, Points<const T> roots) {
  const auto at = [&](Index k, Index other, Index l) {
    const Index i = k * lanes + l, from = (k == m ? 0 : k) * lanes + l;
    unpack_pair(x.re[from], x.im[from], x.re[other * lanes + l], x.im[other * lanes + l], roots.re[k], roots.im[k],
                y.re[i], y.im[i]);
  };
  for (Index l = 0; l < lanes; ++l) {
    at(0, 0, l);
    at(m, 0, l);
  }
  each_pair<unpack_pair<T>>(m, lanes, x, y, roots);
}

// Z_k = (X_k + conj X_m-k) + i conj(root_k) (X_k - conj X_m-k).
template <class T>
[[gnu::always_inline]] inline void pack_pair(T a, T b, T c, T d, T root_re, T root_im, T& re, T& im) {
  const T off_re = a - c, off_im = b + d;
  const T odd_re = off_re * root_re + off_im * root_im, odd_im = off_im * root_re - off_re * root_im;
  re = a + c - odd_im;
  im = b - d + odd_re;
}
template <class T>
void pack_pairs(Index m, Index lanes, Points<const T> x, Points<T> y, Points<const T> roots) {
  // The first and the last point stand for themselves: they are real.
  for (Index l = 0; l < lanes; ++l) {
    pack_pair(x.re[l], T(0), x.re[m * lanes + l], T(0), T(1), T(0), y.re[l], y.im[l]);
  }
  each_pair<pack_pair<T>>(m, lanes, x, y, roots);
}

template <class T>
constexpr Passes<T> table = {Lanes<T>::count, pass<T>,     fetch<T>,        put<T>,       fetch_lines<T>,
                             put_lines<T>,    multiply<T>, unpack_pairs<T>, pack_pairs<T>};

}  // namespace

template <class T>
const Passes<T>& passes() noexcept {
  return table<T>;
}
template const Passes<float>& passes() noexcept;
template const Passes<double>& passes() noexcept;

}  // namespace tyto::cpu::fourier::TYTO_ISA
