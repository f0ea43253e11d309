// SPDX-License-Identifier: MIT
// Converts operators' attributes to those of the public interface: each field of a struct by its name.
#pragma once

#include "core/graph/attributes.hpp"
#include "tyto/operators.hpp"

namespace tyto::core {

inline Attribute as_attribute(bool value) { return value; }
inline Attribute as_attribute(std::int64_t value) { return value; }
inline Attribute as_attribute(double value) { return value; }
inline Attribute as_attribute(DType value) { return value; }
inline Attribute as_attribute(const std::string& value) { return value; }
inline Attribute as_attribute(PadMode value) { return name_of(value); }
inline Attribute as_attribute(const Scalar& value) { return value; }
inline Attribute as_attribute(const IntList& value) { return value; }

/// Attributes of loops and branches.
template <class A>
constexpr bool holds_regions = std::is_same_v<A, BranchAttributes> || std::is_same_v<A, IterationAttributes>;

/// Attributes that name no functions, states or programs of the engine.
template <class A>
constexpr bool can_be_given =
    !std::is_same_v<A, ConstantAttributes> && !std::is_same_v<A, StateAttributes> &&
    !std::is_same_v<A, VersionAttributes> && !std::is_same_v<A, CustomAttributes> &&
    !std::is_same_v<A, LoopAttributes> && !std::is_same_v<A, ProductAttributes> && !holds_regions<A>;

}  // namespace tyto::core
