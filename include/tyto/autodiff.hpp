// SPDX-License-Identifier: MIT
// Gradients as functions of functions: grad, value_and_grad, vjp, jvp, jacobian, hessian; all nest.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tyto/shaping.hpp"
#include "tyto/tensor.hpp"

namespace tyto TYTO_API {

namespace detail {

/// A gradient tape: while it is alive, operations on the values that it tracks are recorded.
class Tape {
 public:
  Tape();
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  /// Tracks the value, and returns it as a node of its own, with respect to which gradients are taken.
  Value track(const Value& value);
  /// Tracks what reads of a variable yield while the tape lives. They are as lazy as the values `beside` which the
  /// variable is used: a layer's parameters belong to neither mode.
  void track_state(const Value& state, const std::vector<Value>& beside);

  /// Gradients of `results` (weighted by `cotangents`; ones when empty) with respect to everything tracked, in order.
  /// Zeros where a result does not depend on it.
  std::vector<Value> gradients(const std::vector<Value>& results, const std::vector<Value>& cotangents = {});

  /// Derivatives of `results` along tangents of everything tracked, through two reverse passes.
  std::vector<Value> push_forward(const std::vector<Value>& results, const std::vector<Value>& tangents);

 private:
  Value track_beside(const Value& value, const std::vector<Value>& beside);

