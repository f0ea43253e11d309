// SPDX-License-Identifier: MIT
// Converts between every pair of element types through a number that holds all elements of the first: i64, u64, double,
// or two of them.
#include "engine/front/element_conversion.hpp"

#include <cmath>
#include <complex>
#include <type_traits>

#include "core/value/element_types.hpp"
#include "core/value/stored_scalar.hpp"
#include "core/value/text.hpp"
#include "tyto/error.hpp"
#include "tyto/scalar.hpp"

namespace tyto::run {

namespace {

template <class E>
auto widest(E element) {
  if constexpr (ComplexNumber<E>) return std::complex<double>(element);
  else if constexpr (std::is_same_v<E, std::uint64_t>) return element;
  else if constexpr (std::is_integral_v<E>) return static_cast<std::int64_t>(element);
  else if constexpr (std::is_arithmetic_v<E>) return static_cast<double>(element);
  else return static_cast<double>(static_cast<float>(element));
}

template <class To>
bool holds_number(std::int64_t number) {
  if constexpr (std::is_same_v<To, bool>) return number == 0 || number == 1;
  else if constexpr (std::is_integral_v<To>) return std::in_range<To>(number);
  else return true;
}
template <class To>
bool holds_number(std::uint64_t number) {
  if constexpr (std::is_same_v<To, bool>) return number <= 1;
  else if constexpr (std::is_integral_v<To>) return std::in_range<To>(number);
  else return true;
}
template <class To>
bool holds_number(double number) {
  if constexpr (!std::is_integral_v<To>) return true;
  // Both ends are powers of two, or 0: exact as doubles.
  else
    return number == std::trunc(number) &&
           (number < 0x1p63 ? number >= -0x1p63 && holds_number<To>(static_cast<std::int64_t>(number))
                            : number < 0x1p64 && holds_number<To>(static_cast<std::uint64_t>(number)));
}

template <class To>
bool holds_number(std::complex<double> number) {
  if constexpr (ComplexNumber<To>) return true;
  else return number.imag() == 0 && holds_number<To>(number.real());
}

template <class To, class Number>
To as_element(Number number) {
  if constexpr (ComplexNumber<To> && ComplexNumber<Number>) return To(number);
  else if constexpr (ComplexNumber<To>) return To(static_cast<typename To::value_type>(number));
  else if constexpr (ComplexNumber<Number>) return as_element<To>(number.real());
  else if constexpr (std::is_arithmetic_v<To>) return static_cast<To>(number);
  else return To(static_cast<float>(number));
}

}  // namespace

void convert_elements(std::string_view function, const void* source, DType from, std::int64_t count, void* target,
                      DType to) {
  core::with_element_type(from, [&]<class From>() {
    core::with_element_type(to, [&]<class To>() {
      const auto* const elements = static_cast<const From*>(source);
      auto* const converted = static_cast<To*>(target);
      for (std::int64_t i = 0; i < count; ++i) {
        const auto number = widest(elements[i]);
        if (!holds_number<To>(number)) {
          const std::string which = count == 1 ? std::string("the element") : core::text("element ", i);
          core::throw_error<TypeError>(function, ": ", which, " is ", core::to_string(Scalar(number)), " (", from,
                                       "), which ", to, " does not hold; cast first with astype");
        }
        converted[i] = as_element<To>(number);
      }
    });
  });
}

}  // namespace tyto::run

namespace tyto TYTO_API {

void Scalar::refuse_conversion() const {
  core::throw_error<TypeError>("item: the type that it is read as does not hold ", core::to_string(*this));
}

}  // namespace TYTO_API
