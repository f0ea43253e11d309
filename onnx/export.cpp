// The model message around the nodes, and the parts that every operator needs.
#include "onnx/export.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "onnx/element_types.hpp"
#include "onnx/message.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

namespace {

// Numbers of AttributeProto.AttributeType.
ProtobufWriter attribute_named(std::string_view name, std::int64_t kind) {
  ProtobufWriter message;
  message.text(1, name);
  message.integer(20, kind);
  return message;
}

ProtobufWriter tensor_message(const std::string& name, const Tensor<Eager>& value) {
  ProtobufWriter message;
  for (const std::int64_t length : value.shape()) message.integer(1, length);
  message.integer(2, element_type_of(value.dtype()));
  message.text(8, name);
  const std::span<const std::byte> bytes = value.bytes();
  message.text(9, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  return message;
}

ProtobufWriter value_message(const std::string& name, const ListedTensor& of) {
  ProtobufWriter shape, tensor, type, message;
  for (const std::int64_t length : of.shape) {
    ProtobufWriter dimension;
    dimension.integer(1, length);
    shape.message(1, dimension);
  }
  tensor.integer(1, element_type_of(of.dtype));
  tensor.message(2, shape);
  type.message(1, tensor);
  message.text(1, name);
  message.message(2, type);
  return message;
}

}  // namespace

Written::Written(std::string_view name, std::int64_t value) : message(attribute_named(name, 2)) {
  message.integer(3, value);
}
Written::Written(std::string_view name, double value) : message(attribute_named(name, 1)) {
  message.single(2, static_cast<float>(value));
}
Written::Written(std::string_view name, std::string_view value) : message(attribute_named(name, 3)) {
  message.text(4, value);
}
Written::Written(std::string_view name, const IntList& value) : message(attribute_named(name, 7)) {
  for (const std::int64_t each : value) message.integer(8, each);
}

Written::Written(std::string_view name, const ProtobufWriter& graph) : message(attribute_named(name, 5)) {
  message.message(6, graph);
}

std::string GraphExport::fresh() { return core::text("t", count_++); }

std::vector<std::string> GraphExport::nodes(std::string_view op, const std::vector<std::string>& inputs,
                                            std::size_t results, const std::vector<Written>& attributes) {
  ProtobufWriter message;
  std::vector<std::string> names;
  for (const std::string& input : inputs) message.text(1, input);
  for (std::size_t i = 0; i < results; ++i) {
    names.push_back(fresh());
    message.text(2, names.back());
  }
  message.text(4, op);
  for (const Written& attribute : attributes) message.message(5, attribute.message);
  nodes_.message(1, message);
  return names;
}

std::string GraphExport::node(std::string_view op, const std::vector<std::string>& inputs,
                              const std::vector<Written>& attributes) {
  return nodes(op, inputs, 1, attributes)[0];
}

std::string GraphExport::constant(const Tensor<Eager>& value) {
  const std::string name = fresh();
  initialisers_.message(5, tensor_message(name, value));
  return name;
}

std::string GraphExport::integers(const IntList& list) {
  return constant(Tensor<Eager>::from(std::span<const std::int64_t>(list.begin(), list.size()),
                                      {static_cast<std::int64_t>(list.size())}));
}

std::string GraphExport::number(double value, DType dtype) { return constant(Tensor<Eager>::full({}, value, dtype)); }

std::string GraphExport::cast(const std::string& x, DType from, DType to) {
  return from == to ? x : node("Cast", {x}, {{"to", element_type_of(to)}});
}

std::string GraphExport::transposed(const std::string& x, const IntList& order) {
  IntList whole = order;
  std::string from = x;
  const auto made = transposes_.find(x);
  if (made != transposes_.end()) {
    from = made->second.first;
    for (std::size_t i = 0; i < order.size(); ++i) whole[i] = made->second.second[static_cast<std::size_t>(order[i])];
  }
  bool same = true;
  for (std::size_t i = 0; i < whole.size(); ++i) same = same && whole[i] == static_cast<std::int64_t>(i);
  if (same) return from;
  const std::string result = node("Transpose", {from}, {{"perm", whole}});
  transposes_[result] = {from, whole};
  return result;
}

const std::string& GraphExport::name_of(std::size_t number) {
  std::string& name = names_[number];
  if (name.empty() && tensor(number).value) name = constant(*tensor(number).value);
  if (const auto found = unwritten_.find(number); found != unwritten_.end()) {
    throw GraphError(core::text("write_onnx: ", found->second, ": ONNX has no operator that gives its result of shape ",
                                tensor(number).shape, ", which the graph uses"));
  }
  return name;
}

std::string GraphExport::add_input(const ListedTensor& type) {
  const std::string name = fresh();
  ends_.message(11, value_message(name, type));
  return name;
}

std::string ExportedNode::part(const std::string& x, const IntList& start, const IntList& count,
                               const IntList& step) const {
  constexpr std::int64_t first_position = std::numeric_limits<std::int64_t>::min() / 2;
  IntList ends, axes;
  for (std::size_t i = 0; i < start.size(); ++i) {
    const std::int64_t end = start[i] + count[i] * step[i];
    ends.push_back(end < 0 ? first_position : end);
    axes.push_back(static_cast<std::int64_t>(i));
  }
  return add("Slice", {x, out_.integers(start), out_.integers(ends), out_.integers(axes), out_.integers(step)});
}

std::string ExportedNode::part(const std::string& x, std::int64_t axis, std::int64_t start, std::int64_t count) const {
  return add("Slice", {x, out_.integers({start}), out_.integers({start + count}), out_.integers({axis})});
}

// Zeros would copy lengths of the input: an empty result keeps its own.
std::string ExportedNode::reshaped(const std::string& x, const Shape& shape) const {
  return add("Reshape", {x, out_.integers(shape)}, {{"allowzero", std::int64_t{1}}});
}

// An output has a name of its own, also where it is an input or comes twice.
void GraphExport::add_output(const std::string& name, const ListedTensor& type) {
  ends_.message(12, value_message(node("Identity", {name}), type));
}

ProtobufWriter GraphExport::graph() const {
  ProtobufWriter name, whole;
  name.text(2, "graph");
  whole.append(nodes_);
  whole.append(name);
  whole.append(initialisers_);
  whole.append(ends_);
  return whole;
}

namespace {

/// The type in which a function computes that ONNX does not define for its own: of elements and windows of bf16 f32, as
/// ours are; of short integers i64, of which the lower bits are those of the result.
std::optional<DType> wider_type(std::string_view op, DType dtype) {
  if (dtype == DType::bf16 && (is_of_elements(op) || is_of_windows(op))) return DType::f32;
  if (!is_integer(dtype) || dtype == DType::i32 || size_of(dtype) == 8) return std::nullopt;
  constexpr std::string_view narrow[] = {"matmul", "max", "min", "power"};
  return std::ranges::find(narrow, op) != std::end(narrow) ? std::optional(DType::i64) : std::nullopt;
}

}  // namespace

// Tensors without elements are constants: runtimes disagree about what stretches or joins to nothing.
std::vector<std::string> GraphExport::written(const ListedNode& each, std::vector<std::string> inputs) {
  const ExportRule rule = find_export(each.op);
  const ExportedNode node(*this, each, std::move(inputs));
  if (node.result_count() != 1 || !node.regions().empty()) return rule(node);
  const ListedTensor& result = node.result();
  if (element_count(result.shape) == 0) return {constant(Tensor<Eager>::zeros(result.shape, result.dtype))};
  const std::optional<DType> wider = wider_type(each.op, result.dtype);
  return wider ? std::vector{cast(rule(node.computing_in(*wider))[0], *wider, result.dtype)} : rule(node);
}

void GraphExport::write_nodes() {
  for (const ListedNode& each : listing_.nodes) {
    std::vector<std::string> inputs;
    for (const std::size_t number : each.inputs) inputs.push_back(name_of(number));
    const std::vector<std::string> results = written(each, std::move(inputs));
    for (std::size_t i = 0; i < results.size(); ++i) names_[each.results[i]] = results[i];
    for (std::size_t i = results.size(); i < each.results.size(); ++i) unwritten_[each.results[i]] = each.op;
  }
}

namespace {

void list_problems(const GraphListing& listing, std::set<std::string>& problems) {
  for (const ListedNode& each : listing.nodes) {
    if (find_export(each.op) == nullptr) problems.insert(each.op);
    for (const std::vector<std::size_t>* tensors : {&each.inputs, &each.results}) {
      for (const std::size_t number : *tensors) {
        if (is_complex(listing.tensors[number].dtype)) problems.insert(core::text(each.op, " (of complex numbers)"));
      }
    }
    for (const GraphListing& region : each.regions) list_problems(region, problems);
  }
}

}  // namespace

std::string GraphExport::model() {
  if (!listing_.updates.empty()) {
    throw GraphError(core::text("write_onnx: the graph gives '", listing_.updates[0],
                                "' a new value in each run; ONNX has no states"));
  }
  std::set<std::string> problems;
  list_problems(listing_, problems);
  if (!problems.empty()) {
    std::string list;
    for (const std::string& problem : problems) list += (list.empty() ? "" : ", ") + problem;
    throw GraphError(core::text("write_onnx: ONNX has no operators for these of the graph: ", list));
  }
  for (const std::size_t number : listing_.inputs) {
    const std::string& given = tensor(number).name;
    // Names that are made begin with a t; a colon keeps those of users apart.
    names_[number] = given.empty() ? core::text("input:", ends_.bytes().size()) : given;
    if (names_[number][0] == 't') names_[number] = core::text("input:", names_[number]);
    ends_.message(11, value_message(names_[number], tensor(number)));
  }
  write_nodes();
  for (std::size_t i = 0; i < listing_.outputs.size(); ++i) {
    ProtobufWriter message;
    const std::string name = core::text("output:", i);
    message.text(1, output(i));
    message.text(2, name);
    message.text(4, "Identity");
    nodes_.message(1, message);
    ends_.message(12, value_message(name, tensor(listing_.outputs[i])));
  }
  ProtobufWriter set, model;
  set.text(1, "");
  set.integer(2, written_operator_set);
  model.integer(1, 10);
  model.text(2, "Tyto");
  model.message(7, graph());
  model.message(8, set);
  return model.bytes();
}

namespace {

ExportRule find_among(std::initializer_list<std::span<const ExportRow>> tables, std::string_view op) {
  for (const std::span<const ExportRow> rows : tables) {
    for (const ExportRow& row : rows) {
      if (row.op == op) return row.write;
    }
  }
  return nullptr;
}

}  // namespace

bool is_of_elements(std::string_view op) {
  return find_among({elementwise_exports(), arithmetic_exports(), bits_exports()}, op) != nullptr;
}

bool is_of_windows(std::string_view op) { return find_among({window_exports()}, op) != nullptr; }

ExportRule find_export(std::string_view op) {
  return find_among({elementwise_exports(), arithmetic_exports(), bits_exports(), structured_exports(),
                     indexing_exports(), window_exports(), region_exports()},
                    op);
}

}  // namespace tyto::onnx
