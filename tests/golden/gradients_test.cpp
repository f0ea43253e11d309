// SPDX-License-Identifier: MIT
// Gradients of every differentiable operator against finite differences in f64, first and second, in both modes.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <set>

#include "ops/define.hpp"
#include "tests/golden/differences.hpp"
#include "tests/golden/reach.hpp"
#include "tyto/autodiff.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/graph.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

using namespace tyto;
using namespace tyto::golden;
using core::OpDef;
using core::OpId;

namespace {

/// The operators of whose gradient rules the results were held against differences.
std::set<OpId>& differentiated() {
  static std::set<OpId> operators;
  return operators;
}

constexpr std::uint64_t sown = 20240229;

/// The same function in both modes.
struct Both {
  Function<Eager> eager;
  Function<Lazy> lazy;
};

Tensors<Lazy> to_lazy(const Tensors<Eager>& tensors) {
  Tensors<Lazy> found;
  for (const Tensor<Eager>& each : tensors) found.push_back(tensor_of<Lazy>(array_of(each)));
  return found;
}

/// The results of a lazy function, compiled.
Tensors<Eager> compiled(const Function<Lazy>& f, const Tensors<Eager>& inputs) {
  Tensors<Eager> found;
  for (const Tensor<Lazy>& each : call_compiled(f, to_lazy(inputs))) found.push_back(tensor_of<Eager>(array_of(each)));
  return found;
}

/// The operators on the way from inputs to results.
std::set<OpId> way_through(const Function<Lazy>& f, const Tensors<Eager>& inputs) {
  std::vector<Value> results, given;
  const Tensors<Lazy> arguments = to_lazy(inputs);
  for (const Tensor<Lazy>& each : f(arguments)) results.push_back(each);
  for (const Tensor<Lazy>& each : arguments) given.push_back(each);
  return operators_between(results, given);
}

void note(const Function<Lazy>& f, const Tensors<Eager>& inputs) { differentiated().merge(way_through(f, inputs)); }

/// Whether f is made of an operator with a gradient that is not among those known; all of them are from then on.
bool brings_news(const Function<Lazy>& f, const Tensors<Eager>& inputs, std::set<OpId>& known) {
  bool news = false;
  for (const OpId op : way_through(f, inputs)) {
    if (core::definition(op).gradient != nullptr && known.insert(op).second) news = true;
  }
  return news;
}

/// Dice of its own for each case: what one draws does not depend on the others that run.
placed::Dice dice_for(const std::string& name) {
  std::uint64_t seed = sown;
  for (const char letter : name) seed = (seed ^ static_cast<unsigned char>(letter)) * 0x100000001b3;  // FNV-1a
  return placed::Dice(seed);
}

/// Holds the gradients of the sum of weight * output along a few directions against differences. A direction along
/// which a kink lies among the points, so that two widths disagree, is left for another one. False where all are.
bool check_along_directions(const std::string& name, const Both& f, const Tensors<Eager>& inputs, placed::Dice& dice) {
  const Tensors<Eager> weights = random_like(f.eager(inputs), dice);
  const Tensors<Eager> eager = gradients_of(f.eager, weights)(inputs);
  const Tensors<Eager> lazy = compiled(gradients_of(f.lazy, to_lazy(weights)), inputs);
  double size = 1;
  for (const Tensor<Eager>& each : eager) size += sum(abs(each)).item<double>();
  constexpr int wanted = 3, most_drawn = 12;
  int smooth = 0;
  for (int drawn = 0; drawn < most_drawn && smooth < wanted; ++drawn) {
    const Tensors<Eager> direction = random_like(inputs, dice);
    const auto along = [&](double t) { return inner_product(weights, f.eager(moved(inputs, direction, t))); };
    const double want = derivative(along);
    if (std::abs(derivative(along, step / 2) - want) > 1e-7 * size) continue;
    ++smooth;
    for (const auto& [mode, gradients] :
         {std::pair(std::string("eager"), &eager), std::pair(std::string("lazy"), &lazy)}) {
      const double got = inner_product(*gradients, direction);
      if (!(std::abs(got - want) <= 1e-7 * size)) {
        FAIL_CHECK(name << " (" << mode << "): the derivative is " << want << ", the gradient says " << got);
      }
    }
  }
  if (smooth > 0) note(f.lazy, inputs);
  return smooth > 0;
}

template <class M>
Function<M> elementwise(OpId op, std::size_t operands, const Tensor<M>& condition) {
  return [=](const Tensors<M>& x) {
    std::vector<Value> values;
    if (operands > x.size()) values.push_back(condition);
    for (const Tensor<M>& each : x) values.push_back(each);
    return Tensors<M>{Tensor<M>(core::emit_elementwise(op, values))};
  };
}

/// Derivative of f's only result with respect to operand `which`, place by place, and whether f is smooth there.
struct Gradient {
  std::vector<double> value;
  std::vector<bool> smooth;
};
Gradient gradient_of(const Function<Eager>& f, const Tensors<Eager>& x, std::size_t which) {
  const auto along = [&](double t) {
    Tensors<Eager> there = x;
    there[which] = there[which] + t;
    return cast(f(there).at(0), DType::f64).to_vector<double>();
  };
  Gradient gradient{derivatives(along, step), {}};
  const std::vector<double> half = derivatives(along, step / 2);
  // Where a kink or a jump lies among the points, two widths disagree.
  for (std::size_t i = 0; i < half.size(); ++i) {
    gradient.smooth.push_back(std::abs(half[i] - gradient.value[i]) <= 1e-6 * (1 + std::abs(half[i])));
  }
  return gradient;
}

/// Holds every partial derivative of a function that works element by element against differences.
void check_everywhere(const std::string& name, const Both& f, const Tensors<Eager>& x, bool nondifferentiable) {
  const std::vector<Array> found = [&] {
    std::vector<Array> arrays;
    const Tensors<Eager> ones = {ones_like(x[0])};
    const Both gradients{gradients_of(f.eager, ones), gradients_of(f.lazy, to_lazy(ones))};
    for (const Tensor<Eager>& each : gradients.eager(x)) arrays.push_back(array_of(each));
    for (const Tensor<Eager>& each : compiled(gradients.lazy, x)) arrays.push_back(array_of(each));
    return arrays;
  }();
  for (std::size_t which = 0; which < x.size(); ++which) {
    const Gradient want = gradient_of(f.eager, x, which);
    const auto smooth = std::count(want.smooth.begin(), want.smooth.end(), true);
    CHECK_MESSAGE(2 * smooth > x[0].size(), name, " is smooth at no more than ", smooth, " places");
    for (const std::size_t mode : {0, 1}) {
      const Array& got = found.at(mode * x.size() + which);
      for (std::size_t i = 0; i < want.value.size(); ++i) {
        const double gradient = element(got, static_cast<std::int64_t>(i));
        if (!want.smooth[i] || std::abs(gradient - want.value[i]) <= 1e-6 * (1 + std::abs(want.value[i]))) continue;
        const std::string where = name + ", operand " + std::to_string(which) + (mode == 0 ? " (eager)" : " (lazy)");
        const std::string why = nondifferentiable ? "; the operator is declared nondifferentiable" : "";
        FAIL_CHECK(where << ": the derivative is " << want.value[i] << ", the gradient says " << gradient << why);
        break;
      }
    }
  }
}

}  // namespace

