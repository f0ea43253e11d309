// Functions whose result's shape depends on the data: they read their operand on the host, so only eager mode has them.
#include <cmath>
#include <cstring>

#include "core/builder.hpp"
#include "core/text.hpp"
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

/// Of sorted elements one of each; every NaN, which come last, counts as the same.
Value distinct_elements(const core::Array& sorted) {
  return with_elements(sorted.dtype, [&]<class E>() {
    const std::span<const E> given = elements_of<E>(sorted);
    std::vector<E> elements(given.size());
    std::size_t count = 0;
    for (std::size_t i = 0; i < given.size(); ++i) {
      // Written always, kept by counting on: no branch that hangs on the data.
      elements[count] = given[i];
      const bool repeated =
          i > 0 && (number(given[i]) == number(given[i - 1]) || (is_nan(given[i]) && is_nan(given[i - 1])));
      count += repeated ? 0 : 1;
    }
    return as_tensor<E>(std::span<const E>(elements).first(count), sorted.dtype, {static_cast<std::int64_t>(count)});
  });
}

/// Positions of non-zero elements of a dense array.
std::vector<std::int64_t> positions_of_nonzero(const core::Array& array) {
  return with_elements(array.dtype, [&]<class E>() {
    const std::span<const E> elements = elements_of<E>(array);
    std::size_t count = 0;
    for (const E element : elements) count += number(element) != 0 ? 1 : 0;
    std::vector<std::int64_t> positions(count + 1);  // the last one takes what is written behind them
    std::size_t next = 0;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      positions[next] = static_cast<std::int64_t>(i);
      next += number(elements[i]) != 0 ? 1 : 0;
    }
    positions.pop_back();
    return positions;
  });
}

/// The elements of one array where another, of as many elements, is not zero.
Value elements_where(const core::Array& array, const core::Array& mask) {
  const std::span<const std::uint8_t> chosen = elements_of<std::uint8_t>(mask);
  return with_elements(array.dtype, [&]<class E>() {
    const std::span<const E> given = elements_of<E>(array);
    std::size_t count = 0;
    for (const std::uint8_t each : chosen) count += each;
    const core::Array result = run::new_array(run::cpu_device(), array.dtype, {static_cast<std::int64_t>(count)});
    E* const out = reinterpret_cast<E*>(memory_of(result));
    std::size_t next = 0;
    // Written always, kept by counting on; what is behind the last one chosen is not there to be written to.
    for (std::size_t i = 0; next < count; ++i) {
      out[next] = given[i];
      next += chosen[i];
    }
    return core::constant(core::Mode::eager, run::to_device(result, run::current_device()));
  });
}

Value places_of_nonzero(const core::Array& array) {
  const Shape& shape = array.view.shape;
  const std::vector<std::int64_t> positions = positions_of_nonzero(array);
  const auto count = static_cast<std::int64_t>(positions.size());
  if (shape.rank() == 1) return as_tensor<std::int64_t>(positions, DType::i64, {count, 1});
  const std::size_t rank = shape.size();
  std::vector<std::int64_t> coordinates(positions.size() * rank);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    std::int64_t rest = positions[i];
    for (std::size_t axis = rank; axis-- > 0; rest /= shape[axis]) coordinates[i * rank + axis] = rest % shape[axis];
  }
  return as_tensor<std::int64_t>(coordinates, DType::i64, {count, shape.rank()});
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
  return elements_where(host_contents("extract", ravel(x)), host_contents("extract", mask));
}

template <class M>
Tensor<M> nonzero(const Tensor<M>& x) {
  core::require("nonzero", x);
  return places_of_nonzero(host_contents("nonzero", is_complex(x.dtype()) ? not_equal(x, 0) : x));
}

TYTO_INSTANTIATE(unique)
TYTO_INSTANTIATE(nonzero)
TYTO_INSTANTIATE(extract)

}  // namespace TYTO_API
