// SPDX-License-Identifier: MIT
// Writing graphs as ONNX: nodes are added under names of their own, each operator by a row of a table.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/value/text.hpp"
#include "onnx/file/message.hpp"
#include "onnx/write/open_axis.hpp"
#include "onnx/write/protobuf_writer.hpp"
#include "tyto/graph_listing.hpp"

namespace tyto::onnx {

/// The operator set that is written.
inline constexpr std::int64_t written_operator_set = 21;

/// A tensor of what is written, by the number of its name. Rules are long expressions of them, and a number costs no
/// code to pass, copy and destroy (docs/adr/0097).
enum class Name : std::int32_t { none = -1 };

/// Names of several tensors: the results of a rule.
class Names {
 public:
  Names() = default;
  Names(Name only);
  Names(std::initializer_list<Name> list);
  explicit Names(std::size_t count) : list_(count, Name::none) {}

  std::size_t size() const { return list_.size(); }
  const Name* data() const { return list_.data(); }
  Name* begin() { return list_.data(); }
  Name* end() { return list_.data() + list_.size(); }
  const Name* begin() const { return list_.data(); }
  const Name* end() const { return list_.data() + list_.size(); }
  Name& operator[](std::size_t i) { return list_[i]; }
  Name operator[](std::size_t i) const { return list_[i]; }
  void push_back(Name name);

 private:
  std::vector<Name> list_;
};

/// A list in braces, or a container, for the duration of a call.
template <class T>
class Listed {
 public:
  Listed() = default;
  Listed(std::initializer_list<T> list) : begin_(std::data(list)), size_(list.size()) {}
  template <class Container>
  Listed(const Container& container) : begin_(container.data()), size_(container.size()) {}

  const T* begin() const { return begin_; }
  const T* end() const { return begin_ + size_; }

 private:
  const T* begin_ = nullptr;
  std::size_t size_ = 0;
};

/// The inputs of a node: `{a, b}`, or names that were collected.
using Operands = Listed<Name>;

/// An attribute of a written node, while it is added: what it refers to lives as long as the expression that adds it.
struct Written {
  enum class Kind : std::uint8_t { integer, number, word, list, graph };

  constexpr Written(const char* its_name, std::int64_t value) : name(its_name), kind(Kind::integer), integer(value) {}
  constexpr Written(const char* its_name, double value) : name(its_name), kind(Kind::number), number(value) {}
  constexpr Written(const char* its_name, const char* value) : name(its_name), kind(Kind::word), word(value) {}
  constexpr Written(const char* its_name, const IntList& value) : name(its_name), kind(Kind::list), list(&value) {}
  constexpr Written(const char* its_name, const ProtobufWriter& value)
      : name(its_name), kind(Kind::graph), graph(&value) {}

  const char* name;
  Kind kind;
  union {
    std::int64_t integer;
    double number;
    const char* word;
    const IntList* list;
    const ProtobufWriter* graph;
  };
};
using Attributes = Listed<Written>;

/// Data that the graphs of one model share while they are written.
struct SharedExport {
  std::vector<std::string> words;  // what names read
  std::set<std::string> ends;      // names of the model's inputs and outputs, which no others have
  std::set<std::string> domains;   // of operators that are not the standard's
  WrittenParts* parts = nullptr;   // where they are noted, in place of being written
  const OpenAxis* open = nullptr;  // what depends on the length of an open axis
  std::size_t constants = 0;       // written so far
  std::size_t shapes = 0;          // likewise
  Name open_length = Name::none;   // a vector of one number
};

/// Collects the nodes and constants of a graph to be written. Tensors are called by name.
class GraphExport {
 public:
  explicit GraphExport(const GraphListing& listing)
      : listing_(listing), names_(listing.tensors.size()), shared_(own_) {}
  /// A region of it, with names that are no others'.
  GraphExport(const GraphListing& region, GraphExport& outer)
      : listing_(region), names_(region.tensors.size()), shared_(outer.shared_) {}
  GraphExport(const GraphExport&) = delete;
  GraphExport& operator=(const GraphExport&) = delete;

  /// The whole model; throws GraphError that lists everything that ONNX has no words for. Without names outputs are
  /// called "output:0", ...
  std::string model(const std::vector<std::string>& output_names);
  /// The same, of which only the parts are noted.
  WrittenParts parts(std::int64_t length, const std::vector<std::string>& output_names);
  /// The same, whose length is left open.
  std::string model(const OpenAxis& open, const std::vector<std::string>& output_names);

  /// Names the region's input number `input`: a tensor of the graph around it, or one of the region's graph.
  void name_input(std::size_t input, Name name) { names_[listing_.inputs[input]] = name; }
  /// An input of the region's graph.
  Name add_input(const ListedTensor& type);
  void write_nodes();
  Name output(std::size_t number) { return name_of(listing_.outputs[number]); }
  void add_output(Name name, const ListedTensor& type);
  /// The region's graph, when nodes, inputs and outputs are written.
  ProtobufWriter graph() const;

