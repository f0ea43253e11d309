// SPDX-License-Identifier: MIT
// Training in mixed precision: products in 16 bits over parameters in 32, and losses scaled so that small gradients of
// f16 do not vanish.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "tyto/distributed.hpp"
#include "tyto/nn/descent.hpp"
#include "tyto/nn/modes.hpp"

namespace tyto {
namespace nn TYTO_API {

/// While alive, layers of this thread that multiply (linear, convolution, recurrent, attention) cast what they multiply
/// to this type and leave their results in it; parameters stay as they are, and norms keep their statistics in f32.
/// Take losses of results in f32: loss(model(x).astype(DType::f32), t).
///
///     const nn::Autocast half(DType::bf16);
///     auto y = model(x, nn::training);
class TYTO_API Autocast {
 public:
  /// Throws TypeError unless the type is a floating one.
  explicit Autocast(DType dtype);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  bool was_active_;
  DType was_;
};

/// Options of `LossScale`.
struct LossScaleOptions {
  double first = 65536;  ///< factor to start with
  double growth = 2;     ///< after `growth_interval` updates with finite gradients, while the scale stays finite
  double backoff = 0.5;  ///< after gradients that are not finite
  std::int64_t growth_interval = 2000;  ///< updates with finite gradients after which it grows
};
/// A dynamic loss scale, as large as gradients allow: gradients that overflow are not used, and lower it.
///
///     nn::LossScale scale;
///     auto scaled = [&](Tensor x, Tensor t) { return scale.scaled(objective(x, t)); };
///     auto [loss, gradients] = value_and_grad(scaled, model.parameters())(x, t);
///     scale.step(descent, model.parameters(), gradients);
///     auto reported = scale.unscaled(loss);
class TYTO_API LossScale {
 public:
  explicit LossScale(const LossScaleOptions& options = {});  // {.first = 1024}

  /// The loss times the scale.
  template <class M>
  Tensor<M> scaled(const Tensor<M>& loss) const {
    return detail::with_mode<M>(times_scale(detail::modeless(loss)));
  }
  /// x over the scale.
  template <class M>
  Tensor<M> unscaled(const Tensor<M>& x) const {
    return detail::with_mode<M>(over_scale(detail::modeless(x)));
  }
  /// Updates by the gradients over the scale where all of them are finite, else changes the scale alone. `change` is
  /// given the gradients over the scale, and what it returns is used, so that limits hold for gradients of the loss:
  ///
  ///     scale.step(descent, parameters, gradients, [](const auto& g) { return nn::clip_by_global_norm(g, 1.0); });
  template <class P, class G, class F = std::identity>
  void step(Descent& descent, const std::vector<Tensor<P>>& parameters, const std::vector<Tensor<G>>& gradients,
            F&& change = {}) {
    const std::vector<Tensor<Any>> values = over_scale(gradients);
    static_assert(
        !requires { change(values).parts; },
        "LossScale::step: `change` of gradients yields gradients; to sum them over processes, give step() "
        "what distributed::weighted() yields");
    step_where(all_finite(values), descent, parameters, change(values));
  }
  /// The same with gradients that are still to be summed over processes: updates where they are finite on all of them.
  template <class P, class G, class F = std::identity>
  void step(Descent& descent, const std::vector<Tensor<P>>& parameters, const distributed::Weighted<G>& gradients,
            F&& change = {}) {
    const distributed::Weighted<Any> values{over_scale(gradients.parts), gradients.norm_limit};
    static_assert(
        requires { change(values).parts; },
        "LossScale::step: `change` of weighted gradients yields weighted gradients, as clip_by_global_norm does; "
        "their parts alone would not be summed over processes");
    const Tensor<Any> finite = distributed::all_reduce(all_finite(values.parts), distributed::Reduce::min);
    step_where(finite, descent, parameters, change(values));
  }

  /// The scale as it is now.
  double current() const;
  /// The state that a checkpoint must hold.
  NamedList<Tensor<Any>> state() const;

 private:
  Tensor<Any> times_scale(const Tensor<Any>& x) const;
  Tensor<Any> over_scale(const Tensor<Any>& x) const;
  template <class G>
  std::vector<Tensor<Any>> over_scale(const std::vector<Tensor<G>>& gradients) const {
    std::vector<Tensor<Any>> values;
    for (const Tensor<G>& gradient : gradients) values.push_back(over_scale(detail::modeless(gradient)));
    return values;
  }
  template <class P>
  void step_where(const Tensor<Any>& finite, Descent& descent, const std::vector<Tensor<P>>& parameters,
                  const Gradients& changed) {
    descent.update_where(finite, parameters, changed);
    adjust(finite);
  }
  static Tensor<Any> all_finite(const std::vector<Tensor<Any>>& gradients);
  void adjust(const Tensor<Any>& finite);

  LossScaleOptions options_;
  Tensor<Any> scale_, finite_updates_;
};

}  // namespace TYTO_API
}  // namespace tyto
