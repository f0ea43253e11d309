// SPDX-License-Identifier: MIT
// Every golden case on the CPU in every way of computing it: at once, on scattered inputs, recorded, compiled.
#include <doctest/doctest.h>

#include <set>

#include "tests/golden/computation.hpp"
#include "tests/golden/summary.hpp"
#include "tests/golden/verdict.hpp"

using namespace tyto;
using namespace tyto::golden;

namespace {

using Arrays = std::vector<Array>;

Arrays eager(const Case& one) { return arrays_of(in_order(compute<Eager>(one, tensors_of<Eager>(one.inputs)))); }

Arrays on_views(const Case& one) {
  return arrays_of(in_order(compute<Eager>(one, scattered(tensors_of<Eager>(one.inputs)))));
}

Arrays lazy(const Case& one) { return arrays_of(in_order(compute<Lazy>(one, tensors_of<Lazy>(one.inputs)))); }

Arrays compiled_with(const Case& one, const CompileOptions& options) {
  const auto function = [&one](const Tensors<Lazy>& inputs) { return in_order(compute<Lazy>(one, inputs)); };
  return arrays_of(call_compiled(function, tensors_of<Lazy>(one.inputs), options));
}
Arrays compiled(const Case& one) { return compiled_with(one, {}); }
Arrays compiled_plainly(const Case& one) { return compiled_with(one, {.passes = "none"}); }

struct Way {
  std::string name;
  Arrays (*compute)(const Case&);
  bool lazy;
};

}  // namespace

TEST_CASE("every case has a call") {
  std::set<std::string> unknown;
  for (const Case& one : committed().cases()) {
    if (!calls<Eager>().contains(one.op) || !calls<Lazy>().contains(one.op)) unknown.insert(one.op);
  }
  for (const std::string& op : unknown) FAIL_CHECK("cases call the operator '" << op << "', which is not known");
}

TEST_CASE("every operator computes its goldens in both modes") {
  const Way ways[] = {
      {"eager", eager, false},
      {"eager on scattered inputs", on_views, false},
      {"lazy by reading", lazy, true},
      {"lazy compiled", compiled, true},
      {"lazy compiled without passes", compiled_plainly, true},
  };
  for (const Case& one : committed().cases()) {
    for (const Way& way : ways) {
      const bool refused = way.lazy && eager_only(one);
      const std::string wrong = refused ? refusal(one, way.compute) : verdict(one, way.compute);
      if (!wrong.empty()) FAIL_CHECK(one.id << " (" << way.name << "): " << wrong);
      if (!refused) summary().count(one, way.name);
    }
  }
}
