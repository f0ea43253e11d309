// SPDX-License-Identifier: MIT
// Element-wise operators: the operand rules, the typed front, and the table rows, all expanded from the list.
#include "tyto/elementwise.hpp"
#include "core/graph/op_ids.hpp"

#include <array>

#include "core/value/stored_scalar.hpp"
#include "ops/define.hpp"
#include "ops/elementwise_gradients.hpp"
#include "tyto/shaping.hpp"

namespace tyto::core {

namespace {

bool is_number(const Value& value) { return result_of(value).type.weak; }

}  // namespace

const Scalar* scalar_operand(const Value& value) {
  const bool bare = is_number(value) && value.node()->op() == OpId::fill;
  return bare ? &core::get<RangeAttributes>(attributes_of(value)).start : nullptr;
}

namespace {

/// An integer whose value is not known while recording: an argument of a compiled function, or computed from one.
bool is_unknown_whole(const Value& value) {
  return is_number(value) && scalar_operand(value) == nullptr && is_integer(result_of(value).type.dtype);
}

struct IntegerRange {
  Scalar least, most;
};

IntegerRange range_of(DType dtype) {
  const std::size_t unused = 64 - 8 * size_of(dtype);
  if (is_unsigned(dtype)) return {0, UINT64_MAX >> unused};
  return {INT64_MIN >> unused, INT64_MAX >> unused};
}

/// Compares integers.
bool is_below(const Scalar& a, const Scalar& b) {
  if (a.is_large() != b.is_large()) return b.is_large();
  return a.is_large() ? a.as_unsigned() < b.as_unsigned() : a.as_int() < b.as_int();
}

}  // namespace

bool holds(DType dtype, const Scalar& number) {
  if (!is_integer(dtype) || number.kind() != Scalar::Kind::integer) return true;
  const auto [least, most] = range_of(dtype);
  return !is_below(number, least) && !is_below(most, number);
}

void check_holds(std::string_view op, DType dtype, const Scalar& number) {
  if (holds(dtype, number)) return;
  throw_error<ValueError>(op, ": the number ", to_string(number), " does not fit elements of type ", dtype,
                          "; cast to a wider type first");
}

Value fitted_to(std::string_view op, const Value& value, DType dtype) {
  if (const Scalar* number = scalar_operand(value)) check_holds(op, dtype, *number);
  return cast_to(value, dtype);
}

DType common_type(std::span<const Value> operands) {
  bool any_tensor = false;
  DType type = DType::boolean;
  for (const Value& operand : operands) {
    if (is_number(operand)) continue;
    type = any_tensor ? promote(type, operand.dtype()) : operand.dtype();
    any_tensor = true;
  }
  for (const Value& operand : operands) {
    if (!is_number(operand)) continue;
    const DType number = operand.dtype();
    if (!any_tensor) {
      type = promote(type, number);
    } else if (is_complex(number) && !is_complex(type)) {
      type = complex_type(type);
    } else if (is_floating(number) && !is_inexact(type)) {
      type = DType::f32;
    } else if (is_integer(number) && type == DType::boolean) {
      type = number;
    }
  }
  return type;
}

DType comparable_type(std::span<const Value> operands) {
  const DType type = common_type(operands);
  for (const Value& operand : operands) {
    const Scalar* number = scalar_operand(operand);
    if (number == nullptr ? !is_integer(type) || !is_unknown_whole(operand) : holds(type, *number)) continue;
    if (number != nullptr && is_unsigned(type) && number->as_int() >= 0) return DType::u64;
    return type == DType::u64 || (number != nullptr && number->is_large()) ? DType::f64 : DType::i64;
  }
  return type;
}

Value cast_to(const Value& value, DType dtype) {
  const Value current = resolve(value);
  const bool number = is_number(current);
  if (current.dtype() == dtype && !number) return current;
  if (number && current.node()->op() == OpId::fill) {
    return scalar_constant(core::get<RangeAttributes>(attributes_of(current)).start, dtype, current);
  }
  // A number that is an argument of a compiled function: what stands before its cast has all of its digits.
  if (number && current.node()->op() == OpId::cast && !current.node()->inputs().empty()) {
    return emit(OpId::cast, CastAttributes{dtype}, current.node()->inputs());
  }
  return emit(OpId::cast, CastAttributes{dtype}, {current});
}

Value as_floating(const Value& value) {
  const DType type = value.dtype();
  return is_inexact(type) && !is_number(value) ? value : cast_to(value, is_inexact(type) ? type : DType::f32);
}

Value sum_to(const Value& value, const Shape& shape) {
  if (value.shape() == shape) return value;
  const std::size_t extra = value.shape().size() - shape.size();
  AxesAttributes reduction;
  Shape kept;
  for (std::size_t i = 0; i < value.shape().size(); ++i) {
    if (i < extra || (shape[i - extra] == 1 && value.shape()[i] != 1))
      reduction.axes.push_back(static_cast<std::int64_t>(i));
  }
  const Value summed = sum_over(value, reduction);
  return summed.shape() == shape ? summed : emit(OpId::reshape, ListAttributes{shape}, {summed});
}

namespace {

DType operand_type(const OpDef& def, std::span<const Value> operands) {
  const DType type = common_type(operands);
  const auto refuse = [&](std::string_view expected) {
    throw_error<TypeError>(def.name, ": operands of type ", type, " are not accepted; ", expected);
  };
  if (is_complex(type) && !def.is(Traits::takes_complex) && def.domain != Domain::logical) {
    refuse("complex numbers have no order and no such function; take real, imag or abs of them first");
  }
  switch (def.domain) {
    case Domain::floating: return is_inexact(type) ? type : DType::f32;
    case Domain::arithmetic:
      if (type == DType::boolean) refuse("cast bool to a number, or use logical_xor and logical_not");
      return type;
    case Domain::logical: return DType::boolean;
    case Domain::bitwise:
      if (is_floating(type)) refuse("it works on bool and integers");
      return type;
    case Domain::integer:
      if (!is_integer(type)) refuse("it works on integers");
      return type;
    case Domain::comparison: return comparable_type(operands);
    case Domain::numeric:
    case Domain::selection: return type;
  }
  return type;
}

// A bound that the elements cannot reach is as good as the last number they can.
Value reachable(const Value& bound, DType type) {
  const Scalar* number = scalar_operand(bound);
  const bool unknown = is_integer(type) && is_unknown_whole(bound);
  if (!unknown && (number == nullptr || holds(type, *number))) return bound;
  const auto [least, most] = range_of(type);
  if (unknown) {
    Value operands[] = {bound, weak_scalar(least), weak_scalar(most)};
    return emit_elementwise(OpId::clip, operands);
  }
  return weak_scalar(is_below(*number, least) ? least : most);
}

// The power would be a fraction, of which integers hold the 0 before the point.
void refuse_negative(const Value& exponent) {
  const Scalar* number = scalar_operand(exponent);
  if (number == nullptr || number->as_int() >= 0) return;
  throw_error<ValueError>("power: integers to the power ", number->as_int(),
                          " are no integers; write the exponent with a point, or cast the base to f32 or f64");
}

// A square and a reciprocal are no powers to a processor, nor to NumPy: a number written as exponent tells them. The
// rules of the optimiser find those whose exponent is known later.
std::optional<OpId> simple_power(std::span<const Value> operands, DType type) {
  const Scalar* number = scalar_operand(operands[1]);
  if (number == nullptr || is_complex(type) || type == DType::boolean) return {};
  if (number->as_double() == 2) return OpId::square;
  if (number->as_double() == -1 && is_floating(type)) return OpId::reciprocal;
  return {};
}

// One type that the domains of floating-point numbers take, and no number among them.
bool alike(const OpDef& def, std::span<const Value> operands) {
  const DType type = result_of(operands[0]).type.dtype;
  bool same = is_floating(type) || (is_complex(type) && def.is(Traits::takes_complex));
  for (const Value& operand : operands) {
    const TensorType& given = result_of(operand).type;
    same = same && given.dtype == type && !given.weak;
  }
  return same;
}

/// Natural numbers that u64 alone holds, and integers that may be negative: no integer type holds both.
bool are_across_signs(const Value& natural, const Value& whole) {
  const Scalar* const number = scalar_operand(whole);
  if (natural.dtype() != DType::u64 || !is_integer(whole.dtype())) return false;
  return number == nullptr ? !is_unsigned(whole.dtype()) : number->as_int() < 0;
}

/// The comparison of (b, a) that holds where this one holds of (a, b).
OpId with_operands_swapped(OpId comparison) {
  switch (comparison) {
    case OpId::less: return OpId::greater;
    case OpId::less_equal: return OpId::greater_equal;
    case OpId::greater: return OpId::less;
    case OpId::greater_equal: return OpId::less_equal;
    default: return comparison;
  }
}

/// Exactly, as NumPy compares them: a negative number is below every natural one, others compare as natural ones.
Value compare_across_signs(OpId op, const Value& natural, const Value& whole) {
  const auto apply = [](OpId id, Value a, Value b) {
    Value operands[] = {std::move(a), std::move(b)};
    return emit_elementwise(id, operands);
  };
  const Value number = cast_to(whole, DType::i64);
  const Value same_sign = apply(op, cast_to(natural, DType::u64), cast_to(number, DType::u64));
  const bool holds_of_negative = op == OpId::not_equal || op == OpId::greater || op == OpId::greater_equal;
  if (holds_of_negative) return apply(OpId::logical_or, apply(OpId::less, number, weak_scalar(0)), same_sign);
  return apply(OpId::logical_and, apply(OpId::greater_equal, number, weak_scalar(0)), same_sign);
}

}  // namespace

Value emit_elementwise(OpId op, std::span<Value> operands) {
  const OpDef& def = definition(op);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i]) throw_error<GraphError>(def.name, ": operand ", i + 1, " is ", empty_tensor);
  }
  if (op == OpId::conj && !is_complex(operands[0].dtype())) return resolve(operands[0]);
  // The usual case needs no rule: these domains take floating operands as they are.
  if (def.domain <= Domain::comparison && alike(def, operands)) return emit_resolved(op, operands);
  if (def.domain == Domain::comparison && operands.size() == 2) {
    if (are_across_signs(operands[0], operands[1])) return compare_across_signs(op, operands[0], operands[1]);
    if (are_across_signs(operands[1], operands[0]))
      return compare_across_signs(with_operands_swapped(op), operands[1], operands[0]);
  }
  const std::size_t first = def.domain == Domain::selection ? 1 : 0;
  const DType type = operand_type(def, operands.subspan(first));
  // The table gives operands one type, and bf16 does not hold every integer that can be an exponent.
  if (op == OpId::ldexp && type == DType::bf16) {
    for (Value& operand : operands) operand = cast_to(operand, DType::f32);
    return cast_to(emit_resolved(op, operands), type);
  }
  if (op == OpId::power) {
    if (const std::optional<OpId> simple = simple_power(operands, type)) {
      operands[0] = fitted_to(def.name, operands[0], type);
      return emit_resolved(*simple, operands.first(1));
    }
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const DType wanted = i < first ? DType::boolean : type;
    if (op == OpId::clip && i > 0) operands[i] = reachable(operands[i], type);
    if (op == OpId::power && i > 0 && is_integer(type)) refuse_negative(operands[i]);
    const TensorType& given = result_of(operands[i]).type;
    if (given.dtype != wanted || given.weak) operands[i] = fitted_to(def.name, operands[i], wanted);
  }
  return emit_resolved(op, operands);
}

