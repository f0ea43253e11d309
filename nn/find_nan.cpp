// SPDX-License-Identifier: MIT
// Searches states, then the input, then the results of each layer for NaN.
#include "tyto/nn/find_nan.hpp"

#include <map>
#include <ostream>

#include "core/graph/number_check_pause.hpp"
#include "core/value/text.hpp"
#include "nn/running_call.hpp"
#include "tyto/choosing.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace {

std::optional<FoundNan> found_in(const std::string& where, const Tensor<Any>& x) {
  const core::NumberCheckPause paused;  // what a lazy x depends on is computed here
  if (!x.defined() || !is_inexact(x.dtype()) || x.size() == 0) return {};
  const Tensor<Any> wrong = isnan(x);
  if (!any(wrong).item<bool>()) return {};
  auto left = argmax(reshape(cast(wrong, DType::i32), {x.size()}), 0).item<std::int64_t>();
  FoundNan found{where, Shape(x.shape().size(), 0), x.shape()};
  for (std::size_t axis = x.shape().size(); axis-- > 0;) {
    found.index[axis] = left % x.shape()[axis];
    left /= x.shape()[axis];
  }
  return found;
}

std::string quoted(const std::string& path) { return path.empty() ? path : " '" + path + "'"; }

/// Looks at the results of layers until one holds NaN.
class Search final : public detail::CallObserver {
 public:
  explicit Search(const Layer& model) {
    model.visit([&](const std::string& path, const Module& module) { paths_.emplace(&module, path); });
  }

  Tensor<Any> call(const Module& module, const Tensor<Any>&, const std::function<Tensor<Any>()>& function) override {
    Tensor<Any> y = function();
    if (!found && y.defined()) {
      const auto path = paths_.find(&module);
      const std::string name = path == paths_.end() ? std::string() : path->second;
      found = found_in("the output of " + class_name(module) + quoted(name), y);
    }
    return y;
  }

  std::optional<FoundNan> found;

 private:
  std::map<const Module*, std::string> paths_;
};

}  // namespace

std::ostream& operator<<(std::ostream& out, const FoundNan& found) {
  return out << core::text(found.where, ", of shape ", found.shape, ", is NaN first at ", found.index);
}

std::ostream& operator<<(std::ostream& out, const std::optional<FoundNan>& found) {
  return found ? out << *found : out << "no NaN";
}

std::optional<FoundNan> find_nan(const Tensor<Any>& x) { return found_in("the tensor", x); }

std::optional<FoundNan> find_nan(const NamedList<Tensor<Any>>& tensors) {
  for (const Named<Tensor<Any>>& each : tensors) {
    if (const auto found = found_in("'" + each.name + "'", each.value)) return found;
  }
  return {};
}

std::optional<FoundNan> find_nan(const Module& module) {
  std::optional<FoundNan> found;
  module.visit_states([&](const std::string& path, const Module&, const Member& state) {
    if (!found)
      found = found_in((state.kind() == StateKind::parameter ? "parameter '" : "buffer '") + path + "'", state.state());
  });
  return found;
}

std::optional<FoundNan> find_nan(const Layer& model, const Tensor<Any>& x, Phase phase) {
  if (const auto found = find_nan(static_cast<const Module&>(model))) return found;
  if (const auto found = found_in("the input", x)) return found;
  const core::NumberCheckPause paused;  // TYTO_NAN would throw before the search sees the result
  Search search(model);
  model(x, phase);
  return search.found;
}

}  // namespace nn
}  // namespace TYTO_API
