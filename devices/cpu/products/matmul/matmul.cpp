// SPDX-License-Identifier: MIT
// Checks and simplifies a matrix product and chooses its implementation.
#include "devices/cpu/products/matmul/matmul.hpp"

#include <algorithm>
#include <string>
#include <typeinfo>
#include <utility>

#include <tyto/error.hpp>

#include "core/value/text.hpp"
#include "devices/cpu/arithmetic/half_precision.hpp"
#include "devices/cpu/moves/strided_copy.hpp"
#include "devices/cpu/products/matmul/matmul_routine.hpp"
#include "devices/cpu/system/layout_threads.hpp"
#include "devices/cpu/system/machine.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu {

namespace {

void check(const MatmulProblem& problem) {
  if (problem.m < 0 || problem.n < 0 || problem.k < 0) {
    core::throw_error<ValueError>("matmul: extents must not be negative, got m=", problem.m, " n=", problem.n,
                                  " k=", problem.k);
  }
  for (const std::int64_t extent : problem.batch) {
    if (extent < 0) core::throw_error<ValueError>("matmul: batch extents must not be negative, got ", extent);
  }
  const bool ends = problem.bias || problem.accumulate || problem.limits.any();
  if (((problem.packed_b && !problem.bytes) || ends) && !is_floating(problem.dtype)) {
    core::throw_error<ValueError>(
        "matmul: packed_b is for bytes and floating types, bias, accumulate and limits for these, not ",
        name_of(problem.dtype));
  }
  for (const MatrixLayout* layout : {&problem.a, &problem.b, &problem.c}) {
    if (layout->batch_strides.size() != problem.batch.size()) {
      core::throw_error<ValueError>("matmul: every operand needs one batch stride an axis: ",
                                    layout->batch_strides.size(), " strides for ", problem.batch.size(), " axes");
    }
  }
  for (std::size_t axis = 0; axis < problem.batch.size(); ++axis) {
    if (problem.m > 0 && problem.n > 0 && problem.batch[axis] > 1 && problem.c.batch_strides[axis] == 0) {
      core::throw_error<ValueError>("matmul: the result cannot be broadcast along batch axis ", axis);
    }
    if (problem.packed_b && problem.batch[axis] > 1 && problem.b.batch_strides[axis] != 0) {
      core::throw_error<ValueError>("matmul: packed_b needs one b for the whole batch, but b varies along batch axis ",
                                    axis);
    }
  }
}

void erase_axis(MatmulProblem& problem, std::size_t axis) {
  const auto place = static_cast<std::ptrdiff_t>(axis);
  problem.batch.erase(problem.batch.begin() + place);
  for (MatrixLayout* layout : {&problem.a, &problem.b, &problem.c}) {
    layout->batch_strides.erase(layout->batch_strides.begin() + place);
  }
}

// Strides along axes of one element mean nothing; giving them dense values lets more layouts pass for plain ones.
void normalise(MatrixLayout& layout, std::int64_t rows, std::int64_t columns) {
  if (columns <= 1 && rows > 1 && layout.row_stride == 1) {
    layout.column_stride = rows;
  } else {
    if (columns <= 1) layout.column_stride = 1;
    if (rows <= 1) layout.row_stride = layout.column_stride == 1 ? std::max<std::int64_t>(columns, 1) : 1;
  }
}

// Drops axes of one element, joins neighbouring axes that step evenly, and takes an axis along which only the rows
// of a and c go on into m: a product of a (batch, rows) operand with one matrix is one large product.
MatmulProblem simplified(MatmulProblem problem) {
  // One packed matrix, whatever b's steps along axes of one element or none.
  if (problem.packed_b) problem.b.batch_strides.assign(problem.batch.size(), 0);
  for (std::size_t axis = problem.batch.size(); axis-- > 0;) {
    if (problem.batch[axis] == 1) erase_axis(problem, axis);
  }
  for (std::size_t axis = problem.batch.size(); axis-- > 1;) {
    const std::int64_t inner = problem.batch[axis];
    bool even = true;
    for (const MatrixLayout* layout : {&problem.a, &problem.b, &problem.c}) {
      even = even && layout->batch_strides[axis - 1] == inner * layout->batch_strides[axis];
    }
    if (!even) continue;
    for (MatrixLayout* layout : {&problem.a, &problem.b, &problem.c}) {
      layout->batch_strides[axis - 1] = layout->batch_strides[axis];
    }
    problem.batch[axis - 1] *= inner;
    erase_axis(problem, axis);
  }
  while (!problem.batch.empty() && problem.m > 0) {
    const std::size_t axis = problem.batch.size() - 1;
    const std::int64_t a_step = problem.a.batch_strides[axis], c_step = problem.c.batch_strides[axis];
    if (problem.m == 1) {
      problem.a.row_stride = a_step;
      problem.c.row_stride = c_step;
    }
    if (problem.b.batch_strides[axis] != 0 || a_step != problem.m * problem.a.row_stride ||
        c_step != problem.m * problem.c.row_stride) {
      break;
    }
    problem.m *= problem.batch[axis];
    erase_axis(problem, axis);
  }
  normalise(problem.a, problem.m, problem.k);
  normalise(problem.b, problem.k, problem.n);
  normalise(problem.c, problem.m, problem.n);
  return problem;
}

// A product with a column is one of a row with the transposed matrix, and there are kernels for few rows.
bool is_column(const MatmulProblem& problem) {
  return problem.n == 1 && problem.m > 1 && !problem.packed_b && !problem.bytes;
}

MatmulProblem transposed(MatmulProblem problem) {
  std::swap(problem.m, problem.n);
  std::swap(problem.a, problem.b);
  for (MatrixLayout* layout : {&problem.a, &problem.b, &problem.c}) {
    std::swap(layout->row_stride, layout->column_stride);
  }
  return problem;
}

double operations_of(const MatmulProblem& problem) noexcept {
  return 2.0 * static_cast<double>(problem.m) * static_cast<double>(problem.n) * static_cast<double>(problem.k) *
         static_cast<double>(batch_count(problem));
}

// With few rows the time is that of reading b, whose cache level depends on the bytes of a whole network's matrices.
double nanoseconds_of(const MatmulProblem& problem, double operations_per_nanosecond) noexcept {
  double bytes = static_cast<double>(problem.k) * static_cast<double>(problem.n) *
                 static_cast<double>(problem.bytes ? 1 : size_of(problem.dtype));
  for (std::size_t axis = 0; axis < problem.batch.size(); ++axis) {
    if (problem.b.batch_strides[axis] != 0) bytes *= static_cast<double>(problem.batch[axis]);
  }
  return std::max(operations_of(problem) / operations_per_nanosecond, bytes / machine::shared_rate);
}

std::unique_ptr<MatmulRoutine> choose(const MatmulProblem& problem, const KernelChoice& choice) {
  if (choice.implementation != Implementation::onednn) {
    auto routine = prepare_unpacked_matmul(problem, choice);
    if (routine == nullptr) routine = prepare_dot_matmul(problem, choice);
    if (routine != nullptr) return routine;
  }
  if (choice.implementation != Implementation::own) {
    auto routine = prepare_onednn_matmul(problem, choice);
    if (routine != nullptr) return routine;
    if (choice.implementation == Implementation::onednn) {
      core::throw_error<DeviceError>("matmul: oneDNN does not take this product (type ", name_of(problem.dtype),
                                     (has_onednn() ? ")" : "): it is not part of this build"));
    }
  }
  if (is_half(problem.dtype)) return prepare_half_matmul(problem, choice);
  if (is_floating(problem.dtype)) return prepare_panel_matmul(problem, choice);
  return prepare_integer_matmul(problem, choice);
}

/// A product with a column by the routine for that of a row with the transposed matrix.
class TransposedMatmul final : public MatmulRoutine {
 public:
  explicit TransposedMatmul(const MatmulProblem& problem, const KernelChoice& choice)
      : routine_(choose(transposed(problem), choice)),
        rows_(problem.bias ? problem.m : 0),
        element_(size_of(problem.dtype)) {
    inner_ = space_.reserve(routine_->workspace());
    biases_ = space_.reserve(static_cast<std::size_t>(rows_) * element_);
  }
  void run(const MatmulArguments& arguments) const override {
    MatmulArguments swapped = arguments;
    std::swap(swapped.a, swapped.b);
    swapped.workspace = at<std::byte>(arguments.workspace, inner_);
    // The column's one bias is that of each column of the row.
    auto* const biases = at<std::byte>(arguments.workspace, biases_);
    if (rows_ > 0) {
      const CopyBlock repeated{1, rows_, 0, 0, 0, 1};
      copy_function(repeated, element_)(static_cast<const std::byte*>(arguments.bias), biases, repeated);
    }
    swapped.bias = biases;
    routine_->run(swapped);
  }
  const char* name() const noexcept override { return routine_->name(); }
  bool order_depends_on_strides() const noexcept override { return routine_->order_depends_on_strides(); }

