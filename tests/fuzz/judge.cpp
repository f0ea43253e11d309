// SPDX-License-Identifier: MIT
// Decides by a program's operators whether results may round differently, add up in another order or differ in signs.
#include "tests/fuzz/judge.hpp"

#include <algorithm>
#include <optional>

#include "core/graph/op_ids.hpp"
#include "tests/fuzz/rounding_errors.hpp"

namespace tyto::fuzz {

namespace {

// Whether something adds up in an order that depends on how its operands lie.
bool adds_up(const std::vector<std::size_t>& times) {
  using enum core::OpId;
  for (const core::OpDef& def : core::op_table()) {
    if (times[static_cast<std::size_t>(def.id)] > 0 && def.is(core::Traits::reduction)) return true;
  }
  for (const core::OpId op : {matmul, quantised_matmul, convolution, convolution_input_gradient,
                              convolution_kernel_gradient, softmax, log_softmax, attention, attention_gradient}) {
    if (times[static_cast<std::size_t>(op)] > 0) return true;
  }
  return false;
}

// The most that a function of OpenCL 1.2 may be off by, in last places: pow, in section 7.4 of its specification.
constexpr double documented_places = 16;

// Whether a sign that IEEE 754 leaves open can be seen: that of a NaN by `copysign` alone, as -(x - y) and y - x have
// different ones, that of a zero that is the larger of 0 and -0 by what divides by it.
bool shows_open_signs(const std::vector<std::size_t>& times) {
  if (times[static_cast<std::size_t>(core::OpId::copysign)] > 0) return true;
  return std::ranges::any_of(core::op_table(), [&](const core::OpDef& def) {
    return is_extreme(def.id) && times[static_cast<std::size_t>(def.id)] > 0;
  });
}

// Whether gradients of zero can be where eager mode has none (docs/semantics.md).
bool has_regions(const std::vector<std::size_t>& times) {
  using enum core::OpId;
  return times[static_cast<std::size_t>(loop)] > 0 || times[static_cast<std::size_t>(branch)] > 0;
}

}  // namespace

const std::vector<History>& NoisyHistories::at_least(std::size_t count) {
  while (histories_.size() < count) {
    const std::uint64_t number = histories_.size() + 1;
    // Small and larger moves in turn: some decisions depend on the last place alone, some sums on many terms.
    const double places = kind_ != Kind::rounded ? 0 : number % 3 == 0 ? 16 : number % 3 == 1 ? 1 : 4;
    const Noise noise{.places = places,
                      .alike = alike_ && number / 3 % 2 == 1,
                      .open_signs = kind_ != Kind::open_gradients,
                      .open_gradients = kind_ == Kind::open_gradients || kind_ == Kind::resigned,
                      .seed = trial_.seed * 1000 + number};
    std::optional<RoundingErrors> errors;
    if (kind_ == Kind::summed) errors.emplace(1, noise.seed);
    if (kind_ == Kind::computed) errors.emplace(documented_places, noise.seed);
    histories_.push_back(line_by_line<Eager>(trial_, material_, runs_, noise));
  }
  return histories_;
}

Judge::Judge(const Trial& trial, const Material& material, const History& expected, const Program<Eager>& program,
             const std::vector<std::size_t>& times, const Excuses& excuses)
    : expected_(expected),
      finite_(program.finite),
      dense_borders_(program.dense_borders),
      excuses_(excuses),
      adds_up_(adds_up(times)),
      shows_open_signs_(shows_open_signs(times)),
      shows_open_gradients_(has_regions(times)),
      rounded_(trial, material, expected.size(), NoisyHistories::Kind::rounded, excuses.equals_alike),
      open_gradients_(trial, material, expected.size(), NoisyHistories::Kind::open_gradients),
      resigned_(trial, material, expected.size(), NoisyHistories::Kind::resigned),
      summed_(trial, material, expected.size(), NoisyHistories::Kind::summed),
      computed_(trial, material, expected.size(), NoisyHistories::Kind::computed) {}

std::string Judge::verdict_of_device(Faith faith, const History& found, TrialCount& count) {
  std::string text = difference(expected_, found);
  if (text.empty() || (faith == Faith::stabler && !finite_)) return {};
  for (const std::size_t enough : few_first) {
    text = beyond_rounding(computed_, enough, 1, resigned_, found);
    if (!text.empty()) continue;
    ++count.within_rounding;
    break;
  }
  return text;
}

std::string Judge::verdict(Faith faith, const History& found, TrialCount& count) {
  std::string text = difference(expected_, found);
  if (text.empty()) return text;
  if (faith == Faith::stabler && !finite_) return {};
  const bool lies_otherwise = faith == Faith::layout || (faith < Faith::layout && !dense_borders_);
  const bool rounds = faith > Faith::layout || (lies_otherwise && adds_up_);
  const bool by_signs = faith != Faith::all && shows_open_signs_;
  if (!rounds && !by_signs && !shows_open_gradients_) return text;
  NoisyHistories& choices = by_signs ? resigned_ : open_gradients_;
  for (const std::size_t enough : few_first) {
    text = rounds ? beyond_rounding(rounded_, enough, 4, choices, found)
                  : difference_beyond_choices(expected_, found, choices.at_least(enough));
    if (!text.empty() && rounds && excuses_.operators_off) text = beyond_rounding(summed_, enough, 4, choices, found);
    if (!text.empty()) continue;
    ++(rounds ? count.within_rounding : count.by_choices);
    break;
  }
  return text;
}

std::string Judge::verdict_of_bits(const History& without_passes, const History& found, TrialCount& count) {
  const std::string text = difference(without_passes, found);
  return text.empty() || !shows_open_signs_ ? text : verdict(Faith::bits, found, count);
}

std::string Judge::beyond_rounding(NoisyHistories& noisy, std::size_t enough, double places, NoisyHistories& choices,
                                   const History& found) {
  const std::string text = difference(expected_, found, noisy.at_least(enough), places);
  if (text.empty() || !shows_open_gradients_) return text;
  return difference(expected_, found, noisy.at_least(enough), places, choices.at_least(enough));
}

}  // namespace tyto::fuzz
