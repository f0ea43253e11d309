// SPDX-License-Identifier: MIT
// Functions whose result's shape depends on the data: they read their operand on the host, so only eager mode has them.
#include <algorithm>

#include "core/graph/builder.hpp"
#include "core/value/text.hpp"
#include "devices/cpu/sort/compaction/compaction.hpp"
#include "engine/front/host_elements.hpp"
#include "ops/define.hpp"
#include "tyto/indexing.hpp"
#include "tyto/sets.hpp"
#include "tyto/shaping.hpp"

namespace tyto TYTO_API {

using namespace run::host;

namespace {

const cpu::CompactionLoops& compaction() { return cpu::compaction_loops(cpu::instruction_set()); }

/// The elements of one array for which a mask of as many is not zero.
Value elements_where(const core::Array& array, std::span<const std::uint8_t> mask) {
  const auto given = static_cast<std::int64_t>(mask.size()), kept = compaction().count(mask.data(), given);
  const core::Array result = run::new_array(run::cpu_device(), array.dtype, {kept});
  compaction().pick(size_of(array.dtype))(memory_of(array), mask.data(), kept, given, memory_of(result));
  return made_on_host(result);
}

/// The distinct ones of sorted elements; all NaN, which come last, count as the same.
Value distinct_elements(const core::Array& sorted) {
  std::vector<std::uint8_t> begins(static_cast<std::size_t>(sorted.view.count()));
  with_elements("unique", sorted.dtype, [&]<class E>() {
    const std::span<const E> elements = elements_of<E>(sorted);
    if (elements.empty()) return;
    begins[0] = 1;
    for (std::size_t i = 1; i < elements.size(); ++i) begins[i] = number(elements[i]) != number(elements[i - 1]);
    const auto nan = std::partition_point(elements.begin(), elements.end(), [](E element) { return !is_nan(element); });
    if (nan != elements.end()) std::fill(begins.begin() + (nan - elements.begin()) + 1, begins.end(), std::uint8_t{0});
  });
  return elements_where(sorted, begins);
}

/// Coordinates of ascending positions in a shape, a row each.
void write_coordinates(std::span<const std::int64_t> positions, const Shape& shape, std::int64_t* to) {
  const std::size_t rank = shape.size(), last = rank - 1;
  IntList row(rank, 0);
  std::int64_t row_begin = 0;
  for (const std::int64_t position : positions) {
    while (position >= row_begin + shape[last]) {
      row_begin += shape[last];
      for (std::size_t axis = last; axis-- > 0;) {
        if (++row[axis] < shape[axis]) break;
        row[axis] = 0;
      }
    }
    for (std::size_t axis = 0; axis < last; ++axis) *to++ = row[axis];
    *to++ = position - row_begin;
  }
}

Value places_of_nonzero(const core::Array& mask) {
  const Shape& shape = mask.view.shape;
  const std::span<const std::uint8_t> bytes = elements_of<std::uint8_t>(mask);
  const auto given = static_cast<std::int64_t>(bytes.size()), kept = compaction().count(bytes.data(), given);
  const core::Array result = run::new_array(run::cpu_device(), DType::i64, {kept, shape.rank()});
  auto* const coordinates = reinterpret_cast<std::int64_t*>(memory_of(result));
  if (shape.rank() == 1) {
    compaction().positions(bytes.data(), kept, given, coordinates);
  } else if (shape.rank() > 1) {
    std::vector<std::int64_t> positions(static_cast<std::size_t>(kept));
    compaction().positions(bytes.data(), kept, given, positions.data());
    write_coordinates(positions, shape, coordinates);
  }
  return made_on_host(result);
}

}  // namespace

template <class M>
Tensor<M> unique(const Tensor<M>& x, const UniqueOptions& options) {
  TYTO_ONCE(unique, x, options);
  if (options.axis || options.size || (x.defined() && is_complex(x.dtype()))) return unique_all(x, options).values;
  const core::Array array = host_contents("unique", x);  // refuses what is lazy
  return distinct_elements(
      host_contents("unique", sort(ravel(Tensor<M>(core::constant(core::Mode::eager, array))), 0)));
}

template <class M>
Tensor<M> extract(const Tensor<M>& condition, const std::type_identity_t<Tensor<M>>& x) {
  TYTO_ONCE(extract, condition, x);
  const Value operands[] = {core::given("extract", condition), core::given("extract", x)};
  if (condition.size() != x.size()) {
    core::throw_error<ShapeError>("extract: a condition of shape ", condition.shape(), " for shape ", x.shape());
  }
  if (core::mode_of(operands) == core::Mode::lazy) {
    throw GraphError("extract: the shape depends on the data, so it works in eager mode only");
  }
  const Tensor<M> mask = core::cast_to(operands[0], DType::boolean);
  // A gradient goes back by the positions.
  if (operands[1].node()->tracked()) return take(ravel(x), reshape(nonzero(ravel(mask)), {-1}), 0);
  const core::Array chosen = host_contents("extract", mask);
  return elements_where(host_contents("extract", ravel(x)), elements_of<std::uint8_t>(chosen));
}

template <class M>
Tensor<M> nonzero(const Tensor<M>& x) {
  core::require("nonzero", x);
  return places_of_nonzero(host_contents("nonzero", x.dtype() == DType::boolean ? x : not_equal(x, 0)));
}

TYTO_INSTANTIATE(unique)
TYTO_INSTANTIATE(nonzero)
TYTO_INSTANTIATE(extract)

}  // namespace TYTO_API