 private:
  std::unique_ptr<MatmulRoutine> routine_;
  std::int64_t rows_;    // biases
  std::size_t element_;  // bytes of each
  std::size_t inner_ = 0, biases_ = 0;
};

}  // namespace

MatmulProblem with_dense_result(MatmulProblem problem) {
  problem.c.row_stride = problem.n;
  problem.c.column_stride = 1;
  std::int64_t step = problem.m * problem.n;
  for (std::size_t axis = problem.batch.size(); axis-- > 0;) {
    problem.c.batch_strides[axis] = step;
    step *= problem.batch[axis];
  }
  return problem;
}

MatmulProblem dense_matmul(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k) {
  MatmulProblem problem;
  problem.dtype = dtype;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  problem.a.row_stride = k;
  problem.b.row_stride = problem.c.row_stride = n;
  return problem;
}

std::int64_t batch_count(const MatmulProblem& problem) noexcept {
  std::int64_t count = 1;
  for (const std::int64_t extent : problem.batch) count *= extent;
  return count;
}

BatchOffsets batch_offsets(const MatmulProblem& problem, std::int64_t point) noexcept {
  BatchOffsets offsets;
  for (std::size_t axis = problem.batch.size(); axis-- > 0;) {
    const std::int64_t index = point % problem.batch[axis];
    point /= problem.batch[axis];
    offsets.a += index * problem.a.batch_strides[axis];
    offsets.b += index * problem.b.batch_strides[axis];
    offsets.c += index * problem.c.batch_strides[axis];
  }
  return offsets;
}