namespace {

// The front converts operands before it emits; a graph file may not have.
void check_operand_types(const OpDef& def, std::span<const TensorType> inputs) {
  const DType type = inputs.back().dtype;
  bool accepted = true;
  switch (def.domain) {
    case Domain::floating: accepted = is_inexact(type); break;
    case Domain::arithmetic: accepted = type != DType::boolean; break;
    case Domain::logical: accepted = type == DType::boolean; break;
    case Domain::bitwise: accepted = !is_inexact(type); break;
    case Domain::integer: accepted = is_integer(type); break;
    case Domain::selection: accepted = inputs[0].dtype == DType::boolean; break;
    case Domain::numeric:
    case Domain::comparison: break;
  }
  const std::size_t first = def.domain == Domain::selection ? 1 : 0;
  for (std::size_t i = first; i < inputs.size(); ++i) accepted = accepted && inputs[i].dtype == type;
  if (!accepted) throw_error<TypeError>(def.name, ": an operand of ", inputs[0].dtype, " with a last one of ", type);
}

template <OpId id>
std::vector<TensorType> infer_elementwise(const Attributes&, std::span<const TensorType> inputs) {
  check_operand_types(definition(id), inputs);
  std::array<const TensorType*, 3> types{};
  for (std::size_t i = 0; i < inputs.size(); ++i) types[i] = &inputs[i];
  return {elementwise_type(definition(id), std::span(types.data(), inputs.size()))};
}

constexpr OpDef row(OpId id, std::string_view name, std::string_view doc, int arity, Domain domain, Traits facts,
                    Inference infer, GradientRule gradient, double low, double high) {
  OpDef def;
  def.id = id;
  def.name = name;
  def.doc = doc;
  def.min_inputs = def.max_inputs = arity;
  def.traits = facts.with(Traits::elementwise);
  def.domain = domain;
  def.in_place = InPlace::same_index;
  def.infer = infer;
  def.gradient = gradient;
  def.low = low;
  def.high = high;
  return def;
}

}  // namespace

