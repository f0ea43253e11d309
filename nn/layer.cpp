// Calls of layers: their phase, who is told of them, and whether the first one runs through layers that members()
// lacks.
#include "tyto/nn/layer.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>
#include <typeinfo>

#include "core/value/text.hpp"
#include "nn/distinct_states.hpp"
#include "nn/running_call.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace {

struct RunningCall {
  const Layer& layer;
  Phase phase;
  const RunningCall* outer;
};

thread_local detail::CallObserver* call_observer = nullptr;
thread_local const RunningCall* innermost_call = nullptr;
// Of the outermost layer, while its first call runs.
thread_local const DistinctStates* listed_states = nullptr;

/// While alive, a call runs.
class CallScope {
 public:
  CallScope(const Layer& layer, Phase phase) : call_{layer, phase, innermost_call} { innermost_call = &call_; }
  ~CallScope() { innermost_call = call_.outer; }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

 private:
  RunningCall call_;
};

/// While alive, each layer that is called must have its parameters among the states of `outermost`.
class CallsChecked {
 public:
  explicit CallsChecked(const Layer& outermost) {
    outermost.visit_states([&](const std::string&, const Module&, const Member& state) { states_.add(state.state()); });
    listed_states = &states_;
  }
  ~CallsChecked() { listed_states = nullptr; }
  CallsChecked(const CallsChecked&) = delete;
  CallsChecked& operator=(const CallsChecked&) = delete;

 private:
  DistinctStates states_;
};

void require_listed(const Layer& called, const Layer& caller) {
  for (const Tensor<Any>& parameter : called.parameters()) {
    if (listed_states->contains(parameter)) continue;
    throw ValueError(core::text(class_name(caller), ": forward() calls a ", class_name(called),
                                " that members() does not list, so its parameters would be neither trained nor saved; "
                                "list it, {\"name\", layer}, or freeze() it"));
  }
}

}  // namespace

CallsUnchecked::CallsUnchecked() : states_(std::exchange(listed_states, nullptr)) {}
CallsUnchecked::~CallsUnchecked() { listed_states = states_; }

Phase current_phase() { return innermost_call == nullptr ? inference : innermost_call->phase; }

std::string class_name(const Module& module) {
  const char* const mangled = typeid(module).name();
  const std::unique_ptr<char, decltype(&std::free)> demangled(abi::__cxa_demangle(mangled, nullptr, nullptr, nullptr),
                                                              &std::free);
  const std::string_view whole = demangled ? demangled.get() : mangled;
  std::size_t begin = 0;
  int depth = 0;  // of brackets, in which other classes are named
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (std::string_view("<({").find(whole[i]) != std::string_view::npos) ++depth;
    else if (std::string_view(">)}").find(whole[i]) != std::string_view::npos) --depth;
    else if (whole[i] == ':' && depth == 0) begin = i + 1;
  }
  const std::string_view name = whole.substr(begin);
  return std::string(name.substr(0, name.find('<')));
}

Tensor<Any> Layer::run(const Tensor<Any>& x, Phase phase) const {
  if (listed_states != nullptr) require_listed(*this, innermost_call->layer);
  std::optional<CallsChecked> checked;
  const bool first = innermost_call == nullptr && !common_->calls_checked.load(std::memory_order_relaxed);
  if (first) checked.emplace(*this);
  const CallScope scope(*this, phase);
  Tensor<Any> y =
      call_observer == nullptr ? forward(x, phase) : call_observer->call(*this, x, [&] { return forward(x, phase); });
  if (first) common_->calls_checked.store(true, std::memory_order_relaxed);
  return y;
}

namespace detail {

CallObserver::CallObserver() {
  if (call_observer != nullptr) throw GraphError("the calls of layers are observed already");
  call_observer = this;
}
CallObserver::~CallObserver() { call_observer = nullptr; }

}  // namespace detail

}  // namespace nn
}  // namespace TYTO_API