int matmul_threads(const MatmulProblem& problem, const KernelChoice& choice,
                   double operations_per_nanosecond) noexcept {
  if (choice.threads > 0) return granted_threads(choice.threads);
  return threads_for(nanoseconds_of(problem, operations_per_nanosecond));
}

int matmul_layout_threads(const MatmulProblem& problem, double operations_per_nanosecond) noexcept {
  return layout_threads_for(nanoseconds_of(problem, operations_per_nanosecond));
}

Matmul prepare_matmul(const MatmulProblem& problem, const KernelChoice& choice) {
  check(problem);
  const MatmulProblem simple = simplified(problem);
  if (is_column(simple)) return Matmul(std::make_unique<TransposedMatmul>(simple, choice));
  return Matmul(choose(simple, choice));
}

bool adds_as_if_dense(const MatmulProblem& problem, const KernelChoice& choice) {
  const MatmulProblem asked = simplified(problem), dense = simplified(with_dense_result(problem));
  if (asked.m != dense.m || asked.batch != dense.batch) return false;
  if (asked.c.row_stride == dense.c.row_stride && asked.c.column_stride == dense.c.column_stride &&
      asked.c.batch_strides == dense.c.batch_strides) {
    return true;
  }
  if (is_column(asked) || asked.c.column_stride != 1) return false;
  const auto one = choose(asked, choice), other = choose(dense, choice);
  const MatmulRoutine &routine = *one, &usual = *other;
  return typeid(routine) == typeid(usual) && !routine.order_depends_on_strides() && !usual.order_depends_on_strides();
}

}  // namespace tyto::cpu
