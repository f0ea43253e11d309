// SPDX-License-Identifier: MIT
// The operator table is complete: each operator has a sample, and computes it in either mode to the same bits.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "core/graph/builder.hpp"
#include "core/graph/op_ids.hpp"
#include "ops/application.hpp"
#include "tests/fuzz/program.hpp"
#include "tests/ops/sample_operands.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/indexing.hpp"
#include "tyto/operators.hpp"

using namespace tyto;
using core::Application;
using core::OpDef;
using core::Traits;
using fuzz::Data;
using sample_operands::drawn;

namespace {

/// Operators that no public function applies to tensors: leaves, markers, and those made of functions.
const std::set<std::string_view> without_samples{"constant",      "state",  "read",   "alias",
                                                 "with_gradient", "custom", "branch", "loop"};

}  // namespace

TEST_CASE("each operator has a sample, or is known to have none") {
  for (const OpDef& def : core::op_table()) {
    CAPTURE(def.name);
    CHECK(core::has_sample(def) != without_samples.contains(def.name));
    CHECK(def.low < def.high);
    if (!core::has_sample(def)) continue;
    std::size_t types = 0;
    for (int i = 0; i < dtype_count; ++i) types += core::application(def, static_cast<DType>(i)) ? 1 : 0;
    CHECK(types > 0);
  }
}

TEST_CASE("samples computed at once and in a graph have the same bits, types and shapes") {
  std::size_t compared = 0;
  for (const OpDef& def : core::op_table()) {
    // The same key draws the same numbers; keys of samples are made when they are recorded.
    if (def.is(Traits::random) || def.id == core::OpId::pack_weights) continue;
    CAPTURE(def.name);
    for (int i = 0; i < dtype_count; ++i) {
      const auto type = static_cast<DType>(i);
      const std::optional<Application> application = core::application(def, type);
      if (!application) continue;
      CAPTURE(type);
      std::vector<Value> eager, lazy;
      for (const core::TensorType& operand : application->operands) {
        Tensor<Eager> x = drawn(def, operand, type);
        if (def.id == core::OpId::histogram) x = sort(x);  // edges ascend
        eager.push_back(x);
        lazy.push_back(Data::of(x).tensor<Lazy>());
      }
      const Value at_once = core::emit(core::Mode::eager, def.id, application->attributes, eager);
      const Value in_graph = core::emit(core::Mode::lazy, def.id, application->attributes, lazy);
      for (std::uint32_t k = 0; k < application->results.size(); ++k) {
        const Data first = Data::of(Tensor<Eager>(core::result(at_once, k)));
        const Data second = Data::of(Tensor<Lazy>(core::result(in_graph, k)));
        CHECK(first.dtype == application->results[k].dtype);
        CHECK(first.shape == application->results[k].shape);
        CHECK(second.dtype == first.dtype);
        CHECK(second.shape == first.shape);
        CHECK(second.bytes == first.bytes);
        ++compared;
      }
    }
  }
  CHECK(compared > 1000);
}
