// SPDX-License-Identifier: MIT
// Samples counts: by a table for each set of parameters where many are drawn of each, else by running sums of few
// probabilities, or by rejection. Shapes and parameters alone decide; eager mode, which sees the parameters, leaves out
// what draws none.
#pragma once

#include <algorithm>
#include <span>

#include "numerics/rejection_draws.hpp"

namespace tyto::core {

// A distribution whose mean is below `few` has practically nothing beyond `enough`.
inline constexpr double few = 10;
inline constexpr int enough = 48;
// Numbers in a table, centred on the mean; a standard deviation of 120 leaves eight and a half on each side.
inline constexpr std::int64_t table_length = 2048;
inline constexpr double table_variance = 14400;
// Number of draws that cost as much as a table.
inline constexpr std::int64_t draws_for_table = 1024;

// A law has, all of `Parameters`:
//   low, high           parameters of a mean below `few`, and of one above
//   mean, variance
//   first, ratio        the probability of 0, and that of k + 1 over that of k
// and what rejection needs.

template <class T>
Parameters<T> chosen_parameters(const T& condition, const Parameters<T>& parameters, std::span<const double> others) {
  Parameters<T> chosen;
  for (std::size_t i = 0; i < parameters.size(); ++i) chosen.push_back(where(condition, parameters[i], others[i]));
  return chosen;
}

/// The inverse by tables of running sums, one behind the other in a single ascending vector. The probabilities are
/// products of ratios of neighbours, which are exact however large the population is.
template <class T, class Law>
T table_draws(const Law& law, const Parameters<T>& parameters, const Shape& shape, const T& even) {
  const T mean = law.mean(parameters);
  const T begin = maximum(floor(mean) - static_cast<double>(table_length / 2), 0.0);
  const std::int64_t sets = element_count(mean.shape());
  Parameters<T> stretched;
  for (const T& parameter : parameters) stretched.push_back(expand_dims(parameter, -1));
  const T first = expand_dims(begin, -1), counts = first + T::arange(0, table_length - 1, 1, DType::f64);
  const T climbed = cumsum(log(maximum(law.ratio(counts, stretched), 1e-300)), -1);
  const T heights = concat({zeros_like(first), climbed}, -1);
  const T sums = reshape(cumsum(exp(heights - max(heights, -1, true)), -1), Shape{sets, table_length});
  const T number = T::arange(0, sets, 1, DType::f64),
          total = sums(ellipsis, tyto::slice(table_length - 1, table_length));
  const T tables = reshape(sums / total + expand_dims(number, -1), Shape{sets * table_length});
  // Beside the number of a table, a draw next to one would be rounded into the next table.
  const T below_one = minimum(even, 1.0 - 0x1p-52 * static_cast<double>(sets)), table = reshape(number, mean.shape());
  const T found = searchsorted(tables, broadcast_to(below_one + table, shape), true);
  return found.astype(DType::f64) + (begin - table * static_cast<double>(table_length));
}

/// The inverse by running sums from 0 on.
template <class T, class Law>
T few_draws(const Law& law, const Parameters<T>& parameters, const Shape& shape, const T& even) {
  T probability = law.first(parameters), running = probability, drawn = T::zeros(shape, DType::f64);
  for (int k = 0; k < enough; ++k) {
    const T above = even >= running;
    if (k % 4 == 3 && !holds_now<T>(any(above)).value_or(true)) break;
    drawn = drawn + above.astype(DType::f64);
    probability = probability * law.ratio(static_cast<double>(k), parameters);
    running = running + probability;
  }
  return drawn;
}

/// f64 counts of that law.
template <class T, class Law>
T drawn_counts(const Law& law, const Parameters<T>& parameters, const Shape& shape, const DrawOptions& options) {
  constexpr std::int64_t draws = 2 * Law::rounds;
  const T even = uniform_draws<T>(shape, DType::f64, split_options(options, static_cast<std::uint64_t>(draws)));
  const T mean = law.mean(parameters);
  const bool tabled = element_count(shape) >= draws_for_table * std::max<std::int64_t>(element_count(mean.shape()), 1);
  // Those by table or running sums; the others are drawn by rejection.
  const T direct = tabled ? law.variance(parameters) <= table_variance : mean < few;
  const bool all_direct = holds_now<T>(tyto::all(direct)).value_or(false);
  T drawn;
  if (all_direct || holds_now<T>(any(direct)).value_or(true)) {
    const Parameters<T> mine = chosen_parameters<T>(direct, parameters, Law::low);
    drawn = tabled ? table_draws<T>(law, mine, shape, even) : few_draws<T>(law, mine, shape, even);
  }
  if (all_direct) {
    if (!options.key) skip_draws(Mode::eager, draws);
    return drawn;
  }
  const T others = rejection_draws<T>(law, chosen_parameters<T>(!direct, parameters, Law::high), shape, options);
  return drawn.defined() ? where(direct, drawn, others) : others;
}

}  // namespace tyto::core
