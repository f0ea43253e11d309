// OpenCL C: what a team does with matrices that it has for itself: products, LU, Cholesky, triangular systems. Matrices
// are row-major and dense; all members of a team call these functions together, and see one another's results on
// return.
#include "devices/opencl/mathematics_source.hpp"

namespace tyto::opencl {

// PoCL 3.1 takes a branch that stands right behind a barrier for one that the whole work-group takes alike, and lets
// its last item decide. Compilers put one there where the head of a loop over what is an item's own compares what was
// compared before the barrier: `for (i = member; i < count; i += members)` was then skipped by all if the last had
// nothing to do. A store between the two, which no compiler may drop, makes the branch each item's own again.
const char* const barrier_section = R"CLC(
#ifdef POCL_DEVICE_ADDRESS_BITS
#define barrier(fences) { barrier(fences); volatile int behind = 0; }
#endif
)CLC";

const char* const lone_team_section = R"CLC(
static void team_wait(void) {}
)CLC";

const char* const team_section = R"CLC(
static void team_wait(void) { barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); }
)CLC";

// Members stand in rows of up to 32, each of which goes along rows of a matrix.
const char* const systems_section = R"CLC(
static int team_across(int members) { return min(members, 32); }

static int team_any(int value, local int* places, int member, int members) {
  places[member] = value;
  team_wait();
  for (int half_team = members / 2; half_team > 0; half_team /= 2) {
    if (member < half_team) places[member] |= places[member + half_team];
    team_wait();
  }
  const int result = places[0];
  team_wait();
  return result;
}

static void order_of_pivots(global const long* pivots, int exchanges, global long* order, int count, int member) {
  if (member == 0) {
    for (int i = 0; i < count; ++i) order[i] = i;
    for (int i = 0; i < exchanges; ++i) {
      const long kept = order[i];
      order[i] = order[pivots[i]];
      order[pivots[i]] = kept;
    }
  }
  team_wait();
}

static int is_permutation(global const long* order, int count, global uchar* seen, int member, int members) {
  int wrong = 0;
  for (int i = member; i < count; i += members) seen[i] = 0;
  team_wait();
  if (member == 0) {
    for (int i = 0; i < count; ++i) {
      if (order[i] < 0 || order[i] >= count) seen[0] = 2;
      else if (seen[order[i]]) seen[0] = 2;
      else seen[order[i]] = 1;
      if (seen[0] == 2) break;
    }
  }
  team_wait();
  wrong = count > 0 && seen[0] == 2;
  team_wait();
  return !wrong;
}
)CLC";

// What matrices hold: real numbers, whose parts, conjugates and lengths are plain,
const char* const real_elements_section = R"CLC(
static element of_real@(real a) { return a; }
static real real_part@(element a) { return a; }
static real imaginary_part@(element a) { return 0; }
static element conjugate@(element a) { return a; }
static element times@(element a, element b) { return a * b; }
static element over@(element a, element b) { return a / b; }
static real square_of@(element a) { return a * a; }
static real length_of@(element a) { return fabs(a); }
static element times_power@(element a, int exponent) { return ldexp(a, exponent); }
static real rough_length@(element a) { return fabs(a); }
static real largest_part@(element a) { return fabs(a); }
static int is_finite@(element a) { return fabs(a) < INFINITY; }
)CLC";

// or complex ones. These are divided by the larger part of the divisor, so that no square overflows.
const char* const complex_elements_section = R"CLC(
static element of_real@(real a) { return (element)(a, 0); }
static real real_part@(element a) { return a.x; }
static real imaginary_part@(element a) { return a.y; }
static element conjugate@(element a) { return (element)(a.x, -a.y); }
static element times@(element a, element b) {
  return (element)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}
static element over@(element a, element b) {
  if (fabs(b.x) >= fabs(b.y)) {
    const real ratio = b.y / b.x;
    return (element)(a.x + a.y * ratio, a.y - a.x * ratio) / (b.x + b.y * ratio);
  }
  const real ratio = b.x / b.y;
  return (element)(a.x * ratio + a.y, a.y * ratio - a.x) / (b.y + b.x * ratio);
}
static real square_of@(element a) { return a.x * a.x + a.y * a.y; }
static real length_of@(element a) { return hypot(a.x, a.y); }
// Oclgrind 21.10 scales just the first of two numbers by an exponent that is one.
static element times_power@(element a, int exponent) { return (element)(ldexp(a.x, exponent), ldexp(a.y, exponent)); }
static real rough_length@(element a) { return fabs(a.x) + fabs(a.y); }
static real largest_part@(element a) { return fmax(fabs(a.x), fabs(a.y)); }
static int is_finite@(element a) { return fabs(a.x) < INFINITY && fabs(a.y) < INFINITY; }
)CLC";

const char* const element_systems_section = R"CLC(
static real team_sum@(real value, local real* shared, int member, int members) {
  shared[member] = value;
  team_wait();
  for (int half_team = members / 2; half_team > 0; half_team /= 2) {
    if (member < half_team) shared[member] += shared[member + half_team];
    team_wait();
  }
  const real result = shared[0];
  team_wait();
  return result;
}

static real team_max@(real value, local real* shared, int member, int members) {
  shared[member] = value;
  team_wait();
  for (int half_team = members / 2; half_team > 0; half_team /= 2) {
    if (member < half_team) shared[member] = fmax(shared[member], shared[member + half_team]);
    team_wait();
  }
  const real result = shared[0];
  team_wait();
  return result;
}

