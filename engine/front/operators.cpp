// SPDX-License-Identifier: MIT
// Operators by name: attributes are read and listed through the fields of their structs.
#include "tyto/operators.hpp"

#include <algorithm>
#include <sstream>

#include "core/graph/builder.hpp"
#include "core/value/shape.hpp"
#include "core/value/text.hpp"
#include "engine/front/attribute_listing.hpp"
#include "ops/define.hpp"

namespace tyto TYTO_API {

namespace {

using core::as_attribute;
using core::can_be_given;
using core::OpDef;
using core::text;
using core::throw_error;
using core::Traits;

/// Draws take their number from the sequence, not from the caller.
bool is_given(const OpDef& def, std::string_view field) { return !def.is(Traits::random) || field != "draw"; }

core::Attributes made(std::size_t kind) {
  core::Attributes out;
  const auto make = [&]<std::size_t... each>(std::index_sequence<each...>) {
    ((kind == each ? static_cast<void>(out.emplace<each>()) : static_cast<void>(0)), ...);
  };
  make(std::make_index_sequence<std::variant_size_v<core::Attributes>>());
  return out;
}

bool is_callable(const OpDef& def) {
  if (def.is(Traits::leaf) || def.name == "read" || def.name == "alias") return false;
  return std::visit([]<class A>(const A&) { return can_be_given<A>; }, made(def.attributes));
}

std::vector<DType> accepted(const OpDef& def) {
  const core::Domain domain = def.domain;
  std::vector<DType> types;
  for (int i = 0; i < dtype_count; ++i) {
    const auto type = static_cast<DType>(i);
    if (domain == core::Domain::arithmetic && type == DType::boolean) continue;
    if (domain == core::Domain::bitwise && is_inexact(type)) continue;
    if (is_complex(type) && !def.is(Traits::takes_complex) && domain != core::Domain::logical) continue;
    if (domain == core::Domain::integer && !is_integer(type)) continue;
    types.push_back(type);
  }
  return types;
}

OperatorInfo described(const OpDef& def) {
  OperatorInfo info;
  info.name = def.name;
  info.doc = def.doc;
  info.random = def.is(Traits::random);
  info.min_inputs = info.random ? 0 : def.min_inputs;
  info.max_inputs = info.random ? 0 : def.max_inputs >= 1 << 20 ? -1 : def.max_inputs;
  info.results = def.results;
  info.elementwise = def.is(Traits::elementwise);
  info.differentiable = def.gradient != nullptr;
  info.types = accepted(def);
  std::visit(
      [&]<class A>(const A& given) {
        if constexpr (can_be_given<A>) {
          given.fields([&](const char* name, const auto& field) {
            if (is_given(def, name)) info.attributes.push_back({name, as_attribute(field)});
          });
        }
      },
      made(def.attributes));
  if (info.random) info.attributes.push_back({"key", std::int64_t{0}});
  if (info.random) info.attributes.push_back({"stream", std::int64_t{0}});
  return info;
}

/// Sets fields from the attributes given, and throws for invalid ones.
class AttributeReader {
 public:
  AttributeReader(const OpDef& def, const NamedList<Attribute>& given) : def_(def), given_(given) {}

  core::Attributes read() {
    core::Attributes out = made(def_.attributes);
    std::visit(
        [&]<class A>(A& into) {
          if constexpr (can_be_given<A>) {
            into.fields([&](const char* name, auto& field) {
              if (!is_given(def_, name)) return;
              known_.push_back(name);
              if (const Attribute* found = given_.find(name)) set(name, *found, field);
            });
          }
        },
        out);
    if (def_.is(Traits::random)) known_.insert(known_.end(), {"key", "stream"});
    for (const Named<Attribute>& each : given_) {
      if (std::find(known_.begin(), known_.end(), each.name) != known_.end()) continue;
      std::string names;
      for (const std::string& name : known_) names += (names.empty() ? "" : ", ") + name;
      throw_error<ValueError>(def_.name, ": has no attribute '", each.name, "'; it has ",
                              names.empty() ? "none" : names);
    }
    return out;
  }

