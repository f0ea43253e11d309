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

// Members stand in rows of up to 32, of which each walks along rows of a matrix.
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

const char* const real_systems_section = R"CLC(
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

static void fill_matrix@(global real* a, long count, real value, int member, int members) {
  for (long i = member; i < count; i += members) a[i] = value;
  team_wait();
}

static void copy_matrix@(global const real* from, global real* to, long count, int member, int members) {
  for (long i = member; i < count; i += members) to[i] = from[i];
  team_wait();
}

static void set_identity@(global real* a, int rows, int columns, int member, int members) {
  for (long i = member; i < (long)rows * columns; i += members) a[i] = i / columns == i % columns ? 1 : 0;
  team_wait();
}

static void multiply_matrices@(global const real* a, global const real* b, global real* c, int rows, int inner,
                               int columns, int member, int members) {
  const int across = team_across(members), down = members / across;
  for (int row = member / across; row < rows; row += down) {
    global real* const to = c + (long)row * columns;
    for (int j = member % across; j < columns; j += across) to[j] = 0;
    for (int k = 0; k < inner; ++k) {
      const real share = a[(long)row * inner + k];
      global const real* const from = b + (long)k * columns;
      for (int j = member % across; j < columns; j += across) to[j] += share * from[j];
    }
  }
  team_wait();
}

static long factorise_lu@(global real* a, int rows, int columns, global long* pivots, local real* shared,
                          local int* places, int member, int members) {
  const int square = min(rows, columns), across = team_across(members), down = members / across;
  long zero = 0;
  for (int k = 0; k < square; ++k) {
    real largest = -1;
    int pivot = k;
    for (int row = k + member; row < rows; row += members) {
      const real size = fabs(a[(long)row * columns + k]);
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
    global real* const head = a + (long)k * columns;
    if (pivot != k) {
      global real* const other = a + (long)pivot * columns;
      for (int j = member; j < columns; j += members) {
        const real kept = head[j];
        head[j] = other[j];
        other[j] = kept;
      }
    }
    if (member == 0) pivots[k] = pivot;
    team_wait();
    const real divisor = head[k];
    if (divisor == 0 && zero == 0) zero = k + 1;
    for (int row = k + 1 + member; row < rows && divisor != 0; row += members) a[(long)row * columns + k] /= divisor;
    team_wait();
    for (int row = k + 1 + member / across; row < rows && divisor != 0; row += down) {
      global real* const here = a + (long)row * columns;
      const real factor = here[k];
      for (int j = k + 1 + member % across; j < columns; j += across) here[j] -= factor * head[j];
    }
    team_wait();
  }
  return zero;
}

static long factorise_cholesky@(global real* a, int size, int member, int members) {
  const int across = team_across(members), down = members / across;
  long bad = 0;
  for (int k = 0; k < size && bad == 0; ++k) {
    const real rest = a[(long)k * size + k];
    team_wait();
    if (!(rest > 0)) bad = k + 1;
    const real root = sqrt(rest);
    if (member == 0) a[(long)k * size + k] = root;
    for (int row = k + 1 + member; row < size; row += members) a[(long)row * size + k] /= root;
    team_wait();
    for (int row = k + 1 + member / across; row < size; row += down) {
      const real factor = a[(long)row * size + k];
      for (int j = k + 1 + member % across; j <= row; j += across) {
        a[(long)row * size + j] -= factor * a[(long)j * size + k];
      }
    }
    team_wait();
  }
  return bad;
}

static void solve_triangle@(global const real* t, int row_step, int column_step, int size, int upper, int unit,
                            global real* x, int columns, int member, int members) {
  const int across = team_across(members), down = members / across;
  for (int step = 0; step < size; ++step) {
    const int k = upper ? size - 1 - step : step;
    global real* const done = x + (long)k * columns;
    const real divisor = t[(long)k * row_step + (long)k * column_step];
    for (int j = member; j < columns && !unit; j += members) done[j] /= divisor;
    team_wait();
    const int first = upper ? 0 : k + 1, past = upper ? k : size;
    for (int row = first + member / across; row < past; row += down) {
      const real factor = t[(long)row * row_step + (long)k * column_step];
      global real* const here = x + (long)row * columns;
      for (int j = member % across; j < columns; j += across) here[j] -= factor * done[j];
    }
    team_wait();
  }
}

static void permute_rows@(global const real* from, global const long* order, global real* to, int rows, int columns,
                          int back, int member, int members) {
  for (long i = member; i < (long)rows * columns; i += members) {
    const long row = i / columns, column = i % columns;
    const long there = order[row] * columns + column;
    if (back) to[there] = from[i];
    else to[i] = from[there];
  }
  team_wait();
}

static void solve_factors@(global const real* lu, int size, global real* x, int columns, int member, int members) {
  solve_triangle@(lu, size, 1, size, 0, 1, x, columns, member, members);
  solve_triangle@(lu, size, 1, size, 1, 0, x, columns, member, members);
}
)CLC";

}  // namespace tyto::opencl
