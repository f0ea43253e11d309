// Functions whose result's shape depends on the data: they read their operand on the host, so only eager mode has them.
#include <algorithm>
#include <cmath>

#include "core/builder.hpp"
#include "core/text.hpp"
#include "devices/cpu/compaction/compaction.hpp"
#include "engine/execution/arrays.hpp"
#include "engine/execution/devices.hpp"
#include "engine/graph/evaluate.hpp"
#include "ops/define.hpp"
#include "tyto/indexing.hpp"
#include "tyto/sets.hpp"
#include "tyto/shaping.hpp"

namespace tyto TYTO_API {

namespace {

/// Dense contents on the host.
core::Array host_contents(std::string_view function, const Value& x) {
  if (core::mode_beside(core::given(function, x)) == core::Mode::lazy) {
    throw GraphError(core::text(function, ": the shape depends on the data, so it works in eager mode only"));
  }
  return run::contiguous(run::to_device(run::contents(x), run::cpu_device()));
}

std::byte* memory_of(const core::Array& array) {
  return static_cast<std::byte*>(array.buffer->memory()) +
         static_cast<std::size_t>(array.view.offset) * size_of(array.dtype);
}

template <class E>
std::span<const E> elements_of(const core::Array& array) {
  return {reinterpret_cast<const E*>(memory_of(array)), static_cast<std::size_t>(array.view.count())};
}

/// Calls f<E>() with the C++ type of the elements.
template <class F>
auto with_elements(DType dtype, const F& f) {
  switch (dtype) {
    case DType::boolean:
    case DType::u8: return f.template operator()<std::uint8_t>();
    case DType::i8: return f.template operator()<std::int8_t>();
    case DType::i16: return f.template operator()<std::int16_t>();
    case DType::i32: return f.template operator()<std::int32_t>();
    case DType::u16: return f.template operator()<std::uint16_t>();
    case DType::u32: return f.template operator()<std::uint32_t>();
    case DType::u64: return f.template operator()<std::uint64_t>();
    case DType::i64: return f.template operator()<std::int64_t>();
    case DType::f16: return f.template operator()<Half>();
    case DType::bf16: return f.template operator()<BFloat16>();
    case DType::f32: return f.template operator()<float>();
    case DType::f64: return f.template operator()<double>();
    case DType::c64:
    case DType::c128: break;
  }
  throw TypeError(core::text("unique: elements of type ", dtype, " have no order"));
}

/// A number that compares as the element does.
template <class E>
auto number(E element) {
  if constexpr (std::is_arithmetic_v<E>) {
    return element;
  } else {
    return static_cast<float>(element);
  }
}

template <class E>
bool is_nan(E element) {
  if constexpr (std::is_integral_v<E>) {
    return false;
  } else {
    return std::isnan(number(element));
  }
}

const cpu::CompactionLoops& compaction() { return cpu::compaction_loops_of(cpu::instruction_set()); }

/// The elements of one array for which a mask of as many is not zero.
Value elements_where(const core::Array& array, std::span<const std::uint8_t> mask) {
  const auto given = static_cast<std::int64_t>(mask.size()), kept = compaction().count(mask.data(), given);
  const core::Array result = run::new_array(run::cpu_device(), array.dtype, {kept});
  compaction().pick(size_of(array.dtype))(memory_of(array), mask.data(), kept, given, memory_of(result));
  return core::constant(core::Mode::eager, run::to_device(result, run::current_device()));
}

/// Of sorted elements one of each; every NaN, which come last, counts as the same.
Value distinct_elements(const core::Array& sorted) {
  std::vector<std::uint8_t> begins(static_cast<std::size_t>(sorted.view.count()));
  with_elements(sorted.dtype, [&]<class E>() {
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
  return core::constant(core::Mode::eager, run::to_device(result, run::current_device()));
}

}  // namespace

template <class M>
Tensor<M> unique(const Tensor<M>& x, const UniqueOptions& options) {
  if (options.axis || options.size) return unique_all(x, options).values;
  const core::Array array = host_contents("unique", x);  // refuses what is lazy
  return distinct_elements(
      host_contents("unique", sort(ravel(Tensor<M>(core::constant(core::Mode::eager, array))), 0)));
}

template <class M>
Tensor<M> extract(const Tensor<M>& condition, const std::type_identity_t<Tensor<M>>& x) {
  const Value operands[] = {core::given("extract", condition), core::given("extract", x)};
  if (condition.size() != x.size()) {
    throw ShapeError(core::text("extract: a condition of shape ", condition.shape(), " for shape ", x.shape()));
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
