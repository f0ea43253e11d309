// SPDX-License-Identifier: MIT
// Every operator of the table has a golden: it is part of what some case computes, or is listed here with a reason.
#include <doctest/doctest.h>

#include <map>
#include <string>

#include "core/graph/operator.hpp"
#include "tests/golden/computation.hpp"
#include "tests/golden/reach.hpp"
#include "tests/golden/verdict.hpp"

using namespace tyto;
using namespace tyto::golden;

namespace {

/// Operators that no case can compute, and the tests that cover them.
const std::map<std::string, std::string>& tested_elsewhere() {
  static const std::map<std::string, std::string> reasons = {
      {"state", "a place to keep values, not a computation: tests of assignments and graphs"},
      {"read", "a version of a state: tests of assignments and graphs"},
      {"fused", "made by the optimiser alone, of what compiled goldens record: tests/passes/fuse_test.cpp"},
      {"matmul_epilogue", "made by the optimiser alone: tests/passes/epilogues_test.cpp"},
      {"convolution_epilogue", "made by the optimiser alone: tests/passes/epilogues_test.cpp"},
      {"pack_weights", "made by the optimiser alone: tests/run/packing_test.cpp"},
      {"branch", "computes what its regions compute, held against JAX: tests/flow/goldens_test.cpp"},
      {"loop", "computes what its region computes, held against JAX: tests/flow/goldens_test.cpp"},
      {"custom", "computes what a user's function computes: tests of delay"},
      {"with_gradient", "passes its input on; its gradient is a user's: tests/golden/gradients_test.cpp"},
      {"stop_gradient", "passes its input on: tests/golden/gradients_test.cpp"},
      {"copy", "passes its input on: tests/golden/gradients_test.cpp"},
      {"send", "moves what several processes have: tests/distributed/messages_test.cpp"},
      {"recv", "moves what several processes have: tests/distributed/messages_test.cpp"},
      {"all_reduce", "computes what several processes have: tests/distributed/operators_test.cpp"},
      {"all_gather", "computes what several processes have: tests/distributed/operators_test.cpp"},
      {"reduce_scatter", "computes what several processes have: tests/distributed/operators_test.cpp"},
      {"broadcast", "computes what several processes have: tests/distributed/operators_test.cpp"},
      {"barrier", "computes what several processes have: tests/distributed/operators_test.cpp"},
      {"max_pool_pick", "the gradient of max_pool_gradient, a third derivative: tests/golden/gradients_test.cpp"},
  };
  return reasons;
}

/// Draws have no golden; tests/devices/cpu/random_test.cpp and tests/ops/random_test.cpp hold them to Philox' published
/// answers and to their distributions.
bool random(const core::OpDef& def) { return def.name.starts_with("random_"); }

}  // namespace

TEST_CASE("every operator of the table is part of a golden, or is listed with a reason") {
  std::set<core::OpId> computed, barriers;
  for (const Case& one : committed().cases()) {
    if (eager_only(one)) continue;  // made of other operators
    std::vector<Value> results;
    for (const Tensor<Lazy>& result : in_order(compute<Lazy>(one, tensors_of<Lazy>(one.inputs)))) {
      results.push_back(result);
    }
    computed.merge(operators_beneath(results));
    barriers.merge(barriers_beneath(results));
  }
  for (const core::OpDef& def : core::op_table()) {
    const std::string name(def.name);
    const bool listed = tested_elsewhere().contains(name) || random(def);
    if (!computed.contains(def.id) && !listed) {
      FAIL_CHECK("no golden computes '" << name << "': add it to a recipe of tests/golden/recipes, then run "
                                        << "tests/golden/make_goldens.py FAMILY");
    }
    if (computed.contains(def.id) && listed) {
      FAIL_CHECK("'" << name << "' is computed by a golden and listed as if not");
    }
    // gradients_test.cpp shows of the element-wise operators without a gradient that their derivative is zero.
    if (barriers.contains(def.id) && !def.is(core::Traits::elementwise)) {
      FAIL_CHECK("gradients end silently at '" << name << "'");
    }
  }
  for (const auto& [name, reason] : tested_elsewhere()) {
    if (core::find_operator(name) == nullptr) FAIL_CHECK("'" << name << "' is listed and is no operator");
  }
}