TEST_CASE("gradients of element-wise operators are their derivatives, and so are the gradients' gradients") {
  placed::Dice dice(sown);
  constexpr std::int64_t places = 24;
  for (const OpDef& def : core::op_table()) {
    // Operators on bits take no floating operand.
    if (!def.is(core::Traits::elementwise) || def.domain == core::Domain::bitwise ||
        def.domain == core::Domain::integer) {
      continue;
    }
    const std::string name(def.name);
    const auto operands = static_cast<std::size_t>(def.min_inputs);
    Tensors<Eager> x;
    const bool chooses = def.domain == core::Domain::selection;
    for (std::size_t i = chooses ? 1 : 0; i < operands; ++i) {
      std::vector<double> values;
      for (std::int64_t k = 0; k < places; ++k) values.push_back(def.low + (def.high - def.low) * dice.unit());
      x.push_back(Tensor<Eager>::from(values, {places}));
    }
    const Tensor<Eager> condition = Tensor<Eager>::arange(places) % 3 == 0;
    const Both f{elementwise<Eager>(def.id, operands, condition),
                 elementwise<Lazy>(def.id, operands, to_lazy({condition})[0])};
    if (!is_floating(f.eager(x).at(0).dtype())) {
      // No gradient comes from a truth value: what is made of it does not depend on x as far as gradients go.
      const auto numbers = [](const auto& truths) {
        return [truths](const auto& given) {
          return std::decay_t<decltype(given)>{cast(truths(given).at(0), DType::f64)};
        };
      };
      check_everywhere(name, {numbers(f.eager), numbers(f.lazy)}, x, true);
      continue;
    }
    check_everywhere(name, f, x, def.gradient == nullptr);
    note(f.lazy, x);
    const Tensors<Eager> ones = {ones_like(x[0])};
    const Both gradients{gradients_of(f.eager, ones), gradients_of(f.lazy, to_lazy(ones))};
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto one_of = [i](const auto& several) {
        return [several, i](const auto& given) { return std::decay_t<decltype(given)>{several(given).at(i)}; };
      };
      check_everywhere(name + "'s gradient for operand " + std::to_string(i),
                       {one_of(gradients.eager), one_of(gradients.lazy)}, x, false);
    }
  }
}

