// SPDX-License-Identifier: MIT
// The rules of descent, each with its options. w is a parameter, g its gradient, t the count of updates.
#pragma once

#include <optional>

#include "tyto/nn/descent.hpp"

namespace tyto {
namespace nn TYTO_API {

// In every rule weight_decay times the parameter is added to the gradient, unless it says otherwise.

/// Options of `sgd`.
struct SgdOptions {
  LearningRate rate = 0.01;  ///< learning rate, a number or a schedule
  double momentum = 0;       ///< how much of the last step goes into the next
  bool nesterov = false;     ///< looks ahead by the momentum (Nesterov)
  double weight_decay = 0;   ///< how much of the parameter is added to its gradient
  double dampening = 0;      ///< how much of a gradient the momentum leaves out
};
/// w -= rate * v, v = momentum * v + (1 - dampening) * g and at first g; with Nesterov's look ahead
/// w -= rate * (g + momentum * v).
Descent sgd(const SgdOptions& options = {});

/// Options of `adagrad`.
struct AdagradOptions {
  LearningRate rate = 0.01;  ///< learning rate, a number or a schedule
  double epsilon = 1e-10;    ///< added to what is divided by, against zero
  double weight_decay = 0;   ///< how much of the parameter is added to its gradient
  double first_squares = 0;  ///< what the sum of squares begins with
};
/// w -= rate * g / (sqrt(s) + epsilon), s the sum of all squared gradients.
Descent adagrad(const AdagradOptions& options = {});

/// Options of `rmsprop`.
struct RmspropOptions {
  LearningRate rate = 0.01;  ///< learning rate, a number or a schedule
  double decay = 0.99;       ///< of the running means
  double epsilon = 1e-8;     ///< added to what is divided by, against zero
  double momentum = 0;       ///< of what is subtracted
  bool centred = false;      ///< divides by the running deviation instead of the running root of squares
  double weight_decay = 0;   ///< how much of the parameter is added to its gradient
};
/// w -= rate * g / (sqrt(s) + epsilon), s the running mean of squared gradients.
Descent rmsprop(const RmspropOptions& options = {});

/// Options of `adam`.
struct AdamOptions {
  LearningRate rate = 0.001;  ///< learning rate, a number or a schedule
  double beta1 = 0.9;         ///< decay of the running mean of gradients
  double beta2 = 0.999;       ///< decay of the running mean of their squares
  double epsilon = 1e-8;      ///< added to what is divided by, against zero
  double weight_decay = 0;    ///< how much of the parameter is added to its gradient
  bool amsgrad = false;       ///< divides by the largest running mean of squares so far (Reddi et al. 2018)
};
/// Adam (Kingma, Ba 2015): running means of the gradient and of its square, corrected for starting at zero.
Descent adam(const AdamOptions& options = {});

/// Options of `adamw`.
struct AdamwOptions {
  LearningRate rate = 0.001;   ///< learning rate, a number or a schedule
  double beta1 = 0.9;          ///< decay of the running mean of gradients
  double beta2 = 0.999;        ///< decay of the running mean of their squares
  double epsilon = 1e-8;       ///< added to what is divided by, against zero
  double weight_decay = 0.01;  ///< times the rate and the parameter, subtracted besides Adam's change
  bool amsgrad = false;        ///< divides by the largest mean of squares so far
};
/// Adam with weight decay of its own (Loshchilov, Hutter 2019).
Descent adamw(const AdamwOptions& options = {});

/// Options of `adamax`.
struct AdamaxOptions {
  LearningRate rate = 0.002;  ///< learning rate, a number or a schedule
  double beta1 = 0.9;         ///< decay of the running mean of gradients
  double beta2 = 0.999;       ///< decay of the running mean of their squares
  double epsilon = 1e-8;      ///< added to what is divided by, against zero
  double weight_decay = 0;    ///< how much of the parameter is added to its gradient
};
/// Adam with the largest fading gradient in place of the mean of squares (Kingma, Ba 2015).
Descent adamax(const AdamaxOptions& options = {});

/// Options of `nadam`.
struct NadamOptions {
  LearningRate rate = 0.002;      ///< learning rate, a number or a schedule
  double beta1 = 0.9;             ///< decay of the running mean of gradients
  double beta2 = 0.999;           ///< decay of the running mean of their squares
  double epsilon = 1e-8;          ///< added to what is divided by, against zero
  double weight_decay = 0;        ///< how much of the parameter is added to its gradient
  double momentum_decay = 0.004;  ///< how fast the momentum grows to its limit
  bool decoupled = false;         ///< the weight decay is that of AdamW
};
/// Adam with Nesterov's look ahead (Dozat 2016).
Descent nadam(const NadamOptions& options = {});

/// Options of `radam`.
struct RadamOptions {
  LearningRate rate = 0.001;  ///< learning rate, a number or a schedule
  double beta1 = 0.9;         ///< decay of the running mean of gradients
  double beta2 = 0.999;       ///< decay of the running mean of their squares
  double epsilon = 1e-8;      ///< added to what is divided by, against zero
  double weight_decay = 0;    ///< how much of the parameter is added to its gradient
  bool decoupled = false;     ///< the weight decay is that of AdamW
};
/// Adam that divides by the root of squares only once enough of them were seen (Liu et al. 2020).
Descent radam(const RadamOptions& options = {});

/// Options of `adadelta`.
struct AdadeltaOptions {
  LearningRate rate = 1.0;  ///< learning rate, a number or a schedule
  double decay = 0.9;       ///< of the running means
  double epsilon = 1e-6;    ///< added to what is divided by, against zero
  double weight_decay = 0;  ///< how much of the parameter is added to its gradient
};
/// w -= rate * d, d = g * sqrt(running mean of d^2) / sqrt(running mean of g^2) (Zeiler 2012).
Descent adadelta(const AdadeltaOptions& options = {});

/// Options of `lion`.
struct LionOptions {
  LearningRate rate = 1e-4;  ///< learning rate, a number or a schedule
  double beta1 = 0.9;        ///< weight of that mean against the gradient in the step
  double beta2 = 0.99;       ///< decay of the running mean of gradients
  double weight_decay = 0;   ///< times the rate and the parameter, subtracted besides the change
};
/// w -= rate * sign(beta1 * m + (1 - beta1) * g), m = beta2 * m + (1 - beta2) * g (Chen et al. 2023).
Descent lion(const LionOptions& options = {});

/// Options of `lamb`.
struct LambOptions {
  LearningRate rate = 0.001;  ///< learning rate, a number or a schedule
  double beta1 = 0.9;         ///< decay of the running mean of gradients
  double beta2 = 0.999;       ///< decay of the running mean of their squares
  double epsilon = 1e-6;      ///< added to what is divided by, against zero
  double weight_decay = 0;    ///< times the parameter, added to Adam's change before it is scaled
};
/// Adam's change scaled to the norm of its parameter (You et al. 2020).
Descent lamb(const LambOptions& options = {});

/// Options of `rprop`.
struct RpropOptions {
  LearningRate rate = 0.01;     ///< the first steps; later ones are the rule's own
  double shrink = 0.5;          ///< factor of a step whose sign changed
  double grow = 1.2;            ///< factor of a step whose sign stayed
  double smallest_step = 1e-6;  ///< steps do not get smaller
  double largest_step = 50;     ///< steps do not get larger
};
/// Steps by the gradient's sign alone, which grow while the sign stays and shrink where it turns (Riedmiller, Braun
/// 1993). For gradients of all the data.
Descent rprop(const RpropOptions& options = {});

/// Options of `asgd`.
struct AsgdOptions {
  LearningRate rate = 0.01;   ///< learning rate, a number or a schedule
  double decay = 1e-4;        ///< lambda: what the parameter shrinks by, times the step
  double power = 0.75;        ///< of the fall of the step
  double average_from = 1e6;  ///< the count from which on the average is taken; before it is the parameter itself
  double weight_decay = 0;    ///< how much of the parameter is added to its gradient
};
/// w -= step * (g + decay * w), step = rate / (1 + decay * rate * (t - 1))^power, and the mean of all w since
/// `average_from` as the state "average" (Polyak, Juditsky 1992).
Descent asgd(const AsgdOptions& options = {});

/// Options of `adafactor`.
struct AdafactorOptions {
  LearningRate rate = 0.01;             ///< the largest step relative to the parameter
  double decay_power = -0.8;            ///< the mean of squares forgets by t^decay_power
  std::optional<double> epsilon1 = {};  ///< the root of the least mean of squares; none: the spacing of numbers at 1
  double epsilon2 = 1e-3;               ///< the least root mean square of a parameter that steps are relative to
  double clip = 1;                      ///< changes of a larger root mean square are scaled down to it
  double weight_decay = 0;              ///< times the rate and the parameter, subtracted besides the change
};
/// Adam's division by a root of squares from the means of its rows and columns alone, along the last two axes; vectors
/// keep all squares (Shazeer, Stern 2018).
Descent adafactor(const AdafactorOptions& options = {});

/// The factor of Muon's step of a matrix (in, out): `shape` sqrt(max(1, out / in)); `adam` 0.2 sqrt(max(in, out)),
/// which makes the step as long as Adam's, so that Adam's rates and decays can be kept.
enum class MuonScale : std::uint8_t { shape, adam };
/// Options of `muon`.
struct MuonOptions {
  LearningRate rate = 0.001;           ///< learning rate, a number or a schedule
  double momentum = 0.95;              ///< how much of the last step goes into the next
  bool nesterov = true;                ///< looks ahead by the momentum (Nesterov)
  double weight_decay = 0.1;           ///< times the rate and the parameter, subtracted besides the change
  MuonScale scale = MuonScale::shape;  ///< what a step is multiplied by
  std::int64_t iterations = 5;         ///< of Newton and Schulz
  double epsilon = 1e-7;               ///< the least norm that is divided by
};
/// The momentum made nearly orthogonal, all its singular values near 1 (Jordan 2024). For parameters of two or more
/// axes, as matrices of the last axis by all others: weights of linear layers and convolutions. Embeddings, the
/// last layer, biases and norms need another rule:
///
///     nn::Descent descent = nn::adamw().use(nn::muon({.rate = 0.02}), hidden_weights);
Descent muon(const MuonOptions& options = {});

/// Options of `lbfgs`.
struct LbfgsOptions {
  LearningRate rate = 1;            ///< learning rate, a number or a schedule
  std::int64_t history = 10;        ///< pairs of steps and differences of gradients that are kept
  double smallest_gradient = 1e-7;  ///< nothing changes where no element is larger
  double smallest_descent = 1e-9;   ///< nor where the direction descends by less
};
/// The quasi-Newton method with limited memory (Nocedal 1980), of all parameters together: each update is one
/// iteration without a line search. The first one's step is at most 1 / |g|_1 times the rate. For gradients of all the
/// data.
Descent lbfgs(const LbfgsOptions& options = {});

}  // namespace TYTO_API
}  // namespace tyto
