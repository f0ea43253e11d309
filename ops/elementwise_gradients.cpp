// SPDX-License-Identifier: MIT
// The gradients in ops/elementwise.def as rules: each expression becomes a function of operands, result and gradient.
#include "ops/elementwise_gradients.hpp"

#include <iterator>
#include <type_traits>
#include <utility>

#include "ops/define.hpp"
#include "tyto/complex.hpp"

namespace tyto::core {

namespace {

struct Nondifferentiable {};
constexpr Nondifferentiable nondiff;

template <class Expression>
constexpr bool differentiable = !std::is_same_v<Expression, Nondifferentiable>;

using T = AnyTensor;

bool is_holomorphic(OpId op) { return definition(op).is(Traits::is_holomorphic); }

// Without the difference of x and y = x sigmoid(x), which is lost where they are large.
T silu_gradient(const T& x) {
  const T s = sigmoid(x);
  return s * (1.0 + x * (1.0 - s));
}

// A complex derivative times g is a gradient when both are conjugated (PyTorch's convention: the gradient points where
// the real objective grows fastest).
template <class Rule>
std::vector<Value> conjugated_around(bool holomorphic, const T& g, const Rule& rule) {
  if (!holomorphic || !is_complex(g.dtype())) return rule(g);
  std::vector<Value> out = rule(conj(g));
  for (Value& gradient : out) {
    if (gradient) gradient = conj(T(gradient));
  }
  return out;
}

// A leg over the hypotenuse, and over its square, which may overflow or vanish where the quotient does not. A point
// has no direction at the origin, where the gradients of hypot and atan2 are 0.
T over(const T& leg, const T& hypotenuse) { return leg / where(equal(hypotenuse, 0), 1, hypotenuse); }
T over_square(const T& leg, const T& hypotenuse) { return over(over(leg, hypotenuse), hypotenuse); }

// The derivative of trigamma, of operators that have derivatives of any order: up from at least 1/2 by recurrence to
// where the asymptotic series has converged, reflected below.
T tetragamma(const T& x) {
  const T low = less(x, 0.5);
  T y = where(low, 1.0 - x, x);
  T sum = 0.0;
  for (int i = 0; i < 12; ++i) {
    const T inverse = reciprocal(y);
    sum = sum - 2.0 * inverse * inverse * inverse;
    y = y + 1.0;
  }
  const T inverse = reciprocal(y), z = square(inverse);
  const double coefficients[] = {-1.0, -0.5, 1.0 / 6, -1.0 / 6, 3.0 / 10, -5.0 / 6, 691.0 / 210, -35.0 / 2};
  T series = 0.0;
  for (std::size_t i = std::size(coefficients); i-- > 0;) series = series * z + coefficients[i];
  const T positive = sum + z * (series - inverse);
  // psi''(x) = psi''(1 - x) - 2 pi^3 cos(pi x) / sin(pi x)^3, taken where it is not needed at a harmless place.
  constexpr double pi = 3.14159265358979324;
  const T angle = pi * where(low, x - round(x), 0.5), sine = sin(angle);
  return positive - where(low, 2.0 * pi * pi * pi * cos(angle) / (sine * sine * sine), 0.0);
}

// Where a power of a is zero for every exponent near b.
T stays_zero(const T& a, const T& b) { return equal(a, 0) && greater_equal(real(b), 0); }

// The direction of a complex number turns with what stands at right angles to it; a sign has no gradient.
T turned(const T& x, const T& y, const T& g) {
  if (!is_complex(x.dtype())) return {};
  const T size = abs(x), none = equal(size, 0);
  return where(none, 0, (g - y * real(conj(y) * g)) / where(none, 1, size));
}

/// Functions of floating-point numbers, whose gradients are made of several operators.
constexpr bool is_composed(OpId op, Domain domain) { return domain == Domain::floating || op == OpId::power; }

// Gradient for operand i: its expression, summed over what broadcasting stretched.
template <class Gradient, class... Operands>
void add_gradient(std::vector<Value>& out, const GradientContext& context, const Gradient& gradient,
                  const Operands&... operands) {
  const std::size_t i = out.size();
  if constexpr (differentiable<decltype(gradient(operands...))>) {
    if (context.needed[i]) {
      const T found = gradient(operands...);
      out.push_back(found.defined() ? sum_to(found, context.inputs[i].shape()) : Value());
      return;
    }
  }
  out.emplace_back();
}

// The gradients for operands 0, 1, ... are functions of all operands, the result and its gradient.
template <OpId op, Domain domain, std::size_t... i, class... Gradients>
GradientRule rule_of(std::index_sequence<i...>, Gradients...) {
  if constexpr (!(differentiable<decltype(Gradients()((static_cast<void>(i), T())..., T(), T()))> || ...)) {
    return nullptr;
  } else {
    static constexpr GradientRule rule = [](const GradientContext& c) -> std::vector<Value> {
      return conjugated_around(is_holomorphic(op), c.gradients[0], [&](const T& g) {
        std::vector<Value> out;
        const auto add = [&](const auto&... operands) { (add_gradient(out, c, Gradients(), operands...), ...); };
        add(T(c.inputs[i])..., T(c.results[0]), g);
        return out;
      });
    };
    if constexpr (!is_composed(op, domain)) return rule;
    else return [](const GradientContext& of) { return in_f32(rule, of); };
  }
}

}  // namespace

#define TYTO_OPERAND [[maybe_unused]] const T&
#define TYTO_UNARY(name, domain, expression, gradient, ...)                                                 \
  GradientRule gradient_of_##name() {                                                                       \
    return rule_of<OpId::name, Domain::domain>(                                                             \
        std::index_sequence<0>(), [](TYTO_OPERAND x, TYTO_OPERAND y, TYTO_OPERAND g) { return gradient; }); \
  }
#define TYTO_BINARY(name, domain, expression, gradient_a, gradient_b, ...)                          \
  GradientRule gradient_of_##name() {                                                               \
    return rule_of<OpId::name, Domain::domain>(                                                     \
        std::index_sequence<0, 1>(),                                                                \
        [](TYTO_OPERAND a, TYTO_OPERAND b, TYTO_OPERAND y, TYTO_OPERAND g) { return gradient_a; },  \
        [](TYTO_OPERAND a, TYTO_OPERAND b, TYTO_OPERAND y, TYTO_OPERAND g) { return gradient_b; }); \
  }
#define TYTO_TERNARY(name, domain, expression, gradient_a, gradient_b, gradient_c, ...)                           \
  GradientRule gradient_of_##name() {                                                                             \
    return rule_of<OpId::name, Domain::domain>(                                                                   \
        std::index_sequence<0, 1, 2>(),                                                                           \
        [](TYTO_OPERAND a, TYTO_OPERAND b, TYTO_OPERAND c, TYTO_OPERAND, TYTO_OPERAND g) { return gradient_a; },  \
        [](TYTO_OPERAND a, TYTO_OPERAND b, TYTO_OPERAND c, TYTO_OPERAND, TYTO_OPERAND g) { return gradient_b; },  \
        [](TYTO_OPERAND a, TYTO_OPERAND b, TYTO_OPERAND c, TYTO_OPERAND, TYTO_OPERAND g) { return gradient_c; }); \
  }
#include "tyto/ops/elementwise.def"
#undef TYTO_UNARY
#undef TYTO_BINARY
#undef TYTO_TERNARY
#undef TYTO_OPERAND

}  // namespace tyto::core
