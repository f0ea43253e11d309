// The gradients in ops/elementwise.def as rules: each expression becomes a function of operands, result and gradient.
#include "ops/elementwise_gradients.hpp"

#include <type_traits>

#include "ops/define.hpp"

namespace tyto::core {

namespace {

struct Nondifferentiable {};
constexpr Nondifferentiable nondiff;

template <class Expression>
constexpr bool differentiable = !std::is_same_v<Expression, Nondifferentiable>;

using T = AnyTensor;

// Gradient for operand i: its expression, summed over what broadcasting stretched.
template <class Gradient, class... Operands>
void add_gradient(std::vector<Value>& out, const GradientContext& context, const Gradient& gradient,
                  const Operands&... operands) {
  const std::size_t i = out.size();
  if constexpr (differentiable<decltype(gradient(operands...))>) {
    if (context.needed[i]) {
      out.push_back(sum_to(gradient(operands...), context.inputs[i].shape()));
      return;
    }
  }
  out.emplace_back();
}

}  // namespace

#define TYTO_UNARY(name, domain, expression, gradient, ...)                                 \
  GradientRule gradient_of_##name() {                                                       \
    static constexpr auto dx = []([[maybe_unused]] const T& x, [[maybe_unused]] const T& y, \
                                  [[maybe_unused]] const T& g) { return gradient; };        \
    if constexpr (!differentiable<decltype(dx(T(), T(), T()))>) return nullptr;             \
    return [](const GradientContext& c) {                                                   \
      std::vector<Value> out;                                                               \
      add_gradient(out, c, dx, T(c.inputs[0]), T(c.results[0]), T(c.gradients[0]));         \
      return out;                                                                           \
    };                                                                                      \
  }
#define TYTO_BINARY(name, domain, expression, gradient_a, gradient_b, ...)                                          \
  GradientRule gradient_of_##name() {                                                                               \
    static constexpr auto da = []([[maybe_unused]] const T& a, [[maybe_unused]] const T& b,                         \
                                  [[maybe_unused]] const T& y, [[maybe_unused]] const T& g) { return gradient_a; }; \
    static constexpr auto db = []([[maybe_unused]] const T& a, [[maybe_unused]] const T& b,                         \
                                  [[maybe_unused]] const T& y, [[maybe_unused]] const T& g) { return gradient_b; }; \
    if constexpr (!differentiable<decltype(da(T(), T(), T(), T()))>) return nullptr;                                \
    return [](const GradientContext& c) {                                                                           \
      const T a(c.inputs[0]), b(c.inputs[1]), y(c.results[0]), g(c.gradients[0]);                                   \
      std::vector<Value> out;                                                                                       \
      add_gradient(out, c, da, a, b, y, g);                                                                         \
      add_gradient(out, c, db, a, b, y, g);                                                                         \
      return out;                                                                                                   \
    };                                                                                                              \
  }
#define TYTO_TERNARY(name, domain, expression, gradient_a, gradient_b, gradient_c, ...)                             \
  GradientRule gradient_of_##name() {                                                                               \
    static constexpr auto da = []([[maybe_unused]] const T& a, [[maybe_unused]] const T& b,                         \
                                  [[maybe_unused]] const T& c, [[maybe_unused]] const T& g) { return gradient_a; }; \
    static constexpr auto db = []([[maybe_unused]] const T& a, [[maybe_unused]] const T& b,                         \
                                  [[maybe_unused]] const T& c, [[maybe_unused]] const T& g) { return gradient_b; }; \
    static constexpr auto dc = []([[maybe_unused]] const T& a, [[maybe_unused]] const T& b,                         \
                                  [[maybe_unused]] const T& c, [[maybe_unused]] const T& g) { return gradient_c; }; \
    return [](const GradientContext& context) {                                                                     \
      const T a(context.inputs[0]), b(context.inputs[1]), c(context.inputs[2]), g(context.gradients[0]);            \
      std::vector<Value> out;                                                                                       \
      add_gradient(out, context, da, a, b, c, g);                                                                   \
      add_gradient(out, context, db, a, b, c, g);                                                                   \
      add_gradient(out, context, dc, a, b, c, g);                                                                   \
      return out;                                                                                                   \
    };                                                                                                              \
  }
#include "tyto/ops/elementwise.def"
#undef TYTO_UNARY
#undef TYTO_BINARY
#undef TYTO_TERNARY

}  // namespace tyto::core
