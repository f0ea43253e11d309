// OpenCL C: what a team does with a matrix of its own: Householder reflections, eigenvalues and singular values by
// Jacobi's rotations, the exponential. Barriers stand under no condition: of each that one stands under PoCL copies all
// that follows, again and again. What is not to be done is done for no rows. The other conventions are those of
// mathematics_systems.cpp.
#include "devices/opencl/mathematics_source.hpp"

namespace tyto::opencl {

// In each round of a sweep every row meets another one, as in a tournament: pairs of one round can be turned at once.
const char* const spectra_section = R"CLC(
static int first_of_pair(int pair, int round, int players) {
  return pair == 0 ? players - 1 : (round + pair) % (players - 1);
}
static int second_of_pair(int pair, int round, int players) {
  return pair == 0 ? round : (round + players - 1 - pair) % (players - 1);
}
)CLC";

const char* const element_spectra_section = R"CLC(
static real rounding@(void) { return sizeof(real) == 8 ? 2.220446049250313e-16r : 1.1920929e-07r; }

static real vanishing_length@(void) { return ldexp((real)1, sizeof(real) == 8 ? -500 : -60); }

static element dot_of@(global const element* x, global const element* y, int count) {
  element sums[8];
  for (int l = 0; l < 8; ++l) sums[l] = 0;
  int i = 0;
  for (; i + 8 <= count; i += 8) {
    for (int l = 0; l < 8; ++l) sums[l] += times@(x[i + l], conjugate@(y[i + l]));
  }
  for (; i < count; ++i) sums[0] += times@(x[i], conjugate@(y[i]));
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

static real squares_of@(global const element* x, int count) { return real_part@(dot_of@(x, x, count)); }

static element reflect_column@(global element* a, int rows, int columns, int head, int k, local real* shared,
                               int member, int members) {
  real largest = 0, part = 0;
  for (int row = head + member; row < rows; row += members) {
    largest = fmax(largest, largest_part@(a[(long)row * columns + k]));
  }
  largest = team_max@(largest, shared, member, members);
  const int exponent = largest == 0 ? 0 : ilogb(largest);
  for (int row = head + 1 + member; row < rows; row += members) {
    part += square_of@(times_power@(a[(long)row * columns + k], -exponent));
  }
  const real rest = team_sum@(part, shared, member, members);
  const element alpha = times_power@(a[(long)head * columns + k], -exponent);
  const int past = rest == 0 && imaginary_part@(alpha) == 0 ? 0 : rows;
  const real length = sqrt(square_of@(alpha) + rest), beta = real_part@(alpha) > 0 ? -length : length;
  const element divisor = alpha - of_real@(beta);
  team_wait();
  for (int row = head + 1 + member; row < past; row += members) {
    a[(long)row * columns + k] = over@(times_power@(a[(long)row * columns + k], -exponent), divisor);
  }
  if (member == 0 && past != 0) a[(long)head * columns + k] = of_real@(ldexp(beta, exponent));
  team_wait();
  return past == 0 ? of_real@(0) : -divisor / beta;
}

static void apply_reflection@(global const element* v, int v_columns, int head, int k, element factor,
                              global element* to, int rows, int columns, int first, global element* sums, int member,
                              int members) {
  for (int j = first + member; j < columns; j += members) sums[j] = to[(long)head * columns + j];
  for (int row = head + 1; row < rows; ++row) {
    const element share = conjugate@(v[(long)row * v_columns + k]);
    for (int j = first + member; j < columns; j += members) sums[j] += times@(share, to[(long)row * columns + j]);
  }
  for (int j = first + member; j < columns; j += members) to[(long)head * columns + j] -= times@(factor, sums[j]);
  for (int row = head + 1; row < rows; ++row) {
    const element share = times@(factor, v[(long)row * v_columns + k]);
    for (int j = first + member; j < columns; j += members) to[(long)row * columns + j] -= times@(share, sums[j]);
  }
  team_wait();
}

static void factorise_qr@(global element* a, int rows, int columns, global element* factors, global element* sums,
                          local real* shared, int member, int members) {
  for (int k = 0; k < min(rows, columns); ++k) {
    const element factor = reflect_column@(a, rows, columns, k, k, shared, member, members);
    if (member == 0) factors[k] = factor;
    apply_reflection@(a, columns, k, k, conjugate@(factor), a, rows, columns, k + 1, sums, member, members);
  }
}

static void form_q@(global const element* a, int rows, int columns, int below, global const element* factors,
                    global element* q, int q_columns, global element* sums, int member, int members) {
  set_identity@(q, rows, q_columns, member, members);
  for (int k = min(rows - below, columns) - 1; k >= 0; --k) {
    apply_reflection@(a, columns, k + below, k, factors[k], q, rows, q_columns, k + below, sums, member, members);
  }
}

static void upper_triangle@(global const element* a, global element* r, int rows, int columns, int member,
                            int members) {
  for (long i = member; i < (long)rows * columns; i += members) {
    r[i] = i % columns < i / columns ? of_real@(0) : a[i];
  }
  team_wait();
}

static real bring_into_range@(global element* a, long count, local real* shared, local int* places, int member,
                              int members) {
  real largest = 0;
  int wrong = 0;
  for (long i = member; i < count; i += members) {
    wrong |= !is_finite@(a[i]);
    largest = fmax(largest, largest_part@(a[i]));
  }
  wrong = team_any(wrong, places, member, members);
  largest = team_max@(largest, shared, member, members);
  const int exponent = wrong || largest == 0 ? 0 : ilogb(largest);
  for (long i = member; i < count; i += members) a[i] = times_power@(a[i], -exponent);
  team_wait();
  return wrong ? NAN : ldexp((real)1, exponent);
}

static void turn_for@(real below, real above, element between, global element* turn) {
  const real length = length_of@(between), ratio = (above - below) / (2 * length), size = fabs(ratio);
  const real tangent = copysign(1 / (size + hypot((real)1, size)), ratio);
  const real cosine = 1 / sqrt(1 + tangent * tangent);
  turn[0] = of_real@(cosine);
  turn[1] = between / length * (tangent * cosine);
}

static void turn_rows@(global element* a, int size, global const element* turns, int round, int players, int member,
                       int members) {
  const int across = team_across(members), down = members / across;
  for (int pair = member / across; pair < players / 2; pair += down) {
    const real c = real_part@(turns[2 * pair]);
    const element s = turns[2 * pair + 1];
    if (rough_length@(s) == 0) continue;
    global element* const p = a + (long)first_of_pair(pair, round, players) * size;
    global element* const q = a + (long)second_of_pair(pair, round, players) * size;
    for (int j = member % across; j < size; j += across) {
      const element x = p[j], y = q[j];
      p[j] = c * x - times@(s, y);
      q[j] = times@(conjugate@(s), x) + c * y;
    }
  }
}

static int diagonalise@(global element* a, int size, global element* vectors, int has_vectors,
                        global element* turns, int most_sweeps, local real* shared, local int* places, int member, int members) {
  const int players = size + size % 2, across = team_across(members), down = members / across;
  real part = 0;
  for (long i = member; i < (long)size * size; i += members) part += square_of@(a[i]);
  const real nothing = sqrt(team_sum@(part, shared, member, members)) * rounding@() / (2 * max(size, 1));
  int turned = 1;
  for (int sweep = 0; sweep < most_sweeps && turned; ++sweep) {
    turned = 0;
    for (int round = 0; round < players - 1; ++round) {
      for (int pair = member; pair < players / 2; pair += members) {
        const int p = first_of_pair(pair, round, players), q = second_of_pair(pair, round, players);
        turns[2 * pair + 1] = 0;
        if (p >= size || q >= size) continue;
        const element between = a[(long)p * size + q];
        if (length_of@(between) <= nothing) continue;
        turn_for@(real_part@(a[(long)p * size + p]), real_part@(a[(long)q * size + q]), between, turns + 2 * pair);
        turned = 1;
      }
      team_wait();
      turn_rows@(a, size, turns, round, players, member, members);
      if (has_vectors) turn_rows@(vectors, size, turns, round, players, member, members);
      team_wait();
      for (int row = member / across; row < size; row += down) {
        global element* const here = a + (long)row * size;
        for (int pair = member % across; pair < players / 2; pair += across) {
          const real c = real_part@(turns[2 * pair]);
          const element s = turns[2 * pair + 1];
          if (rough_length@(s) == 0) continue;
          const int p = first_of_pair(pair, round, players), q = second_of_pair(pair, round, players);
          const element x = here[p], y = here[q];
          here[p] = c * x - times@(conjugate@(s), y);
          here[q] = times@(s, x) + c * y;
        }
      }
      team_wait();
    }
    turned = team_any(turned, places, member, members);
  }
  return !turned;
}

static int orthogonalise@(global element* a, int size, global element* turned_too, int has_vectors,
                          global element* turns, int most_sweeps, local int* places, int member, int members) {
  const int players = size + size % 2;
  const real nothing = rounding@() * sqrt((real)size), vanishing = vanishing_length@() * vanishing_length@();
  int turned = 1;
  for (int sweep = 0; sweep < most_sweeps && turned; ++sweep) {
    turned = 0;
    for (int round = 0; round < players - 1; ++round) {
      for (int pair = member; pair < players / 2; pair += members) {
        const int p = first_of_pair(pair, round, players), q = second_of_pair(pair, round, players);
        turns[2 * pair + 1] = 0;
        if (p >= size || q >= size) continue;
        global const element* const x = a + (long)p * size;
        global const element* const y = a + (long)q * size;
        const element between = dot_of@(x, y, size);
        if (rough_length@(between) == 0) continue;
        const real one = squares_of@(x, size), other = squares_of@(y, size);
        if (!(one > vanishing && other > vanishing)) continue;
        if (length_of@(between) <= nothing * sqrt(one) * sqrt(other)) continue;
        turn_for@(one, other, between, turns + 2 * pair);
        turned = 1;
      }
      team_wait();
      turn_rows@(a, size, turns, round, players, member, members);
      if (has_vectors) turn_rows@(turned_too, size, turns, round, players, member, members);
      team_wait();
    }
    turned = team_any(turned, places, member, members);
  }
  return !turned;
}

// Whatever is no number comes last, so that ranks are all different.
static void order_values@(global const real* values, global int* order, int size, int descending, int member,
                          int members) {
  for (int i = member; i < size; i += members) {
    const real mine = values[i];
    int rank = 0;
    for (int j = 0; j < size; ++j) {
      const real other = values[j];
      const int before = descending ? other > mine : other < mine;
      const int alike = other == mine || (other != other && mine != mine);
      rank += before || (mine != mine && other == other) || (alike && j < i);
    }
    order[rank] = i;
  }
  team_wait();
}

static void complete_rows@(global element* rows, int known, int size, global element* sums, int member,
                           int members) {
  for (int row = known; row < size; ++row) {
    global element* const here = rows + (long)row * size;
    for (int j = member; j < size; j += members) {
      real taken = 0;
      for (int k = 0; k < row; ++k) taken += square_of@(rows[(long)k * size + j]);
      sums[j] = of_real@(taken);
    }
    team_wait();
    int least = 0;
    for (int j = 1; j < size; ++j) least = real_part@(sums[j]) < real_part@(sums[least]) ? j : least;
    team_wait();
    for (int j = member; j < size; j += members) here[j] = of_real@(j == least);
    team_wait();
    for (int again = 0; again < 2; ++again) {
      for (int k = member; k < row; k += members) sums[k] = dot_of@(here, rows + (long)k * size, size);
      team_wait();
      for (int j = member; j < size; j += members) {
        element taken = 0;
        for (int k = 0; k < row; ++k) taken += times@(sums[k], rows[(long)k * size + j]);
        here[j] -= taken;
      }
      team_wait();
    }
    const real length = sqrt(squares_of@(here, size));
    team_wait();
    for (int j = member; j < size; j += members) here[j] /= length;
    team_wait();
  }
}

static int take_apart@(global element* a, int rows, int size, global element* factors, global element* sums,
                       global element* r, global element* lefts, int has_vectors, global element* turns,
                       global real* lengths, global int* order, int most_sweeps, local real* shared,
                       local int* places, int member, int members) {
  factorise_qr@(a, rows, size, factors, sums, shared, member, members);
  upper_triangle@(a, r, size, size, member, members);
  set_identity@(lefts, has_vectors ? size : 0, size, member, members);
  const int found = orthogonalise@(r, size, lefts, has_vectors, turns, most_sweeps, places, member, members);
  for (int i = member; i < size; i += members) lengths[i] = sqrt(squares_of@(r + (long)i * size, size));
  team_wait();
  order_values@(lengths, order, size, 1, member, members);
  return found;
}

static int right_vectors@(global const element* r, global const real* lengths, global const int* order,
                          global element* rights, int size, int member, int members) {
  int known = 0;
  for (; known < size; ++known) {
    const real length = lengths[order[known]];
    if (!(length > vanishing_length@())) break;
    for (int j = member; j < size; j += members) {
      rights[(long)known * size + j] = r[(long)order[known] * size + j] / length;
    }
  }
  for (long i = (long)known * size + member; i < (long)size * size; i += members) rights[i] = 0;
  team_wait();
  return known;
}

static void left_vectors@(global const element* q, int q_columns, global const element* lefts,
                          global const int* order, global element* u, int rows, int size, int member, int members) {
  const int across = team_across(members), down = members / across;
  for (int row = member / across; row < rows; row += down) {
    for (int j = member % across; j < q_columns; j += across) {
      u[(long)row * q_columns + j] = j < size ? dot_of@(q + (long)row * q_columns, lefts + (long)order[j] * size, size)
                                              : q[(long)row * q_columns + j];
    }
  }
  team_wait();
}
)CLC";

