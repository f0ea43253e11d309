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

const char* const real_spectra_section = R"CLC(
static real rounding@(void) { return sizeof(real) == 8 ? 2.220446049250313e-16r : 1.1920929e-07r; }

static real vanishing_length@(void) { return ldexp((real)1, sizeof(real) == 8 ? -500 : -60); }

static real dot_of@(global const real* x, global const real* y, int count) {
  real sums[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  int i = 0;
  for (; i + 8 <= count; i += 8) {
    for (int l = 0; l < 8; ++l) sums[l] += x[i + l] * y[i + l];
  }
  for (; i < count; ++i) sums[0] += x[i] * y[i];
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

static real reflect_column@(global real* a, int rows, int columns, int k, local real* shared, int member,
                            int members) {
  real largest = 0, part = 0;
  for (int row = k + member; row < rows; row += members) largest = fmax(largest, fabs(a[(long)row * columns + k]));
  largest = team_max@(largest, shared, member, members);
  const int exponent = largest == 0 ? 0 : ilogb(largest);
  for (int row = k + 1 + member; row < rows; row += members) {
    const real x = ldexp(a[(long)row * columns + k], -exponent);
    part += x * x;
  }
  const real rest = team_sum@(part, shared, member, members), alpha = ldexp(a[(long)k * columns + k], -exponent);
  const int past = rest == 0 ? 0 : rows;
  const real length = sqrt(alpha * alpha + rest), beta = alpha > 0 ? -length : length;
  team_wait();
  for (int row = k + 1 + member; row < past; row += members) {
    a[(long)row * columns + k] = ldexp(a[(long)row * columns + k], -exponent) / (alpha - beta);
  }
  if (member == 0 && past != 0) a[(long)k * columns + k] = ldexp(beta, exponent);
  team_wait();
  return past == 0 ? 0 : (beta - alpha) / beta;
}

static void apply_reflection@(global const real* v, int v_columns, int k, real factor, global real* to, int rows,
                              int columns, int first, global real* sums, int member, int members) {
  for (int j = first + member; j < columns; j += members) sums[j] = to[(long)k * columns + j];
  for (int row = k + 1; row < rows; ++row) {
    const real share = v[(long)row * v_columns + k];
    for (int j = first + member; j < columns; j += members) sums[j] += share * to[(long)row * columns + j];
  }
  for (int j = first + member; j < columns; j += members) to[(long)k * columns + j] -= factor * sums[j];
  for (int row = k + 1; row < rows; ++row) {
    const real share = factor * v[(long)row * v_columns + k];
    for (int j = first + member; j < columns; j += members) to[(long)row * columns + j] -= share * sums[j];
  }
  team_wait();
}

static void factorise_qr@(global real* a, int rows, int columns, global real* factors, global real* sums,
                          local real* shared, int member, int members) {
  for (int k = 0; k < min(rows, columns); ++k) {
    const real factor = reflect_column@(a, rows, columns, k, shared, member, members);
    if (member == 0) factors[k] = factor;
    apply_reflection@(a, columns, k, factor, a, rows, columns, k + 1, sums, member, members);
  }
}

static void form_q@(global const real* a, int rows, int columns, global const real* factors, global real* q,
                    int q_columns, global real* sums, int member, int members) {
  set_identity@(q, rows, q_columns, member, members);
  for (int k = min(rows, columns) - 1; k >= 0; --k) {
    apply_reflection@(a, columns, k, factors[k], q, rows, q_columns, k, sums, member, members);
  }
}

static void upper_triangle@(global const real* a, global real* r, int rows, int columns, int member, int members) {
  for (long i = member; i < (long)rows * columns; i += members) r[i] = i % columns < i / columns ? 0 : a[i];
  team_wait();
}

static real bring_into_range@(global real* a, long count, local real* shared, local int* places, int member,
                              int members) {
  real largest = 0;
  int wrong = 0;
  for (long i = member; i < count; i += members) {
    const real size = fabs(a[i]);
    wrong |= !(size < INFINITY);
    largest = fmax(largest, size);
  }
  wrong = team_any(wrong, places, member, members);
  largest = team_max@(largest, shared, member, members);
  const int exponent = wrong || largest == 0 ? 0 : ilogb(largest);
  for (long i = member; i < count; i += members) a[i] = ldexp(a[i], -exponent);
  team_wait();
  return wrong ? NAN : ldexp((real)1, exponent);
}

static void turn_for@(real below, real above, real between, global real* turn) {
  const real ratio = (above - below) / (2 * between), size = fabs(ratio);
  const real tangent = copysign(1 / (size + hypot((real)1, size)), ratio);
  const real cosine = 1 / sqrt(1 + tangent * tangent);
  turn[0] = cosine;
  turn[1] = tangent * cosine;
}

static void turn_rows@(global real* a, int size, global const real* turns, int round, int players, int member,
                       int members) {
  const int across = team_across(members), down = members / across;
  for (int pair = member / across; pair < players / 2; pair += down) {
    const real c = turns[2 * pair], s = turns[2 * pair + 1];
    if (s == 0) continue;
    global real* const p = a + (long)first_of_pair(pair, round, players) * size;
    global real* const q = a + (long)second_of_pair(pair, round, players) * size;
    for (int j = member % across; j < size; j += across) {
      const real x = p[j], y = q[j];
      p[j] = c * x - s * y;
      q[j] = s * x + c * y;
    }
  }
}

static int diagonalise@(global real* a, int size, global real* vectors, int has_vectors, global real* turns,
                        int most_sweeps, local real* shared, local int* places, int member, int members) {
  const int players = size + size % 2, across = team_across(members), down = members / across;
  real part = 0;
  for (long i = member; i < (long)size * size; i += members) part += a[i] * a[i];
  const real nothing = sqrt(team_sum@(part, shared, member, members)) * rounding@() / (2 * max(size, 1));
  int turned = 1;
  for (int sweep = 0; sweep < most_sweeps && turned; ++sweep) {
    turned = 0;
    for (int round = 0; round < players - 1; ++round) {
      for (int pair = member; pair < players / 2; pair += members) {
        const int p = first_of_pair(pair, round, players), q = second_of_pair(pair, round, players);
        turns[2 * pair + 1] = 0;
        if (p >= size || q >= size) continue;
        const real between = a[(long)p * size + q];
        if (fabs(between) <= nothing) continue;
        turn_for@(a[(long)p * size + p], a[(long)q * size + q], between, turns + 2 * pair);
        turned = 1;
      }
      team_wait();
      turn_rows@(a, size, turns, round, players, member, members);
      if (has_vectors) turn_rows@(vectors, size, turns, round, players, member, members);
      team_wait();
      for (int row = member / across; row < size; row += down) {
        global real* const here = a + (long)row * size;
        for (int pair = member % across; pair < players / 2; pair += across) {
          const real c = turns[2 * pair], s = turns[2 * pair + 1];
          if (s == 0) continue;
          const int p = first_of_pair(pair, round, players), q = second_of_pair(pair, round, players);
          const real x = here[p], y = here[q];
          here[p] = c * x - s * y;
          here[q] = s * x + c * y;
        }
      }
      team_wait();
    }
    turned = team_any(turned, places, member, members);
  }
  return !turned;
}

static int orthogonalise@(global real* a, int size, global real* turned_too, int has_vectors, global real* turns,
                          int most_sweeps, local int* places, int member, int members) {
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
        global const real* const x = a + (long)p * size;
        global const real* const y = a + (long)q * size;
        const real between = dot_of@(x, y, size);
        if (between == 0) continue;
        const real one = dot_of@(x, x, size), other = dot_of@(y, y, size);
        if (!(one > vanishing && other > vanishing)) continue;
        if (fabs(between) <= nothing * sqrt(one) * sqrt(other)) continue;
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

static void complete_rows@(global real* rows, int known, int size, global real* sums, local real* shared, int member,
                           int members) {
  for (int row = known; row < size; ++row) {
    global real* const here = rows + (long)row * size;
    for (int j = member; j < size; j += members) {
      real taken = 0;
      for (int k = 0; k < row; ++k) taken += rows[(long)k * size + j] * rows[(long)k * size + j];
      sums[j] = taken;
    }
    team_wait();
    int least = 0;
    for (int j = 1; j < size; ++j) least = sums[j] < sums[least] ? j : least;
    team_wait();
    for (int j = member; j < size; j += members) here[j] = j == least;
    team_wait();
    for (int again = 0; again < 2; ++again) {
      for (int k = member; k < row; k += members) sums[k] = dot_of@(rows + (long)k * size, here, size);
      team_wait();
      for (int j = member; j < size; j += members) {
        real taken = 0;
        for (int k = 0; k < row; ++k) taken += sums[k] * rows[(long)k * size + j];
        here[j] -= taken;
      }
      team_wait();
    }
    const real length = sqrt(dot_of@(here, here, size));
    team_wait();
    for (int j = member; j < size; j += members) here[j] /= length;
    team_wait();
  }
}

static int take_apart@(global real* a, int rows, int size, global real* factors, global real* sums, global real* r,
                       global real* lefts, int has_vectors, global real* turns, global real* lengths,
                       global int* order, int most_sweeps, local real* shared, local int* places, int member,
                       int members) {
  factorise_qr@(a, rows, size, factors, sums, shared, member, members);
  upper_triangle@(a, r, size, size, member, members);
  set_identity@(lefts, has_vectors ? size : 0, size, member, members);
  const int found = orthogonalise@(r, size, lefts, has_vectors, turns, most_sweeps, places, member, members);
  for (int i = member; i < size; i += members) {
    lengths[i] = sqrt(dot_of@(r + (long)i * size, r + (long)i * size, size));
  }
  team_wait();
  order_values@(lengths, order, size, 1, member, members);
  return found;
}

static int right_vectors@(global const real* r, global const real* lengths, global const int* order,
                          global real* rights, int size, int member, int members) {
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

static void left_vectors@(global const real* q, int q_columns, global const real* lefts, global const int* order,
                          global real* u, int rows, int size, int member, int members) {
  const int across = team_across(members), down = members / across;
  for (int row = member / across; row < rows; row += down) {
    for (int j = member % across; j < q_columns; j += across) {
      u[(long)row * q_columns + j] = j < size ? dot_of@(q + (long)row * q_columns, lefts + (long)order[j] * size, size)
                                              : q[(long)row * q_columns + j];
    }
  }
  team_wait();
}

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
  for (long i = member; i < count; i += members) x[i] = ldexp(a[i], -squarings);
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