static void fill_matrix@(global element* a, long count, real value, int member, int members) {
  for (long i = member; i < count; i += members) a[i] = value;
  team_wait();
}

static void copy_matrix@(global const element* from, global element* to, long count, int member, int members) {
  for (long i = member; i < count; i += members) to[i] = from[i];
  team_wait();
}

static void set_identity@(global element* a, int rows, int columns, int member, int members) {
  for (long i = member; i < (long)rows * columns; i += members) a[i] = of_real@(i / columns == i % columns);
  team_wait();
}

static void multiply_matrices@(global const element* a, global const element* b, global element* c, int rows,
                               int inner, int columns, int member, int members) {
  const int across = team_across(members), down = members / across;
  for (int row = member / across; row < rows; row += down) {
    global element* const to = c + (long)row * columns;
    for (int j = member % across; j < columns; j += across) to[j] = 0;
    for (int k = 0; k < inner; ++k) {
      const element share = a[(long)row * inner + k];
      global const element* const from = b + (long)k * columns;
      for (int j = member % across; j < columns; j += across) to[j] += times@(share, from[j]);
    }
  }
  team_wait();
}

static long factorise_lu@(global element* a, int rows, int columns, global long* pivots, local real* shared,
                          local int* places, int member, int members) {
  const int square = min(rows, columns), across = team_across(members), down = members / across;
  long zero = 0;
  for (int k = 0; k < square; ++k) {
    real largest = -1;
    int pivot = k;
    for (int row = k + member; row < rows; row += members) {
      const real size = rough_length@(a[(long)row * columns + k]);
      const real weight = row == k && size != size ? INFINITY : size;
      if (weight > largest) {
        largest = weight;
        pivot = row;
      }
    }
    shared[member] = largest;
    places[member] = pivot;
    team_wait();
    for (int half_team = members / 2; half_team > 0; half_team /= 2) {
      if (member < half_team) {
        const real there = shared[member + half_team];
        const int place = places[member + half_team];
        if (there > shared[member] || (there == shared[member] && place < places[member])) {
          shared[member] = there;
          places[member] = place;
        }
      }
      team_wait();
    }
    largest = shared[0];
    pivot = places[0];
    global element* const head = a + (long)k * columns;
    if (pivot != k) {
      global element* const other = a + (long)pivot * columns;
      for (int j = member; j < columns; j += members) {
        const element kept = head[j];
        head[j] = other[j];
        other[j] = kept;
      }
    }
    if (member == 0) pivots[k] = pivot;
    team_wait();
    const element divisor = head[k];
    const int regular = rough_length@(divisor) != 0;
    if (!regular && zero == 0) zero = k + 1;
    for (int row = k + 1 + member; row < rows && regular; row += members) {
      a[(long)row * columns + k] = over@(a[(long)row * columns + k], divisor);
    }
    team_wait();
    for (int row = k + 1 + member / across; row < rows && regular; row += down) {
      global element* const here = a + (long)row * columns;
      const element factor = here[k];
      for (int j = k + 1 + member % across; j < columns; j += across) here[j] -= times@(factor, head[j]);
    }
    team_wait();
  }
  return zero;
}

static long factorise_cholesky@(global element* a, int size, int member, int members) {
  const int across = team_across(members), down = members / across;
  long bad = 0;
  for (int k = 0; k < size && bad == 0; ++k) {
    const real rest = real_part@(a[(long)k * size + k]);
    team_wait();
    if (!(rest > 0)) bad = k + 1;
    const real root = sqrt(rest);
    if (member == 0) a[(long)k * size + k] = of_real@(root);
    for (int row = k + 1 + member; row < size; row += members) a[(long)row * size + k] /= root;
    team_wait();
    for (int row = k + 1 + member / across; row < size; row += down) {
      const element factor = a[(long)row * size + k];
      for (int j = k + 1 + member % across; j <= row; j += across) {
        a[(long)row * size + j] -= times@(factor, conjugate@(a[(long)j * size + k]));
      }
    }
    team_wait();
  }
  return bad;
}

static void solve_triangle@(global const element* t, int row_step, int column_step, int size, int upper, int unit,
                            global element* x, int columns, int member, int members) {
  const int across = team_across(members), down = members / across;
  for (int step = 0; step < size; ++step) {
    const int k = upper ? size - 1 - step : step;
    global element* const done = x + (long)k * columns;
    const element divisor = t[(long)k * row_step + (long)k * column_step];
    for (int j = member; j < columns && !unit; j += members) done[j] = over@(done[j], divisor);
    team_wait();
    const int first = upper ? 0 : k + 1, past = upper ? k : size;
    for (int row = first + member / across; row < past; row += down) {
      const element factor = t[(long)row * row_step + (long)k * column_step];
      global element* const here = x + (long)row * columns;
      for (int j = member % across; j < columns; j += across) here[j] -= times@(factor, done[j]);
    }
    team_wait();
  }
}

static void permute_rows@(global const element* from, global const long* order, global element* to, int rows,
                          int columns, int back, int member, int members) {
  for (long i = member; i < (long)rows * columns; i += members) {
    const long row = i / columns, column = i % columns;
    const long there = order[row] * columns + column;
    if (back) to[there] = from[i];
    else to[i] = from[there];
  }
  team_wait();
}

static void solve_factors@(global const element* lu, int size, global element* x, int columns, int member,
                           int members) {
  solve_triangle@(lu, size, 1, size, 0, 1, x, columns, member, members);
  solve_triangle@(lu, size, 1, size, 1, 0, x, columns, member, members);
}
)CLC";

}  // namespace tyto::opencl
