// SPDX-License-Identifier: MIT
// Lists the operators that a recorded result is made of.
#pragma once

#include <set>
#include <string_view>
#include <vector>

#include "core/graph/operator.hpp"

namespace tyto::golden {

/// The operators of all nodes that the values depend on, themselves included.
std::set<core::OpId> operators_beneath(const std::vector<Value>& values);

/// The operators of those nodes among them that depend on one of `inputs`.
std::set<core::OpId> operators_between(const std::vector<Value>& values, const std::vector<Value>& inputs);

/// The operators without a gradient rule among them that make floating results of floating inputs: no gradient passes.
std::set<core::OpId> barriers_beneath(const std::vector<Value>& values);

}  // namespace tyto::golden