  /// The key of a draw, if one is given.
  std::optional<Key> key() const {
    const Attribute* seed = given_.find("key");
    if (seed == nullptr) return {};
    std::int64_t first = 0, second = 0;
    set("key", *seed, first);
    if (const Attribute* stream = given_.find("stream")) set("stream", *stream, second);
    return Key{static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(second)};
  }

 private:
  template <class T>
  const T& as(const char* name, const Attribute& attribute, const char* wanted) const {
    if (const T* value = std::get_if<T>(&attribute.value())) return *value;
    refuse(name, attribute, wanted);
  }
  [[noreturn]] void refuse(const char* name, const Attribute& attribute, const char* wanted) const {
    throw_error<TypeError>(def_.name, ": attribute '", name, "' is ", wanted, ", not ", attribute.to_string());
  }

  void set(const char* name, const Attribute& from, bool& field) const {
    const auto& number = as<Scalar>(name, from, "a truth");
    if (number.kind() != Scalar::Kind::boolean && (number.as_int() & ~std::int64_t{1}) != 0)
      refuse(name, from, "a truth");
    field = number.as_int() != 0;
  }
  void set(const char* name, const Attribute& from, std::int64_t& field) const {
    const auto& number = as<Scalar>(name, from, "an integer");
    if (number.is_floating()) refuse(name, from, "an integer");
    field = number.as_int();
  }
  void set(const char* name, const Attribute& from, double& field) const {
    field = as<Scalar>(name, from, "a number").as_double();
  }
  void set(const char* name, const Attribute& from, Scalar& field) const { field = as<Scalar>(name, from, "a number"); }
  void set(const char* name, const Attribute& from, IntList& field) const {
    if (const Scalar* number = std::get_if<Scalar>(&from.value()); number != nullptr && !number->is_floating()) {
      field = IntList{number->as_int()};
    } else {
      field = as<IntList>(name, from, "a list of integers");
    }
  }
  void set(const char* name, const Attribute& from, DType& field) const {
    if (const std::string* word = std::get_if<std::string>(&from.value())) {
      for (int i = 0; i < dtype_count; ++i) {
        if (*word != tyto::name_of(static_cast<DType>(i))) continue;
        field = static_cast<DType>(i);
        return;
      }
    }
    field = as<DType>(name, from, "an element type");
  }
  void set(const char* name, const Attribute& from, std::string& field) const {
    field = as<std::string>(name, from, "a word");
  }
  void set(const char* name, const Attribute& from, core::PadMode& field) const {
    const auto& word = as<std::string>(name, from, "one of constant, edge, reflect, symmetric, wrap");
    for (int i = 0; i < core::pad_mode_count; ++i) {
      if (word != core::name_of(static_cast<core::PadMode>(i))) continue;
      field = static_cast<core::PadMode>(i);
      return;
    }
    refuse(name, from, "one of constant, edge, reflect, symmetric, wrap");
  }

