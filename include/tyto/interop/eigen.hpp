// SPDX-License-Identifier: MIT
// Tensors as Eigen matrices and back, sparse matrices as operators. Include it where Eigen 3.4 is on the include path;
// the library itself needs no Eigen.
#pragma once

#include <Eigen/Core>
#include <Eigen/SparseCore>
#include <Eigen/SparseLU>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tyto/custom.hpp"
#include "tyto/tensor.hpp"

namespace tyto::eigen {

/// A matrix that lies as a tensor of two axes does.
template <class T>
using RowMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
/// Elements of a tensor as a matrix that is only read.
template <class T>
using MatrixView = Eigen::Map<const RowMajor<T>>;
/// Eigen's sparse matrix, by columns.
template <class T>
using SparseMatrix = Eigen::SparseMatrix<T>;

namespace detail {

struct Size {
  Eigen::Index rows, columns;
};
/// A vector is a column.
inline Size size_of_matrix(const char* function, const Shape& shape) {
  if (shape.rank() > 2) {
    throw ShapeError(std::string(function) + ": a tensor of up to two axes is needed, not of " +
                     std::to_string(shape.rank()) + "; reshape it, or take a part");
  }
  return {shape.rank() > 0 ? shape[0] : 1, shape.rank() > 1 ? shape[1] : 1};
}

template <class Derived>
Shape shape_of(const Eigen::DenseBase<Derived>& x) {
  if constexpr (Derived::IsVectorAtCompileTime) return {x.size()};
  else return {x.rows(), x.cols()};
}

}  // namespace detail

/// The elements of a tensor of up to two axes, evaluated first, where they lie: no copy, but of tensors that are views
/// of others. For how long, see Tensor::data(). A vector is a column.
///
///     const auto m = eigen::view<double>(x);
///     std::cout << m.fullPivLu().rank();
template <Element T, class M>
MatrixView<T> view(const Tensor<M>& x) {
  const auto [rows, columns] = detail::size_of_matrix("eigen::view", x.shape());
  return {x.template data<T>().data(), rows, columns};
}
/// A temporary would be gone before the view is read: give it a name.
template <Element T, class M>
void view(const Tensor<M>&& x) = delete;
/// An input of an operator of your own; see custom_op().
template <Element T>
MatrixView<T> view(const HostInput& x) {
  const auto [rows, columns] = detail::size_of_matrix("eigen::view", x.shape());
  return {x.data<T>().data(), rows, columns};
}
/// A result of one, to be filled.
template <Element T>
Eigen::Map<RowMajor<T>> view(const HostResult& x) {
  const auto [rows, columns] = detail::size_of_matrix("eigen::view", x.shape());
  return {x.data<T>().data(), rows, columns};
}

/// A tensor with a copy of what an expression yields; of one axis where it is a vector at compile time.
///
///     const Tensor product = eigen::tensor<Tensor>(m.transpose() * m);
template <class T = Tensor<Eager>, class Derived>
T tensor(const Eigen::DenseBase<Derived>& expression) {
  using Number = typename Derived::Scalar;
  constexpr int order = Derived::ColsAtCompileTime == 1 ? Eigen::ColMajor : Eigen::RowMajor;
  using Dense =
      std::conditional_t<std::is_base_of_v<Eigen::ArrayBase<Derived>, Derived>,
                         Eigen::Array<Number, Derived::RowsAtCompileTime, Derived::ColsAtCompileTime, order>,
                         Eigen::Matrix<Number, Derived::RowsAtCompileTime, Derived::ColsAtCompileTime, order>>;
  const Dense dense = expression.derived();
  return T::from(std::span<const Number>(dense.data(), static_cast<std::size_t>(dense.size())),
                 detail::shape_of(expression));
}

/// A tensor over the memory of a matrix, map or block, whatever its strides: no copy. The memory must hold still until
/// `release` is called; Tyto never writes to it.
template <class T = Tensor<Eager>, class Derived>
T borrow(const Eigen::DenseBase<Derived>& x, std::function<void()> release = {}) {
  static_assert((Derived::Flags & Eigen::DirectAccessBit) != 0,
                "eigen::borrow takes what lies in memory; of an expression make a tensor: eigen::tensor(...)");
  const Derived& m = x.derived();
  if constexpr (Derived::IsVectorAtCompileTime) {
    return T::borrow_strided(m.data(), {m.size()}, {m.innerStride()}, std::move(release));
  } else if constexpr (Derived::IsRowMajor) {
    return T::borrow_strided(m.data(), {m.rows(), m.cols()}, {m.outerStride(), m.innerStride()}, std::move(release));
  } else {
    return T::borrow_strided(m.data(), {m.rows(), m.cols()}, {m.innerStride(), m.outerStride()}, std::move(release));
  }
}
/// A temporary matrix would be gone: adopt() it.
template <class T = Tensor<Eager>, class Derived>
T borrow(Eigen::PlainObjectBase<Derived>&& x, std::function<void()> release = {}) = delete;

/// A tensor that keeps the matrix, moved from, as long as it needs the elements: no copy.
template <class T = Tensor<Eager>, class Derived>
T adopt(Eigen::PlainObjectBase<Derived>&& x) {
  const auto kept = std::make_shared<const Derived>(std::move(x.derived()));
  return borrow<T>(*kept, [kept] {});
}

namespace detail {

/// Data shared by an operator and its gradient: the matrix, and its factorisation where the operator solves.
template <class T>
struct Sparse {
  SparseMatrix<T> matrix, adjoint;
  Eigen::SparseLU<SparseMatrix<T>> factors, adjoint_factors;
};

template <class T>
using Apply = void (*)(const Sparse<T>& sparse, bool adjoint, const MatrixView<T>& x, Eigen::Map<RowMajor<T>>& y);

/// An operator that is linear in its input of one or two axes: its gradient is the adjoint operator's.
template <class T>
CustomOp linear_operator(const char* name, std::shared_ptr<const Sparse<T>> sparse, bool adjoint, Apply<T> apply) {
  const Eigen::Index columns = adjoint ? sparse->adjoint.cols() : sparse->matrix.cols();
  const Eigen::Index rows = adjoint ? sparse->adjoint.rows() : sparse->matrix.rows();
  return custom_op(
      {.name = name,
       .results =
           [=](ArrayTypes in) {
             Shape shape = in[0].shape;
             if (in[0].dtype != dtype_of<T> || shape.rank() < 1 || shape.rank() > 2 || shape[0] != columns) {
               throw ShapeError(std::string(name) + ": the sparse matrix has " + std::to_string(rows) + " rows and " +
                                std::to_string(columns) + " columns of " + tyto::name_of(dtype_of<T>) +
                                ": a vector or matrix of as many rows as it has columns, and of that type, is needed");
             }
             shape[0] = rows;
             return std::vector{ArrayType{dtype_of<T>, shape}};
           },
       .host =
           [=](HostInputs in, HostResults out) {
             Eigen::Map<RowMajor<T>> y = view<T>(out[0]);
             apply(*sparse, adjoint, view<T>(in[0]), y);
           },
       .gradient =
           [=](const std::vector<Tensor<Any>>&, const std::vector<Tensor<Any>>&, const std::vector<Tensor<Any>>& g) {
             return std::vector{linear_operator(name, sparse, !adjoint, apply)(g[0])};
           }});
}

}  // namespace detail

/// The product with a sparse matrix as an operator on vectors and matrices, in both modes, with gradients. It runs on
/// the host and allocates there.
///
///     const auto laplacian = eigen::sparse_product(a);
///     const Tensor y = laplacian(x);
template <class T>
CustomOp sparse_product(const SparseMatrix<T>& a) {
  const auto sparse = std::make_shared<detail::Sparse<T>>();
  sparse->matrix = a;
  sparse->adjoint = a.adjoint();
  return detail::linear_operator<T>("eigen::sparse_product", sparse, false,
                                    [](const detail::Sparse<T>& of, bool adjoint, const MatrixView<T>& x,
                                       Eigen::Map<RowMajor<T>>& y) { y = (adjoint ? of.adjoint : of.matrix) * x; });
}

/// The solution of a square sparse system as an operator on right-hand sides, in both modes, with gradients: the matrix
/// is factored here, once. Throws ValueError where it is singular.
///
///     const auto solve = eigen::sparse_solver(a);
///     const Tensor x = solve(b);
template <class T>
CustomOp sparse_solver(const SparseMatrix<T>& a) {
  if (a.rows() != a.cols()) {
    throw ShapeError("eigen::sparse_solver: a square matrix is needed, not one of " + std::to_string(a.rows()) +
                     " rows and " + std::to_string(a.cols()) + " columns");
  }
  const auto sparse = std::make_shared<detail::Sparse<T>>();
  sparse->matrix = a;
  sparse->adjoint = a.adjoint();
  sparse->factors.compute(sparse->matrix);
  sparse->adjoint_factors.compute(sparse->adjoint);
  if (sparse->factors.info() != Eigen::Success || sparse->adjoint_factors.info() != Eigen::Success) {
    throw ValueError("eigen::sparse_solver: the matrix is singular");
  }
  return detail::linear_operator<T>(
      "eigen::sparse_solver", sparse, false,
      [](const detail::Sparse<T>& of, bool adjoint, const MatrixView<T>& x, Eigen::Map<RowMajor<T>>& y) {
        const Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic> right = x;  // it solves columns
        const Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic> solution =
            (adjoint ? of.adjoint_factors : of.factors).solve(right);
        y = solution;
      });
}

}  // namespace tyto::eigen
