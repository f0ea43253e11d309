// SPDX-License-Identifier: MIT
// Passes move nodes out of loops and into arms, leave others where they are, and change no number.
#include <doctest/doctest.h>

#include <functional>
#include <set>
#include <tyto/tyto.hpp>

#include "optimiser/passes/families.hpp"

namespace flow_passes {
namespace {

using T = tyto::Tensor<tyto::Lazy>;
using tyto::DType;
using Numbers = std::vector<float>;
using Function = std::function<T(const T&, const T&)>;

T p() { return T{{1.0, 2.0}, {3.0, 4.0}}; }
T q() { return T{{0.5, -1.0}, {0.25, 2.0}}; }

std::set<std::string>& seen() {
  static std::set<std::string> rules;
  return rules;
}

/// Counts how often a rule fires on a function of two placeholders, whose result must be the same without the passes.
std::size_t fired(const char* rule, const Function& f) {
  const T x = T::placeholder({2, 2}, DType::f32, "x"), y = T::placeholder({2, 2}, DType::f32, "y");
  const auto run = [&](const char* passes) {
    tyto::Graph graph({.inputs = {x, y}, .outputs = {f(x, y)}}, {.check_plan = true, .poison = true, .passes = passes});
    graph.set(x, p());
    graph.set(y, q());
    graph.run();
    return std::pair(graph.output(0).to_vector<float>(), graph.report().passes);
  };
  const auto [values, report] = run("-packing");
  CHECK(values == run("none").first);
  for (const tyto::PassSummary& pass : report.passes) {
    for (const tyto::RuleCount& each : pass.rules) seen().insert(each.rule);
  }
  return report.fired(rule);
}

T repeated(const T& x, const std::function<T(const T&)>& body) {
  return fori_loop(0, 3, x, [&](const T&, const T& c) { return body(c); });
}

}  // namespace

TEST_CASE("loop-invariant nodes are computed once, before the loop") {
  const auto one = [](const T& x, const T& y) {
    return repeated(x, [&](const T& c) { return tanh(c + matmul(y, transpose(y))); });
  };
  CHECK(fired("hoisted", one) == 1);
  const auto shrinking = [](const T& x, const T& y) {
    return repeated(x, [&](const T& c) { return c * exp(y) + sum(y * 2.0); });
  };
  CHECK(fired("hoisted", shrinking) == 2);
  const auto chain = [](const T& x, const T& y) {
    return repeated(x, [&](const T& c) { return c + transpose(matmul(exp(transpose(y)), y) + 1.0); });
  };
  CHECK(fired("hoisted", chain) == 1);
}

TEST_CASE("nodes that are invariant in nested loops are hoisted out of all of them") {
  const auto nested = [](const T& x, const T& y) {
    return repeated(x, [&](const T& c) { return repeated(c, [&](const T& d) { return d * 0.5 + matmul(y, y); }); });
  };
  CHECK(fired("hoisted", nested) == 2);
  const auto whole = [](const T& x, const T& y) {
    return repeated(x, [&](const T& c) { return c + repeated(y, [](const T& d) { return sin(d); }); });
  };
  CHECK(fired("hoisted", whole) == 1);
  const auto outer = [](const T& x, const T& y) {
    return repeated(x, [&](const T& c) {
      const T once = sum(c * y);
      return repeated(c, [&](const T& d) { return d + once * matmul(y, c); });
    });
  };
  CHECK(fired("hoisted", outer) == 1);
}

TEST_CASE("views, constants, element-wise operators that broadcast and users' functions are not hoisted") {
  const auto views = [](const T& x, const T& y) {
    return repeated(x, [&](const T& c) { return c * 2.0 + transpose(y); });
  };
  CHECK(fired("hoisted", views) == 0);
  const auto outer_sum = [](const T& x, const T& y) {
    return repeated(x, [&](const T& c) { return c + y(0).reshape({2, 1}) * y(1).reshape({1, 2}); });
  };
  CHECK(fired("hoisted", outer_sum) == 0);
  const auto varying = [](const T& x, const T& y) {
    return fori_loop(0, 3, x, [&](const T& i, const T& c) { return matmul(c, y * i.astype(DType::f32)); });
  };
  CHECK(fired("hoisted", varying) == 0);
  const auto endless = [](const T& x, const T& y) {
    return repeated(x, [&](const T& c) {
      return c + while_loop(
                     y, [](const T& d) { return sum(d) < 9.0; }, [](const T& d) { return d + 1.0; });
    });
  };
  // The condition of its first iteration is an operand, and moves.
  CHECK(fired("hoisted", endless) == 1);
  int calls = 0;
  const T x = T{1.0, 2.0};
  auto counted = tyto::compile([&](T in) {
    return repeated(in, [&](const T& c) {
      return c + tyto::delay<tyto::Lazy>({2}, DType::f32,
                                         [&](const std::vector<tyto::Tensor<tyto::Eager>>& given) {
                                           ++calls;
                                           return given[0] * 2.0;
                                         },
                                         {in});
    });
  });
  CHECK(counted(x).to_vector<float>() == Numbers{7, 14});
  CHECK(calls == 3);
}

TEST_CASE("a loop that may not end is not hoisted out of a loop that may not run") {
  const auto f = [](const char* passes) {
    return tyto::compile(
        [](T n, T x, T y) {
          return fori_loop(tyto::Count(0), tyto::Count(n), x, [&](const T&, const T& c) {
            return c + while_loop(
                           y, [](const T& d) { return sum(d) < 9.0; }, [](const T& d) { return d * 2.0; });
          });
        },
        {.passes = passes});
  };
  auto hoisted = f(""), written = f("-hoist");
  const T none = T::full({}, 0, DType::i64), two = T::full({}, 2, DType::i64);
  // The body doubles {{1, 1}, {1, 1}} twice.
  CHECK(hoisted(two, p(), T::ones({2, 2})).to_vector<float>() == Numbers{9, 10, 11, 12});
  CHECK(written(two, p(), T::ones({2, 2})).to_vector<float>() == Numbers{9, 10, 11, 12});
  // The inner loop's first condition, a sum and a comparison, is computed before the outer one, and nothing else.
  REQUIRE(hoisted.report().steps == written.report().steps + 2);
  // Zeros doubled never reach the end.
  CHECK(hoisted(none, p(), T::zeros({2, 2})).to_vector<float>() == Numbers{1, 2, 3, 4});
}

TEST_CASE("a loop of constants is not run when the graph is compiled") {
  const auto f = [](const char* passes) {
    return tyto::compile(
        [](T x) {
          return x + while_loop(
                         T::ones({2, 2}), [](const T& d) { return sum(d) < 9.0; }, [](const T& d) { return d * 2.0; });
        },
        {.passes = passes});
  };
  auto folded = f(""), written = f("-constants");
  CHECK(folded(p()).to_vector<float>() == Numbers{5, 6, 7, 8});
  CHECK(written(p()).to_vector<float>() == Numbers{5, 6, 7, 8});
  // Were the loop a constant, the addition would be all that is left.
  CHECK(folded.report().steps > 1);
}

TEST_CASE("a loop without iterations returns its initial carries, whatever was hoisted before it") {
  auto f = tyto::compile([](T n, T x, T y) {
    return fori_loop(tyto::Count(0), tyto::Count(n), x, [&](const T&, const T& c) { return c + matmul(y, y); });
  });
  CHECK(f(T::full({}, 0, DType::i64), p(), q()).to_vector<float>() == Numbers{1, 2, 3, 4});
  CHECK(f(T::full({}, 2, DType::i64), p(), T::ones({2, 2})).to_vector<float>() == Numbers{5, 6, 7, 8});
}

TEST_CASE("weights that a loop captures are packed before it, once for all iterations") {
  const T w = T::normal({256, 256}, {.stddev = 0.05}), x = T::normal({32, 256});
  tyto::eval({w, x});
  const auto run = [&](const char* passes) {
    auto f = tyto::compile(
        [](T in, T weights) {
          return repeated(
              in, [&](const T& c) { return repeated(c, [&](const T& d) { return tanh(matmul(d, weights)); }); });
        },
        {.passes = passes});
    const T y = f(x, w);
    return std::pair(y.to_vector<float>(), f.report());
  };
  const auto [packed, report] = run("");
  const auto [plain, without] = run("-packing");
  CHECK(report.steps == without.steps + 1);
  CHECK(report.unplanned_allocations == 0);
  for (std::size_t i = 0; i < packed.size(); ++i) CHECK(packed[i] == doctest::Approx(plain[i]).epsilon(1e-4));
}

TEST_CASE("a random draw moved into the arm that reads it keeps its numbers, beside the arm's own") {
  const T x = T::placeholder({2, 2}, DType::f32, "x");
  const auto run = [&](const char* passes) {
    tyto::seed(11);
    const T h = fori_loop(0, 3, x, [](const T&, const T& before) {
      const T noise = T::normal({2, 2});
      return cond(
          sum(before) > -1e9,
          [&] {
            return before + noise + 8.0 * T::normal({2, 2});
          },
          [&] { return before; });
    });
    tyto::Graph graph({.inputs = {x}, .outputs = {h}}, {.check_plan = true, .poison = true, .passes = passes});
    graph.set(x, p());
    graph.run();
    return graph.output(0).to_vector<float>();
  };
  CHECK(run("all") == run("none"));
}

TEST_CASE("each rewrite of loops and branches was seen to fire") {
  const auto shrunk = [](const T& x, const T& y) {
    const auto all = fori_loop(0, 3, std::vector<T>{x, y, y}, [](const T&, const std::vector<T>& c) {
      return std::vector<T>{c[0] + c[1], c[1], c[2] * 2.0};
    });
    return all[0] + all[1];
  };
  CHECK(fired("unused_in_loop", shrunk) == 1);
  CHECK(fired("kept_carry", shrunk) == 1);
  const auto halved = [](const T& x, const T& y) {
    return cond(
        sum(y) > 0.0,
        [&] {
          return std::vector<T>{x, x + y};
        },
        [&] {
          return std::vector<T>{y, x};
        })[0];
  };
  CHECK(fired("unused_in_branch", halved) == 1);
  const auto known = [](const T& x, const T& y) {
    return cond(
        T::full({}, true), [&] { return x + y; }, [&] { return x; });
  };
  CHECK(fired("known_arm", known) == 1);
  const auto moved = [](const T& x, const T& y) {
    const T z = matmul(x, y);
    return repeated(cond(
                        sum(y) > 0.0, [&] { return z; }, [&] { return y; }),
                    [&](const T& c) { return c + sum(y); });
  };
  CHECK(fired("hoisted", moved) == 1);
  for (const tyto::optimiser::RegionRule& rule : tyto::optimiser::region_rules()) {
    CAPTURE(rule.name);
    CHECK(seen().count(std::string(rule.name)) == 1);
  }
}

}  // namespace flow_passes
