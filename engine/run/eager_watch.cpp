// SPDX-License-Identifier: MIT
// Checks results in eager mode, as the environment asks for all threads and options of compiled functions for theirs.
#include "engine/run/eager_watch.hpp"

#include <vector>

#include "core/graph/operator.hpp"
#include "core/graph/released_versions.hpp"
#include "core/value/text.hpp"
#include "engine/run/living.hpp"

namespace tyto::run {

thread_local constinit std::uint8_t eager_watch = EagerWatch::unknown;

namespace {

std::uint8_t bits_of(const NumberCheck& check) {
  return static_cast<std::uint8_t>((check.nan ? EagerWatch::nan : 0) | (check.infinity ? EagerWatch::infinity : 0));
}

void check_numbers(const core::Node& node, const NumberCheck& check) {
  if (node.inputs().empty() || core::definition(node).is(core::Traits::view)) return;
  std::vector<CheckedOperand> operands;
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    const core::Array array = core::contents_of(node.inputs()[i]);
    if (array) operands.push_back({core::text("operand ", i + 1), wrong_numbers(elements_of(array))});
  }
  for (const core::Result& result : node.results()) {
    check_result(check, core::definition(node).name, node.label(), elements_of(result.array), operands);
  }
}

}  // namespace

std::uint8_t known_eager_watch() {
  if (eager_watch == EagerWatch::unknown) {
    eager_watch =
        static_cast<std::uint8_t>(bits_of(number_check_of_environment()) | (notes_living() ? EagerWatch::places : 0));
  }
  return eager_watch;
}

void watch_eager_numbers(const NumberCheck& check) {
  eager_watch = static_cast<std::uint8_t>(known_eager_watch() | bits_of(check));
}

void watch_result(const core::Node& node) {
  const std::uint8_t watch = known_eager_watch();
  if ((watch & EagerWatch::places) != 0) {
    for (const core::Result& result : node.results())
      note_living(result.array, core::definition(node).name, node.label());
  }
  if ((watch & EagerWatch::nan) != 0) check_numbers(node, {true, (watch & EagerWatch::infinity) != 0});
}

}  // namespace tyto::run
