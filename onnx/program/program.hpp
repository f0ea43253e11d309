// SPDX-License-Identifier: MIT
// Program: a graph of a model prepared for evaluation: names become numbers, operators rows of the table, and each
// value is released after its last use.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "onnx/program/operators.hpp"

namespace tyto::onnx {

/// The scope of a file's nodes: versions of operator sets by domain, and the functions that the file defines.
struct OperatorScope {
  std::map<std::string_view, std::int64_t> versions;
  const std::vector<FunctionMessage>* functions = nullptr;
  int depth = 0;  // of functions that call functions
  Limits* limits = nullptr;
  std::int64_t* budget = nullptr;  // nodes that calls of functions may still become: a few lines could make billions
};

/// Where values are kept while a program is evaluated, by number.
using Slots = std::vector<Operand>;

class Program {
 public:
  static constexpr std::int32_t none = -1;

  /// A node with numbers in place of names.
  struct Step {
    const NodeMessage* node = nullptr;
    const OperatorRow* row = nullptr;  // null for a call of a function of the file
    std::int64_t version = 0;
    std::unique_ptr<Program> function = {};
    std::map<const GraphMessage*, std::unique_ptr<Program>> bodies = {};  // graphs that are attributes
    std::vector<std::int32_t> inputs = {};                                // slots; none for what is left out
    std::vector<std::int32_t> outputs = {};
    std::vector<std::int32_t> last_uses = {};  // slots that nobody reads after this step
    mutable PreparedAttributes prepared = {};
  };

  /// The graph of a model, or one inside of a graph, which reads values of the `outer` one. Throws IoError for a graph
  /// that contradicts itself.
  Program(const GraphMessage& graph, OperatorScope scope, Weights& weights, Program* outer = nullptr);

  /// Well-formed but unsupported parts, one line each.
  const std::vector<std::string>& problems() const { return problems_; }
  /// Throws IoError that lists the problems, if there are any.
  void check_supported() const;

  const std::vector<std::int32_t>& input_slots() const { return input_slots_; }
  const std::vector<std::int32_t>& output_slots() const { return output_slots_; }
  const std::vector<Step>& steps() const { return steps_; }

  /// Slots with all that is known from the start: initialisers, what was bound, what was folded.
  const Slots& start() const { return start_; }
  /// Gives a slot its value once and for all.
  void bind(std::int32_t slot, const Operand& value) { start_[static_cast<std::size_t>(slot)] = value; }
  /// Computes the steps whose inputs are known from the start, and drops them.
  void fold();

  /// Runs steps [begin, end).
  void run(Slots& slots, std::size_t begin, std::size_t end, bool lazy) const;
  /// Slots that steps [begin, end) read, or `end` is the last and the results of the program are, and that are not made
  /// by them.
  std::vector<std::int32_t> read_by(std::size_t begin, std::size_t end) const;
  /// Slots that one step reads; one that several of its inputs name comes as often.
  std::vector<std::int32_t> slots_read(const Step& step) const;

 private:
  Program(const FunctionMessage& function, const NodeMessage& call, OperatorScope scope, Weights& weights);

  template <class Nodes>
  void add_nodes(const Nodes& nodes);
  Step step_of(const NodeMessage& node);
  void add_function(Step& step, const FunctionMessage& function);
  std::int32_t define(std::string_view name);
  std::int32_t slot_of(std::string_view name);
  void find_last_uses();
  Outputs apply(const Step& step, const Slots& slots, bool lazy) const;
  Outputs apply_row(const Step& step, const Slots& slots, std::vector<Operand> inputs, bool lazy) const;
  Outputs run_all(Slots slots, bool lazy) const;
  Body body_of(const Step& step, const GraphMessage& graph, const Slots& slots, bool lazy) const;
  Slots with_inputs(Slots slots, std::vector<Operand> inputs) const;
  bool draws() const;
  Operand settled_output(std::size_t output, Slots slots) const;

  OperatorScope scope_;
  Weights& weights_;
  Program* outer_ = nullptr;
  std::unordered_map<std::string_view, std::int32_t> names_;
  std::vector<std::pair<std::int32_t, std::int32_t>> captures_;  // slot here, slot of the outer program
  std::deque<NodeMessage> instances_;                            // nodes of a function with the attributes of its call
  std::vector<std::int32_t> input_slots_;
  std::vector<std::int32_t> output_slots_;
  std::vector<Step> steps_;
  Slots start_;
  bool folding_ = false;
  std::vector<std::string> problems_;
};

}  // namespace tyto::onnx
