// SPDX-License-Identifier: MIT
// Writes the model message around the nodes: names of inputs and outputs, and a symbolic length.
#include <algorithm>
#include <set>

#include "onnx/write/export.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

Name GraphExport::linear(const std::vector<LinearLength>& lengths) {
  std::vector<std::int64_t> offsets, factors;
  for (const LinearLength& length : lengths) {
    offsets.push_back(length.offset);
    factors.push_back(length.factor);
  }
  const Name product = node("Mul", {shared_.open_length, initialiser(Tensor<Eager>(factors))});
  return node("Add", {product, initialiser(Tensor<Eager>(offsets))});
}

Name GraphExport::open_constant(const Tensor<Eager>& value, const OpenConstant& open) {
  const Name lengths = linear(open.lengths);
  if (open.kind == OpenConstant::Kind::integers) return value.ndim() == 0 ? node("Squeeze", {lengths}) : lengths;
  const Name first = initialiser(Tensor<Eager>::from_bytes(value.bytes().data(), 1, {}, value.dtype()));
  if (open.kind == OpenConstant::Kind::fill) return node("Expand", {first, lengths});
  const std::vector<std::int64_t> numbers = value.to_vector<std::int64_t>();
  const Name step = initialiser(Tensor<Eager>::full({}, numbers[1] - numbers[0], DType::i64));
  const Name end = node("Add", {first, node("Mul", {node("Squeeze", {lengths}), step})});
  return node("Range", {first, end, step});
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

/// Names of inputs and outputs, before any is made for what is inside: those that are given, or numbers of their own.
std::vector<std::string> GraphExport::take_names(std::vector<std::string> outputs) {
  const std::size_t count = listing_.outputs.size();
  if (outputs.empty()) {
    for (std::size_t i = 0; i < count; ++i) outputs.push_back(core::text("output:", i));
  }
  if (outputs.size() != count) {
    core::throw_error<ValueError>("write_onnx: ", outputs.size(), " names for ", count, " outputs");
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < listing_.inputs.size(); ++i) {
    const std::string& given = tensor(listing_.inputs[i]).name;
    names.push_back(given.empty() ? core::text("input:", i) : given);
  }
  names.insert(names.end(), outputs.begin(), outputs.end());
  for (const std::string& name : names) {
    if (name.empty()) throw ValueError("write_onnx: an output must have a name");
    if (!shared_.ends.insert(name).second) {
      core::throw_error<ValueError>("write_onnx: '", name, "' is the name of two inputs or outputs");
    }
  }
  return names;
}

WrittenParts GraphExport::parts(std::int64_t length, const std::vector<std::string>& output_names) {
  WrittenParts parts;
  parts.length = length;
  shared_.parts = &parts;
  (void)model(output_names);
  return parts;
}

std::string GraphExport::model(const OpenAxis& open, const std::vector<std::string>& output_names) {
  shared_.open = &open;
  return model(output_names);
}

/// The length itself, from the first input that has an axis of it.
void GraphExport::write_open_length() {
  for (std::size_t i = 0; i < listing_.inputs.size(); ++i) {
    const std::vector<LinearLength>& lengths = shared_.open->shapes[i];
    const auto axis =
        std::ranges::find_if(lengths, [](LinearLength each) { return each.offset == 0 && each.factor == 1; });
    if (axis == lengths.end()) continue;
    const std::int64_t start = axis - lengths.begin();
    shared_.open_length = node("Shape", {names_[listing_.inputs[i]]}, {{"start", start}, {"end", start + 1}});
    return;
  }
  throw GraphError("write_onnx: no input has an axis of the length with which the graph is made, so it cannot be open");
}

std::string GraphExport::model(const std::vector<std::string>& output_names) {
  if (!listing_.updates.empty()) {
    core::throw_error<GraphError>("write_onnx: the graph gives '", listing_.updates[0],
                                  "' a new value in each run; ONNX has no states");
  }
  std::set<std::string> problems;
  list_problems(listing_, problems);
  if (!problems.empty()) {
    std::string list;
    for (const std::string& problem : problems) list += (list.empty() ? "" : ", ") + problem;
    core::throw_error<GraphError>("write_onnx: ONNX has no operators for these of the graph: ", list);
  }
  const std::vector<std::string> names = take_names(output_names);
  const std::size_t inputs = listing_.inputs.size();
  for (std::size_t i = 0; i < inputs; ++i) {
    const std::size_t number = listing_.inputs[i];
    add_end(11, names[i], tensor(number));
    names_[number] = named(names[i]);
  }
  if (shared_.open != nullptr) write_open_length();
  write_nodes();
  for (std::size_t i = 0; i < listing_.outputs.size(); ++i) {
    ProtobufWriter message;
    message.text(1, word(output(i)));
    message.text(2, names[inputs + i]);
    message.text(4, "Identity");
    nodes_.message(1, message);
    add_end(12, names[inputs + i], tensor(listing_.outputs[i]));
  }
  ProtobufWriter set, model;
  set.text(1, "");
  set.integer(2, written_operator_set);
  model.integer(1, 10);
  model.text(2, "Tyto");
  model.message(7, graph());
  model.message(8, set);
  for (const std::string& domain : shared_.domains) {
    ProtobufWriter other;
    other.text(1, domain);
    other.integer(2, 1);
    model.message(8, other);
  }
  return model.bytes();
}

}  // namespace tyto::onnx
