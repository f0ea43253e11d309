// SPDX-License-Identifier: MIT
// Messages begin with the function that was called, and name the operator within it that found the fault.
#include <doctest/doctest.h>

#include <tyto/tyto.hpp>

using namespace tyto;

TEST_CASE_TEMPLATE("functions made of operators name themselves before the operator that refuses", Mode, Eager, Lazy) {
  using T = Tensor<Mode>;
  const T three = T::ones({3}), four = T::ones({4});
  CHECK_THROWS_WITH_AS(gammainc(three, four),
                       "gammainc: logical_and: shapes (3,) and (4,) do not broadcast: axis lengths 3 and 4 differ and "
                       "neither is 1",
                       ShapeError);
  CHECK_THROWS_WITH_AS((distributions::Normal<T>{four, 1.0}.log_prob(three)),
                       "Normal::log_prob: subtract: shapes (3,) and (4,) do not broadcast: axis lengths 3 and 4 differ "
                       "and neither is 1",
                       ShapeError);
  CHECK_THROWS_WITH_AS(fliplr(three), "fliplr: flip: axis 1 is outside [-1, 0] for a tensor of rank 1", IndexError);
}

TEST_CASE_TEMPLATE("a message that begins with the function's name stays as it is", Mode, Eager, Lazy) {
  using T = Tensor<Mode>;
  CHECK_THROWS_WITH_AS(diag(T(1.0)), "diag: a vector or a matrix is needed, not shape ()", ShapeError);
  CHECK_THROWS_WITH_AS(linalg::diagonal(T::ones({3})), "diagonal: matrices need two axes or more, not shape (3,)",
                       ShapeError);
  CHECK_THROWS_WITH_AS(linalg::inv(T::ones({2, 3})), "inv: matrices must be square, not of shape (2,3)", ShapeError);
}
