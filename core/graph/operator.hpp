// SPDX-License-Identifier: MIT
// OpDef: name, shape rule, traits and gradient of an operator. One constant table holds them all.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/graph/symbol.hpp"

namespace tyto::core {

/// An id that no operator has. The ids themselves stand in core/graph/op_ids.hpp.
inline constexpr OpId no_operator{0xffff};

/// The index of a struct among the alternatives of Attributes.
template <class A>
inline constexpr std::size_t kind_of_attributes = [] {
  return []<class... Kind>(const std::variant<Kind...>*) {
    std::size_t index = 0;
    (void)((std::is_same_v<A, Kind> || (++index, false)) || ...);
    return index;
  }(static_cast<const Attributes*>(nullptr));
}();

/// How an operator's operand types become its compute and result types; see ops/elementwise.def.
enum class Domain : std::uint8_t { floating, numeric, arithmetic, comparison, logical, bitwise, integer, selection };

/// Facts about an operator that the optimiser and the devices read instead of its name.
struct Traits {
  enum Flag : std::uint32_t {
    elementwise = 1u << 0,
    reduction = 1u << 1,
    view = 1u << 2,        // the result shares the first input's storage where strides allow
    random = 1u << 3,      // equal only when its key is
    leaf = 1u << 4,        // has no inputs and is not run: constants and states
    linear = 1u << 5,      // linear in the first input, the others being no functions of it
    bilinear = 1u << 6,    // linear in each of the first two inputs
    effect = 1u << 7,      // must run even when nobody reads it, in the order written
    eager_only = 1u << 8,  // the result's shape depends on the data
    is_commutative = 1u << 9,
    is_associative = 1u << 10,
    is_idempotent = 1u << 11,   // op(x, x) = x, or op(op(x)) = op(x) for one operand
    is_involution = 1u << 12,   // op(op(x)) = x
    is_odd = 1u << 13,          // op(-x) = -op(x) bit for bit, for floating x
    is_even = 1u << 14,         // op(-x) = op(x) bit for bit, for floating x
    takes_complex = 1u << 15,   // complex elements too; others refuse them
    is_holomorphic = 1u << 16,  // takes them, and has a complex derivative: that of ops/elementwise.def
    is_real_valued = 1u << 17,  // of complex elements it gives numbers of their parts' type
    is_nonnegative = 1u << 18,  // of floating operands the result is no less than +0, or NaN
  };

  std::uint32_t flags = 0;
  std::optional<double> identity_element;        // op(x, e) = op(e, x) = x
  std::optional<double> right_identity_element;  // op(x, e) = x
  std::optional<double> absorbing_element;       // op(x, e) = e when no operand is NaN or infinite

  constexpr bool has(Flag flag) const { return (flags & flag) != 0; }
  constexpr Traits with(std::uint32_t more) const {
    Traits out = *this;
    out.flags |= more;
    return out;
  }
  constexpr Traits commutative() const { return with(is_commutative); }
  constexpr Traits associative() const { return with(is_associative); }
  constexpr Traits idempotent() const { return with(is_idempotent); }
  constexpr Traits involution() const { return with(is_involution); }
  constexpr Traits odd() const { return with(is_odd); }
  constexpr Traits even() const { return with(is_even); }
  constexpr Traits complex() const { return with(takes_complex); }
  constexpr Traits holomorphic() const { return with(takes_complex | is_holomorphic); }
  constexpr Traits real_valued() const { return with(is_real_valued); }
  constexpr Traits nonnegative() const { return with(is_nonnegative); }
  constexpr Traits identity(double value) const {
    Traits out = *this;
    out.identity_element = out.right_identity_element = value;
    return out;
  }
  constexpr Traits right_identity(double value) const {
    Traits out = *this;
    out.right_identity_element = value;
    return out;
  }
  constexpr Traits absorbing(double value) const {
    Traits out = *this;
    out.absorbing_element = value;
    return out;
  }
};

/// Start of a fluent list of traits: `traits().commutative().identity(0)`.
constexpr Traits traits(std::uint32_t flags = 0) { return Traits{flags, {}, {}, {}}; }

/// Whether the result may be computed in place, in an input's memory.
enum class InPlace : std::uint8_t {
  none,                // the kernel reads inputs after it has begun to write
  same_index,          // element i of the result needs only element i of the input: shapes and layouts must agree
  update_first_input,  // writes a part of input 0, whose other elements stay; no other operand may share its memory
  by_region,           // as the regions of a loop or branch use the input
};

/// Arguments of a gradient rule: the node's operands and results, and the gradients of the results (empty when zero).
struct GradientContext {
  const Attributes& attributes;
  std::span<const Value> inputs;
  std::span<const Value> results;
  std::span<const Value> gradients;
  std::span<const bool> needed;        // which inputs' gradients are wanted
  std::span<const Value> so_far = {};  // what has been added up for each input; empty for nothing
  std::span<bool> included = {};       // set by a rule whose gradient of that input includes what there was so far
};

/// Gradients with respect to the inputs, an empty Value for zero or not wanted.
using GradientRule = std::vector<Value> (*)(const GradientContext&);

/// The same result by other operators: for devices without a kernel, and as reference in tests.
using Lowering = std::vector<Value> (*)(const Attributes&, std::span<const Value> inputs);

/// Result types from attributes and input types, or an exception that names the operator.
using Inference = std::vector<TensorType> (*)(const Attributes&, std::span<const TensorType> inputs);

/// For view operators: the result's place in the input's storage, if strides can express it.
using ViewRule = std::optional<View> (*)(const Attributes&, const View& input);

/// The operator as the public functions apply it to small operands of a type, recorded and not computed. Throws where
/// they refuse the type.
using Sample = Value (*)(DType);

struct OpDef {
  OpId id = no_operator;
  std::string_view name = {};  // as the lists of ops/ say
  std::string_view doc;
  int min_inputs = 1;
  int max_inputs = 1;
  int results = 1;
  Traits traits = {};
  Domain domain = Domain::numeric;
  std::size_t attributes = 0;  // the alternative of Attributes that it takes; see ops/ops.def
  InPlace in_place = InPlace::none;
  Inference infer = nullptr;
  ViewRule view = nullptr;
  GradientRule gradient = nullptr;  // null: nondifferentiable
  Lowering lower = nullptr;
  double low = -2;  // samples are drawn from [low, high]
  double high = 2;
  Sample sample = nullptr;  // null: element-wise, whose operands are as many vectors, or nothing that functions apply

  bool is(Traits::Flag flag) const { return traits.has(flag); }
};

/// All operators, indexed by OpId. Defined in ops/.
std::span<const OpDef> op_table();

/// The result's type of an operator of ops/elementwise.def, whose rule follows from the operands' shapes and its
/// domain. Throws ShapeError when the shapes do not broadcast.
TensorType elementwise_type(const OpDef& def, std::span<const TensorType* const> inputs);

inline const OpDef& definition(OpId id) { return op_table()[static_cast<std::size_t>(id)]; }
inline const OpDef& definition(const Node& node) { return definition(node.op()); }

/// Throws GraphError where an operator is given attributes of another kind than it takes.
void check_attributes(const OpDef& def, const Attributes& attributes);
/// Types of the operator's results. Throws as its rule does, and TypeError where it does not take complex elements.
std::vector<TensorType> infer_types(const OpDef& def, const Attributes& attributes, std::span<const TensorType> inputs);

/// Throws DeviceError: what is called `where` does not do this operator.
[[noreturn]] void refuse_operator(std::string_view where, OpId op);

/// The operator of that name, or null.
const OpDef* find_operator(std::string_view name);

}  // namespace tyto::core
