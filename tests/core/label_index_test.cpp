// What an index outside of its axis is told as: the operator's, or a label of a loss.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include "core/label_index.hpp"

using tyto::core::largest_label;
using tyto::core::losses_of_labels;
using tyto::core::message_of_index;
using tyto::core::wrong_labels_of;

TEST_CASE("labels of each loss are told apart from one another, and from indices") {
  for (const std::string_view loss : losses_of_labels) {
    for (const std::int64_t label :
         {-largest_label, std::int64_t{-1}, std::int64_t{0}, std::int64_t{3}, largest_label}) {
      CHECK(message_of_index("take", wrong_labels_of(loss) + label, 3) ==
            std::string(loss) + ": the label " + std::to_string(label) + " is no class; there are 0 to 2");
    }
  }
  CHECK(message_of_index("take", wrong_labels_of("nll") + 4, 0) ==
        "nll: the label 4 is no class; there are no classes");
  for (const std::int64_t index : {INT64_MIN, INT64_MAX, INT64_MAX / 2, INT64_MIN / 2 - 1}) {
    CHECK(message_of_index("gather", index, 3) ==
          "gather: index " + std::to_string(index) + " is outside an axis of length 3; it must lie in [-3, 2]");
  }
}