const char* const exponential_section = R"CLC(
static real share_of_power@(int power, int degree) {
  real share = 1;
  for (int j = 1; j <= power; ++j) share *= (real)(degree - j + 1) / (real)(j * (2 * degree - j + 1));
  return power > degree ? 0 : share;
}

static void sum_powers@(global const real* powers, int size, int degree, int start, int with_unit, global real* to,
                        int member, int members) {
  const long count = (long)size * size;
  const real unit = with_unit ? share_of_power@(start, degree) : 0;
  const real second = share_of_power@(start + 2, degree), fourth = share_of_power@(start + 4, degree);
  const real sixth = share_of_power@(start + 6, degree);
  for (long i = member; i < count; i += members) {
    const real here = i / size == i % size ? unit : 0;
    to[i] = here + second * powers[i] + fourth * powers[count + i] + sixth * powers[2 * count + i];
  }
  team_wait();
}

// The powers of one parity without a common factor; beyond the sixth they are a multiple of the sixth.
static void sum_of_parity@(global const real* powers, int size, int degree, int start, global real* to,
                           global real* beyond, global real* times, int member, int members) {
  const long count = (long)size * size;
  sum_powers@(powers, size, degree, start, 1, to, member, members);
  sum_powers@(powers, size, degree, start + 6, 0, beyond, member, members);
  multiply_matrices@(powers + 2 * count, beyond, times, size, size, size, member, members);
  for (long i = member; i < count; i += members) to[i] += times[i];
  team_wait();
}

