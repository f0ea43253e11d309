// SPDX-License-Identifier: MIT
// Parts of layers: zero and constant parameters, running statistics, and checks of sizes and types.
#pragma once

#include "core/graph/in_f32.hpp"
#include "core/value/text.hpp"
#include "tyto/graph.hpp"
#include "tyto/nn/initial.hpp"
#include "tyto/nn/layer.hpp"
#include "tyto/shaping.hpp"
#include "tyto/tensor.hpp"
#include "tyto/windows.hpp"

namespace tyto::nn {

inline void check_sizes(const char* layer, std::int64_t in, std::int64_t out) {
  if (in < 1 || out < 1) core::throw_error<ValueError>(layer, ": in = ", in, " and out = ", out, " must be at least 1");
}

inline void check_floating(const std::string& layer, const Tensor<Any>& x) {
  if (!is_floating(x.dtype())) {
    core::throw_error<TypeError>(layer, ": x is ", name_of(x.dtype()), "; a floating type is expected");
  }
}

/// A variable of initial weights, which are drawn when they are first read.
inline Tensor<Any> weight_parameter(const char* name, const Initialiser& initial, const Shape& shape, const Fans& fans,
                                    DType dtype) {
  const PostponedDraws postponed;
  return Tensor<Any>::variable(initial(shape, fans, dtype), name);
}
inline Tensor<Any> zero_parameter(const char* name, const Shape& shape, DType dtype) {
  return Tensor<Any>::variable(Tensor<Any>::zeros(shape, dtype), name);
}
inline Tensor<Any> one_parameter(const char* name, const Shape& shape, DType dtype) {
  return Tensor<Any>::variable(Tensor<Any>::ones(shape, dtype), name);
}

/// Sums of many 16-bit numbers are lost in 16 bits, so statistics are taken and kept in f32.
inline DType statistics_type(DType dtype) { return size_of(dtype) == 2 ? DType::f32 : dtype; }

/// Whether states may take in what is made of x. A graph that is recorded from a placeholder has no batch yet: a state
/// would depend on the placeholder for good.
inline bool is_batch(const Tensor<Any>& x) { return tyto::detail::missing_input(x).empty(); }

inline Tensor<Any> as_type(const Tensor<Any>& x, DType dtype) { return x.dtype() == dtype ? x : cast(x, dtype); }

/// Calls a layer on an x of half precision in f32; see core::in_f32.
template <class L>
std::optional<Tensor<Any>> forward_in_f32(const L& layer, const Tensor<Any>& x, Phase phase) {
  return core::in_f32([&](const Tensor<Any>& wide) { return layer.L::forward(wide, phase); }, x);
}

/// Class numbers and indices of any whole type as the operators that pick by them take them.
inline Tensor<Any> as_index(const Tensor<Any>& x) { return size_of(x.dtype()) < 4 ? cast(x, DType::i64) : x; }

/// x as an operand of products: in the type that an Autocast asks for.
Tensor<Any> to_multiply(const Tensor<Any>& x);

inline void check_space(const char* layer, const Tensor<Any>& x) {
  if (x.ndim() < 3) core::throw_error<ShapeError>(layer, ": x ", x.shape(), " must be (batch, spatial..., channels)");
}

/// A length for each axis of space; given are as many, or one for all.
inline Shape along_space(const char* layer, const char* what, const PerAxis& given, std::size_t axes) {
  if (given.size() != 1 && given.size() != axes) {
    core::throw_error<ShapeError>(layer, ": the ", what, " ", given, " must have 1 or ", axes, " lengths");
  }
  return given.size() == axes ? Shape(given) : Shape(axes, given[0]);
}

/// The spatial axes: all but the first and the last.
inline IntList spatial_axes_of(const Tensor<Any>& x) {
  IntList axes;
  for (std::int64_t axis = 1; axis + 1 < x.ndim(); ++axis) axes.push_back(axis);
  return axes;
}

}  // namespace tyto::nn