  const ListedTensor& tensor(std::size_t number) const { return listing_.tensors[number]; }

  /// A node with one result, or with several. `op` may begin with a domain and a dot.
  Name node(const char* op, Operands inputs, Attributes attributes = {});
  Names nodes(const char* op, Operands inputs, std::size_t results, Attributes attributes = {});

  Name constant(const Tensor<Eager>& value);
  /// A vector of i64, as shapes and axes are written.
  Name integers(const IntList& list);
  /// A number of an element type.
  Name number(const Scalar& value, DType dtype);
  Name cast(Name x, DType from, DType to);
  /// Axes permuted; two that undo each other are none.
  Name transposed(Name x, const IntList& order);

 private:
  const std::string& word(Name name) const { return shared_.words[static_cast<std::size_t>(name)]; }
  Name name_of(std::size_t number);
  Name fresh();
  Name named(std::string word);
  std::vector<std::string> take_names(std::vector<std::string> outputs);
  Names written(const ListedNode& each, Names inputs);
  void add_end(std::uint32_t field, const std::string& name, const ListedTensor& of);
  Name initialiser(const Tensor<Eager>& value);
  void write_open_length();
  Name linear(const std::vector<LinearLength>& lengths);
  Name open_constant(const Tensor<Eager>& value, const OpenConstant& open);

  const GraphListing& listing_;
  std::string_view writing_ = "graph";                   // the operator of the graph that is being written
  Names names_;                                          // of tensors, once they are written
  std::map<std::size_t, std::string> unwritten_;         // results without a name, and their operators
  std::map<Name, std::pair<Name, IntList>> transposes_;  // what a transpose was made of
  ProtobufWriter nodes_;
  ProtobufWriter initialisers_;
  ProtobufWriter ends_;  // inputs and outputs
  SharedExport own_;
  SharedExport& shared_;  // with the graph around a region
};

class ExportedNode;

/// Names of the results; none for one that ONNX has no words for, which is refused where it is used.
using ExportRule = Names (*)(const ExportedNode&);

/// f16 may be computed in f32, as ours is (bf16 is in any case): its own precision would be lost on the way.
enum class Precision : std::uint8_t { own, single };

struct ExportRow {
  const char* op;
  ExportRule write;
  /// The operator of ONNX, or the attribute, in which rows of one rule differ.
  const char* word = nullptr;
  Precision precision = Precision::own;
};

/// A node of the graph, as the functions that write operators see it.
class ExportedNode {
 public:
  ExportedNode(GraphExport& out, const ListedNode& node, const ExportRow& row, Names inputs)
      : out_(out), node_(node), row_(row), inputs_(std::move(inputs)), computed_in_(result().dtype) {}

  GraphExport& out() const { return out_; }
  const Names& inputs() const { return inputs_; }
  Name operator[](std::size_t i) const { return inputs_[i]; }
  const ListedTensor& input(std::size_t i) const { return out_.tensor(node_.inputs[i]); }
  std::size_t result_count() const { return node_.results.size(); }
  const std::vector<GraphListing>& regions() const { return node_.regions; }
  const ListedTensor& result(std::size_t i = 0) const { return out_.tensor(node_.results[i]); }
  int rank() const { return input(0).shape.rank(); }

  // Attributes of the operator.
  const IntList& list(const char* name) const;
  const Scalar& scalar(const char* name) const;
  const std::string& word(const char* name) const;
  std::int64_t integer(const char* name) const;
  bool truth(const char* name) const { return integer(name) != 0; }

  /// The row's word, an argument of its rule.
  const char* word_of_row() const { return row_.word; }

  /// For what ONNX has no words, though it has them for the operator otherwise.
  template <class... Part>
  [[noreturn]] void refuse(const Part&... why) const {
    core::throw_error<GraphError>("write_onnx: ", node_.op, ": ", why...);
  }

  /// Input `i` in another element type.
  Name as(std::size_t i, DType dtype) const;
  /// The type in which the result is computed: its own, unless a rule is better off with another.
  DType computed_in() const { return computed_in_; }
  ExportedNode computing_in(DType dtype) const {
    ExportedNode other = *this;
    other.computed_in_ = dtype;
    return other;
  }
  /// Input `i` in that type.
  Name as_result(std::size_t i) const;
  /// A number of that type.
  Name number(double value) const;
  Name add(const char* op, Operands inputs, Attributes attributes = {}) const;
  /// Elements number start, start + step, ... of each axis, `count` of them.
  Name part(Name x, const IntList& start, const IntList& count, const IntList& step) const;
  /// `count` elements of one axis from `start` on.
  Name part(Name x, std::int64_t axis, std::int64_t start, std::int64_t count) const;
  Name reshaped(Name x, const Shape& shape) const;

 private:
  GraphExport& out_;
  const ListedNode& node_;
  const ExportRow& row_;
  Names inputs_;
  DType computed_in_;
};

/// Null for an operator that ONNX has no words for.
const ExportRow* find_export(std::string_view op);
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
std::span<const ExportRow> random_exports();

}  // namespace tyto::onnx
