// SPDX-License-Identifier: MIT
// Connectionist temporal classification: the forward sums of Graves et al. (2006), equation 6, a scan over time.
#include <limits>

#include "nn/layer_parts.hpp"
#include "nn/loss_parts.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/flow.hpp"
#include "tyto/indexing.hpp"
#include "tyto/nn/class_losses.hpp"
#include "tyto/shaping.hpp"

namespace tyto TYTO_API {
namespace nn {
namespace detail {

namespace {

// The logarithm of no chance at all, far from infinity, so that differences of two of them are no NaN.
constexpr double no_chance = -1e30;

void check_ctc(const Tensor<Any>& log_p, const Tensor<Any>& targets, const Tensor<Any>& input_lengths,
               const Tensor<Any>& target_lengths, const CtcOptions& o) {
  if (!is_floating(log_p.dtype())) {
    core::throw_error<TypeError>("ctc: log_probabilities are ", name_of(log_p.dtype()),
                                 "; a floating type is expected");
  }
  for (const Tensor<Any>* each : {&targets, &input_lengths, &target_lengths}) {
    if (!is_integer(each->dtype())) {
      core::throw_error<TypeError>("ctc: targets, input_lengths and target_lengths must be integers, not ",
                                   name_of(each->dtype()));
    }
  }
  if (log_p.ndim() != 3 || log_p.shape()[1] < 1) {
    core::throw_error<ShapeError>("ctc: log_probabilities ", log_p.shape(), " must be (batch, time, classes)");
  }
  const Shape batch{log_p.shape()[0]};
  if (targets.ndim() != 2 || targets.shape()[0] != batch[0] || input_lengths.shape() != batch ||
      target_lengths.shape() != batch) {
    core::throw_error<ShapeError>("ctc: targets ", targets.shape(), ", input_lengths ", input_lengths.shape(),
                                  " and target_lengths ", target_lengths.shape(),
                                  " must be (batch, length), (batch,) and (batch,) for log_probabilities ",
                                  log_p.shape());
  }
  if (o.blank < 0 || o.blank >= log_p.shape()[2]) {
    core::throw_error<IndexError>("ctc: the blank ", o.blank, " is none of ", log_p.shape()[2], " classes");
  }
}

/// Each row moved right by `count` places.
Tensor<Any> moved(const Tensor<Any>& rows, std::int64_t count, double filling) {
  const Tensor<Any> wider = pad(rows, {0, count}, {0, 0}, PaddingMode::constant, filling);
  return wider.get({tyto::all, slice(0, rows.shape()[1])});
}

}  // namespace

Tensor<Any> ctc(const Tensor<Any>& log_p, const Tensor<Any>& targets, const Tensor<Any>& given_input_lengths,
                const Tensor<Any>& given_target_lengths, const CtcOptions& o) {
  check_ctc(log_p, targets, given_input_lengths, given_target_lengths, o);
  if (const auto found = core::in_f32(&ctc, log_p, targets, given_input_lengths, given_target_lengths, o))
    return *found;
  const std::int64_t batch = log_p.shape()[0], steps = log_p.shape()[1], letters = targets.shape()[1];
  const std::int64_t places = 2 * letters + 1;
  const Tensor<Any> input_lengths =
      check_bounds(as_index(given_input_lengths), {0, steps, "ctc", "input length", "lengths within the time axis"});
  const Tensor<Any> target_lengths =
      check_bounds(as_index(given_target_lengths), {0, letters, "ctc", "target length", "lengths within the targets"});
  // A blank before, between and behind the letters.
  const Tensor<Any> blank = Tensor<Any>::full({batch, 1}, o.blank, DType::i64);
  // Elements behind a target's length are no labels, whatever they are.
  const Tensor<Any> counts = less(Tensor<Any>::arange(letters), expand_dims(target_lengths, {1}));
  const Tensor<Any> letter =
      check_bounds(where(counts, as_index(targets), o.blank), {0, log_p.shape()[2] - 1, "ctc", "label", "classes"});
  const Tensor<Any> with_blanks = stack(std::vector<Tensor<Any>>{broadcast_to(blank, {batch, letters}), letter}, 2);
  const Tensor<Any> path = concat(std::vector<Tensor<Any>>{reshape(with_blanks, {batch, places - 1}), blank}, 1);
  // A letter may follow the letter before it without a blank unless they are equal.
  const Tensor<Any> two_before =
      pad(path, {0, 2}, {0, 0}, PaddingMode::constant, o.blank).get({tyto::all, slice(0, places)});
  const Tensor<Any> may_skip = not_equal(path, o.blank) && not_equal(path, two_before);

  const Tensor<Any> seen =
      take_along_axis(log_p, broadcast_to(reshape(path, {batch, 1, places}), {batch, steps, places}), 2);
  const Tensor<Any> place = Tensor<Any>::arange(places);
  const auto step = [&](const Tensor<Any>& before, const std::pair<Tensor<Any>, Tensor<Any>>& now) {
    const auto& [here, time] = now;
    const Tensor<Any> skipped = where(may_skip, moved(before, 2, no_chance), no_chance);
    const Tensor<Any> come = logaddexp(logaddexp(before, moved(before, 1, no_chance)), skipped);
    const Tensor<Any> after = where(expand_dims(greater(input_lengths, time), {1}), come + here, before);
    return std::pair(after, std::vector<Tensor<Any>>());
  };
  // Before any time there is the empty path alone.
  const Tensor<Any> begun = where(less(place, 2), seen.get({tyto::all, 0}), no_chance);
  const Tensor<Any> first =
      where(expand_dims(greater(input_lengths, 0), {1}), begun, where(equal(place, 0), 0.0, no_chance));
  const Tensor<Any> others = swapaxes(seen.get({tyto::all, slice(1, steps)}), 0, 1);
  const Tensor<Any> chance = scan(step, first, std::pair(others, Tensor<Any>::arange(1, steps))).first;
  // Paths end on the last letter or on the blank behind it.
  const Tensor<Any> last = 2 * reshape(target_lengths, {batch, 1});
  const Tensor<Any> ends = equal(place, last) || equal(place, last - 1);
  const Tensor<Any> losses = -logsumexp(where(ends, chance, no_chance), 1);
  const double none = o.zero_infinity ? 0 : std::numeric_limits<double>::infinity();
  const Tensor<Any> finite = where(greater_equal(losses, -0.5 * no_chance), none, losses);  // NaN stays
  if (o.reduction != Reduction::mean) return reduced(finite, o.reduction);
  return mean(finite / maximum(cast(target_lengths, log_p.dtype()), 1.0));
}

}  // namespace detail
}  // namespace nn
}  // namespace TYTO_API
