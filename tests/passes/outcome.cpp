// SPDX-License-Identifier: MIT
// Records which rules were expected to fire, and which not to, since the program began.
#include "tests/passes/outcome.hpp"

#include <doctest/doctest.h>

#include <set>

namespace tyto::testing {

namespace {

std::set<std::string, std::less<>>& seen(bool fires) {
  static std::set<std::string, std::less<>> matched, missed;
  return fires ? matched : missed;
}

}  // namespace

Outcome expect(const std::string& rule, bool fires, const std::function<core::Port(Sketch&)>& draw,
               const Tolerance& tolerance, const std::string& passes) {
  CAPTURE(rule);
  Sketch sketch;
  const core::Port root = draw(sketch);
  const core::Graph graph = sketch.graph({root});
  Outcome outcome;
  outcome.graph = optimised(graph, passes, &outcome.report);
  CHECK((outcome.report.fired(rule) != 0) == fires);
  CHECK(agree(results_of(graph), results_of(outcome.graph), tolerance));
  PassReport again;
  (void)optimised(outcome.graph, passes, &again);
  CHECK(again.fired() == 0);
  seen(fires).insert(rule);
  return outcome;
}

void check_seen(const optimiser::Rule& rule) {
  const std::string name(rule.name);
  CHECK_MESSAGE(seen(true).contains(name), name, ": no test case of this run expects it to fire");
  if (rule.when[0] == nullptr) return;
  CHECK_MESSAGE(seen(false).contains(name), name, ": no test case of this run expects a condition to keep it");
}

}  // namespace tyto::testing
