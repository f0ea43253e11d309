// What a team does for orthogonal factorisations, eigenvalues, singular values and the exponential, in the functions of
// mathematics_spectra.cpp and mathematics_general.cpp.
#include <algorithm>
#include <iterator>

#include "core/attributes.hpp"
#include "core/op_ids.hpp"
#include "devices/opencl/linear_algebra.hpp"
#include "devices/opencl/matrix_kernel.hpp"

namespace tyto::opencl {

namespace {

using core::OpId;

LaunchPlan plan_qr(const Context& context, const core::Step& step) {
  const MatrixStack a = matrix_stack(step.inputs[0]), q = matrix_stack(step.outputs[0]);
  MatrixKernel kernel(context, step, a.count, std::max(a.rows, a.columns));
  kernel.length("rows", a.rows);
  kernel.length("columns", a.columns);
  kernel.length("width", q.columns);
  kernel.input(0, "a", a.rows * a.columns);
  kernel.output(0, "q", a.rows * q.columns);
  kernel.output(1, "r", q.columns * a.columns);
  kernel.room("factored", a.rows * a.columns);
  kernel.room("factors", a.columns);
  kernel.room("sums", std::max(a.columns, q.columns));
  kernel.run(R"CLC(
    copy_matrix@(a, factored, (long)rows * columns, TEAM);
    factorise_qr@(factored, rows, columns, factors, sums, shared, TEAM);
    form_q@(factored, rows, columns, 0, factors, q, width, sums, TEAM);
    upper_triangle@(factored, r, width, columns, TEAM);
)CLC");
  return kernel.finish();
}

LaunchPlan plan_eigh(const Context& context, const core::Step& step) {
  const MatrixStack a = matrix_stack(step.inputs[0]);
  const bool has_vectors = step.outputs.size() > 1;
  MatrixKernel kernel(context, step, a.count, a.rows);
  kernel.length("size", a.rows);
  kernel.length("has_vectors", has_vectors ? 1 : 0);
  kernel.input(0, "a", a.rows * a.rows);
  kernel.output(0, "values", a.rows);
  if (has_vectors) kernel.output(1, "vectors", a.rows * a.rows);
  kernel.room("work", a.rows * a.rows);
  kernel.room("rows", has_vectors ? a.rows * a.rows : 1);
  kernel.room("turns", a.rows + 1);
  kernel.real_room("found", a.rows);
  kernel.room("order", "int", 4, a.rows);
  // Above the diagonal may stand anything, and next to real numbers on it.
  kernel.run(R"CLC(
    const long count = (long)size * size;
    for (long i = member; i < count; i += members) {
      const long row = i / size, column = i % size;
      const ELEMENT below = a[max(row, column) * size + min(row, column)];
      work[i] = row == column ? of_real@(real_part@(below)) : row > column ? below : conjugate@(below);
    }
    team_wait();
    const REAL scale = bring_into_range@(work, count, shared, places, TEAM);
    set_identity@(rows, has_vectors ? size : 0, size, TEAM);
    const int most_sweeps = scale == scale ? 60 : 0;
    const int sound = diagonalise@(work, size, rows, has_vectors, turns, most_sweeps, shared, places, TEAM);
    for (int i = member; i < size; i += members) found[i] = sound ? real_part@(work[(long)i * size + i]) * scale : NAN;
    team_wait();
    order_values@(found, order, size, 0, TEAM);
    for (int i = member; i < size; i += members) values[i] = sound ? found[order[i]] : NAN;
)CLC");
  if (has_vectors) {
    kernel.run(R"CLC(
    for (long i = member; i < count; i += members) {
      vectors[i] = sound ? conjugate@(rows[(long)order[i % size] * size + i / size]) : (ELEMENT)(NAN);
    }
)CLC");
  }
  return kernel.finish();
}

/// The singular values of each matrix, or of its adjoint where that has more rows: `tall` x `size`.
struct SingularKernel {
  MatrixStack a;
  bool turned;
  std::int64_t tall, size;
  MatrixKernel kernel;

