// SPDX-License-Identifier: MIT
// Parts of attention that the operators of the standard and of ONNX Runtime share.
#pragma once

#include <limits>

#include "onnx/program/operator_call.hpp"

namespace tyto::onnx {

/// The score of a key that a query may not see.
inline constexpr double masked_score = -std::numeric_limits<double>::infinity();

/// (batch, length, heads * features) as (batch, heads, length, features); what has four axes is so already.
Array by_head(const Array& x, std::int64_t heads);
/// And back.
Array joined_heads(const Array& x);
/// Keys or values (batch, own heads, length, features) that several heads of queries share, once for each of them.
Array for_heads(const Array& x, std::int64_t heads);
/// The first `turned` features of x (batch, length, heads, features) turned by an angle for each pair of them: halves
/// of these features, or neighbours when interleaved. Cosines and sines are (batch or 1, length, 1, turned / 2).
Array rotated(const Array& x, const Array& cosine, const Array& sine, std::int64_t turned, bool interleaved);

}  // namespace tyto::onnx
