// Writing graphs as ONNX: nodes are added under names of their own, each operator by a row of a table.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "onnx/message.hpp"
#include "onnx/protobuf_writer.hpp"
#include "tyto/graph_listing.hpp"

namespace tyto::onnx {

/// The operator set that is written.
inline constexpr std::int64_t written_operator_set = 21;

/// An attribute of a written node.
struct Written {
  Written(std::string_view name, std::int64_t value);
  Written(std::string_view name, double value);
  Written(std::string_view name, std::string_view value);
  Written(std::string_view name, const IntList& value);
  Written(std::string_view name, const ProtobufWriter& graph);
  // A word must not become a truth.
  Written(std::string_view name, const char* value) : Written(name, std::string_view(value)) {}

  ProtobufWriter message;
};

/// Collects the nodes and constants of a graph to be written. Tensors are called by name.
class GraphExport {
 public:
  explicit GraphExport(const GraphListing& listing)
      : listing_(listing), names_(listing.tensors.size()), count_(own_count_) {}
  /// A region of it, with names that are no others'.
  GraphExport(const GraphListing& region, GraphExport& outer)
      : listing_(region), names_(region.tensors.size()), count_(outer.count_) {}
  GraphExport(const GraphExport&) = delete;
  GraphExport& operator=(const GraphExport&) = delete;

  /// The whole model; throws GraphError that lists everything that ONNX has no words for.
  std::string model();

  /// What a region calls its input number `input`: a tensor of the graph around it, or one of the region's graph.
  void name_input(std::size_t input, const std::string& name) { names_[listing_.inputs[input]] = name; }
  /// An input of the region's graph.
  std::string add_input(const ListedTensor& type);
  void write_nodes();
  const std::string& output(std::size_t number) { return name_of(listing_.outputs[number]); }
  void add_output(const std::string& name, const ListedTensor& type);
  /// The region's graph, when nodes, inputs and outputs are written.
  ProtobufWriter graph() const;

  const ListedTensor& tensor(std::size_t number) const { return listing_.tensors[number]; }

  /// A node with one result, or with several.
  std::string node(std::string_view op, const std::vector<std::string>& inputs,
                   const std::vector<Written>& attributes = {});
  std::vector<std::string> nodes(std::string_view op, const std::vector<std::string>& inputs, std::size_t results,
                                 const std::vector<Written>& attributes = {});

  std::string constant(const Tensor<Eager>& value);
  /// A vector of i64, as shapes and axes are written.
  std::string integers(const IntList& list);
  /// A number of an element type.
  std::string number(double value, DType dtype);
  std::string cast(const std::string& x, DType from, DType to);
  /// Axes permuted; two that undo each other are none.
  std::string transposed(const std::string& x, const IntList& order);

 private:
  const std::string& name_of(std::size_t number);
  std::string fresh();
  std::vector<std::string> written(const ListedNode& each, std::vector<std::string> inputs);

  const GraphListing& listing_;
  std::vector<std::string> names_;                                     // of tensors, once they are written
  std::map<std::size_t, std::string> unwritten_;                       // results without a name, and their operators
  std::map<std::string, std::pair<std::string, IntList>> transposes_;  // what a transpose was made of
  ProtobufWriter nodes_;
  ProtobufWriter initialisers_;
  ProtobufWriter ends_;  // inputs and outputs
  std::size_t own_count_ = 0;
  std::size_t& count_;  // of names, shared with the graph around a region
};

/// A node of the graph, as the functions that write operators see it.
class ExportedNode {
 public:
  ExportedNode(GraphExport& out, const ListedNode& node, std::vector<std::string> inputs)
      : out_(out), node_(node), inputs_(std::move(inputs)) {}

  GraphExport& out() const { return out_; }
  const std::vector<std::string>& inputs() const { return inputs_; }
  const std::string& operator[](std::size_t i) const { return inputs_[i]; }
  const ListedTensor& input(std::size_t i) const { return out_.tensor(node_.inputs[i]); }
  std::size_t result_count() const { return node_.results.size(); }
  const std::vector<GraphListing>& regions() const { return node_.regions; }
  const ListedTensor& result(std::size_t i = 0) const { return out_.tensor(node_.results[i]); }
  int rank() const { return input(0).shape.rank(); }

  IntList list(std::string_view name) const { return std::get<IntList>(node_.attributes[name].value()); }
  std::int64_t integer(std::string_view name) const { return scalar(name).as_int(); }
  bool truth(std::string_view name) const { return scalar(name).as_int() != 0; }
  const Scalar& scalar(std::string_view name) const { return std::get<Scalar>(node_.attributes[name].value()); }
  const std::string& word(std::string_view name) const { return std::get<std::string>(node_.attributes[name].value()); }

  /// For what ONNX has no words, though it has them for the operator otherwise.
  template <class... Part>
  [[noreturn]] void refuse(const Part&... why) const {
    throw GraphError(core::text("write_onnx: ", node_.op, ": ", why...));
  }

  /// Input `i` in another element type.
  std::string as(std::size_t i, DType dtype) const { return out_.cast(inputs_[i], input(i).dtype, dtype); }
  /// The type in which the result is computed: its own, unless a rule is better off with another.
  DType computed_in() const { return computed_in_.value_or(result().dtype); }
  ExportedNode computing_in(DType dtype) const {
    ExportedNode other = *this;
    other.computed_in_ = dtype;
    return other;
  }
  /// Input `i` in that type.
  std::string as_result(std::size_t i) const { return as(i, computed_in()); }
  /// A number of that type.
  std::string number(double value) const { return out_.number(value, computed_in()); }
  std::string add(std::string_view op, const std::vector<std::string>& inputs,
                  const std::vector<Written>& attributes = {}) const {
    return out_.node(op, inputs, attributes);
  }
  /// Elements number start, start + step, ... of each axis, `count` of them.
  std::string part(const std::string& x, const IntList& start, const IntList& count, const IntList& step) const;
  /// `count` elements of one axis from `start` on.
  std::string part(const std::string& x, std::int64_t axis, std::int64_t start, std::int64_t count) const;
  std::string reshaped(const std::string& x, const Shape& shape) const;

 private:
  GraphExport& out_;
  const ListedNode& node_;
  std::vector<std::string> inputs_;
  std::optional<DType> computed_in_ = {};
};

/// Names of the results; none for one that ONNX has no words for, which is refused where it is used.
using ExportRule = std::vector<std::string> (*)(const ExportedNode&);

/// f16 computed in f32, as ours is (bf16 is in any case): its own precision would be lost on the way.
template <ExportRule rule>
std::vector<std::string> in_single(const ExportedNode& n) {
  if (n.computed_in() != DType::f16) return rule(n);
  return {n.out().cast(rule(n.computing_in(DType::f32))[0], DType::f32, DType::f16)};
}

struct ExportRow {
  std::string_view op;
  ExportRule write;
};

/// Null for an operator that ONNX has no words for.
ExportRule find_export(std::string_view op);
/// Whether it is a function of elements.
bool is_of_elements(std::string_view op);
/// Whether it is a convolution, a pool, one of their gradients, or resizing.
bool is_of_windows(std::string_view op);

std::span<const ExportRow> elementwise_exports();
std::span<const ExportRow> arithmetic_exports();
std::span<const ExportRow> bits_exports();
std::span<const ExportRow> indexing_exports();
std::span<const ExportRow> window_exports();
std::span<const ExportRow> structured_exports();
std::span<const ExportRow> region_exports();

}  // namespace tyto::onnx
