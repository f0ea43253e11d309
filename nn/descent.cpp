// Memories as states, one update of all parameters, and gradients kept within limits.
#include "tyto/nn/descent.hpp"

#include <algorithm>

#include "nn/complain.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace {

// Sums of many small changes are lost in 16 bits, so half-precision parameters are updated in f32.
DType working_type(DType dtype) { return size_of(dtype) == 2 ? DType::f32 : dtype; }

// Schedules are computed as exactly as the most exact parameter is held.
DType rate_type(const std::vector<Tensor<Any>>& parameters) {
  const bool wide = std::any_of(parameters.begin(), parameters.end(),
                                [](const Tensor<Any>& parameter) { return parameter.dtype() == DType::f64; });
  return wide ? DType::f64 : DType::f32;
}

}  // namespace

Descent::Descent(DescentRule rule)
    : rule_(std::move(rule)),
      count_(Tensor<Any>::persistent(Tensor<Any>::zeros({}, DType::i64), rule_.name + " count")) {}

std::int64_t Descent::count() const { return count_.item<std::int64_t>(); }

void Descent::prepare(const std::vector<Tensor<Any>>& parameters) {
  if (memories_.empty()) {
    for (const Tensor<Any>& parameter : parameters) {
      if (!is_floating(parameter.dtype())) {
        throw TypeError(text(rule_.name, ": a parameter of ", name_of(parameter.dtype()), " cannot be trained"));
      }
      std::vector<Tensor<Any>>& own = memories_.emplace_back();
      for (const std::string& memory : rule_.memories) {
        const Tensor<Any> zero = Tensor<Any>::zeros(parameter.shape(), working_type(parameter.dtype()));
        own.push_back(Tensor<Any>::persistent(zero, rule_.name + " " + memory));
      }
    }
  }
  if (memories_.size() != parameters.size()) {
    throw ValueError(
        text(rule_.name, ": given ", parameters.size(), " parameters, at first there were ", memories_.size()));
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!memories_[i].empty() && memories_[i][0].shape() != parameters[i].shape()) {
      throw ShapeError(text(rule_.name, ": parameter ", i, " has shape ", parameters[i].shape(), ", at first it had ",
                            memories_[i][0].shape()));
    }
  }
}

NamedList<Tensor<Any>> Descent::state(const NamedList<Tensor<Any>>& parameters) {
  std::vector<Tensor<Any>> handles;
  for (const Named<Tensor<Any>>& parameter : parameters) handles.push_back(parameter.value);
  prepare(handles);
  NamedList<Tensor<Any>> list{{"count", count_}};
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    for (std::size_t k = 0; k < rule_.memories.size(); ++k) {
      list.push_back({parameters[i].name + "." + rule_.memories[k], memories_[i][k]});
    }
  }
  return list;
}

void Descent::apply(const std::vector<Tensor<Any>>& parameters, const std::vector<Tensor<Any>>& gradients) {
  if (parameters.size() != gradients.size()) {
    throw ValueError(text(rule_.name, ": ", parameters.size(), " parameters and ", gradients.size(), " gradients"));
  }
  prepare(parameters);
  const Tensor<Any> before = cast(count_, rate_type(parameters));
  const Tensor<Any> rate = rule_.rate.at(before);
  const Tensor<Any> count = before + 1.0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (gradients[i].shape() != parameters[i].shape()) {
      throw ShapeError(text(rule_.name, ": parameter ", i, " of shape ", parameters[i].shape(),
                            " is given a gradient of shape ", gradients[i].shape()));
    }
    const DType type = working_type(parameters[i].dtype());
    const Tensor<Any> parameter = cast(parameters[i], type);
    std::vector<Tensor<Any>> memories;
    for (const Tensor<Any>& memory : memories_[i]) memories.push_back(cast(memory, type));
    const Tensor<Any> own_count = cast(count, type);
    const Tensor<Any> own_rate = rate.ndim() == 0 && rate.dtype() == type ? rate : cast(rate, type);
    const Tensor<Any> change = rule_.change({parameter, cast(gradients[i], type), memories, own_count, own_rate});
    assign(parameters[i], parameter - change);
    for (std::size_t k = 0; k < memories.size(); ++k) assign(memories_[i][k], memories[k]);
  }
  assign(count_, count_ + 1);
}

namespace detail {

namespace {
void check_limit(const char* function, double limit) {
  if (!(limit > 0)) throw ValueError(text(function, ": the limit ", limit, " must be positive"));
}
// A norm of zero gives an infinite quotient, of which the factor takes the 1.
Tensor<Any> factor(const Tensor<Any>& norm, double limit) { return minimum(limit / norm, 1.0); }
}  // namespace

std::vector<Tensor<Any>> clip_by_value(const std::vector<Tensor<Any>>& gradients, double limit) {
  check_limit("clip_by_value", limit);
  std::vector<Tensor<Any>> out;
  for (const Tensor<Any>& gradient : gradients) out.push_back(clip(gradient, -limit, limit));
  return out;
}

std::vector<Tensor<Any>> clip_by_norm(const std::vector<Tensor<Any>>& gradients, double limit) {
  check_limit("clip_by_norm", limit);
  std::vector<Tensor<Any>> out;
  for (const Tensor<Any>& gradient : gradients) out.push_back(gradient * factor(l2_norm(gradient), limit));
  return out;
}

std::vector<Tensor<Any>> clip_by_global_norm(const std::vector<Tensor<Any>>& gradients, double limit) {
  check_limit("clip_by_global_norm", limit);
  if (gradients.empty()) return {};
  // Squares of half-precision numbers overflow soon.
  Tensor<Any> total;
  for (const Tensor<Any>& gradient : gradients) {
    const Tensor<Any> squares = l2_norm_sqr(cast(gradient, working_type(gradient.dtype())));
    total = total.empty_handle() ? squares : total + squares;
  }
  const Tensor<Any> scale = factor(sqrt(total), limit);
  std::vector<Tensor<Any>> out;
  for (const Tensor<Any>& gradient : gradients) out.push_back(gradient * cast(scale, gradient.dtype()));
  return out;
}

}  // namespace detail

}  // namespace nn
}  // namespace TYTO_API
