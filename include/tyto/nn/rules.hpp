// The rules of descent, each with its options. w is a parameter, g its gradient, t the count of updates.
#pragma once

#include <optional>

#include "tyto/nn/descent.hpp"

namespace tyto {
namespace nn TYTO_API {

// In every rule weight_decay times the parameter is added to the gradient, unless it says otherwise.

struct SgdOptions {
  LearningRate rate = 0.01;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
  double dampening = 0;
};
/// w -= rate * v, v = momentum * v + (1 - dampening) * g and at first g; with Nesterov's look ahead
/// w -= rate * (g + momentum * v).
Descent sgd(const SgdOptions& options = {});

struct AdagradOptions {
  LearningRate rate = 0.01;
  double epsilon = 1e-10;
  double weight_decay = 0;
  double first_squares = 0;  ///< what the sum of squares begins with
};
/// w -= rate * g / (sqrt(s) + epsilon), s the sum of all squared gradients.
Descent adagrad(const AdagradOptions& options = {});

struct RmspropOptions {
  LearningRate rate = 0.01;
  double decay = 0.99;
  double epsilon = 1e-8;
  double momentum = 0;   ///< of what is subtracted
  bool centred = false;  ///< divides by the running deviation instead of the running root of squares
  double weight_decay = 0;
};
/// w -= rate * g / (sqrt(s) + epsilon), s the running mean of squared gradients.
Descent rmsprop(const RmspropOptions& options = {});

struct AdamOptions {
  LearningRate rate = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  bool amsgrad = false;  ///< divides by the largest running mean of squares so far (Reddi et al. 2018)
};
/// Adam (Kingma, Ba 2015): running means of the gradient and of its square, corrected for starting at zero.
Descent adam(const AdamOptions& options = {});

struct AdamwOptions {
  LearningRate rate = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;  ///< times the rate and the parameter, subtracted beside Adam's change
  bool amsgrad = false;
};
/// Adam with weight decay of its own (Loshchilov, Hutter 2019).
Descent adamw(const AdamwOptions& options = {});

struct AdamaxOptions {
  LearningRate rate = 0.002;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
};
/// Adam with the largest fading gradient in place of the mean of squares (Kingma, Ba 2015).
Descent adamax(const AdamaxOptions& options = {});

struct NadamOptions {
  LearningRate rate = 0.002;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  double momentum_decay = 0.004;
  bool decoupled = false;  ///< the weight decay is that of AdamW
};
/// Adam with Nesterov's look ahead (Dozat 2016).
Descent nadam(const NadamOptions& options = {});

struct RadamOptions {
  LearningRate rate = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  bool decoupled = false;  ///< the weight decay is that of AdamW
};
/// Adam that divides by the root of squares only once enough of them were seen (Liu et al. 2020).
Descent radam(const RadamOptions& options = {});

struct AdadeltaOptions {
  LearningRate rate = 1.0;
  double decay = 0.9;
  double epsilon = 1e-6;
  double weight_decay = 0;
};
/// w -= rate * d, d = g * sqrt(running mean of d^2) / sqrt(running mean of g^2) (Zeiler 2012).
Descent adadelta(const AdadeltaOptions& options = {});

struct LionOptions {
  LearningRate rate = 1e-4;
  double beta1 = 0.9;
  double beta2 = 0.99;
  double weight_decay = 0;  ///< times the rate and the parameter, subtracted beside the change
};
/// w -= rate * sign(beta1 * m + (1 - beta1) * g), m = beta2 * m + (1 - beta2) * g (Chen et al. 2023).
Descent lion(const LionOptions& options = {});

struct LambOptions {
  LearningRate rate = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-6;
  double weight_decay = 0;  ///< times the parameter, added to Adam's change before it is scaled
};
/// Adam's change scaled to the norm of its parameter (You et al. 2020).
Descent lamb(const LambOptions& options = {});

struct RpropOptions {
  LearningRate rate = 0.01;  ///< the first steps; later ones are the rule's own
  double shrink = 0.5;
  double grow = 1.2;
  double smallest_step = 1e-6;
  double largest_step = 50;
};
/// Steps by the gradient's sign alone, which grow while the sign stays and shrink where it turns (Riedmiller, Braun
/// 1993). For gradients of all the data.
Descent rprop(const RpropOptions& options = {});

struct AsgdOptions {
  LearningRate rate = 0.01;
  double decay = 1e-4;        ///< lambda: what the parameter shrinks by, times the step
  double power = 0.75;        ///< of the fall of the step
  double average_from = 1e6;  ///< the count from which on the average is taken; before it is the parameter itself
  double weight_decay = 0;
};
/// w -= step * (g + decay * w), step = rate / (1 + decay * rate * (t - 1))^power, and the mean of all w since
/// `average_from` as the state "average" (Polyak, Juditsky 1992).
Descent asgd(const AsgdOptions& options = {});

struct AdafactorOptions {
  LearningRate rate = 0.01;             ///< the largest step relative to the parameter
  double decay_power = -0.8;            ///< the mean of squares forgets by t^decay_power
  std::optional<double> epsilon1 = {};  ///< the root of the least mean of squares; none: the spacing of numbers at 1
  double epsilon2 = 1e-3;               ///< the least root mean square of a parameter that steps are relative to
  double clip = 1;                      ///< changes of a larger root mean square are scaled down to it
  double weight_decay = 0;              ///< times the rate and the parameter, subtracted beside the change
};
/// Adam's division by a root of squares from the means of its rows and columns alone, along the last two axes; vectors
/// keep all squares (Shazeer, Stern 2018).
Descent adafactor(const AdafactorOptions& options = {});

/// What Muon's step of a matrix (in, out) is multiplied by: `shape` by sqrt(max(1, out / in)), `adam` by
/// 0.2 sqrt(max(in, out)), which is as long as Adam's, so that its rates and decays go on.
enum class MuonScale : std::uint8_t { shape, adam };
struct MuonOptions {
  LearningRate rate = 0.001;
  double momentum = 0.95;
  bool nesterov = true;
  double weight_decay = 0.1;  ///< times the rate and the parameter, subtracted beside the change
  MuonScale scale = MuonScale::shape;
  std::int64_t iterations = 5;  ///< of Newton and Schulz
  double epsilon = 1e-7;        ///< the least norm that is divided by
};
/// The momentum made nearly orthogonal, all its singular values near 1 (Jordan 2024). For parameters of two or more
/// axes, whose last one stands against the others together: weights of linear layers and convolutions. Embeddings, the
/// last layer, biases and norms want another rule:
///
///     nn::Descent descent = nn::adamw().use(nn::muon({.rate = 0.02}), hidden_weights);
Descent muon(const MuonOptions& options = {});

struct LbfgsOptions {
  LearningRate rate = 1;
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
