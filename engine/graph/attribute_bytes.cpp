// SPDX-License-Identifier: MIT
// The structs are told apart by the names of their kinds, so that a file outlives a reordering of the variant.
#include "engine/graph/attribute_bytes.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tyto::run {

namespace {

constexpr std::size_t kinds = std::variant_size_v<core::Attributes>;

// In the order of the variant. The kinds called "axis" are saved alike.
constexpr std::string_view axis_kind = "axis";
constexpr std::string_view kind_names[] = {
    "none",      "axes",    "variance",  axis_kind,  "topk",    "list",         "slice",  "pad",     "cast",
    "range",     "random",  "window",    "constant", "state",   "version",      "custom", "fused",   "product",
    "attention", "nms",     "transform", "branch",   "loop",    "quantisation", "bounds", axis_kind, axis_kind,
    axis_kind,   axis_kind, axis_kind,   axis_kind,  axis_kind, "collective"};
static_assert(std::size(kind_names) == kinds, "name the new kind of attributes here");

void put(ByteWriter& out, bool value) { out.number(static_cast<std::uint8_t>(value)); }
void put(ByteWriter& out, std::int64_t value) { out.number(value); }
void put(ByteWriter& out, double value) { out.number(value); }
void put(ByteWriter& out, DType value) { out.number(static_cast<std::uint8_t>(value)); }
void put(ByteWriter& out, const std::string& value) { out.text(value); }
void put(ByteWriter& out, core::PadMode value) { out.number(static_cast<std::uint8_t>(value)); }
/// Stands after the kinds of numbers for an integer that u64 alone holds.
constexpr std::uint8_t large_number = 4;
void put(ByteWriter& out, const Scalar& value) {
  out.number(value.is_large() ? large_number : static_cast<std::uint8_t>(value.kind()));
  if (value.is_floating() || value.is_complex()) {
    out.number(value.as_double());
    if (value.is_complex()) out.number(value.imaginary());
  } else {
    out.number(value.as_unsigned());
  }
}
void put(ByteWriter& out, const IntList& list) {
  out.number(static_cast<std::uint32_t>(list.size()));
  for (const std::int64_t value : list) out.number(value);
}
void put(ByteWriter& out, const core::LoopProgram& program) {
  out.number(program.inputs);
  out.number(static_cast<std::uint32_t>(program.constants.size()));
  for (const core::LoopConstant& constant : program.constants) {
    put(out, constant.value);
    put(out, constant.dtype);
  }
  out.number(static_cast<std::uint32_t>(program.instructions.size()));
  for (const core::LoopInstruction& instruction : program.instructions) {
    out.text(core::definition(instruction.op).name);
    put(out, instruction.dtype);
    for (const std::uint16_t operand : instruction.operands) out.number(operand);
  }
  out.number(static_cast<std::uint32_t>(program.outputs.size()));
  for (const std::uint16_t output : program.outputs) out.number(output);
}
void put(ByteWriter& out, const core::Region& region) { write_region(out, region); }
void put(ByteWriter& out, const std::vector<core::Region>& regions) {
  out.number(static_cast<std::uint32_t>(regions.size()));
  for (const core::Region& region : regions) write_region(out, region);
}

void take(ByteReader& in, bool& value) { value = in.truth("a switch"); }
void take(ByteReader& in, std::int64_t& value) { value = in.number<std::int64_t>("a number"); }
void take(ByteReader& in, double& value) { value = in.number<double>("a number"); }
void take(ByteReader& in, std::string& value) { value = in.text("a word"); }
template <class Enum>
void take_enum(ByteReader& in, Enum& value, int count, const char* what) {
  const int read = in.number<std::uint8_t>(what);
  if (read >= count) in.refuse(what, " ", read, " is unknown");
  value = static_cast<Enum>(read);
}
void take(ByteReader& in, DType& value) { take_enum(in, value, dtype_count, "element type"); }
void take(ByteReader& in, core::PadMode& value) { take_enum(in, value, core::pad_mode_count, "padding mode"); }
void take(ByteReader& in, Scalar& value) {
  const int read = in.number<std::uint8_t>("kind of number");
  if (read > large_number) in.refuse("kind of number ", read, " is unknown");
  if (read == large_number) {
    value = in.number<std::uint64_t>("a number");
    return;
  }
  const auto kind = static_cast<Scalar::Kind>(read);
  if (kind == Scalar::Kind::floating) {
    value = in.number<double>("a number");
    return;
  }
  if (kind == Scalar::Kind::complex) {
    const auto real = in.number<double>("a number");
    value = Scalar::complex(real, in.number<double>("a number"));
    return;
  }
  const auto whole = in.number<std::int64_t>("a number");
  value = kind == Scalar::Kind::boolean ? Scalar(whole != 0) : Scalar(whole);
}
void take(ByteReader& in, IntList& list) {
  const std::uint32_t count = in.count(sizeof(std::int64_t), "entries of a list");
  list = IntList();
  for (std::uint32_t i = 0; i < count; ++i) list.push_back(in.number<std::int64_t>("an entry of a list"));
}
void take(ByteReader& in, core::LoopProgram& program) {
  program.inputs = in.number<std::uint16_t>("a count of inputs");
  program.constants.resize(in.count(2, "constants"));
  for (core::LoopConstant& constant : program.constants) {
    take(in, constant.value);
    take(in, constant.dtype);
  }
  program.instructions.resize(in.count(2, "steps"));
  for (core::LoopInstruction& instruction : program.instructions) {
    const std::string name = in.text("name of a step");
    const core::OpDef* def = core::find_operator(name);
    if (def == nullptr) in.refuse("a step of the unknown operator '", name, "'");
    instruction.op = def->id;
    take(in, instruction.dtype);
    for (std::uint16_t& operand : instruction.operands) operand = in.number<std::uint16_t>("an operand");
  }
  program.outputs.resize(in.count(sizeof(std::uint16_t), "results"));
  for (std::uint16_t& output : program.outputs) output = in.number<std::uint16_t>("a result");
}
void take(ByteReader& in, core::Region& region) { region = read_region(in); }
void take(ByteReader& in, std::vector<core::Region>& regions) {
  regions.resize(in.count(sizeof(std::uint32_t), "regions"));
  for (core::Region& region : regions) region = read_region(in);
}

/// Attributes that hold a function or a state cannot be saved.
template <class Struct>
constexpr bool is_saved() {
  return !std::is_same_v<Struct, core::ConstantAttributes> && !std::is_same_v<Struct, core::StateAttributes> &&
         !std::is_same_v<Struct, core::VersionAttributes> && !std::is_same_v<Struct, core::CustomAttributes>;
}

/// The fields that are saved of each kind called "axis"; they were one struct in the first version of the format.
struct AxisRecord {
  std::int64_t axis = 0;
  bool switches[2] = {};

