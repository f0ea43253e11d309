// SPDX-License-Identifier: MIT
// Nodes: one application of an operator, counted, owned by its consumers and never the other way round.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/graph/attributes.hpp"
#include "core/graph/tape.hpp"
#include "tyto/value.hpp"

namespace tyto::core {

enum class OpId : std::uint16_t;

/// The mode that a node belongs to. Scalars are neutral: they combine with either mode.
enum class Mode : std::uint8_t { neutral, eager, lazy };

/// Type and shape of one result; `weak` marks numbers without a width of their own (see Scalar).
struct TensorType {
  DType dtype = DType::f32;
  Shape shape;
  bool weak = false;
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

/// One result of a node: its type and, once computed, its contents.
struct Result {
  TensorType type;
  Array array;
  BufferRef host;  // what a reader was given a pointer to; kept so that it lives as long as the node
};

class Node {
 public:
  /// The inputs are moved from.
  Node(OpId op, Mode mode, std::shared_ptr<const Attributes> attributes, std::span<Value> inputs,
       std::span<const TensorType> results);
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node();

  // Every operator makes a node, so their memory is recycled, thread by thread.
  static void* operator new(std::size_t bytes);
  static void operator delete(void* memory) noexcept;

  OpId op() const { return op_; }
  Mode mode() const { return mode_; }
  /// Order of creation; an input is always older than its consumer.
  std::uint64_t sequence() const { return sequence_; }
  /// For a node without inputs that represents an older value.
  void set_sequence(std::uint64_t sequence) { sequence_ = sequence; }
  const Attributes& attributes() const;
  bool has_attributes() const { return attributes_ != nullptr; }
  std::shared_ptr<const Attributes> shared_attributes() const { return attributes_; }

  std::span<const Value> inputs() const { return {inputs_, input_count_}; }
  std::span<Result> results() { return {results_, result_count_}; }
  std::span<const Result> results() const { return {results_, result_count_}; }
  Result& result(std::size_t i) { return results_[i]; }

  /// Every result has contents that stay; the node is then a leaf for whoever reads it.
  bool evaluated() const;
  /// A version of a state with contents of its own, which a run of another thread may release: read them by
  /// contents_of().
  bool is_version() const;
  /// Drops the inputs, so that nodes that only this one needed are freed.
  void drop_inputs();

  /// A gradient is being taken with respect to something this node depends on: keep the inputs.
  bool tracked() const { return tape_ != 0 && is_recording(tape_); }
  /// The outermost of the tapes that were recording what this node depends on when it was made; it ends last.
  TapeId tape() const { return tape_; }
  void set_tape(TapeId tape) { tape_ = tape; }

  std::uint32_t references() const { return references_.load(std::memory_order_relaxed); }
  void retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  void release();

  /// Depends on a placeholder: its contents are those of one assignment, so it is computed anew for each reading.
  bool symbolic() const { return symbolic_; }
  void set_symbolic(bool symbolic) { symbolic_ = symbolic; }

  /// The layer or NameScope that made it, for pictures, reports and run-time errors; null when there was none.
  const std::shared_ptr<const std::string>& label() const { return label_; }
  void set_label(std::shared_ptr<const std::string> label) { label_ = std::move(label); }

 private:
  static constexpr std::size_t inline_inputs = 3;

  std::atomic<std::uint32_t> references_{0};
  OpId op_;
  Mode mode_;
  bool symbolic_ = false;
  TapeId tape_ = 0;
  std::uint32_t input_count_ = 0;
  std::uint32_t result_count_ = 0;
  union {
    std::uint64_t sequence_;
    Node* next_dying_;  // while the node waits for its destruction
  };
  std::shared_ptr<const Attributes> attributes_;
  std::shared_ptr<const std::string> label_;
  Value* inputs_;
  Result* results_;
  Value local_inputs_[inline_inputs];
  Result local_result_;
};

/// Sequence number that the next node will get.
std::uint64_t next_sequence();

inline const Attributes& attributes_of(const Value& value) { return value.node()->attributes(); }
inline const Result& result_of(const Value& value) { return value.node()->result(value.output()); }

/// How to make contents, and the mode of the version that they become.
struct DeferredContents {
  Mode mode = Mode::neutral;
  std::function<Array()> make;
  std::uint64_t sequence = 0;  // of the version; the state sets it
};

/// Storage with an identity that outlives a run: a placeholder, a persistent tensor, a variable. A handle to it is a
/// node of its own (operator `state`); what expressions hold are versions (operator `read`), made when the handle is
/// used, so that a read placed before an update never sees the value after it.
class State : public std::enable_shared_from_this<State> {
 public:
  /// A parameter is an input of a region, given each time it runs; it has no value outside of it.
  enum class Kind : std::uint8_t { placeholder, persistent, variable, parameter };

  State(Kind kind, std::string name, TensorType type) : kind_(kind), name_(std::move(name)), type_(std::move(type)) {}

  Kind kind() const { return kind_; }
  const std::string& name() const { return name_; }
  const TensorType& type() const { return type_; }

  /// The current contents of a state: a version, or how to make one when it is read.
  struct Held {
    Value version;
    std::shared_ptr<const DeferredContents> deferred;

    /// The mode that a read works in; neutral where there is nothing to read.
    Mode mode() const { return deferred ? deferred->mode : version ? version.node()->mode() : Mode::neutral; }
  };

  /// The version that a read sees now. Deferred contents are made here.
  Value current();
  /// The contents of a version of this state, restored where they were released.
  Array contents_of(Node& version) const;
  void set_current(Value version);
  /// From now on this thread alone reads `version`, and its assignments replace that: while a function or a region is
  /// recorded. Returns the earlier replacement, to be restored by end_stand_in(), or nothing.
  Value stand_in(Value version);
  void end_stand_in(Value before);
  /// Whether this thread has replaced any state.
  static bool any_stand_in();
  /// Sets contents that the first read computes.
  void defer(DeferredContents contents);
  /// Releases contents that `contents` restores, bit for bit, when they are read: their revision stays. Empty, with
  /// nothing done, where somebody else holds them or a run has written them and will again.
  Array release(DeferredContents contents);
  /// The current version or deferred contents, without making any.
  Held held() const;

  /// Counts what may have changed the contents: new versions, and runs that wrote them in place.
  std::uint64_t revision() const {
    return assignments_.load(std::memory_order_relaxed) + writes_.load(std::memory_order_relaxed);
  }
  /// Called by the one run that writes the contents now, so no atomic increment is needed.
  void count_write() { writes_.store(writes_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }
  /// Counts new versions and calls of current() and held(): while it stays, nobody has obtained the contents.
  std::uint64_t accesses() const {
    return assignments_.load(std::memory_order_relaxed) + reads_.load(std::memory_order_relaxed);
  }

  /// Contents given to a placeholder for evaluations outside a graph.
  const Array& assigned() const { return assigned_; }
  void set_assigned(Array array) { assigned_ = std::move(array); }

 private:
  void hold(Held held);

  Kind kind_;
  std::string name_;
  TensorType type_;
  mutable std::mutex mutex_;  // of what it holds: reads make deferred contents, and runs of other threads release them
  Held held_;
  std::atomic<std::uint64_t> assignments_ = 0;
  std::atomic<std::uint64_t> writes_ = 0;  // by runs
  mutable std::atomic<std::uint64_t> reads_ = 0;
  Array assigned_;
};

}  // namespace tyto::core
