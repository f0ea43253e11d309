// SPDX-License-Identifier: MIT
// Tensors as Armadillo matrices and back. Armadillo is column-major: it sees a tensor transposed. Include it where
// Armadillo is on the include path; the library itself needs none.
#pragma once

#include <armadillo>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "tyto/shaping.hpp"
#include "tyto/tensor.hpp"

namespace tyto::armadillo {

/// The elements of a tensor of up to two axes, evaluated first, where they lie, as the transposed matrix: column i is
/// row i of the tensor. No copy, but of tensors that are views of others; view(x.T()) of a matrix that was borrowed
/// from Armadillo is that matrix again, copied. For how long, see Tensor::data(). A vector is a row here.
///
///     const arma::Mat<double> columns = armadillo::transposed_view<double>(x);
template <Element T, class M>
const arma::Mat<T> transposed_view(const Tensor<M>& x) {
  const Shape& shape = x.shape();
  if (shape.rank() > 2) {
    throw ShapeError("armadillo::transposed_view: a tensor of up to two axes is needed, not of " +
                     std::to_string(shape.rank()) + "; reshape it, or take a part");
  }
  const auto length = [&](int axis) {
    return static_cast<arma::uword>(shape.rank() > axis ? shape[static_cast<std::size_t>(axis)] : 1);
  };
  return arma::Mat<T>(const_cast<T*>(x.template data<T>().data()), length(1), length(0), false, true);
}
/// A temporary would be gone before the matrix is read: give it a name.
template <Element T, class M>
void transposed_view(const Tensor<M>&& x) = delete;

/// A copy in Armadillo's order: element (i, j) is x(i, j).
template <Element T, class M>
arma::Mat<T> matrix(const Tensor<M>& x) {
  return transposed_view<T>(x).st();
}

/// A tensor over the memory of a matrix, no copy: element (i, j) is m(i, j). A column or row of compile time has one
/// axis. The memory must hold still until `release` is called; Tyto never writes to it.
template <class T = Tensor<Eager>, class Number>
T borrow(const arma::Mat<Number>& m, std::function<void()> release = {}) {
  const auto rows = static_cast<std::int64_t>(m.n_rows), columns = static_cast<std::int64_t>(m.n_cols);
  return T::borrow_strided(m.memptr(), {rows, columns}, {1, rows}, std::move(release));
}
template <class T = Tensor<Eager>, class Number>
T borrow(const arma::Col<Number>& v, std::function<void()> release = {}) {
  return T::borrow(v.memptr(), {static_cast<std::int64_t>(v.n_elem)}, std::move(release));
}
template <class T = Tensor<Eager>, class Number>
T borrow(const arma::Row<Number>& v, std::function<void()> release = {}) {
  return T::borrow(v.memptr(), {static_cast<std::int64_t>(v.n_elem)}, std::move(release));
}
/// A temporary would be gone: adopt() it.
template <class T = Tensor<Eager>, class Number>
T borrow(arma::Mat<Number>&& m, std::function<void()> release = {}) = delete;
template <class T = Tensor<Eager>, class Number>
T borrow(arma::Col<Number>&& v, std::function<void()> release = {}) = delete;
template <class T = Tensor<Eager>, class Number>
T borrow(arma::Row<Number>&& v, std::function<void()> release = {}) = delete;
template <class T = Tensor<Eager>, class Number>
T borrow(arma::Cube<Number>&& cube, std::function<void()> release = {}) = delete;
/// Element (i, j, k) is cube(i, j, k).
template <class T = Tensor<Eager>, class Number>
T borrow(const arma::Cube<Number>& cube, std::function<void()> release = {}) {
  const auto rows = static_cast<std::int64_t>(cube.n_rows), columns = static_cast<std::int64_t>(cube.n_cols);
  return T::borrow_strided(cube.memptr(), {rows, columns, static_cast<std::int64_t>(cube.n_slices)},
                           {1, rows, rows * columns}, std::move(release));
}

/// A tensor that keeps the matrix, vector or cube, moved from, as long as it needs the elements. No copy, but of the
/// sixteen elements that Armadillo holds in the object itself.
template <class T = Tensor<Eager>, class Matrix>
requires(!std::is_lvalue_reference_v<Matrix>) T adopt(Matrix&& m) {
  const auto kept = std::make_shared<const std::remove_cvref_t<Matrix>>(std::move(m));
  return borrow<T>(*kept, [kept] {});
}

}  // namespace tyto::armadillo
