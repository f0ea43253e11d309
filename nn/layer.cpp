// SPDX-License-Identifier: MIT
// Calls of modules: sets their phase, notifies observers, and checks in the first call whether it runs modules or
// variables that members() lacks.
#include "tyto/nn/layer.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <typeindex>
#include <typeinfo>
#include <unordered_map>
#include <utility>

#include "core/graph/tape.hpp"
#include "core/system/backtrace.hpp"
#include "core/value/text.hpp"
#include "nn/distinct_states.hpp"
#include "nn/layer_parts.hpp"
#include "nn/running_call.hpp"
#include "tyto/nn/calls.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace {

thread_local detail::CallObserver* call_observer = nullptr;
thread_local const LayerCall* innermost_call = nullptr;
std::mutex paths_mutex;  // of Module::Common::paths, of all modules
// States that the outermost module lists, while its first call runs.
thread_local DistinctStates* listed_states = nullptr;

// Also what the call itself has made.
bool lists(const Module& module, const core::State& state) {
  bool found = false;
  module.visit_states([&](const std::string&, const Module&, const Member& member) {
    found = found || core::state_of(member.state().value()) == &state;
  });
  return found;
}

// Inference of a call without a phase, which is told from inference that a caller asked for; handed to no function of
// a user's.
constexpr Phase unstated{2};

// A module that is called must have its parameters among the states of the outermost one; it may be frozen.
void require_listed(const Module& called, const Module& caller) {
  for (const Tensor<Any>& parameter : called.parameters()) {
    if (listed_states->contains(parameter)) continue;
    const char* const function = dynamic_cast<const Layer*>(&caller) == nullptr ? "as_call" : "forward()";
    core::throw_error<ValueError>(
        class_name(caller), ": ", function, " calls a ", class_name(called),
        " that members() does not list, so its parameters would be neither trained nor saved; "
        "list it, {\"name\", layer}, or freeze() it");
  }
  called.visit_states(
      [](const std::string&, const Module&, const Member& state) { listed_states->add(state.state()); });
}

}  // namespace

CallsUnchecked::CallsUnchecked() : states_(std::exchange(listed_states, nullptr)) {}
CallsUnchecked::~CallsUnchecked() { listed_states = states_; }

Phase current_phase() { return innermost_call == nullptr ? inference : innermost_call->phase(); }

Phase detail::phase_around() { return innermost_call == nullptr ? unstated : innermost_call->phase(); }

bool is_training(std::string_view layer, Phase phase) {
  const bool is_stated =
      phase == training || (phase == inference && (innermost_call == nullptr || !innermost_call->is_without_phase()));
  if (!is_stated && core::any_tape_open()) {
    core::throw_error<ValueError>(layer,
                                  ": a gradient is taken in a call without a phase; write model(x, nn::training), "
                                  "or model(x, nn::inference) where it is not to train, in the outermost call");
  }
  return phase == training;
}

std::string class_name(const Module& module) {
  const std::string whole = core::demangled(typeid(module).name());
  std::size_t begin = 0;
  int depth = 0;  // of brackets, in which other classes are named
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (std::string_view("<({").find(whole[i]) != std::string_view::npos) ++depth;
    else if (std::string_view(">)}").find(whole[i]) != std::string_view::npos) --depth;
    else if (whole[i] == ':' && depth == 0) begin = i + 1;
  }
  const std::string name = whole.substr(begin);
  return name.substr(0, name.find('<'));
}

namespace {

core::Label class_label(const Module& module) {
  static std::mutex mutex;
  static auto* const known = new std::unordered_map<std::type_index, core::Label>();  // outlives static layers
  const std::lock_guard lock(mutex);
  core::Label& label = (*known)[typeid(module)];
  if (label == nullptr) label = std::make_shared<const std::string>(class_name(module));
  return label;
}

}  // namespace

Module::Paths::Paths(const Module& outermost, const Paths* before) {
  outermost.visit([&](const std::string& path, const Module& module) {
    if (path.empty()) return;
    labels_.try_emplace(module.common_.get(), Listed{module.common_, std::make_shared<const std::string>(path), false});
  });
  const bool alone = labels_.empty();
  labels_[outermost.common_.get()] = {outermost.common_, alone ? class_label(outermost) : nullptr, false};
  if (before == nullptr) return;
  for (const auto& [module, known] : before->labels_) {
    if (known.unlisted && !known.module.expired()) labels_.try_emplace(module, known);
  }
}

void Module::Paths::add_unlisted(const Module& module) {
  labels_.try_emplace(module.common_.get(), Listed{module.common_, class_label(module), true});
}

std::optional<core::Label> Module::Paths::of(const Module& module) const {
  const auto found = labels_.find(module.common_.get());
  if (found == labels_.end()) return std::nullopt;
  return found->second.label;
}

