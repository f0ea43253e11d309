// Functions whose result's shape depends on the data: they read their operand on the host, so only eager mode has them.
#include <cmath>
#include <cstring>

#include "core/builder.hpp"
#include "core/text.hpp"
#include "engine/execution/arrays.hpp"
#include "engine/execution/devices.hpp"
#include "engine/graph/evaluate.hpp"
#include "ops/define.hpp"
#include "tyto/sets.hpp"

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

template <class E>
Value as_tensor(std::span<const E> elements, DType dtype, const Shape& shape) {
  const core::Array array = run::new_array(run::cpu_device(), dtype, shape);
  if (!elements.empty()) std::memcpy(memory_of(array), elements.data(), elements.size_bytes());
  return core::constant(core::Mode::eager, run::to_device(array, run::current_device()));
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

Value unique_elements(const core::Array& array) {
  return with_elements(array.dtype, [&]<class E>() {
    const std::span<const E> given = elements_of<E>(array);
    std::vector<E> elements(given.begin(), given.end());
    // Every NaN counts as the same element, which comes last.
    const auto nans = std::stable_partition(elements.begin(), elements.end(), [](E e) { return !is_nan(e); });
    std::stable_sort(elements.begin(), nans, [](E a, E b) { return number(a) < number(b); });
    const auto end = std::unique(elements.begin(), nans, [](E a, E b) { return number(a) == number(b); });
    const bool any_nan = nans != elements.end();
    const E nan = any_nan ? *nans : E{};
    elements.erase(end, elements.end());
    if (any_nan) elements.push_back(nan);
    const Shape shape{static_cast<std::int64_t>(elements.size())};
    return as_tensor<E>(elements, array.dtype, shape);
  });
}

Value places_of_nonzero(const core::Array& array) {
  const Shape& shape = array.view.shape;
  std::vector<std::int64_t> coordinates;
  std::int64_t count = 0;
  with_elements(array.dtype, [&]<class E>() {
    IntList index(shape.size(), 0);
    for (const E element : elements_of<E>(array)) {
      if (number(element) != 0) {
        coordinates.insert(coordinates.end(), index.begin(), index.end());
        ++count;
      }
      for (std::size_t axis = shape.size(); axis-- > 0 && ++index[axis] == shape[axis];) index[axis] = 0;
    }
  });
  return as_tensor<std::int64_t>(coordinates, DType::i64, {count, shape.rank()});
}

}  // namespace

template <class M>
Tensor<M> unique(const Tensor<M>& x, const UniqueOptions& options) {
  if (options.axis || options.size) return unique_all(x, options).values;
  return unique_elements(host_contents("unique", x));
}

template <class M>
Tensor<M> nonzero(const Tensor<M>& x) {
  core::require("nonzero", x);
  return places_of_nonzero(host_contents("nonzero", is_complex(x.dtype()) ? not_equal(x, 0) : x));
}

TYTO_INSTANTIATE(unique)
TYTO_INSTANTIATE(nonzero)

}  // namespace TYTO_API
