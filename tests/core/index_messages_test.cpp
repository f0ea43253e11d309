// SPDX-License-Identifier: MIT
// Messages for indices out of range: the operator's, or that of the function whose bounds were checked.
#include <doctest/doctest.h>

#include "core/graph/index_messages.hpp"

using tyto::core::message_of_bounds;
using tyto::core::message_of_index;

TEST_CASE("an index is told with the axis that it is outside of") {
  CHECK(message_of_index("take_along_axis", 7, 3) ==
        "take_along_axis: index 7 is outside an axis of length 3; it must lie in [-3, 2]");
  CHECK(message_of_index("take", 0, 0) == "take: index 0 is outside an axis of length 0, which holds nothing");
}

TEST_CASE("a value out of bounds is told by whoever named them") {
  CHECK(message_of_bounds({0, 4, "my_loss", "label", "classes"}, std::int64_t{7}) ==
        "my_loss: label 7 is out of range; the classes are 0 to 4");
  CHECK(message_of_bounds({-4, 3, "Embedding", "index", "rows"}, std::int64_t{-5}) ==
        "Embedding: index -5 is out of range; the rows are -4 to 3");
  // Without a word for the range it counts what is wrong, which makes it a matter of values.
  const tyto::core::BoundsAttributes counted{0, 0, "my_loss", "labels are NaN", ""};
  CHECK(message_of_bounds(counted, std::int64_t{7}) == "my_loss: 7 labels are NaN");
  CHECK_THROWS_WITH_AS(tyto::core::throw_out_of_bounds(counted, 7), "my_loss: 7 labels are NaN", tyto::ValueError);
}