  std::uint32_t id_;
  std::vector<Value> targets_;
  std::vector<Value> roots_;                     // what gradients were taken of
  std::vector<std::pair<Value, Value>> states_;  // handle, version before
};

void check_scalar(const char* function, const Value& loss);

template <class... T>
std::vector<Value> values_among(const T&... arguments) {
  std::vector<Value> values;
  const auto add = [&values]<class A>(const A& argument) {
    if constexpr (std::is_convertible_v<const A&, Value>) values.push_back(argument);
  };
  (add(arguments), ...);
  static_cast<void>(add);  // there may be no arguments
  return values;
}

template <class M>
const Tensor<M>& loss_of(const Tensor<M>& result) {
  return result;
}
template <class M, class... Rest>
const Tensor<M>& loss_of(const std::tuple<Tensor<M>, Rest...>& result) {
  return std::get<0>(result);
}
template <class M, class B>
const Tensor<M>& loss_of(const std::pair<Tensor<M>, B>& result) {
  return result.first;
}
template <class T>
Tensor<Any> loss_of(const T&) {
  static_assert(detail::always_false<T>,
                "a function whose gradient is taken returns a tensor, or a tuple or pair with one first");
  return {};
}

template <class M, std::size_t>
using OneOf = Tensor<M>;

template <class M, class F, std::size_t... i>
auto call_with(F& f, const std::vector<Value>& inputs, std::index_sequence<i...>) {
  // An operator without an address has a body with errors, which are told already, or is a template: a call tells.
  constexpr bool fit = std::is_invocable_v<F&, OneOf<M, i>...> || !requires { &F::operator(); };
  static_assert(fit, "the function takes other arguments, or one by `Tensor&` (they are values)");
  if constexpr (fit) return f(Tensor<M>(inputs[i])...);
  else return Tensor<M>();
}

std::ostream& print_list(std::ostream& out, const std::vector<Value>& values);

}  // namespace detail

/// A list of tensors, such as gradients, between square brackets.
template <class M>
std::ostream& operator<<(std::ostream& out, const std::vector<Tensor<M>>& tensors) {
  return detail::print_list(out, std::vector<Value>(tensors.begin(), tensors.end()));
}

/// The value as a constant of differentiation: no gradient flows through it.
template <class M>
[[nodiscard]] Tensor<M> stop_gradient(const Tensor<M>& x);

/// `f` and its gradients with respect to the listed arguments: value_and_grad(f, {0, 1})(x, y) yields the value and a
/// vector of gradients. Where f returns a tuple or pair, its first element is the loss.
template <class F>
auto value_and_grad(F f, std::vector<std::size_t> arguments = {0}) {
  return [f = std::move(f), arguments = std::move(arguments)]<class M, class... Rest>(const Tensor<M>& first,
                                                                                      const Rest&... rest) mutable {
    std::vector<Value> inputs{first, rest...};
    detail::Tape tape;
    for (const std::size_t i : arguments) {
      if (i >= inputs.size()) throw IndexError("value_and_grad: there is no argument number " + std::to_string(i));
      inputs[i] = tape.track(inputs[i]);
    }
    auto value = detail::call_with<M>(f, inputs, std::make_index_sequence<1 + sizeof...(Rest)>());
    const Value loss = detail::loss_of(value);
    detail::check_scalar("value_and_grad", loss);
    std::vector<Tensor<M>> gradients;
    for (const Value& gradient : tape.gradients({loss})) gradients.emplace_back(gradient);
    return std::pair(std::move(value), std::move(gradients));
  };
}

/// `f` and its gradients with respect to variables that it uses: value_and_grad(loss, model.parameters())(x, t). Zeros
/// for those that the loss does not depend on; GraphError where f reads none of them.
template <class F, class M>
auto value_and_grad(F f, std::vector<Tensor<M>> parameters) {
  return [f = std::move(f), parameters = std::move(parameters)](const auto&... inputs) mutable {
    detail::Tape tape;
    for (const Tensor<M>& parameter : parameters) tape.track_state(parameter, detail::values_among(inputs...));
    auto value = f(inputs...);
    const Value loss = detail::loss_of(value);
    detail::check_scalar("value_and_grad", loss);
    std::vector<Tensor<M>> gradients;
    for (const Value& gradient : tape.gradients({loss})) gradients.emplace_back(gradient);
    return std::pair(std::move(value), std::move(gradients));
  };
}
template <class F, class Model>
requires requires(const Model& model) { model.parameters(); }
auto value_and_grad(F f, const Model& model) {
  static_assert(detail::always_false<Model>, "value_and_grad takes model.parameters(), not the model");
  return value_and_grad(std::move(f), model.parameters());
}
template <class F, class M>
auto value_and_grad(F f, const Tensor<M>& x) {
  static_assert(detail::always_false<M>, "write value_and_grad(f)(x), or of a variable w value_and_grad(f, {w})(x)");
  return value_and_grad(std::move(f), std::vector<Tensor<M>>{x});
}
/// The same of variables in braces.
template <class F, class M>
auto value_and_grad(F f, std::initializer_list<Tensor<M>> parameters) {
  return value_and_grad(std::move(f), std::vector<Tensor<M>>(parameters));
}

/// The gradient of `f` with respect to its first argument. grad(grad(f)) is the second derivative.
///
///     auto gradient = grad([](Tensor x) { return sum(x * x); })(x);   // 2 * x
template <class F>
auto grad(F f) {
  return [g = value_and_grad(std::move(f))]<class A>(const A& first, const auto&... rest) mutable {
    static_assert(!std::is_arithmetic_v<A>, "a gradient is taken by a tensor: grad(f)(Tensor(2.0))");
    if constexpr (std::is_arithmetic_v<A>) return Tensor<Any>(first);
    else return g(first, rest...).second[0];
  };
}
/// The gradients of `f` with respect to variables that it uses: grad(loss, model.parameters())(x, t).
template <class F, class M>
auto grad(F f, std::vector<Tensor<M>> parameters) {
  return [g = value_and_grad(std::move(f), std::move(parameters))](const auto&... arguments) mutable {
    return g(arguments...).second;
  };
}

/// Value of `f` at `inputs` and the gradients of its result weighted by `cotangent`.
template <class F, class M>
auto vjp(F f, const std::vector<Tensor<M>>& inputs, const std::type_identity_t<Tensor<M>>& cotangent) {
  detail::Tape tape;
  std::vector<Tensor<M>> tracked;
  for (const Tensor<M>& input : inputs) tracked.emplace_back(tape.track(input));
  const Tensor<M> value = f(tracked);
  std::vector<Tensor<M>> gradients;
  for (const Value& gradient : tape.gradients({value}, {cotangent})) gradients.emplace_back(gradient);
  return std::pair(value, gradients);
}

/// Value of `f` at `inputs` and its derivative along `tangents`.
template <class F, class M>
auto jvp(F f, const std::vector<Tensor<M>>& inputs, const std::vector<Tensor<M>>& tangents) {
  detail::Tape tape;
  std::vector<Tensor<M>> tracked;
  for (const Tensor<M>& input : inputs) tracked.emplace_back(tape.track(input));
  const Tensor<M> value = f(tracked);
  const std::vector<Value> directions(tangents.begin(), tangents.end());
  return std::pair(value, Tensor<M>(tape.push_forward({value}, directions)[0]));
}

/// All first derivatives: jacobian(f)(x) has the shape of f(x) followed by the shape of x.
template <class F>
auto jacobian(F f) {
  return [f = std::move(f)]<class M>(const Tensor<M>& x) mutable {
    detail::Tape tape;
    const Tensor<M> input = tape.track(x);
    const Tensor<M> y = f(input);
    const std::int64_t count = y.size();
    std::vector<Tensor<M>> rows;
    const Tensor<M> unit = Tensor<M>::eye(count, count, 0, y.dtype());
    for (std::int64_t i = 0; i < count; ++i) {
      rows.emplace_back(tape.gradients({y}, {reshape(std::as_const(unit)(i), y.shape())})[0]);
    }
    Shape shape = y.shape();
    for (const std::int64_t length : x.shape()) shape.push_back(length);
    return rows.empty() ? Tensor<M>::zeros(shape, x.dtype()) : reshape(stack(rows, 0), shape);
  };
}

/// All second derivatives of a function with one number as result.
template <class F>
auto hessian(F f) {
  return jacobian(grad(std::move(f)));
}

/// `f` with a gradient rule of your own: rule(inputs, result, gradient) yields the inputs' gradients.
///
///     auto clipped = custom_gradient<Tensor>(
///         [](const auto& in) { return in[0]; },
///         [](const auto&, const auto&, const auto& gradient) { return std::vector{clip(gradient, -1, 1)}; });
///     const Tensor y = clipped({x});
template <class T>
std::function<T(const std::vector<T>&)> custom_gradient(
    std::function<T(const std::vector<T>&)> f,
    std::function<std::vector<T>(const std::vector<T>& inputs, const T& result, const T& gradient)> rule);

}  // namespace TYTO_API
