// SPDX-License-Identifier: MIT
// OperatorCall: one application of an ONNX operator, with its inputs and attributes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/file/limits.hpp"
#include "onnx/file/message.hpp"
#include "onnx/file/model_file.hpp"
#include "onnx/file/operand.hpp"
#include "onnx/file/weights.hpp"

namespace tyto::onnx {

/// The outputs of a node in its order; those at the end that nobody asks for may be left out. Outputs of known inputs
/// are known automatically. There is a rule for each operator, and most end with making one of these, so it is made by
/// calls.
class Outputs : public std::vector<Operand> {
 public:
  Outputs();
  Outputs(const Array& only);
  Outputs(const Operand& only);
  Outputs(const Array& first, const Array& second);
  Outputs(const Array& first, const Array& second, const Array& third);
  Outputs(const Array& first, const Array& second, const Array& third, const Array& fourth);
  Outputs(std::vector<Operand> all);
  explicit Outputs(std::vector<Array> all);
  Outputs(const Outputs& other);
  Outputs(Outputs&& other) noexcept;
  Outputs& operator=(const Outputs& other);
  Outputs& operator=(Outputs&& other);
  ~Outputs();
};

/// The function in which rows of one rule differ; the rule determines which member of the union it is.
union RowFunction {
  using Unary = Array (*)(const Array&);
  using Binary = Array (*)(const Array&, const Array&);
  using AlongAxis = Array (*)(const Array&, std::int64_t axis);
  using Reduction = Array (*)(const Array&, const Axes&, bool keep);

  constexpr RowFunction() : unary(nullptr) {}
  constexpr RowFunction(Unary f) : unary(f) {}
  constexpr RowFunction(Binary f) : binary(f) {}
  constexpr RowFunction(AlongAxis f) : along_axis(f) {}
  constexpr RowFunction(Reduction f) : reduction(f) {}

  Unary unary;
  Binary binary;
  AlongAxis along_axis;
  Reduction reduction;
};

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

/// Data prepared from a node's attributes when it was first applied, and which of these were read for it.
struct PreparedAttributes {
  std::shared_ptr<const void> value;
  std::vector<bool> read;
};

class OperatorCall {
 public:
  using FindBody = std::function<Body(const GraphMessage&)>;

  OperatorCall(const NodeMessage& node, RowFunction function, std::int64_t version, std::vector<Operand> inputs,
               bool lazy, Weights& weights, Limits& limits, PreparedAttributes& prepared, FindBody find_body = {})
      : node_(node),
        function_(function),
        version_(version),
        inputs_(std::move(inputs)),
        lazy_(lazy),
        weights_(weights),
        limits_(limits),
        prepared_(prepared),
        find_body_(std::move(find_body)),
        read_(node.attributes.size(), false) {}

  /// That of the operator's row.
  const RowFunction& function() const { return function_; }
  std::string_view name() const { return node_.operator_name; }
  /// Version of the operator set that the model imports.
  std::int64_t version() const { return version_; }
  /// Whether what has no inputs (random numbers) is to be recorded.
  bool lazy() const { return lazy_; }

  // Inputs, by number.
  std::size_t input_count() const { return inputs_.size(); }
  bool has(std::size_t i) const;
  /// Throws IoError when it was left out or is a sequence.
  const Array& operator[](std::size_t i) const;
  /// Whatever it is. Throws IoError when it was left out.
  const Operand& operand(std::size_t i) const;
  /// Throws IoError when it is no sequence.
  const std::vector<Operand>& sequence(std::size_t i) const;
  /// The input if it is there, else an undefined tensor.
  const Array& optional(std::size_t i) const;
  std::vector<Array> tensors() const;
  bool known(std::size_t i) const;
  /// See Operand.
  std::int64_t element_type(std::size_t i) const;
  /// How many bits its elements have where they are fewer than those of the type that they are held in; else 0.
  int bits(std::size_t i) const;
  bool is_text(std::size_t i) const;
  /// Elements that must be known: throws DataDependence otherwise.
  std::vector<std::int64_t> integers_in(std::size_t i) const;
  std::vector<double> numbers_in(std::size_t i) const;
  std::int64_t integer_in(std::size_t i) const;
  double number_in(std::size_t i) const;
  /// Axes that an input names. As many as `rank` are all of them, and need not be known.
  std::vector<std::int64_t> axes_in(std::size_t i, std::int64_t rank) const;
  void require_known(std::size_t i) const;

