// Random programs over all operators, in both modes, through every pass and every planner, with changing inputs.
#include <doctest/doctest.h>

#include <set>
#include <string>

#include "engine/core/operator.hpp"
#include "tests/fuzz/trial.hpp"

using namespace tyto;

TEST_CASE("500 random programs compute in every way what eager mode computes") {
  fuzz::TrialCount count;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    const std::optional<std::string> fault = fuzz::fault_of(fuzz::trial_of(seed), count);
    if (fault) FAIL_CHECK(*fault << "\n" << fuzz::smallest_fault(fuzz::trial_of(seed)));
  }
  CHECK(count.graphs == 500);
  // Few moves ask for what the library refuses; else little would be tried.
  CHECK(count.refused * 10 < count.nodes);

  // What only other ways of recording make: leaves, and what passes put in.
  const std::set<std::string_view> elsewhere{"state",       "read", "fused", "matmul_epilogue", "convolution_epilogue",
                                             "pack_weights"};
  for (const core::OpDef& def : core::op_table()) {
    CAPTURE(def.name);
    if (!elsewhere.contains(def.name)) CHECK(count.operators[static_cast<std::size_t>(def.id)] > 0);
  }
}
