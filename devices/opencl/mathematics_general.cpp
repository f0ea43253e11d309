// OpenCL C: what a team does to find eigenvalues and eigenvectors of a matrix of complex numbers that need not be
// Hermitian: balanced, reduced to Hessenberg form by reflections, to a triangle by QR steps with Wilkinson's shift
// (Golub and Van Loan, Matrix Computations, 7.4 and 7.5). How often balancing and the QR iteration repeat only the
// numbers tell, and PoCL does not finish compiling barriers within such loops: one member does both, and the others
// wait. The other conventions are those of mathematics_spectra.cpp.
#include "devices/opencl/mathematics_source.hpp"

namespace tyto::opencl {

const char* const general_spectra_section = R"CLC(
static element root_of@(element a) {
  const real size = length_of@(a);
  if (size == 0) return 0;
  const real large = sqrt((size + fabs(a.x)) / 2), small = fabs(a.y) / (2 * large);
  return a.x >= 0 ? (element)(large, copysign(small, a.y)) : (element)(small, copysign(large, a.y));
}

static void balance@(global element* a, int size, global real* factors, int member) {
  if (member == 0) {
    for (int i = 0; i < size; ++i) factors[i] = 1;
    int changed = size > 0;
    for (int sweep = 0; sweep < 100 && changed; ++sweep) {
      changed = 0;
      for (int i = 0; i < size; ++i) {
        real row = 0, column = 0;
        for (int j = 0; j < size; ++j) {
          if (j != i) row += rough_length@(a[(long)i * size + j]);
          if (j != i) column += rough_length@(a[(long)j * size + i]);
        }
        const real before = row + column;
        if (!(row > 0 && column > 0 && before < INFINITY)) continue;
        real factor = 1;
        for (; column < row / 2; column *= 4) factor *= 2;
        for (; column >= row * 2; column /= 4) factor /= 2;
        if ((column + row) / factor >= (real)0.95 * before || factor == 1) continue;
        changed = 1;
        factors[i] *= factor;
        for (int j = 0; j < size; ++j) {
          if (j != i) a[(long)i * size + j] /= factor;
          if (j != i) a[(long)j * size + i] *= factor;
        }
      }
    }
  }
  team_wait();
}

static void reduce_to_hessenberg@(global element* a, int size, global element* factors, global element* sums,
                                  local real* shared, int member, int members) {
  for (int k = 0; k + 1 < size; ++k) {
    const int head = k + 1;
    const element factor = reflect_column@(a, size, size, head, k, shared, member, members);
    if (member == 0) factors[k] = factor;
    apply_reflection@(a, size, head, k, conjugate@(factor), a, size, size, head, sums, member, members);
    for (int row = member; row < size; row += members) {
      global element* const here = a + (long)row * size;
      element sum = here[head];
      for (int j = head + 1; j < size; ++j) sum += times@(here[j], a[(long)j * size + k]);
      sum = times@(sum, factor);
      here[head] -= sum;
      for (int j = head + 1; j < size; ++j) here[j] -= times@(sum, conjugate@(a[(long)j * size + k]));
    }
    team_wait();
  }
}

static void clear_below@(global element* h, int size, int member, int members) {
  for (long i = member; i < (long)size * size; i += members) {
    if (i % size + 1 < i / size) h[i] = 0;
  }
  team_wait();
}

static element shift_of@(global const element* h, int size, int last, int steps) {
  const element a = h[(long)(last - 1) * size + last - 1], d = h[(long)last * size + last];
  const element below = h[(long)last * size + last - 1];
  if (steps % 10 == 0) return (element)(fabs(below.x) + d.x, d.y);
  const element product = times@(h[(long)(last - 1) * size + last], below), half_apart = (a - d) / 2;
  element distance = root_of@(times@(half_apart, half_apart) + product);
  if (half_apart.x * distance.x + half_apart.y * distance.y < 0) distance = -distance;
  const element divisor = half_apart + distance;
  return rough_length@(divisor) == 0 ? d : d - over@(product, divisor);
}

static void rotate@(global element* x, global element* y, real c, element s) {
  const element one = *x, other = *y;
  *x = c * one + times@(s, other);
  *y = c * other - times@(conjugate@(s), one);
}

static void qr_step@(global element* h, int size, int first, int last, element shift, global element* q,
                     int has_vectors, global element* turns) {
  for (int i = first; i <= last; ++i) h[(long)i * size + i] -= shift;
  for (int i = first; i < last; ++i) {
    const element a = h[(long)i * size + i], b = h[(long)(i + 1) * size + i];
    const real one = length_of@(a), other = length_of@(b);
    const real c = other == 0 ? 1 : one / hypot(one, other);
    const element phase = one == 0 ? of_real@(1) : a / one;
    const element s = other == 0 ? of_real@(0) : times@(phase, conjugate@(b / hypot(one, other)));
    turns[2 * i] = of_real@(c);
    turns[2 * i + 1] = s;
    const int end = has_vectors ? size : last + 1;
    for (int j = i; j < end; ++j) rotate@(h + (long)i * size + j, h + (long)(i + 1) * size + j, c, s);
    h[(long)(i + 1) * size + i] = 0;
  }
  for (int row = has_vectors ? 0 : first; row <= last; ++row) {
    for (int i = max(first, row - 1); i < last; ++i) {
      global element* const here = h + (long)row * size + i;
      rotate@(here, here + 1, turns[2 * i].x, conjugate@(turns[2 * i + 1]));
    }
  }
  for (int row = 0; row < size && has_vectors; ++row) {
    for (int i = first; i < last; ++i) {
      global element* const here = q + (long)row * size + i;
      rotate@(here, here + 1, turns[2 * i].x, conjugate@(turns[2 * i + 1]));
    }
  }
  for (int i = first; i <= last; ++i) h[(long)i * size + i] += shift;
}

static int reduce_to_triangle@(global element* h, int size, global element* q, int has_vectors, global element* turns,
                               local int* places, int member, int members) {
  int wrong = 0;
  if (member == 0) {
    const real tiny = sizeof(real) == 8 ? 2.2250738585072014e-308r : 1.17549435e-38r;
    int last = size - 1, steps = 0;
    while (last > 0 && !wrong) {
      int first = last;
      for (; first > 0; --first) {
        const real below = rough_length@(h[(long)first * size + first - 1]);
        const real around = rough_length@(h[(long)(first - 1) * size + first - 1]) +
                            rough_length@(h[(long)first * size + first]);
        if (below <= rounding@() * (around == 0 ? 1 : around) || below < tiny) break;
      }
      if (first > 0) h[(long)first * size + first - 1] = 0;
      if (first == last) {
        --last;
        steps = 0;
      } else {
        ++steps;
        const element shift = shift_of@(h, size, last, steps);
        wrong = steps > 60 || !is_finite@(shift);
        if (!wrong) qr_step@(h, size, first, last, shift, q, has_vectors, turns);
      }
    }
  }
  return !team_any(wrong, places, member, members);
}

static void solve_for_vectors@(global const element* t, int size, global element* x, local real* shared, int member,
                               int members) {
  real norm = 0;
  for (long i = member; i < (long)size * size; i += members) {
    if (i % size >= i / size) norm = fmax(norm, rough_length@(t[i]));
  }
  norm = team_max@(norm, shared, member, members);
  const real tiny = sizeof(real) == 8 ? 2.2250738585072014e-308r : 1.17549435e-38r;
  const real far = sizeof(real) == 8 ? 1e153r : 1e18r, least = fmax(rounding@() * norm, tiny);
  for (int k = member; k < size; k += members) {
    global element* const here = x + (long)k * size;
    for (int i = 0; i < size; ++i) here[i] = of_real@(i == k);
    for (int i = k - 1; i >= 0; --i) {
      element sum = 0;
      for (int j = i + 1; j <= k; ++j) sum += times@(t[(long)i * size + j], here[j]);
      element apart = t[(long)k * size + k] - t[(long)i * size + i];
      if (rough_length@(apart) < least) apart = of_real@(least);
      here[i] = over@(sum, apart);
      const real length = rough_length@(here[i]);
      if (length > far && length < INFINITY) {
        for (int j = i; j <= k; ++j) here[j] /= length;
      }
    }
  }
  team_wait();
}

static void vectors_of@(global const element* q, global const element* x, global const real* factors,
                        global element* room, global element* vectors, int size, int member, int members) {
  for (long i = member; i < (long)size * size; i += members) {
    const long k = i / size, row = i % size;
    element sum = 0;
    for (int j = 0; j <= k; ++j) sum += times@(q[row * size + j], x[k * size + j]);
    room[i] = sum * factors[row];
  }
  team_wait();
  for (int k = member; k < size; k += members) {
    global element* const here = room + (long)k * size;
    real largest = 0, squares = 0;
    int place = 0;
    for (int i = 0; i < size; ++i) {
      if (!(rough_length@(here[i]) > largest)) continue;
      largest = rough_length@(here[i]);
      place = i;
    }
    for (int i = 0; i < size; ++i) {
      here[i] /= largest;
      squares += square_of@(here[i]);
    }
    const element turn = conjugate@(here[place]) / (length_of@(here[place]) * sqrt(squares));
    for (int i = 0; i < size; ++i) {
      const element turned = times@(here[i], turn);
      vectors[(long)i * size + k] = i == place ? of_real@(turned.x) : turned;
    }
  }
  team_wait();
}
)CLC";

}  // namespace tyto::opencl
