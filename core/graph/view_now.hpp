// SPDX-License-Identifier: MIT
// Views in eager mode without a recorded operator: one node that holds the elements already.
#pragma once

#include "core/graph/symbol.hpp"

namespace tyto::core {

/// The contents of an eager tensor that is computed, is no state and is not recorded by a tape; else null. A view of it
/// may then be a leaf.
const Array* contents_now(const Value& value);

/// An eager tensor of the elements of `array` as `view` shows them, which is a view of the same buffer.
Value viewed_now(const Array& array, View view, DType dtype);
inline Value viewed_now(const Array& array, View view) { return viewed_now(array, std::move(view), array.dtype); }

}  // namespace tyto::core