LayerCall::LayerCall(const Module& module, std::optional<Phase> phase)
    : module_(module),
      phase_(phase.value_or(current_phase())),
      outer_(innermost_call),
      outermost_(outer_ == nullptr ? this : outer_->outermost_),
      is_without_phase_(!phase || phase_ == unstated) {
  if (phase_ == unstated) phase_ = inference;
  if (listed_states != nullptr) require_listed(module, outer_->module_);
  if (outer_ == nullptr) {
    checks_ = core::any_tape_open() ? 2 : 1;
    if (module.common_->calls_checked.load(std::memory_order_relaxed) < checks_) {
      DistinctStates& listed = listed_.emplace();
      module.visit_states([&](const std::string&, const Module&, const Member& state) { listed.add(state.state()); });
    }
    const std::lock_guard lock(paths_mutex);
    paths_ = module.common_->paths;
  }
  label_ = label_of_call();
  if (label_ != nullptr) scope_.emplace(label_);
  innermost_call = this;
  if (listed_) listed_states = &*listed_;
}

LayerCall::~LayerCall() {
  innermost_call = outer_;
  if (!listed_) return;
  listed_states = nullptr;
  if (!failed_) module_.common_->calls_checked.store(checks_, std::memory_order_relaxed);
}

void LayerCall::check_reads(const Tensor<Any>& input) {
  if (!listed_ || checks_ < 2) return;
  listed_->add(input);
  reads_.emplace(*this);
}

void LayerCall::touch(const std::shared_ptr<core::State>& state) const {
  const bool first = listed_states != nullptr && !core::UntrainedReads::any() && listed_states->add(*state);
  const std::string* const name = first ? core::untrained_variable(*state) : nullptr;
  if (name != nullptr && !lists(outermost_->module_, *state)) {
    core::throw_error<ValueError>("members() does not list the variable '", *name, "' that ",
                                  class_name(innermost_call->module_),
                                  " reads, so it would be neither trained nor saved; list it, {\"name\", tensor}, hand "
                                  "it in as stop_gradient(tensor), or make it a Tensor::persistent");
  }
  reads_->tell_outer(state);
}

// A module that is not found may have been assigned to a member since the paths were made.
core::Label LayerCall::path_of_module() const {
  std::shared_ptr<const Module::Paths>& paths = outermost_->paths_;
  std::optional<core::Label> known = paths == nullptr ? std::nullopt : paths->of(module_);
  if (!known && !outermost_->renewed_) {
    const auto renewed = std::make_shared<Module::Paths>(outermost_->module_, paths.get());
    known = renewed->of(module_);
    if (!known) renewed->add_unlisted(module_);
    outermost_->renewed_ = true;
    paths = renewed;
    const std::lock_guard lock(paths_mutex);
    outermost_->module_.common_->paths = paths;
  }
  return known ? *known : class_label(module_);
}

core::Label LayerCall::label_of_call() {
  const core::Label current = core::LabelScope::current();
  if (is_part_of_outer()) {
    path_ = outer_->path_;
    around_ = outer_->around_;
    return current;
  }
  path_ = path_of_module();
  // A NameScope within the outer call stands between its path and the rest of those of this call and all inside of it.
  if (outer_ == nullptr) around_ = {current, nullptr, nullptr};
  else if (current == outer_->around_.label) around_ = outer_->around_;
  else around_ = {current, outer_->path_, nullptr};
  core::Label label = current;
  if (path_ != nullptr) {
    std::string_view rest = *path_;
    if (around_.path != nullptr && rest.starts_with(*around_.path + ".")) rest.remove_prefix(around_.path->size() + 1);
    label = around_.outside == nullptr ? path_ : core::LabelScope::joined(around_.outside, rest);
  }
  around_.label = label;
  return label;
}

// Members may have changed places since the paths were made.
core::Label LayerCall::label_of_error() const {
  std::string label = *label_;
  try {
    auto paths = std::make_shared<const Module::Paths>(outermost_->module_, outermost_->paths_.get());
    const std::optional<core::Label> path = paths->of(module_);
    if (path && *path != nullptr && path_ != nullptr && label.ends_with(*path_)) {
      label.replace(label.size() - path_->size(), path_->size(), **path);
    }
    const std::lock_guard lock(paths_mutex);
    outermost_->module_.common_->paths = std::move(paths);
  } catch (...) {  // of members(), which is the user's: the error on its way is the one to tell
  }
  return std::make_shared<const std::string>(std::move(label));
}

// The errors of a layer that is called alone name it themselves.
void LayerCall::rethrow() const {
  failed_ = true;
  if (label_ == nullptr || (outer_ == nullptr && around_.outside == nullptr)) throw;
  if (is_part_of_outer()) throw;
  core::rethrow_with_label(label_of_error());
}

bool LayerCall::is_observed() { return call_observer != nullptr; }

Tensor<Any> LayerCall::observed(const Tensor<Any>& x, const std::function<Tensor<Any>()>& function) const {
  return is_part_of_outer() ? function() : call_observer->call(module_, x, function);
}

Tensor<Any> Layer::run(const Tensor<Any>& x, std::optional<Phase> phase) const {
  LayerCall call(*this, phase);
  call.check_reads(x);
  return call.run([&] { return forward(x, call.phase()); }, x);
}

namespace detail {

void run_as_call(const Module& module, Phase phase, const std::function<void()>& function) {
  LayerCall call(module, phase);
  call.check_reads({});
  call.run([&] {
    function();
    return Tensor<Any>();
  });
}

CallObserver::CallObserver() {
  if (call_observer != nullptr) throw GraphError("the calls of layers are observed already");
  call_observer = this;
}
CallObserver::~CallObserver() { call_observer = nullptr; }

}  // namespace detail

}  // namespace nn
}  // namespace TYTO_API
