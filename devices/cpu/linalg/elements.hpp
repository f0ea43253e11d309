// SPDX-License-Identifier: MIT
// Gives real and complex matrices the same names, for kernels that do the same to either: real ones are worked with
// where operands and results lie, complex ones in the workspace, with their parts apart.
#pragma once

#include <algorithm>
#include <utility>

#include "devices/cpu/linalg/complex_matrix_kernel.hpp"

namespace tyto::cpu::linalg {

/// Arguments of the work on matrix `index`, for real and complex elements alike.
template <class T>
struct MatrixWork {
  using Real = T;

  Addresses inputs, outputs;
  Index index;
  const KernelContext<T>& context;
  std::int64_t* indices;
  T* workspace;  ///< what is left of it

  /// The numbers that a result has for the matrix.
  template <class N>
  N* numbers(std::size_t output, Index length = 1) const noexcept {
    return linalg::numbers<N>(outputs[output], index, length);
  }
};

template <class T>
struct RealMatrices : MatrixWork<T> {
  static constexpr bool complex = false;
  static constexpr double products = 1;  ///< of real numbers, for one of two elements
  /// Elements of workspace for matrices of the kernel's own and for operands and results, of so many elements in all.
  static constexpr Index workspace_of(Index own, Index /*operands_and_results*/) { return own; }

  Matrix<T> own(Index rows, Index columns) {
    T* const first = std::exchange(this->workspace, this->workspace + rows * columns);
    return dense(first, rows, columns);
  }
  /// The matrix of an operand, which is only read; or a copy to be overwritten.
  Matrix<const T> operand(const Stack& stack, std::size_t input) const {
    return stack.at<const T>(this->inputs[input], this->index);
  }
  void read(const Stack& stack, std::size_t input, const Matrix<T>& to) const {
    copy_matrix<T>(operand(stack, input), to);
  }
  /// The matrix of a result, which is there when it is written.
  Matrix<T> result(std::size_t output, Index rows, Index columns) const {
    return Stack{0, 1, rows, columns}.at<T>(this->outputs[output], this->index);
  }
  void write(const Matrix<T>&, std::size_t) const {}
  void write_adjoint(const Matrix<T>& of, std::size_t output) const {
    copy_matrix<T>(of.transposed(), result(output, of.columns, of.rows));
  }
  void write_number(T number, std::size_t output) const { *this->template numbers<T>(output) = number; }
};

template <class T>
struct ComplexMatrices : MatrixWork<T> {
  static constexpr bool complex = true;
  static constexpr double products = 4;
  static constexpr Index workspace_of(Index own, Index operands_and_results) {
    return 2 * (own + operands_and_results);
  }

  Parts<T> own(Index rows, Index columns) {
    T* const first = std::exchange(this->workspace, this->workspace + 2 * rows * columns);
    return dense_parts(first, rows, columns);
  }
  Parts<T> operand(const Stack& stack, std::size_t input) {
    const Parts<T> parts = own(stack.rows, stack.columns);
    read(stack, input, parts);
    return parts;
  }
  void read(const Stack& stack, std::size_t input, const Parts<T>& to) const {
    read_parts(stack, this->inputs[input], this->index, to);
  }
  Parts<T> result(std::size_t, Index rows, Index columns) { return own(rows, columns); }
  void write(const Parts<T>& from, std::size_t output) const { write_parts(from, this->outputs[output], this->index); }
  void write_adjoint(const Parts<T>& of, std::size_t output) const {
    write_parts(transposed(of), this->outputs[output], this->index, true);
  }
  void write_number(Number<T> number, std::size_t output) const {
    T* const to = this->template numbers<T>(output, 2);
    to[0] = number.re;
    to[1] = number.im;
  }
};

/// Calls f<E>() with the matrices of the first operand's elements.
template <class F>
KernelRef with_elements(const core::Step& step, const F& f) {
  switch (step.inputs[0].dtype) {
    case DType::f64: return f.template operator()<RealMatrices<double>>();
    case DType::c64: return f.template operator()<ComplexMatrices<float>>();
    case DType::c128: return f.template operator()<ComplexMatrices<double>>();
    default: return f.template operator()<RealMatrices<float>>();
  }
}

/// A kernel that calls work(E{}) for each matrix.
template <class E, class Work>
KernelRef for_each_of(Index count, const WorkEstimate& estimate, Work work) {
  if (count == 0) return no_work();
  using T = typename E::Real;
  return for_each_matrix<T>(count, estimate,
                            [=](Addresses inputs, Addresses outputs, Index index, const ThreadWorkspace<T>& mine) {
                              work(E{{inputs, outputs, index, mine.context, mine.indices, mine.workspace}});
                            });
}

/// Calls f(matrices...), or f(real parts...) and then f(imaginary parts...).
template <class F, class... T>
void for_each_part(const F& f, const Matrix<T>&... a) {
  f(a...);
}
template <class F, class... T>
void for_each_part(const F& f, const Parts<T>&... a) {
  f(a.re...);
  f(a.im...);
}

template <class T>
Matrix<T> transposed(const Matrix<T>& a) {
  return a.transposed();
}
template <class T>
void set_identity(const Parts<T>& a) noexcept {
  set_identity(a.re);
  std::fill_n(a.im.first, a.im.rows * a.im.columns, T(0));
}
template <class T>
void fill_with_nan(const Parts<T>& a) noexcept {
  fill_with_nan(a.re);
  fill_with_nan(a.im);
}

}  // namespace tyto::cpu::linalg
