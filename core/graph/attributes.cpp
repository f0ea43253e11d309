// SPDX-License-Identifier: MIT
// Hashing and printing of attributes, written once over each struct's fields.
#include "core/graph/attributes.hpp"

#include <bit>
#include <functional>

#include "core/graph/custom.hpp"
#include "core/graph/graph.hpp"
#include "core/graph/held_constant.hpp"
#include "core/graph/symbol.hpp"
#include "core/value/array_element.hpp"
#include "core/value/hash.hpp"
#include "core/value/stored_scalar.hpp"
#include "core/value/text.hpp"

namespace tyto::core {

namespace {

std::size_t hash_field(std::int64_t value) { return static_cast<std::size_t>(value); }
std::size_t hash_field(bool value) { return value; }
std::size_t hash_field(double value) { return std::bit_cast<std::uint64_t>(value); }
std::size_t hash_field(DType value) { return static_cast<std::size_t>(value); }
std::size_t hash_field(PadMode value) { return static_cast<std::size_t>(value); }
std::size_t hash_field(const Scalar& value) {
  const bool whole = !value.is_floating() && !value.is_complex();
  return mixed_hash(mixed_hash(static_cast<std::size_t>(value.kind()), hash_field(value.imaginary())),
                    whole ? hash_field(static_cast<std::int64_t>(value.as_unsigned())) : hash_field(value.as_double()));
}
std::size_t hash_field(const std::string& word) { return std::hash<std::string>()(word); }
std::size_t hash_field(const IntList& list) {
  std::size_t seed = list.size();
  for (const std::int64_t value : list) seed = mixed_hash(seed, hash_field(value));
  return seed;
}
std::size_t hash_field(const Array& array) {
  return mixed_hash(std::hash<const void*>()(array.buffer.get()), hash_field(array.view.shape));
}
std::size_t hash_field(const LoopProgram& program) { return hash_of(program); }
std::size_t hash_field(const Region& region) { return region.hash(); }
std::size_t hash_field(const std::vector<Region>& regions) {
  std::size_t seed = regions.size();
  for (const Region& region : regions) seed = mixed_hash(seed, region.hash());
  return seed;
}
template <class T>
std::size_t hash_field(const std::shared_ptr<T>& pointer) {
  return std::hash<const void*>()(pointer.get());
}

std::string show(bool value) { return value ? "true" : "false"; }
std::string show(const std::string& word) { return text('"', word, '"'); }
std::string show(const IntList& list) { return to_string(list); }
std::string show(DType type) { return name_of(type); }
std::string show(PadMode mode) { return name_of(mode); }
std::string show(const Scalar& value) { return to_string(value); }
std::string show(const Array& array) {
  std::string type = text(array.dtype, array.view.shape);
  return array && array.view.count() != 0 ? text(type, ' ', first_numbers(array, 4)) : type;
}
std::string show(const std::shared_ptr<State>& state) { return state ? shown_name(*state) : "none"; }
std::string show(const std::shared_ptr<const CustomOperator>& op) { return op ? op->name : "none"; }
std::string show(const LoopProgram& program) { return to_string(program); }
std::string show(double value) { return text(value); }
std::string show(std::int64_t value) { return std::to_string(value); }
// Only the size of a region: to_text() of graphs writes its nodes below the node's line.
std::string show(const Region& region) { return text(region ? region.graph().nodes().size() : 0, " nodes"); }
std::string show(const std::vector<Region>& regions) { return std::to_string(regions.size()); }

}  // namespace

const Attributes no_attributes;

const char* name_of(PadMode mode) {
  constexpr const char* names[pad_mode_count] = {"constant", "edge", "reflect", "symmetric", "wrap"};
  return names[static_cast<int>(mode)];
}

std::int64_t* axis_of(Attributes& attributes) {
  return std::visit(
      [](auto& each) -> std::int64_t* {
        if constexpr (requires { each.axis; }) return &each.axis;
        else return nullptr;
      },
      attributes);
}

std::span<const Region> regions_of(const Attributes& attributes) {
  if (const auto* branch = std::get_if<BranchAttributes>(&attributes)) return branch->arms;
  if (const auto* loop = std::get_if<IterationAttributes>(&attributes)) return {&loop->body, 1};
  return {};
}

std::size_t hash_of(const Attributes& attributes) {
  std::size_t seed = attributes.index();
  std::visit(
      [&](const auto& each) {
        each.fields([&](const char*, const auto& field) { seed = mixed_hash(seed, hash_field(field)); });
      },
      attributes);
  return seed;
}

std::string to_string(const Attributes& attributes) {
  // Constants are shown alike, whether held by a state or not.
  if (const auto* held = std::get_if<StateAttributes>(&attributes)) return "array=" + show(held->state);
  std::string out;
  std::visit(
      [&](const auto& each) {
        each.fields([&](const char* name, const auto& field) {
          if (!out.empty()) out += ' ';
          out += name;
          out += '=';
          out += show(field);
        });
      },
      attributes);
  return out;
}

}  // namespace tyto::core
