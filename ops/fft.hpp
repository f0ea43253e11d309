// SPDX-License-Identifier: MIT
// Shared by the Fourier transforms: a transform along one axis or several, and resizing an axis for it.
#pragma once

#include <optional>
#include <string_view>

#include "ops/define.hpp"
#include "tyto/fft.hpp"

namespace tyto::core {

/// A transform by its public name, the operator that does it, its direction and what it is divided by.
struct Transform {
  std::string_view name;
  OpId op;
  bool inverse;
  fft::Norm norm;
};

/// The transform along one axis, cut or filled up with zeros to n elements where given.
Value transformed(const Transform& transform, const Value& x, std::int64_t axis, std::optional<std::int64_t> n);

/// Along several axes: see fft::AxesOptions.
Value transformed_axes(const Transform& transform, const Value& x, const IntList& s, const Axes& axes);

/// x cut along an axis, or filled up with zeros.
Value resized(const Value& x, std::size_t axis, std::int64_t length);

/// In the complex type of x's elements.
Value as_complex(const Value& x);

}  // namespace tyto::core

/// As TYTO_INSTANTIATE, for the functions of tyto::fft.
#define TYTO_INSTANTIATE_FFT(name)                                   \
  [[gnu::used]] static constexpr auto tyto_keep_##name = std::tuple( \
      &::tyto::fft::name<::tyto::Eager>, &::tyto::fft::name<::tyto::Lazy>, &::tyto::fft::name<::tyto::Any>);
