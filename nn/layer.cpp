// Calls of layers, and who is told of them.
#include "tyto/nn/layer.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace {
thread_local detail::CallObserver* call_observer = nullptr;
}  // namespace

Tensor<Any> Layer::run(const Tensor<Any>& x, Phase phase) const {
  if (call_observer == nullptr) return forward(x, phase);
  return call_observer->call(*this, x, [&] { return forward(x, phase); });
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
