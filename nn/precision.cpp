// SPDX-License-Identifier: MIT
// Mixed precision: the type in which layers multiply, and the scale of the loss.
#include "tyto/nn/precision.hpp"

#include <cmath>

#include "nn/layer_parts.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/reduce.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace {
thread_local bool autocast_active = false;
thread_local DType autocast_type = DType::f32;
}  // namespace

Autocast::Autocast(DType dtype) : was_active_(autocast_active), was_(autocast_type) {
  if (!is_floating(dtype)) {
    core::throw_error<TypeError>("Autocast: ", name_of(dtype),
                                 " is no type to multiply in; a floating type is expected");
  }
  autocast_active = true;
  autocast_type = dtype;
}

Autocast::~Autocast() {
  autocast_active = was_active_;
  autocast_type = was_;
}

Tensor<Any> to_multiply(const Tensor<Any>& x) {
  return autocast_active && is_floating(x.dtype()) ? as_type(x, autocast_type) : x;
}

LossScale::LossScale(const LossScaleOptions& options) : options_(options) {
  if (!(options.first > 0 && std::isfinite(options.first) && options.growth >= 1 && options.backoff > 0 &&
        options.backoff < 1)) {
    core::throw_error<ValueError>("LossScale: first = ", options.first, " must be positive, growth = ", options.growth,
                                  " at least 1, and backoff = ", options.backoff, " between 0 and 1");
  }
  if (options.growth_interval < 1) {
    core::throw_error<ValueError>("LossScale: the growth interval ", options.growth_interval, " must be at least 1");
  }
  scale_ = Tensor<Any>::persistent(Tensor<Any>::full({}, options.first, DType::f32), "loss scale");
  finite_updates_ = Tensor<Any>::persistent(Tensor<Any>::zeros({}, DType::i64), "finite updates");
}

Tensor<Any> LossScale::times_scale(const Tensor<Any>& x) const {
  // A loss in 16 bits would overflow before its gradients do.
  const DType type = statistics_type(x.dtype());
  return as_type(x, type) * as_type(scale_, type);
}

Tensor<Any> LossScale::over_scale(const Tensor<Any>& x) const {
  const DType type = statistics_type(x.dtype());
  return as_type(x, type) / as_type(scale_, type);
}

Tensor<Any> LossScale::all_finite(const std::vector<Tensor<Any>>& gradients) {
  Tensor<Any> finite = Tensor<Any>::full({}, true);
  for (const Tensor<Any>& gradient : gradients) finite = finite && tyto::all(isfinite(gradient));
  return finite;
}

void LossScale::adjust(const Tensor<Any>& finite) {
  const Tensor<Any> updates = finite_updates_ + 1;
  const Tensor<Any> grows = greater_equal(updates, options_.growth_interval);
  // A scale that is not finite would make all gradients so, and never come back.
  const Tensor<Any> larger = scale_ * options_.growth;
  const Tensor<Any> grown = where(grows && isfinite(larger), larger, scale_);
  assign(scale_, where(finite, grown, scale_ * options_.backoff));
  assign(finite_updates_, where(finite && !grows, updates, 0));
}

double LossScale::current() const { return static_cast<double>(scale_.item<float>()); }

NamedList<Tensor<Any>> LossScale::state() const { return {{"scale", scale_}, {"finite_updates", finite_updates_}}; }

}  // namespace nn
}  // namespace TYTO_API