static void matrix_exponential@(global const real* a, global real* result, int size, global real* room,
                                global long* pivots, global long* order, local real* shared, local int* places,
                                int member, int members) {
  const long count = (long)size * size;
  const int wide = sizeof(real) == 8;
  real largest = 0;
  int wrong = 0;
  for (int j = member; j < size; j += members) {
    real sum = 0;
    for (int row = 0; row < size; ++row) sum += fabs(a[(long)row * size + j]);
    wrong |= !(sum < INFINITY);
    largest = fmax(largest, sum);
  }
  wrong = team_any(wrong, places, member, members);
  largest = team_max@(wrong ? 0 : largest, shared, member, members);
  const real third = wide ? 1.495585217958292e-2r : 4.258730016922831e-1r;
  const real fifth = wide ? 2.539398330063230e-1r : 1.880152677804762r;
  const real seventh = wide ? 9.504178996162932e-1r : 3.925724783138660r;
  const real most = wide ? 5.371920351148152r : seventh;
  const int degree = largest <= third ? 3 : largest <= fifth ? 5 : largest <= seventh || !wide ? 7 : 13;
  int squarings = 0;
  for (real left = largest; left > most; left /= 2) ++squarings;
  global real* const x = room;
  global real* const powers = room + count;
  global real* const even = room + 4 * count;
  global real* const odd = room + 5 * count;
  global real* const inner = room + 6 * count;
  for (long i = member; i < count; i += members) x[i] = times_power@(a[i], -squarings);
  team_wait();
  multiply_matrices@(x, x, powers, size, size, size, member, members);
  multiply_matrices@(powers, powers, powers + count, size, size, size, member, members);
  multiply_matrices@(powers, powers + count, powers + 2 * count, size, size, size, member, members);
  sum_of_parity@(powers, size, degree, 1, inner, odd, result, member, members);
  sum_of_parity@(powers, size, degree, 0, even, odd, result, member, members);
  multiply_matrices@(x, inner, odd, size, size, size, member, members);
  for (long i = member; i < count; i += members) {
    const real p = even[i], q = odd[i];
    inner[i] = p + q;
    even[i] = p - q;
  }
  team_wait();
  factorise_lu@(even, size, size, pivots, shared, places, member, members);
  order_of_pivots(pivots, size, order, size, member);
  permute_rows@(inner, order, result, size, size, 0, member, members);
  solve_factors@(even, size, result, size, member, members);
  for (; squarings > 0; --squarings) {
    copy_matrix@(result, x, count, member, members);
    multiply_matrices@(x, x, result, size, size, size, member, members);
  }
  fill_matrix@(result, wrong ? count : 0, NAN, member, members);
}
)CLC";

}  // namespace tyto::opencl
