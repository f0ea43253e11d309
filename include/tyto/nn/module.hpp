// SPDX-License-Identifier: MIT
// Module: a tree of named states, parameters, which are trained, and buffers, which are not.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tyto/named.hpp"
#include "tyto/tensor.hpp"

namespace tyto {
namespace nn TYTO_API {

/// Whether a module is being trained or used: it decides what dropout and batch norm do. A call without a phase inside
/// of another layer's call has that layer's phase; any other one is inference.
enum class Phase : std::uint8_t { inference, training };
inline constexpr Phase inference = Phase::inference;
inline constexpr Phase training = Phase::training;
/// The phase of the innermost call of a layer that runs on this thread; inference outside of one.
Phase current_phase();

/// The role of a state: a parameter is trained; a buffer (a running statistic, a counter) is only kept.
enum class StateKind : std::uint8_t { parameter, buffer };

class Module;
class LayerCall;
namespace detail {
class Cloning;
/// What a phase is that a caller left out: that of the call around or, outside of one, inference that nobody asked for,
/// which layers that differ between the phases refuse where a gradient is taken. It is for their own use.
Phase phase_around();
}  // namespace detail

/// One of the things that a module consists of, under a name: a state of its own, another module, or a list of modules.
class TYTO_API Member {
 public:
  /// A state; an undefined tensor is passed over. Axis i of it is axis `pytorch_axes[i]` of what PyTorch saves.
  Member(std::string name, const Tensor<Any>& state, StateKind kind = StateKind::parameter, IntList pytorch_axes = {});
  /// A state that the module does not hold as a Tensor<Any>, so that clone() cannot give a copy its own.
  Member(std::string name, const Tensor<Any>&& state, StateKind kind = StateKind::parameter, IntList pytorch_axes = {});
  Member(std::string name, const Module& module);
  Member(const Module&) = delete;  // without a name
  /// Modules named "NAME.0", "NAME.1", ...
  template <class M>
  Member(std::string name, const std::vector<M>& modules) : Member(std::move(name)) {
    for (const M& module : modules) modules_.push_back(&module);
    list_ = true;
  }

  /// Its name, and its state (undefined for modules).
  const std::string& name() const { return name_; }
  const Tensor<Any>& state() const { return state_; }
  /// Where the module holds the state; null for one that was handed over.
  const Tensor<Any>* place() const { return place_; }
  /// The kind of state.
  StateKind kind() const { return kind_; }
  /// For each axis of the state, the axis of PyTorch's saved tensor that it corresponds to.
  const IntList& pytorch_axes() const { return pytorch_axes_; }
  /// The modules, one or a list.
  const std::vector<const Module*>& modules() const { return modules_; }
  /// Whether it is a list of modules.
  bool is_list() const { return list_; }

 private:
  explicit Member(std::string name);

  std::string name_;
  Tensor<Any> state_;
  const Tensor<Any>* place_ = nullptr;
  StateKind kind_ = StateKind::parameter;
  IntList pytorch_axes_;
  std::vector<const Module*> modules_;
  bool list_ = false;
};
/// The states and sub-modules of a module, in order.
using Members = std::vector<Member>;

/// Base of everything that holds states. Copies of a module share its states (clone() in <tyto/nn/copies.hpp> makes one
/// that does not); lists name a shared state once, where it comes first, but for named_states(). A module of one tensor
/// is a Layer; one of several inputs has functions of its own:
///
///     struct Scorer : nn::Module {
///       nn::Linear left{{.in = 8, .out = 4}}, right{{.in = 8, .out = 4}};
///       Tensor score(Tensor a, Tensor b) const { return sum(left(a) * right(b), -1); }
///       nn::Members members() const override { return {{"left", left}, {"right", right}}; }
///     };
class TYTO_API Module {
 public:
  virtual ~Module();
  /// Its states and sub-modules; the name of a state inside a member is "MEMBER.STATE".
  virtual Members members() const;

  /// The variables that are trained, those frozen left out.
  NamedList<Tensor<Any>> named_parameters() const;
  /// The states that are no parameters: running statistics, counters.
  NamedList<Tensor<Any>> named_buffers() const;
  /// All that a file must hold for the module to be made again: parameters, frozen or not, and buffers. A state that
  /// modules share is there under each of its names, as in PyTorch's state_dict().
  NamedList<Tensor<Any>> named_states() const;
  /// The parameters in the order of their names, as value_and_grad and Descent::update take them.
  std::vector<Tensor<Any>> parameters() const;

  /// Leaves parameters out of parameters() from now on: all, the one of this name, or all of the member of this name,
  /// wherever else in this module they are. Compiled functions are recorded anew in their next call. Running statistics
  /// and dropout go on: a frozen teacher inside of a training call is called by `teacher(x, nn::inference)`.
  /// Throws ValueError when there is none.
  ///
  ///     model.freeze("encoder");
  void freeze(std::string_view part = {}) const;
  void unfreeze(std::string_view part = {}) const;

  /// Calls `seen` with the path of each module inside of this one, itself first under "".
  void visit(const std::function<void(const std::string& path, const Module& module)>& seen) const;
  /// Calls `seen` with the path of each state, the module that owns it, and what that says of it.
  void visit_states(
      const std::function<void(const std::string& path, const Module& owner, const Member& state)>& seen) const;
  /// Whether a parameter of its own is frozen.
  bool is_frozen(const std::string& own_name) const { return common_->frozen.count(own_name) != 0; }

 protected:
  Module() : common_(std::make_shared<Common>()) {}
  /// Called on a copy: replaces modules held by pointers, which it would share with the original, by copies of them.
  virtual void copy_pointed_to();
  // A module that was moved from keeps its states, as it would if it were copied.
  Module(const Module&) = default;
  Module& operator=(const Module&) = default;

 private:
  friend class Layer;
  friend class LayerCall;
  friend class detail::Cloning;

  /// The paths of the modules inside of one, see nn/running_call.hpp.
  class Paths;
  /// Data that copies of a module share besides their states.
  struct TYTO_API Common {
    std::set<std::string> frozen = {};
    std::atomic<int> calls_checked = 0;            // 1 after a call, 2 after one while a gradient was taken
    std::shared_ptr<const Paths> paths = nullptr;  // made when the module is first called, guarded by nn/layer.cpp
  };

  void set_frozen(const char* function, std::string_view part, bool frozen) const;

  std::shared_ptr<Common> common_;
};

/// How many numbers the parameters are, frozen ones included, shared ones once.
std::int64_t parameter_count(const Module& module);

}  // namespace TYTO_API
}  // namespace tyto