  /// Calls visit(field, its place in the record) for each field of the struct.
  template <class Struct, class Visit>
  void pair(Struct& attributes, const Visit& visit) {
    bool* next = switches;
    attributes.fields([&](const char*, auto& field) {
      if constexpr (std::is_same_v<decltype(field), bool&> || std::is_same_v<decltype(field), const bool&>) {
        visit(field, *next++);
      } else {
        visit(field, axis);
      }
    });
  }
};

template <class Struct>
constexpr bool is_axis_record = kind_names[core::kind_of_attributes<Struct>] == axis_kind;

template <std::size_t... kind>
core::Attributes make_kind(std::size_t wanted, std::index_sequence<kind...>) {
  core::Attributes out;
  ((wanted == kind ? static_cast<void>(out.emplace<kind>()) : static_cast<void>(0)), ...);
  return out;
}

}  // namespace

void write_attributes(ByteWriter& out, const core::Attributes& attributes, std::string_view owner) {
  out.text(kind_names[attributes.index()]);
  std::visit(
      [&]<class Struct>(const Struct& each) {
        if constexpr (is_axis_record<Struct>) {
          AxisRecord record;
          record.pair(each, [](const auto& field, auto& saved) { saved = field; });
          put(out, record.axis);
          for (const bool value : record.switches) put(out, value);
        } else if constexpr (is_saved<Struct>()) {
          each.fields([&](const char*, const auto& field) { put(out, field); });
        } else {
          core::throw_error<GraphError>("save: '", owner, "' holds a function or a state of this process");
        }
      },
      attributes);
}

core::Attributes read_attributes(ByteReader& in, const core::OpDef& owner) {
  const std::string name = in.text("kind of attributes");
  const auto* const known = std::ranges::find(kind_names, name);
  std::size_t kind = static_cast<std::size_t>(known - kind_names);
  if (kind_names[owner.attributes] == name) kind = owner.attributes;
  if (kind == kinds) in.refuse("attributes of the unknown kind '", name, "'");
  core::Attributes out = make_kind(kind, std::make_index_sequence<kinds>());
  std::visit(
      [&]<class Struct>(Struct& each) {
        if constexpr (is_axis_record<Struct>) {
          AxisRecord record;
          take(in, record.axis);
          for (bool& value : record.switches) take(in, value);
          record.pair(each, [](auto& field, const auto& saved) { field = saved; });
        } else if constexpr (is_saved<Struct>()) {
          each.fields([&](const char*, auto& field) { take(in, field); });
        } else {
          in.refuse("attributes of the kind '", name, "' cannot stand in a file");
        }
      },
      out);
  return out;
}

}  // namespace tyto::run