  // Outputs.
  std::size_t output_count() const { return node_.outputs.size(); }
  bool wants(std::size_t i) const;

  // Attributes, by name. Texts lie in the file.
  bool has(const char* attribute) const { return find(attribute) != nullptr; }
  std::int64_t integer(const char* attribute, std::int64_t otherwise) const;
  std::int64_t integer(const char* attribute) const;
  double number(const char* attribute, double otherwise) const;
  std::string_view text(const char* attribute, const char* otherwise) const;
  const std::vector<std::int64_t>& integers(const char* attribute) const;
  std::vector<std::int64_t> integers(const char* attribute, std::vector<std::int64_t> otherwise) const;
  std::vector<double> numbers(const char* attribute, std::vector<double> otherwise = {}) const;
  std::vector<std::string> texts(const char* attribute) const;
  Operand tensor(const char* attribute) const;
  /// The same, but a large one may stay where it is stored.
  Operand stored_tensor(const char* attribute) const;
  /// The attribute that names one of `rank` axes, counted from the first. Throws IoError when it names none of them.
  std::int64_t axis(std::int64_t otherwise, std::int64_t rank) const;
  /// Throws IoError where one of the numbers that `attribute` says of lengths is larger than any axis (2^31), so that
  /// arithmetic with them cannot overflow.
  void require_bounded(const char* attribute, std::span<const std::int64_t> numbers) const;
  void require_bounded(const char* attribute, std::int64_t number) const { require_bounded(attribute, {&number, 1}); }
  /// The number that encodes a word.
  std::int64_t code_of(std::string_view word) const { return weights_.vocabulary().code_of(word); }
  /// A graph that is an attribute.
  Body body(const char* attribute) const;
  /// The result of `make()`, which reads attributes alone; it is kept for other applications of the same node.
  template <class F>
  auto prepared(const F& make) const -> const decltype(make())& {
    using Made = decltype(make());
    if (prepared_.value == nullptr) {
      prepared_.value = std::make_shared<const Made>(make());
      prepared_.read = read_;
    }
    read_ = prepared_.read;
    return *static_cast<const Made*>(prepared_.value.get());
  }
  /// Says that an attribute may be there but changes nothing here.
  void ignore(const char* attribute) const { static_cast<void>(find(attribute)); }
  /// Refuses attributes that nobody asked for: they would be disregarded silently.
  void check_attributes() const;

  // Limits of the model.
  bool bounds_iterations() const { return limits_.bounds_iterations(); }
  /// Counts iterations that are about to run; LimitError where they are too many.
  void add_iterations(std::int64_t count) const {
    if (limits_.bounds_iterations()) limits_.add_iterations(where(), count);
  }
  /// While it lives, a body is recorded that will run so often.
  Limits::Body repeated(std::int64_t times) const { return {limits_, times}; }

  /// Throws IoError that names file, node and operator.
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    core::throw_error<IoError>(where(), ": ", parts...);
  }
  /// "m.onnx: node 'conv1' (Conv)".
  std::string where() const;

 private:
  const AttributeMessage* find(const char* attribute) const;
  const AttributeMessage* find(const char* attribute, AttributeKind kind) const;

  const NodeMessage& node_;
  RowFunction function_;
  std::int64_t version_;
  std::vector<Operand> inputs_;
  bool lazy_;
  Weights& weights_;
  Limits& limits_;
  PreparedAttributes& prepared_;
  FindBody find_body_;
  mutable std::vector<bool> read_;
};

/// "node 'conv1' (Conv)"; nodes without a name are called by their first output.
std::string described(const NodeMessage& node);

}  // namespace tyto::onnx