  const OpDef& def_;
  const NamedList<Attribute>& given_;
  std::vector<std::string> known_;
};

/// Axes counted from the front, and all of them for a reduction that names none.
void normalise(const OpDef& def, const NamedList<Attribute>& given, int rank, core::Attributes& attributes) {
  if (auto* axes = std::get_if<core::AxesAttributes>(&attributes)) {
    axes->axes = core::normalise_axes(def.name, given.contains("axes") ? Axes(axes->axes) : Axes(), rank);
  } else if (auto* variance = std::get_if<core::VarianceAttributes>(&attributes)) {
    variance->axes = core::normalise_axes(def.name, given.contains("axes") ? Axes(variance->axes) : Axes(), rank);
  } else if (auto* axis = core::axis_of(attributes); axis != nullptr && (given.contains("axis") || *axis < 0)) {
    *axis = core::normalise_axis(def.name, *axis, rank);
  }
}

const OpDef& definition_of(std::string_view name) {
  const OpDef* def = core::find_operator(name);
  if (def == nullptr || !is_callable(*def)) {
    throw_error<ValueError>("call: there is no operator '", name, "'; operators() lists those that there are");
  }
  return *def;
}

void check_count(const OpDef& def, std::size_t count) {
  const auto least = static_cast<std::size_t>(def.min_inputs), most = static_cast<std::size_t>(def.max_inputs);
  if (count >= least && count <= most) return;
  const std::string upto = most >= 1 << 20 ? " or more" : most == least ? "" : text(" to ", most);
  throw_error<ValueError>(def.name, ": given ", count, " inputs, takes ", least, upto);
}

/// The results of an operator in the given mode.
std::vector<Value> applied(core::Mode mode, const OpDef& def, std::vector<Value> inputs,
                           const NamedList<Attribute>& given) {
  AttributeReader reader(def, given);
  core::Attributes attributes = reader.read();
  if (def.is(Traits::random)) {
    if (!inputs.empty()) throw_error<ValueError>(def.name, ": given ", inputs.size(), " inputs, takes none");
    return {core::draw(mode, def.id, std::get<core::RandomAttributes>(attributes), reader.key())};
  }
  check_count(def, inputs.size());
  for (Value& input : inputs) input = core::given(def.name, input);
  if (def.is(Traits::elementwise)) return {core::emit_elementwise(def.id, inputs)};
  for (Value& input : inputs) {
    const DType type = def.domain == core::Domain::logical ? DType::boolean : input.dtype();
    const bool becomes_floating = def.domain == core::Domain::floating && !is_floating(type);
    input = becomes_floating ? core::as_floating(input) : core::cast_to(input, type);
  }
  if (!inputs.empty()) normalise(def, given, inputs[0].ndim(), attributes);
  const Value first = inputs.empty() ? core::emit(mode, def.id, std::move(attributes))
                                     : core::emit(def.id, std::move(attributes), inputs);
  std::vector<Value> results;
  for (int i = 0; i < def.results; ++i) results.push_back(core::result(first, static_cast<std::uint32_t>(i)));
  return results;
}

}  // namespace

std::string Attribute::to_string() const {
  std::ostringstream out;
  std::visit(
      [&]<class T>(const T& value) {
        if constexpr (std::is_same_v<T, Scalar>) {
          if (value.kind() == Scalar::Kind::boolean) out << (value.as_int() != 0 ? "true" : "false");
          else if (value.is_floating()) out << value.as_double();
          else out << value.as_int();
        } else if constexpr (std::is_same_v<T, std::string>) {
          out << '"' << value << '"';
        } else {
          out << value;
        }
      },
      value_);
  return out.str();
}

const std::vector<OperatorInfo>& operators() {
  static const std::vector<OperatorInfo> list = [] {
    std::vector<OperatorInfo> callable;
    for (const OpDef& def : core::op_table()) {
      if (is_callable(def)) callable.push_back(described(def));
    }
    return callable;
  }();
  return list;
}

const OperatorInfo* find_operator(std::string_view name) {
  for (const OperatorInfo& info : operators()) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

template <class M>
std::vector<Tensor<M>> call(std::string_view name, const std::vector<Tensor<M>>& inputs,
                            const NamedList<Attribute>& attributes) {
  const OpDef& def = definition_of(name);
  std::vector<Tensor<M>> results;
  for (Value& each : applied(core::mode_tag<M>, def, {inputs.begin(), inputs.end()}, attributes)) {
    results.emplace_back(std::move(each));
  }
  return results;
}
#define TYTO_INSTANTIATE_CALL(M) \
  template std::vector<Tensor<M>> call(std::string_view, const std::vector<Tensor<M>>&, const NamedList<Attribute>&);
TYTO_INSTANTIATE_CALL(Eager)
TYTO_INSTANTIATE_CALL(Lazy)
TYTO_INSTANTIATE_CALL(Any)
#undef TYTO_INSTANTIATE_CALL

// Records the operator on placeholders without values, and reads the types of its results.
std::vector<ArrayType> result_types(std::string_view name, ArrayTypes inputs, const NamedList<Attribute>& attributes) {
  const OpDef& def = definition_of(name);
  NamedList<Attribute> with_key = attributes;  // a draw of the sequence would move it
  if (def.is(Traits::random) && !attributes.contains("key")) with_key.push_back({"key", 0});
  std::vector<Value> given;
  for (const ArrayType& type : inputs) given.push_back(Tensor<Lazy>::placeholder(type.shape, type.dtype));
  std::vector<ArrayType> types;
  for (const Value& result : applied(core::Mode::lazy, def, std::move(given), with_key)) {
    types.push_back({result.dtype(), result.shape()});
  }
  return types;
}

}  // namespace TYTO_API
