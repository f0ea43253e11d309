// SPDX-License-Identifier: MIT
// Distinct elements and counts in eager mode: one pass over the elements in the place of a dozen operators.
#include "ops/eager_counts.hpp"

#include <algorithm>
#include <limits>

#include "core/graph/view_now.hpp"
#include "engine/front/host_elements.hpp"
#include "tyto/indexing.hpp"
#include "tyto/shaping.hpp"

namespace tyto::core {

using namespace run::host;

namespace {

Array new_on_host(DType dtype, const Shape& shape) { return run::new_array(run::cpu_device(), dtype, shape); }

std::int64_t* integers_of(const Array& array) { return reinterpret_cast<std::int64_t*>(memory_of(array)); }

/// Calls f(element's number among the distinct ones, its position) in ascending order; returns how many are distinct.
template <class E, class F>
std::int64_t number_elements(std::span<const E> elements, std::span<const std::int64_t> order, const F& f) {
  std::int64_t number = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::int64_t position = order[i];
    if (i > 0 &&
        !same(elements[static_cast<std::size_t>(position)], elements[static_cast<std::size_t>(order[i - 1])])) {
      ++number;
    }
    f(number, position);
  }
  return order.empty() ? 0 : number + 1;
}

template <class E>
Unique<Any> distinct_elements_of(const Array& x, std::span<const std::int64_t> order,
                                 std::optional<std::int64_t> wanted) {
  const std::span<const E> elements = elements_of<E>(x);
  const Array inverse = new_on_host(DType::i64, x.view.shape);
  std::int64_t* const numbers = integers_of(inverse);
  const std::int64_t last = wanted ? *wanted - 1 : std::numeric_limits<std::int64_t>::max();
  const std::int64_t found = number_elements(
      elements, order, [&](std::int64_t number, std::int64_t position) { numbers[position] = std::min(number, last); });
  const std::int64_t size = wanted.value_or(found);
  const Array values = new_on_host(x.dtype, {size}), first = new_on_host(DType::i64, {size}),
              counts = new_on_host(DType::i64, {size});
  E* const value = reinterpret_cast<E*>(memory_of(values));
  std::int64_t *const begun = integers_of(first), *const count = integers_of(counts);
  // Places beyond the distinct elements hold the first of them, counted 0 times.
  std::fill_n(value, size, elements[static_cast<std::size_t>(order[0])]);
  std::fill_n(begun, size, order[0]);
  std::fill_n(count, size, 0);
  number_elements(elements, order, [&](std::int64_t number, std::int64_t position) {
    if (number > last) return;
    if (count[number]++ > 0) return;
    value[number] = elements[static_cast<std::size_t>(position)];
    begun[number] = position;
  });
  return {made_on_host(values), made_on_host(first), made_on_host(inverse), made_on_host(counts)};
}

/// Adds weight(i) in the place that each number names; numbers that name none are left out.
template <class E, class Weight>
Value sums_of(std::span<const std::int64_t> numbers, std::int64_t length, DType dtype, const Weight& weight) {
  const Array result = new_on_host(dtype, {length});
  E* const sums = reinterpret_cast<E*>(memory_of(result));
  std::fill_n(sums, length, E{});
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (static_cast<std::uint64_t>(numbers[i]) < static_cast<std::uint64_t>(length)) sums[numbers[i]] += weight(i);
  }
  return made_on_host(result);
}

}  // namespace

std::optional<Unique<Any>> distinct_now(const Value& x, std::optional<std::int64_t> size) {
  const Array* const given = contents_now(x);
  if (given == nullptr || is_complex(given->dtype) || given->view.count() == 0) return {};
  const Array array = host_contents("unique", x);
  const Array order = host_contents("unique", argsort(ravel(Tensor<Any>(constant(Mode::eager, array)))));
  return with_elements("unique", array.dtype, [&]<class E>() {
    return distinct_elements_of<E>(array, elements_of<std::int64_t>(order), size);
  });
}

std::int64_t length_for_counts(const Value& numbers) {
  const Array array = host_contents("bincount", numbers);
  const std::span<const std::int64_t> each = elements_of<std::int64_t>(array);
  if (each.empty()) return 0;
  const auto [least, most] = std::ranges::minmax(each);
  if (least < 0) throw_error<ValueError>("bincount: the number ", least, " is negative");
  if (most == std::numeric_limits<std::int64_t>::max()) {
    throw_error<ValueError>("bincount: counts of all numbers up to ", most, " are more than any memory holds");
  }
  return most + 1;
}

Value counted_now(const Value& numbers, std::int64_t length, const Value& weights) {
  if (contents_now(numbers) == nullptr || (weights && contents_now(weights) == nullptr)) return {};
  const Array positions = host_contents("bincount", numbers);
  const std::span<const std::int64_t> each = elements_of<std::int64_t>(positions);
  if (!weights) return sums_of<std::int64_t>(each, length, DType::i64, [](std::size_t) { return 1; });
  const DType dtype = weights.dtype();
  if (dtype != DType::f32 && dtype != DType::f64) return {};
  const Array added = host_contents("bincount", weights);
  const auto sums = [&]<class E>(std::span<const E> weight) {
    return sums_of<E>(each, length, dtype, [weight](std::size_t i) { return weight[i]; });
  };
  return dtype == DType::f32 ? sums(elements_of<float>(added)) : sums(elements_of<double>(added));
}

}  // namespace tyto::core
