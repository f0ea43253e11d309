// SPDX-License-Identifier: MIT
// Traces of a compiled function that its sessions share: one an input signature, kept in a bounded list.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/graph/graph.hpp"
#include "engine/run/executable.hpp"
#include "tyto/graph.hpp"

namespace tyto::run {

/// The key of a trace.
struct Signature {
  std::vector<core::TensorType> arguments;
  std::vector<IntList> orders;  // see orders_of
  std::string layout;           // see detail::lay_out
  core::Device* device;
  std::optional<std::uint64_t> frozen = {};  // see core::frozen_parameters; any where the function asks for none
};

/// The part of a trace that all sessions share.
struct CompiledTrace {
  Signature signature;
  core::Graph recorded;  // without the contents of constants
  std::shared_ptr<const Executable> executable;
  std::shared_ptr<void> structure;  // of the results
  double milliseconds = 0;
};

/// Makes the results of a function from placeholders.
using MakeTrace = std::function<detail::Results(const std::vector<Value>&)>;

const core::TensorType& argument_type(const Value& argument);

/// For each argument the order of axes in which it is dense, if that is not its own; no list where all are dense or
/// copied.
std::vector<IntList> orders_of(std::span<const Value> arguments);

/// Scalars come as what holds all of them: in the function they may meet f64.
DType passed_as(const core::TensorType& type);

/// The name of a tensor among the arguments: "argument 2", or "argument 2[0]" of a list or tuple.
std::string name_of_argument(const std::string& layout, std::size_t number);

inline constexpr const char* shared_function = "compile: the function";

/// The traces of a function. Threads ask for them at the same time; one is made at a time.
class CompiledFunction {
 public:
  static constexpr std::size_t trace_limit = 16;

  explicit CompiledFunction(CompileOptions options) : options_(std::move(options)) {}

  const CompileOptions& options() const { return options_; }

  std::shared_ptr<const CompiledTrace> trace_for(std::span<const Value> arguments, const std::vector<IntList>& orders,
                                                 const std::string& layout, const MakeTrace& function);

  /// Allows sessions to run at the same time. Throws GraphError naming a state that the function updates.
  void share();
  bool is_shared() const { return shared_.load(std::memory_order_acquire); }

  static bool fits(const Signature& signature, std::span<const Value> arguments, const std::vector<IntList>& orders,
                   const std::string& layout);
  /// Whether two traces are for the same arguments, but for other sets of frozen parameters.
  static bool differ_by_parameters(const Signature& a, const Signature& b);

 private:
  /// The thread that makes a trace, while it does.
  class Maker;

  void refuse_own_body() const;
  CompiledTrace make(Signature signature, std::span<const Value> arguments, const MakeTrace& function);

  CompileOptions options_;
  std::mutex mutex_;
  std::list<std::shared_ptr<const CompiledTrace>> traces_;  // most recently asked for first
  std::atomic<bool> shared_ = false;
  std::atomic<std::thread::id> maker_ = {};
};

}  // namespace tyto::run