TEST_CASE("gradients of the other operators are their derivatives in the goldens' shapes, and so are theirs") {
  std::set<std::string> seen;
  std::set<OpId> known;
  for (const Case& one : committed().cases()) {
    if (one.gradients.empty() || one.family == "elementwise") continue;
    // Its derivative jumps wherever a place crosses an element; the goldens hold its gradients.
    if (one.op == "grid_sample") continue;
    std::string signature = one.op + one.arguments.dump();
    for (const Array* input : one.inputs) {
      for (const std::int64_t length : input->shape) signature += " " + std::to_string(length);
      signature += ",";
    }
    if (!seen.insert(signature).second) continue;
    placed::Dice dice = dice_for(one.id);
    // Whether the function is smooth around the numbers drawn.
    const auto check_drawn = [&](std::set<OpId>& news) {
      const Tensors<Eager> given = inputs_for_differences(one, dice);
      const Tensors<Eager> inputs = floating_ones(given);
      const auto floats = [](const auto& f) { return [f](const auto& x) { return floating_ones(f(x)); }; };
      const Both f{floats(function_of(one, given)), floats(function_of(one, to_lazy(given)))};
      const auto squares = [](const auto& g) {
        return [g](const auto& x) {
          auto results = g(x);
          for (auto& each : results) each = square(each);
          return results;
        };
      };
      if (!check_along_directions(one.id, f, inputs, dice)) return false;
      brings_news(f.lazy, inputs, news);
      // Of the square, so that the gradient's own operators depend on x as well; and further as long as each gradient
      // is made of operators not seen before.
      Both gradients{squares(f.eager), squares(f.lazy)};
      std::string name = one.id;
      for (int order = 1; order <= 4; ++order) {
        const Tensors<Eager> weights = random_like(gradients.eager(inputs), dice);
        gradients = {gradients_of(gradients.eager, weights), gradients_of(gradients.lazy, to_lazy(weights))};
        name += "'s gradient";
        if (!brings_news(gradients.lazy, inputs, news) && order > 1) break;
        if (!check_along_directions(name, gradients, inputs, dice)) return false;
      }
      return true;
    };
    try {
      bool smooth = false;
      for (int draw = 0; draw < 4 && !smooth; ++draw) {
        std::set<OpId> news = known;
        smooth = check_drawn(news);
        if (smooth) known = news;
      }
      CHECK_MESSAGE(smooth, one.id, " has a kink near all the numbers drawn");
    } catch (const std::exception& error) {
      FAIL_CHECK(one.id << ": " << std::string(error.what()));
    }
  }
}

TEST_CASE("what passes values on passes gradients on, and stop_gradient does not") {
  placed::Dice dice(sown);
  // Numbers and steps that f32 holds exactly, so that the difference sees no rounding.
  const Tensors<Eager> x = {Tensor<Eager>::from(std::vector<double>{-1.5, 0.25, 0.75, 2}, {4})};
  const auto both = [](const auto& f) {
    return Both{[f](const Tensors<Eager>& in) { return Tensors<Eager>{f(in[0])}; },
                [f](const Tensors<Lazy>& in) { return Tensors<Lazy>{f(in[0])}; }};
  };
  CHECK(check_along_directions("copy", both([](const auto& in) { return copy(in) * in; }), x, dice));
  check_everywhere("cast", both([](const auto& in) { return cast(cast(in, DType::f32), DType::f64); }), x, false);
  note(both([](const auto& in) { return cast(in, DType::f32); }).lazy, x);
  const Both ruled = both([](const auto& in) {
    using T = std::decay_t<decltype(in)>;
    return custom_gradient<T>(
        [](const std::vector<T>& of) { return of[0] * of[0]; },
        [](const std::vector<T>& of, const T&, const T& g) { return std::vector<T>{2.0 * g * of[0]}; })({in});
  });
  CHECK(check_along_directions("with_gradient", ruled, x, dice));
  const auto held = [](const auto& in) { return sum(stop_gradient(in) * in); };
  CHECK(grad(held)(x[0]).to_vector<double>() == x[0].to_vector<double>());
  CHECK(grad(held)(to_lazy(x)[0]).to_vector<double>() == x[0].to_vector<double>());
}

TEST_CASE("every differentiable operator was held against differences") {
  static const std::map<std::string, std::string> exempt = {
      {"read", "a version of a state: tests of value_and_grad over variables"},
      {"custom", "its gradient is a user's"},
      {"send", "a message between processes: tests/distributed/messages_test.cpp"},
      {"recv", "a message between processes: tests/distributed/messages_test.cpp"},
      {"all_reduce", "a sum over processes: tests/distributed/operators_test.cpp"},
      {"all_gather", "a sum over processes: tests/distributed/operators_test.cpp"},
      {"reduce_scatter", "a sum over processes: tests/distributed/operators_test.cpp"},
      {"broadcast", "a sum over processes: tests/distributed/operators_test.cpp"},
      {"barrier", "a sum over processes: tests/distributed/operators_test.cpp"},
      {"branch", "its gradient is held against JAX and eager mode: tests/flow/goldens_test.cpp"},
      {"loop", "its gradient is held against JAX and eager mode: tests/flow/goldens_test.cpp"},
  };
  for (const OpDef& def : core::op_table()) {
    if (def.gradient == nullptr || differentiated().contains(def.id) || exempt.contains(std::string(def.name)))
      continue;
    FAIL_CHECK("no difference was taken of '" << std::string(def.name) << "': it needs a golden in f64");
  }
}