std::span<const OpDef> elementwise_operators() {
  static const OpDef rows[] = {
#define TYTO_UNARY(name, domain, expression, gradient, traits, low, high, doc)                                     \
  row(OpId::name, #name, doc, 1, Domain::domain, traits, infer_elementwise<OpId::name>, gradient_of_##name(), low, \
      high),
#define TYTO_BINARY(name, domain, expression, gradient_a, gradient_b, traits, low, high, doc)                      \
  row(OpId::name, #name, doc, 2, Domain::domain, traits, infer_elementwise<OpId::name>, gradient_of_##name(), low, \
      high),
#define TYTO_TERNARY(name, domain, expression, gradient_a, gradient_b, gradient_c, traits, low, high, doc)         \
  row(OpId::name, #name, doc, 3, Domain::domain, traits, infer_elementwise<OpId::name>, gradient_of_##name(), low, \
      high),
#include "tyto/ops/elementwise.def"
#undef TYTO_UNARY
#undef TYTO_BINARY
#undef TYTO_TERNARY
  };
  return rows;
}

namespace {

template <class... V>
Value applied(OpId op, const V&... given) {
  Value operands[] = {operand(given)...};
  return emit_elementwise(op, operands);
}

}  // namespace

}  // namespace tyto::core

namespace tyto TYTO_API {

#define TYTO_UNARY(name)                               \
  template <class M>                                   \
  Tensor<M> name(const Tensor<M>& x) {                 \
    return core::applied(core::OpId::name, x.value()); \
  }                                                    \
  template Tensor<Eager> name(const Tensor<Eager>&);   \
  template Tensor<Lazy> name(const Tensor<Lazy>&);     \
  template Tensor<Any> name(const Tensor<Any>&);
#define TYTO_BINARY(name)                                                                        \
  template <class M>                                                                             \
  Tensor<M> name(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b) {                 \
    return core::applied(core::OpId::name, a.value(), b.value());                                \
  }                                                                                              \
  template Tensor<Eager> name(const Tensor<Eager>&, const std::type_identity_t<Tensor<Eager>>&); \
  template Tensor<Lazy> name(const Tensor<Lazy>&, const std::type_identity_t<Tensor<Lazy>>&);    \
  template Tensor<Any> name(const Tensor<Any>&, const std::type_identity_t<Tensor<Any>>&);
#define TYTO_TERNARY(name)                                                                      \
  template <class M>                                                                            \
  Tensor<M> name(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b,                  \
                 const std::type_identity_t<Tensor<M>>& c) {                                    \
    return core::applied(core::OpId::name, a.value(), b.value(), c.value());                    \
  }                                                                                             \
  template Tensor<Eager> name(const Tensor<Eager>&, const std::type_identity_t<Tensor<Eager>>&, \
                              const std::type_identity_t<Tensor<Eager>>&);                      \
  template Tensor<Lazy> name(const Tensor<Lazy>&, const std::type_identity_t<Tensor<Lazy>>&,    \
                             const std::type_identity_t<Tensor<Lazy>>&);                        \
  template Tensor<Any> name(const Tensor<Any>&, const std::type_identity_t<Tensor<Any>>&,       \
                            const std::type_identity_t<Tensor<Any>>&);
#include "tyto/ops/elementwise_names.def"
#undef TYTO_UNARY
#undef TYTO_BINARY
#undef TYTO_TERNARY

}  // namespace TYTO_API
