// SPDX-License-Identifier: MIT
// The running calls of layers on this thread: the phase that inner calls inherit, and whether members() lists the
// modules that they call.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "core/graph/label.hpp"
#include "core/graph/state_observation.hpp"
#include "nn/distinct_states.hpp"
#include "tyto/nn/layer.hpp"

namespace tyto {
namespace nn TYTO_API {

/// Labels of the modules inside of one, itself included: their paths, as names of parameters have them.
class Module::Paths {
 public:
  /// Modules recorded in `before` as called and not listed stay so, if they live and are not listed now.
  explicit Paths(const Module& outermost, const Paths* before = nullptr);
  /// Adds a module, named by its class, which members() does not list.
  void add_unlisted(const Module& module);
  /// None where it is not known; of the outermost module its class where it holds no other, else null.
  std::optional<core::Label> of(const Module& module) const;

 private:
  struct Listed {
    std::weak_ptr<const Common> module;  // so that its address is no other's while this is known
    core::Label label;
    bool unlisted = false;
  };
  std::unordered_map<const Common*, Listed> labels_;
};

/// While alive, a module's call runs: calls inside of it have its phase, and what they record and throw has its label,
/// the path from the outermost module that is being called. A call within one of the same module is part of that. In
/// the first call of the outermost module, and in the first while a gradient is taken, others that are called must be
/// listed in its members(), and in the latter variables that are read.
class LayerCall {
 public:
  /// Without a phase it has that of the call around it, or is inference.
  LayerCall(const Module& module, std::optional<Phase> phase);
  ~LayerCall();
  LayerCall(const LayerCall&) = delete;
  LayerCall& operator=(const LayerCall&) = delete;

  Phase phase() const { return phase_; }
  /// Whether the outermost call was given none.
  bool is_without_phase() const { return outermost_->is_without_phase_; }
  /// In a first call while a gradient is taken, variables that are read from now on, `input` excepted, must be listed
  /// or be what the gradient is taken by.
  void check_reads(const Tensor<Any>& input);
  void touch(const std::shared_ptr<core::State>& state) const;

  /// Calls `function`, as a call with the one input `x` if that is defined, and returns its result; its errors end with
  /// the label.
  template <class F>
  Tensor<Any> run(const F& function, const Tensor<Any>& x = {}) const {
    try {
      return is_observed() ? observed(x, function) : function();
    } catch (...) {
      rethrow();
    }
  }

 private:
  static bool is_observed();
  bool is_part_of_outer() const { return outer_ != nullptr && &outer_->module_ == &module_; }
  Tensor<Any> observed(const Tensor<Any>& x, const std::function<Tensor<Any>()>& function) const;
  core::Label path_of_module() const;
  core::Label label_of_call();
  core::Label label_of_error() const;
  [[noreturn]] void rethrow() const;

  const Module& module_;
  Phase phase_;
  const LayerCall* outer_;
  const LayerCall* outermost_;
  bool is_without_phase_;
  // Labels in this call are `outside` and the module's path without the leading `path`.
  struct Around {
    core::Label outside, path;
    core::Label label;  // of the call, before NameScopes are opened in it
  };
  core::Label path_;  // from the outermost module
  Around around_;
  core::Label label_;  // in force during this call
  // Of the outermost call only: the paths in its module, and whether this call has made them anew.
  mutable std::shared_ptr<const Module::Paths> paths_;
  mutable bool renewed_ = false;
  int checks_ = 0;                        // what Module::Common::calls_checked becomes
  std::optional<DistinctStates> listed_;  // of the outermost module, in its first call
  mutable bool failed_ = false;
  std::optional<core::LabelScope> scope_;
  std::optional<core::StateObservation> reads_;
};

/// While alive, the states of layers that are called are not looked for among those of the outermost one.
class CallsUnchecked {
 public:
  CallsUnchecked();
  ~CallsUnchecked();
  CallsUnchecked(const CallsUnchecked&) = delete;
  CallsUnchecked& operator=(const CallsUnchecked&) = delete;

 private:
  DistinctStates* states_;
};

/// The name of a module's class, without namespaces, functions or template arguments around it.
std::string class_name(const Module& module);

}  // namespace TYTO_API
}  // namespace tyto
