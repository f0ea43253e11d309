// SPDX-License-Identifier: MIT
// Applies kernels to stacks of matrices, one matrix after another.
#include "numerics/matrix_operator.hpp"

#include <algorithm>
#include <complex>
#include <limits>

#include "tyto/reduce.hpp"

namespace tyto::core {

namespace matrix_operators {

using eigen_kernels::Kernel;
using eigen_kernels::Matrix;

/// How many elements a matrix of this shape has, and how many matrices there are.
struct Stacked {
  explicit Stacked(const Shape& shape) : rows(rows_of(shape)), columns(columns_of(shape)) {
    for (const std::int64_t length : stack_shape(shape)) count *= length;
  }
  std::int64_t rows, columns, count = 1;
  std::size_t size() const { return static_cast<std::size_t>(rows * columns); }
};

template <class Element, class Number>
void compute(HostInputs in, HostResults out, Kernel<Number> kernel) {
  std::size_t total = 0, written = 0;
  for (const HostInput& each : in) total += Stacked(each.shape()).size();
  for (const HostResult& each : out) written += each.size();
  if (written == 0) return;
  std::vector<Number> memory(total + [&] {
    std::size_t sum = 0;
    for (const HostResult& each : out) sum += Stacked(each.shape()).size();
    return sum;
  }());
  std::vector<Matrix<const Number>> from(in.size());
  std::vector<Matrix<Number>> to(out.size());
  const std::int64_t count = Stacked(out[0].shape()).count;
  for (std::int64_t index = 0; index < count; ++index) {
    Number* next = memory.data();
    for (std::size_t i = 0; i < in.size(); ++i) {
      const Stacked matrix(in[i].shape());
      const Element* const first = in[i].data<Element>().data() + static_cast<std::size_t>(index) * matrix.size();
      for (std::int64_t row = 0; row < matrix.rows; ++row) {
        for (std::int64_t column = 0; column < matrix.columns; ++column) {
          next[column * matrix.rows + row] = static_cast<Number>(first[row * matrix.columns + column]);
        }
      }
      from[i] = {next, matrix.rows, matrix.columns};
      next += matrix.size();
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      const Stacked matrix(out[i].shape());
      to[i] = {next, matrix.rows, matrix.columns};
      next += matrix.size();
    }
    const bool found = kernel(from, to);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const Matrix<Number>& matrix = to[i];
      const Stacked stack(out[i].shape());
      Element* const first = out[i].data<Element>().data() + static_cast<std::size_t>(index) * stack.size();
      if (!found) {
        std::fill_n(first, stack.size(), Element(std::numeric_limits<double>::quiet_NaN()));
        continue;
      }
      for (std::int64_t row = 0; row < matrix.rows; ++row) {
        for (std::int64_t column = 0; column < matrix.columns; ++column) {
          first[row * matrix.columns + column] = static_cast<Element>(matrix.data[column * matrix.rows + row]);
        }
      }
    }
  }
}

void compute_any(const eigen_kernels::Kernels& kernels, HostInputs in, HostResults out) {
  switch (in[0].dtype()) {
    case DType::f32: return compute<float>(in, out, kernels.real);
    case DType::f64: return compute<double>(in, out, kernels.real);
    case DType::c64: return compute<std::complex<float>>(in, out, kernels.complex);
    default: return compute<std::complex<double>>(in, out, kernels.complex);
  }
}

}  // namespace matrix_operators

CustomOp custom_op(const MatrixOperator& description) {
  const auto results = [description](ArrayTypes in) {
    const ArrayType& model = in[description.like];
    std::vector<ArrayType> out(description.results, model);
    if (description.and_row) out.push_back({model.dtype, extended(stack_shape(model.shape), {1, model.shape.back()})});
    return out;
  };
  const auto host = [kernels = description.kernels()](HostInputs in, HostResults out) {
    matrix_operators::compute_any(kernels, in, out);
  };
  return tyto::custom_op({.name = description.name,
                          .inputs = description.inputs,
                          .results = results,
                          .host = host,
                          .gradient = description.gradient});
}

std::vector<AnyTensor> apply(const CustomOp& op, std::string_view function, const std::vector<AnyTensor>& operands) {
  if (eigen_kernels::schur().real == nullptr) {
    throw_error<DeviceError>(function, ": Eigen computes it, and this build of Tyto has none: install Eigen 3.4 ",
                             "(libeigen3-dev) and configure again; build_info() tells what a build has");
  }
  return op.apply(operands);
}

std::vector<AnyTensor> alike(std::string_view function, const std::vector<Value>& operands) {
  std::vector<Value> given;
  for (const Value& each : operands) given.push_back(matrix_operand(function, each));
  const DType type = common_type(given);
  Shape stack;
  for (const Value& each : given) {
    check_matrices(function, TensorType{type, each.shape(), false});
    try {
      stack = broadcast(function, stack, stack_shape(each.shape()));
    } catch (const ShapeError&) {
      throw_error<ShapeError>(function, ": stacks of shapes ", stack, " and ", stack_shape(each.shape()),
                              " do not go together");
    }
  }
  std::vector<AnyTensor> out;
  for (const Value& each : given) {
    const Shape shape = extended(stack, {rows_of(each.shape()), columns_of(each.shape())});
    out.push_back(broadcast_to(AnyTensor(cast_to(each, type)), shape));
  }
  return out;
}

void refuse_nan(std::string_view function, const std::vector<AnyTensor>& operands, const AnyTensor& result,
                std::string_view reason) {
  if (mode_like(result) != Mode::eager || result.size() == 0) return;
  const Shape stack = stack_shape(result.shape());
  const std::int64_t count = element_count(stack);
  const auto holds = [count](const AnyTensor& x, bool finite) {
    const Tensor<Eager> rows = reshape(Tensor<Eager>(x.value()), {count, x.size() / count});
    return (finite ? tyto::all(isfinite(rows), 1) : tyto::any(isnan(rows), 1)).template to_vector<bool>();
  };
  const auto missing = holds(result, false);
  if (std::none_of(missing.begin(), missing.end(), [](bool each) { return each; })) return;
  std::vector<std::vector<bool>> finite;
  for (const AnyTensor& each : operands) {
    const auto found = holds(each, true);
    finite.emplace_back(found.begin(), found.end());
  }
  for (std::size_t i = 0; i < missing.size(); ++i) {
    const bool defined = std::all_of(finite.begin(), finite.end(), [i](const auto& each) { return each[i]; });
    if (!missing[i] || !defined) continue;
    if (stack.empty()) throw_error<ValueError>(function, ": ", reason);
    throw_error<ValueError>(function, ": ", reason, ", for matrix ", i, " of the stack of shape ", stack);
  }
}

}  // namespace tyto::core
