// Labels of losses as indices, and what an index outside of its axis is told as. A label that is no class becomes an
// index beyond every axis, off which the message reads loss and label: whatever kernel meets it, in whatever mode.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "core/text.hpp"

namespace tyto::core {

inline constexpr std::array<std::string_view, 3> losses_of_labels = {"cross_entropy", "nll", "multi_margin"};

// Such an index is this + the loss's number times 2^50 + the label, cut off at 2^48. Nobody's index comes near by plan:
// what programs mark places with (powers of two, the largest integers, their halves, round numbers) lies far away.
inline constexpr std::int64_t wrong_labels = 0x5bd1'e995'37a4'0000;
inline constexpr std::int64_t labels_of_loss = std::int64_t{1} << 50;
inline constexpr std::int64_t largest_label = std::int64_t{1} << 48;

/// To which a label of that loss is added.
inline std::int64_t wrong_labels_of(std::string_view loss) {
  const auto found = std::find(losses_of_labels.begin(), losses_of_labels.end(), loss);
  return wrong_labels + (found - losses_of_labels.begin()) * labels_of_loss;
}

/// What is told of an index outside of an axis, by the operator of that name or the loss that gave it a label.
inline std::string message_of_index(std::string_view op, std::int64_t index, std::int64_t length) {
  constexpr std::int64_t begin = wrong_labels - labels_of_loss / 2;
  if (index >= begin && index < begin + std::ssize(losses_of_labels) * labels_of_loss) {
    const std::int64_t loss = (index - begin) / labels_of_loss;
    return text(losses_of_labels[static_cast<std::size_t>(loss)], ": the label ",
                index - wrong_labels - loss * labels_of_loss, " is no class; there are ",
                length == 0 ? std::string("no classes") : text("0 to ", length - 1));
  }
  return text(
      op, ": index ", index, " is outside an axis of length ", length,
      length == 0 ? std::string(", which holds nothing") : text("; it must lie in [", -length, ", ", length - 1, "]"));
}

}  // namespace tyto::core
