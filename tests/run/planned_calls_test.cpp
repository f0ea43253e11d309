// SPDX-License-Identifier: MIT
// Functions made of operators are computed by a plan once it pays, and by that plan again: their results are compared
// in tests/api/planned_call_test.cpp.
#include <doctest/doctest.h>

#include <cmath>
#include <tyto/tyto.hpp>

#include "core/graph/planned_call.hpp"

namespace planned_calls {

using T = tyto::Tensor<tyto::Eager>;
using tyto::core::planned_call_count;
using tyto::core::PlannedCallCount;

/// The counts that some calls add.
template <class F>
PlannedCallCount counted(int calls, const F& call) {
  const PlannedCallCount before = planned_call_count();
  for (int i = 0; i < calls; ++i) (void)call();
  const PlannedCallCount after = planned_call_count();
  return {after.plans - before.plans, after.runs - before.runs};
}

TEST_CASE("a function that is called often has one plan, which later calls run by") {
  const T x = T::full({64}, 0.25), same_shape = T::full({64}, 0.75);
  const PlannedCallCount first = counted(400, [&] { return heaviside(x, 0.375); });
  CHECK(first.plans == 1);
  CHECK(first.runs > 200);
  CHECK(first.runs < 400);
  const PlannedCallCount again = counted(50, [&] { return heaviside(same_shape, 0.375); });
  CHECK(again.plans == 0);
  CHECK(again.runs == 50);
}

TEST_CASE("other numbers and shapes have plans of their own, and large operands pay for one at once") {
  const T x = T::full({64}, 0.25);
  CHECK(counted(400, [&] { return heaviside(x, 0.4375); }).plans == 1);
  CHECK(counted(400, [&] { return heaviside(T::full({65}, 0.25), 0.4375); }).plans == 1);
  const T large = T::full({1 << 20}, 0.25);
  const PlannedCallCount two = counted(3, [&] { return heaviside(large, 0.4375); });
  CHECK(two.plans == 1);
  CHECK(two.runs == 2);
}

TEST_CASE("operands that a tape remembers and lazy ones are computed by operators") {
  using L = tyto::Tensor<tyto::Lazy>;
  const L lazy = L::full({1 << 20}, 0.25);
  CHECK(counted(3, [&] { return heaviside(lazy, 0.3125); }).runs == 0);
  const T x = T::full({1 << 20}, 0.25);
  auto gradient = tyto::grad([](const T& at) { return sum(sinc(at)); });
  CHECK(counted(3, [&] { return gradient(x); }).runs == 0);
}

}  // namespace planned_calls