  /// `left`: columns of left vectors.
  SingularKernel(const Context& context, const core::Step& step, bool has_vectors, std::int64_t left)
      : a(matrix_stack(step.inputs[0])),
        turned(a.rows < a.columns),
        tall(std::max(a.rows, a.columns)),
        size(std::min(a.rows, a.columns)),
        kernel(context, step, a.count, tall) {
    kernel.length("tall", tall);
    kernel.length("size", size);
    kernel.length("left", left);
    kernel.length("turned", turned ? 1 : 0);
    kernel.length("has_vectors", has_vectors ? 1 : 0);
    kernel.input(0, "a", tall * size);
    kernel.room("work", tall * size);
    kernel.room("factors", size);
    kernel.room("sums", std::max(size, left));
    kernel.room("r", size * size);
    kernel.room("lefts", has_vectors ? size * size : 1);
    kernel.room("turns", size + 1);
    kernel.real_room("lengths", size);
    kernel.room("order", "int", 4, size);
    kernel.run(R"CLC(
    const long count = (long)tall * size;
    for (long i = member; i < count; i += members) {
      work[i] = turned ? conjugate@(a[i % size * tall + i / size]) : a[i];
    }
    team_wait();
    const REAL scale = bring_into_range@(work, count, shared, places, TEAM);
    const int most_sweeps = scale == scale ? 60 : 0;
    const int sound = take_apart@(work, tall, size, factors, sums, r, lefts, has_vectors, turns, lengths, order,
                                  most_sweeps, shared, places, TEAM);
    for (int i = member; i < size; i += members) values[i] = sound ? lengths[order[i]] * scale : NAN;
)CLC");
    if (!has_vectors) return;
    kernel.room("rights", size * size);
    kernel.room("q", tall * left);
    kernel.room("u", tall * left);
    kernel.run(R"CLC(
    form_q@(work, tall, size, 0, factors, q, left, sums, TEAM);
    left_vectors@(q, left, lefts, order, u, tall, size, TEAM);
    const int known = right_vectors@(r, lengths, order, rights, size, TEAM);
)CLC");
  }
};

LaunchPlan plan_svd(const Context& context, const core::Step& step) {
  const bool has_vectors = step.outputs.size() > 1;
  if (!has_vectors) {
    SingularKernel singular(context, step, false, 0);
    singular.kernel.output(0, "values", singular.size);
    return singular.kernel.finish();
  }
  const std::int64_t u_columns = matrix_stack(step.outputs[0]).columns, v_rows = matrix_stack(step.outputs[2]).rows;
  const MatrixStack a = matrix_stack(step.inputs[0]);
  const std::int64_t left = a.rows < a.columns ? v_rows : u_columns;
  SingularKernel singular(context, step, true, left);
  MatrixKernel& kernel = singular.kernel;
  kernel.output(0, "lefts_out", a.rows * u_columns);
  kernel.output(1, "values", singular.size);
  kernel.output(2, "rights_out", v_rows * a.columns);
  // Of the adjoint, left and right vectors are exchanged, rows and columns too.
  kernel.run(R"CLC(
    complete_rows@(rights, sound ? known : size, size, sums, TEAM);
    const int lefts_width = turned ? size : left, rights_width = turned ? tall : size;
    for (long i = member; i < (long)(turned ? size : tall) * lefts_width; i += members) {
      const long row = i / lefts_width, column = i % lefts_width;
      lefts_out[i] = !sound ? (ELEMENT)(NAN) : turned ? conjugate@(rights[column * size + row]) : u[i];
    }
    for (long i = member; i < (long)(turned ? left : size) * rights_width; i += members) {
      const long row = i / rights_width, column = i % rights_width;
      rights_out[i] = !sound ? (ELEMENT)(NAN) : turned ? conjugate@(u[column * left + row]) : rights[i];
    }
)CLC");
  return kernel.finish();
}

LaunchPlan plan_pinv(const Context& context, const core::Step& step) {
  const MatrixStack a = matrix_stack(step.inputs[0]);
  SingularKernel singular(context, step, true, std::min(a.rows, a.columns));
  MatrixKernel& kernel = singular.kernel;
  kernel.input(1, "tolerance", 0);
  kernel.output(0, "inverse", a.rows * a.columns);
  kernel.output(1, "values", singular.size);
  // The sum over k of v_k u_k^H / s_k, in which values too small do not count: their vectors may be anything.
  kernel.run(R"CLC(
    team_wait();
    for (long i = member; i < (long)size * size && sound; i += members) {
      const REAL value = values[i / size];
      rights[i] = value > tolerance[0] * values[0] ? rights[i] / value : of_real@(0);
    }
    team_wait();
    for (long i = member; i < count; i += members) {
      const long row = turned ? i % size : i / tall, column = turned ? i / size : i % tall;
      ELEMENT sum = 0;
      for (int k = 0; k < size && sound; ++k) sum += times@(rights[(long)k * size + row], u[column * size + k]);
      inverse[i] = !sound ? (ELEMENT)(NAN) : turned ? sum : conjugate@(sum);
    }
)CLC");
  return kernel.finish();
}

LaunchPlan plan_eig(const Context& context, const core::Step& step) {
  const MatrixStack a = matrix_stack(step.inputs[0]);
  const bool has_vectors = step.outputs.size() > 1;
  const std::int64_t count = a.rows * a.rows;
  MatrixKernel kernel(context, step, a.count, a.rows);
  kernel.length("size", a.rows);
  kernel.length("has_vectors", has_vectors ? 1 : 0);
  kernel.input(0, "a", count);
  kernel.output(0, "values", a.rows);
  kernel.room("h", count);
  kernel.room("q", has_vectors ? count : 1);
  kernel.real_room("factors", a.rows);
  kernel.room("reflections", a.rows);
  kernel.room("sums", a.rows);
  kernel.room("turns", 2 * a.rows);
  kernel.run(R"CLC(
    copy_matrix@(a, h, (long)size * size, TEAM);
    const REAL scale = bring_into_range@(h, (long)size * size, shared, places, TEAM);
    const int rows = scale == scale ? size : 0;
    balance@(h, rows, factors, member);
    reduce_to_hessenberg@(h, rows, reflections, sums, shared, TEAM);
    form_q@(h, rows, rows, 1, reflections, q, has_vectors ? rows : 0, sums, TEAM);
    clear_below@(h, rows, TEAM);
    const int sound = reduce_to_triangle@(h, rows, q, has_vectors, turns, places, TEAM) && rows == size;
    for (int i = member; i < size; i += members) {
      values[i] = sound ? h[(long)i * size + i] * scale : (ELEMENT)(NAN);
    }
)CLC");
  if (has_vectors) {
    kernel.output(1, "vectors", count);
    kernel.room("x", count);
    kernel.room("turned", count);
    kernel.run(R"CLC(
    solve_for_vectors@(h, sound ? size : 0, x, shared, TEAM);
    vectors_of@(q, x, factors, turned, vectors, sound ? size : 0, TEAM);
    fill_matrix@(vectors, sound ? 0 : (long)size * size, NAN, TEAM);
)CLC");
  }
  return kernel.finish();
}

LaunchPlan plan_expm(const Context& context, const core::Step& step) {
  const MatrixStack a = matrix_stack(step.inputs[0]);
  MatrixKernel kernel(context, step, a.count, a.rows);
  kernel.length("size", a.rows);
  kernel.input(0, "a", a.rows * a.rows);
  kernel.output(0, "result", a.rows * a.rows);
  kernel.room("room", 7 * a.rows * a.rows);
  kernel.room("pivots", "long", 8, a.rows);
  kernel.room("order", "long", 8, a.rows);
  kernel.run(R"CLC(
    matrix_exponential@(a, result, size, room, pivots, order, shared, places, TEAM);
)CLC");
  return kernel.finish();
}

struct Spectrum {
  OpId op;
  LaunchPlan (*plan)(const Context& context, const core::Step& step);
};

constexpr Spectrum spectra[] = {{OpId::qr, plan_qr},       {OpId::eig, plan_eig},       {OpId::eigvals, plan_eig},
                                {OpId::eigh, plan_eigh},   {OpId::eigvalsh, plan_eigh}, {OpId::svd, plan_svd},
                                {OpId::svdvals, plan_svd}, {OpId::pinv, plan_pinv},     {OpId::expm, plan_expm}};

const Spectrum* spectrum_of(OpId op) {
  const Spectrum* const found = std::ranges::find(spectra, op, &Spectrum::op);
  return found == std::end(spectra) ? nullptr : found;
}

}  // namespace

bool is_spectrum(OpId op) { return spectrum_of(op) != nullptr; }

LaunchPlan spectrum_launch_plan(const Context& context, const core::Step& step) {
  if (matrix_stack(step.inputs[0]).count == 0) return {std::string(core::definition(step.op).name), {}, 0};
  return spectrum_of(step.op)->plan(context, step);
}

}  // namespace tyto::opencl
