// One application of an ONNX operator: what the functions that carry operators out are given.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/message.hpp"
#include "onnx/model_file.hpp"
#include "onnx/operand.hpp"
#include "onnx/weights.hpp"

namespace tyto::onnx {

/// The outputs of a node in its order; those at the end that nobody asks for may be left out. What follows from known
/// inputs is known without saying so.
using Outputs = std::vector<Operand>;

/// A shape depends on elements that are not known while a graph is recorded.
class DataDependence : public GraphError {
 public:
  using GraphError::GraphError;
};

/// A graph that is an attribute of a node, with the values around it that it reads.
struct Body {
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  /// Whether its outputs are known where its inputs are: all that it reads from around it is, and it draws nothing.
  bool known = false;
  /// Whether it reads sequences or optionals from around it.
  bool reads_sequences = false;
  /// Its outputs. With `lazy` it is recorded; otherwise all that it reads must be known.
  std::function<Outputs(std::vector<Operand>, bool lazy)> run = {};
  /// One output alone, where it follows from what is known of these inputs; else an empty operand.
  std::function<Operand(std::size_t output, std::vector<Operand>)> settled = {};
};

class OperatorCall {
 public:
  using FindBody = std::function<Body(const GraphMessage&)>;

  OperatorCall(const NodeMessage& node, std::int64_t version, std::vector<Operand> inputs, bool lazy, Weights& weights,
               FindBody find_body = {})
      : node_(node),
        version_(version),
        inputs_(std::move(inputs)),
        lazy_(lazy),
        weights_(weights),
        find_body_(std::move(find_body)),
        read_(node.attributes.size(), false) {}

  std::string_view name() const { return node_.operator_name; }
  /// Version of the operator set that the model imports.
  std::int64_t version() const { return version_; }
  /// Whether what has no inputs (random numbers) is to be recorded.
  bool lazy() const { return lazy_; }

  // Inputs, by number.
  std::size_t input_count() const { return inputs_.size(); }
  bool has(std::size_t i) const { return i < inputs_.size() && inputs_[i].there(); }
  /// Throws IoError when it was left out or is a sequence.
  const Array& operator[](std::size_t i) const;
  /// Whatever it is. Throws IoError when it was left out.
  const Operand& operand(std::size_t i) const;
  /// Throws IoError when it is no sequence.
  const std::vector<Operand>& sequence(std::size_t i) const;
  /// The input if it is there, else an empty handle.
  Array optional(std::size_t i) const { return has(i) ? (*this)[i] : Array(); }
  std::vector<Array> tensors() const;
  bool known(std::size_t i) const { return has(i) && inputs_[i].known; }
  /// See Operand.
  int bits(std::size_t i) const { return has(i) ? inputs_[i].bits : 0; }
  /// Elements that must be known: throws DataDependence otherwise.
  std::vector<std::int64_t> integers_in(std::size_t i) const;
  std::vector<double> numbers_in(std::size_t i) const;
  std::int64_t integer_in(std::size_t i) const;
  double number_in(std::size_t i) const;
  void require_known(std::size_t i) const;

  // Outputs.
  std::size_t output_count() const { return node_.outputs.size(); }
  bool wants(std::size_t i) const { return i < node_.outputs.size() && !node_.outputs[i].empty(); }

  // Attributes, by name.
  bool has(std::string_view attribute) const { return find(attribute) != nullptr; }
  std::int64_t integer(std::string_view attribute, std::int64_t otherwise) const;
  std::int64_t integer(std::string_view attribute) const;
  double number(std::string_view attribute, double otherwise) const;
  std::string text(std::string_view attribute, std::string_view otherwise) const;
  std::vector<std::int64_t> integers(std::string_view attribute, std::vector<std::int64_t> otherwise = {}) const;
  std::vector<double> numbers(std::string_view attribute, std::vector<double> otherwise = {}) const;
  std::vector<std::string> texts(std::string_view attribute) const;
  Operand tensor(std::string_view attribute) const;
  /// A graph that is an attribute.
  Body body(std::string_view attribute) const;
  /// Says that an attribute may be there but changes nothing here.
  void ignore(std::string_view attribute) const { static_cast<void>(find(attribute)); }
  /// Refuses attributes that nobody asked for: they would be disregarded silently.
  void check_attributes() const;

  /// Throws IoError that names file, node and operator.
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    throw IoError(core::text(where(), ": ", parts...));
  }
  /// "m.onnx: node 'conv1' (Conv)".
  std::string where() const;

 private:
  const AttributeMessage* find(std::string_view attribute) const;
  const AttributeMessage* find(std::string_view attribute, AttributeKind kind) const;

  const NodeMessage& node_;
  std::int64_t version_;
  std::vector<Operand> inputs_;
  bool lazy_;
  Weights& weights_;
  FindBody find_body_;
  mutable std::vector<bool> read_;
};

/// "node 'conv1' (Conv)"; nodes without a name are called by their first output.
std::string described(const NodeMessage& node);

}  // namespace tyto::onnx
