// SPDX-License-Identifier: MIT
// Writes nodes, constants, inputs and outputs of a graph, and the parts that every operator needs.
#include "onnx/write/export.hpp"

#include <algorithm>
#include <limits>

#include "onnx/file/element_types.hpp"
#include "onnx/file/message.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

namespace {

ProtobufWriter attribute_message(const Written& attribute) {
  using Kind = Written::Kind;
  ProtobufWriter message;
  message.text(1, attribute.name);
  // Numbers of AttributeProto.AttributeType, in the order of kinds.
  constexpr std::int64_t types[] = {2, 1, 3, 7, 5};
  message.integer(20, types[static_cast<int>(attribute.kind)]);
  switch (attribute.kind) {
    case Kind::integer: message.integer(3, attribute.integer); break;
    case Kind::number: message.single(2, static_cast<float>(attribute.number)); break;
    case Kind::word: message.text(4, attribute.word); break;
    case Kind::graph: message.message(6, *attribute.graph); break;
    case Kind::list:
      for (const std::int64_t each : *attribute.list) message.integer(8, each);
  }
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

/// `open` tells which lengths depend on that of the open axis, whose symbol they get; more than once is another one.
ProtobufWriter value_message(const std::string& name, const ListedTensor& of, const std::string& symbol,
                             const std::vector<LinearLength>* open) {
  ProtobufWriter shape, tensor, type, message;
  for (std::size_t axis = 0; axis < of.shape.size(); ++axis) {
    ProtobufWriter dimension;
    if (open == nullptr || !(*open)[axis].is_open()) {
      dimension.integer(1, of.shape[axis]);
    } else {
      const auto [offset, factor] = (*open)[axis];
      const std::string product = factor == 1 ? symbol : core::text(factor, "*", symbol);
      dimension.text(2, offset == 0 ? product : core::text(product, offset < 0 ? "" : "+", offset));
    }
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

Names::Names(Name only) : list_(1, only) {}
Names::Names(std::initializer_list<Name> list) : list_(list) {}
void Names::push_back(Name name) { list_.push_back(name); }

Name GraphExport::named(std::string word) {
  shared_.words.push_back(std::move(word));
  return static_cast<Name>(shared_.words.size() - 1);
}

Name GraphExport::fresh() {
  std::string word = core::text("t", shared_.words.size());
  while (shared_.ends.contains(word)) word += '_';
  return named(std::move(word));
}

Names GraphExport::nodes(const char* op, Operands inputs, std::size_t results, Attributes attributes) {
  ProtobufWriter message;
  Names names(results);
  for (const Name input : inputs) message.text(1, input == Name::none ? std::string_view() : word(input));
  for (Name& name : names) {
    name = fresh();
    message.text(2, word(name));
  }
  const std::string_view whole = op;
  const std::size_t dot = whole.rfind('.');
  if (dot == whole.npos) {
    message.text(4, whole);
  } else {
    message.text(4, whole.substr(dot + 1));
    message.text(7, whole.substr(0, dot));
    shared_.domains.emplace(whole.substr(0, dot));
  }
  for (const Written& attribute : attributes) message.message(5, attribute_message(attribute));
  if (shared_.parts != nullptr) {
    std::string line = core::text(op, ' ', results);
    for (const Name input : inputs) line += ' ' + (input == Name::none ? "-" : word(input));
    for (const Written& attribute : attributes) {
      const bool is_graph = attribute.kind == Written::Kind::graph;  // its nodes have lines of their own
      line += ' ' + (is_graph ? attribute.name : attribute_message(attribute).bytes());
    }
    shared_.parts->nodes.push_back(std::move(line));
  }
  nodes_.message(1, message);
  return names;
}

Name GraphExport::node(const char* op, Operands inputs, Attributes attributes) {
  return nodes(op, inputs, 1, attributes)[0];
}

Name GraphExport::initialiser(const Tensor<Eager>& value) {
  const Name name = fresh();
  initialisers_.message(5, tensor_message(word(name), value));
  return name;
}

Name GraphExport::constant(const Tensor<Eager>& value) {
  const std::size_t number = shared_.constants++;
  if (shared_.parts != nullptr) {
    shared_.parts->constants.push_back(value);
    shared_.parts->uses.emplace_back(writing_);
    return fresh();
  }
  if (shared_.open != nullptr && shared_.open->constants[number]) {
    return open_constant(value, *shared_.open->constants[number]);
  }
  return initialiser(value);
}

void GraphExport::add_end(std::uint32_t field, const std::string& name, const ListedTensor& of) {
  const std::size_t number = shared_.shapes++;
  if (shared_.parts != nullptr) shared_.parts->shapes.push_back(of.shape);
  const OpenAxis* open = shared_.open;
  ends_.message(field, open == nullptr ? value_message(name, of, "", nullptr)
                                       : value_message(name, of, open->symbol, &open->shapes[number]));
}

Name GraphExport::integers(const IntList& list) {
  return constant(Tensor<Eager>::from(std::span<const std::int64_t>(list.begin(), list.size()),
                                      {static_cast<std::int64_t>(list.size())}));
}

Name GraphExport::number(const Scalar& value, DType dtype) { return constant(Tensor<Eager>::full({}, value, dtype)); }

Name GraphExport::cast(Name x, DType from, DType to) {
  return from == to ? x : node("Cast", {x}, {{"to", element_type_of(to)}});
}

Name GraphExport::transposed(Name x, const IntList& order) {
  IntList whole = order;
  Name from = x;
  const auto made = transposes_.find(x);
  if (made != transposes_.end()) {
    from = made->second.first;
    for (std::size_t i = 0; i < order.size(); ++i) whole[i] = made->second.second[static_cast<std::size_t>(order[i])];
  }
  bool same = true;
  for (std::size_t i = 0; i < whole.size(); ++i) same = same && whole[i] == static_cast<std::int64_t>(i);
  if (same) return from;
  const Name result = node("Transpose", {from}, {{"perm", whole}});
  transposes_[result] = {from, whole};
  return result;
}

Name GraphExport::name_of(std::size_t number) {
  Name& name = names_[number];
  if (name == Name::none && tensor(number).value) name = constant(*tensor(number).value);
  if (const auto found = unwritten_.find(number); found != unwritten_.end()) {
    core::throw_error<GraphError>("write_onnx: ", found->second,
                                  ": ONNX has no operator that gives its result of shape ", tensor(number).shape,
                                  ", which the graph uses");
  }
  return name;
}

Name GraphExport::add_input(const ListedTensor& type) {
  const Name name = fresh();
  add_end(11, word(name), type);
  return name;
}

Name ExportedNode::part(Name x, const IntList& start, const IntList& count, const IntList& step) const {
  constexpr std::int64_t first_position = std::numeric_limits<std::int64_t>::min() / 2;
  IntList ends, axes;
  for (std::size_t i = 0; i < start.size(); ++i) {
    const std::int64_t end = start[i] + count[i] * step[i];
    ends.push_back(end < 0 ? first_position : end);
    axes.push_back(static_cast<std::int64_t>(i));
  }
  return add("Slice", {x, out_.integers(start), out_.integers(ends), out_.integers(axes), out_.integers(step)});
}

Name ExportedNode::part(Name x, std::int64_t axis, std::int64_t start, std::int64_t count) const {
  return add("Slice", {x, out_.integers({start}), out_.integers({start + count}), out_.integers({axis})});
}

// Zeros would copy lengths of the input: an empty result keeps its own.
Name ExportedNode::reshaped(Name x, const Shape& shape) const {
  return add("Reshape", {x, out_.integers(shape)}, {{"allowzero", std::int64_t{1}}});
}

// An output has a name of its own, also where it is an input or comes twice.
void GraphExport::add_output(Name name, const ListedTensor& type) {
  const Name output = node("Identity", {name});
  add_end(12, word(output), type);
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
Names GraphExport::written(const ListedNode& each, Names inputs) {
  const ExportRow& row = *find_export(each.op);
  const ExportedNode node(*this, each, row, std::move(inputs));
  if (node.result_count() != 1 || !node.regions().empty()) return row.write(node);
  const ListedTensor& result = node.result();
  if (element_count(result.shape) == 0) return constant(Tensor<Eager>::zeros(result.shape, result.dtype));
  std::optional<DType> wider = wider_type(each.op, result.dtype);
  if (row.precision == Precision::single && result.dtype == DType::f16) wider = DType::f32;
  if (!wider) return row.write(node);
  return cast(row.write(node.computing_in(*wider))[0], *wider, result.dtype);
}

void GraphExport::write_nodes() {
  for (const ListedNode& each : listing_.nodes) {
    writing_ = each.op;
    Names inputs;
    for (const std::size_t number : each.inputs) inputs.push_back(name_of(number));
    const Names results = written(each, std::move(inputs));
    for (std::size_t i = 0; i < results.size(); ++i) names_[each.results[i]] = results[i];
    for (std::size_t i = results.size(); i < each.results.size(); ++i) unwritten_[each.results[i]] = each.op;
  }
  writing_ = "graph";
}

const IntList& ExportedNode::list(const char* name) const { return std::get<IntList>(node_.attributes[name].value()); }
const Scalar& ExportedNode::scalar(const char* name) const { return std::get<Scalar>(node_.attributes[name].value()); }
const std::string& ExportedNode::word(const char* name) const {
  return std::get<std::string>(node_.attributes[name].value());
}
std::int64_t ExportedNode::integer(const char* name) const { return scalar(name).as_int(); }

Name ExportedNode::as(std::size_t i, DType dtype) const { return out_.cast(inputs_[i], input(i).dtype, dtype); }
Name ExportedNode::as_result(std::size_t i) const { return as(i, computed_in_); }
Name ExportedNode::number(double value) const { return out_.number(value, computed_in_); }
Name ExportedNode::add(const char* op, Operands inputs, Attributes attributes) const {
  return out_.node(op, inputs, attributes);
}

namespace {

using ExportTable = std::span<const ExportRow> (*)();

const ExportRow* find_among(std::initializer_list<ExportTable> tables, std::string_view op) {
  for (const ExportTable rows : tables) {
    for (const ExportRow& row : rows()) {
      if (row.op == op) return &row;
    }
  }
  return nullptr;
}

}  // namespace

bool is_of_elements(std::string_view op) {
  return find_among({elementwise_exports, arithmetic_exports, bits_exports}, op) != nullptr;
}

bool is_of_windows(std::string_view op) { return find_among({window_exports}, op) != nullptr; }

const ExportRow* find_export(std::string_view op) {
  return find_among({elementwise_exports, arithmetic_exports, bits_exports, structured_exports, indexing_exports,
                     window_exports, region_exports, random_exports},
                    op);
}

}  // namespace tyto::onnx
