// SPDX-License-Identifier: MIT
// Eager `x(i) = v` in place: writes the part into x's memory when nobody else can see it.
#pragma once

#include <span>

#include "core/graph/operator.hpp"

namespace tyto::run {

/// See core::Builder::overwrite.
bool overwrite(const Value& first, core::OpId op, const core::Attributes& attributes, std::span<const Value> others);

}  // namespace tyto::run
