// SPDX-License-Identifier: MIT
// Loops and branches: counts, early exits, states, random numbers, nesting, types; the same in both modes.
#include <doctest/doctest.h>

#include <map>
#include <tyto/flow.hpp>
#include <tyto/tyto.hpp>

#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"

using tyto::DType;
using tyto::Eager;
using tyto::Lazy;
using tyto_test::Numbers;
using tyto_test::numbers;

BOTH_MODES("a count may be a number, a tensor, negative or none at all") {
  using Tensor = tyto::Tensor<Mode>;
  const auto sum_of = [](const tyto::Count& lower, const tyto::Count& upper) {
    return fori_loop(lower, upper, Tensor(0).astype(DType::i64), [](const Tensor& i, const Tensor& c) { return c + i; })
        .template item<std::int64_t>();
  };
  CHECK(sum_of(0, 5) == 10);
  CHECK(sum_of(2, 5) == 9);
  CHECK(sum_of(-2, 2) == -2);
  CHECK(sum_of(5, 2) == 0);
  CHECK(sum_of(Tensor(1), 5) == 10);
  CHECK(sum_of(0, Tensor{4}) == 6);
  CHECK(sum_of(0, Tensor{-4}) == 0);
}

BOTH_MODES("one graph runs as often as its input says, whatever the phase in which the carries are") {
  using Tensor = tyto::Tensor<Mode>;
  using List = std::vector<Tensor>;
  auto shifted = tyto::compile([](Tensor n, Tensor x) {
    const List last = fori_loop(0, n, List{x, x * 2, x * 3, x * 5}, [](const Tensor&, const List& c) {
      return List{c[1], c[2], c[3], c[0] + c[3]};
    });
    return stack(last);
  });
  std::vector<double> a{1, 2, 3, 5};
  for (std::int64_t n = 0; n < 12; ++n) {
    CHECK(numbers(shifted(Tensor(n).astype(DType::i64), Tensor{1})) == a);
    a = {a[1], a[2], a[3], a[0] + a[3]};
  }
}

BOTH_MODES("a loop ends when its condition does, or at its bound") {
  using Tensor = tyto::Tensor<Mode>;
  auto f = tyto::compile([](Tensor x, Tensor limit) {
    return while_loop(
        x, [&](const Tensor& v) { return v.sum() < limit; }, [](const Tensor& v) { return v * 2; });
  });
  CHECK(numbers(f(Tensor{1.0, 2.0}, Tensor::full({}, 20.0))) == Numbers{8, 16});
  CHECK(numbers(f(Tensor{1.0, 2.0}, Tensor::full({}, 2.0))) == Numbers{1, 2});
  CHECK(numbers(f(Tensor{1.0, 2.0}, Tensor::full({}, 4.0))) == Numbers{2, 4});
  const Tensor always = Tensor::full({}, 1.0) > 0.0;
  CHECK(numbers(while_loop(
            Tensor{1.0}, [&](const Tensor&) { return always; }, [](const Tensor& v) { return v + 1; }, {.most = 7})) ==
        Numbers{8});
}

BOTH_MODES("scan_until stops at the row that says so; what comes after are zeros") {
  using Tensor = tyto::Tensor<Mode>;
  auto f = tyto::compile([](Tensor xs, Tensor limit) {
    return scan_until(
        [&](const Tensor& c, const Tensor& x) {
          const Tensor next = c + x;
          return std::tuple(next, next * 10, next >= limit);
        },
        Tensor::full({}, 0.0), xs);
  });
  const Tensor xs{1.0, 2.0, 3.0, 4.0};
  const auto at = [&](double limit) { return f(xs, Tensor::full({}, limit)); };
  const auto [last, stacked, count] = at(3);
  CHECK(last.template item<float>() == 3);
  CHECK(numbers(stacked) == Numbers{10, 30, 0, 0});
  CHECK(count.template item<std::int64_t>() == 2);
  CHECK(numbers(std::get<1>(at(0))) == Numbers{10, 0, 0, 0});
  CHECK(numbers(std::get<1>(at(10))) == Numbers{10, 30, 60, 100});
  CHECK(std::get<2>(at(99)).template item<std::int64_t>() == 4);
}

BOTH_MODES("scans give rows back where they were, in either direction, and none of none") {
  using Tensor = tyto::Tensor<Mode>;
  using Pair = std::pair<Tensor, Tensor>;
  const auto running = [](const Tensor& c, const Tensor& x) { return Pair(c + x, c * 10 + x); };
  const Tensor xs{1.0, 2.0, 3.0};
  const Tensor zero = Tensor::full({}, 0.0);
  CHECK(numbers(scan(running, zero, xs).second) == Numbers{1, 12, 33});
  CHECK(numbers(scan(running, zero, xs, {.reverse = true}).second) == Numbers{51, 32, 3});
  const auto [last, none] = scan(running, zero, Tensor::zeros({0}));
  CHECK(last.template item<float>() == 0);
  CHECK(none.shape() == tyto::Shape{0});
  const auto [carry, wide] = scan([](const Tensor& c, const Tensor& x) { return std::pair(c, std::pair(x, x > 1)); },
                                  zero, Tensor::zeros({0, 2, 3}));
  CHECK(wide.first.shape() == tyto::Shape{0, 2, 3});
  CHECK(wide.second.dtype() == DType::boolean);
}

BOTH_MODES("carries of every type, of none and of no elements") {
  using Tensor = tyto::Tensor<Mode>;
  using List = std::vector<Tensor>;
  for (const DType type : {DType::boolean, DType::u8, DType::i8, DType::i16, DType::i32, DType::i64, DType::f16,
                           DType::bf16, DType::f32, DType::f64}) {
    CAPTURE(tyto::name_of(type));
    const Tensor start = Tensor{1, 0, 1}.astype(type);
    const List last = fori_loop(
        0, 3, List{start, Tensor::zeros({0, 2}, type), start.sum().astype(type)}, [&](const Tensor&, const List& c) {
          return List{where(c[0] == 0, Tensor(1).astype(type), Tensor(0).astype(type)), c[1], c[2]};
        });
    CHECK(last[0].dtype() == type);
    CHECK(numbers(last[0]) == Numbers{0, 1, 0});
    CHECK(last[1].shape() == tyto::Shape{0, 2});
  }
}

BOTH_MODES("carried views, constants, duplicates and what nobody reads") {
  using Tensor = tyto::Tensor<Mode>;
  using List = std::vector<Tensor>;
  for (std::int64_t n = 0; n < 5; ++n) {
    const List last = fori_loop(
        0, n,
        List{Tensor{{1.0, 2.0}, {3.0, 4.0}}, Tensor{1.0, 1.0}, Tensor{2.0, 2.0}, Tensor{5.0, 5.0}, Tensor{6.0, 6.0}},
        [](const Tensor&, const List& c) {
          const Tensor both = c[0](0) + c[1];
          return List{c[0].T(), both, both, Tensor{7.0, 8.0}, c[0](1)};
        });
    List expected{Tensor{{1.0, 2.0}, {3.0, 4.0}}, Tensor{1.0, 1.0}, Tensor{2.0, 2.0}, Tensor{5.0, 5.0},
                  Tensor{6.0, 6.0}};
    for (std::int64_t i = 0; i < n; ++i) {
      const Tensor both = expected[0](0) + expected[1];
      expected = List{expected[0].T(), both, both, Tensor{7.0, 8.0}, expected[0](1)};
    }
    for (std::size_t k = 0; k < last.size(); ++k) CHECK(numbers(last[k]) == numbers(expected[k]));
  }
}

BOTH_MODES("indices beyond the ends choose the first or the last arm") {
  using Tensor = tyto::Tensor<Mode>;
  using Arm = std::function<Tensor(const Tensor&)>;
  auto f = tyto::compile([](Tensor i, Tensor x) {
    return switch_case(i,
                       std::vector<Arm>{[](const Tensor& v) { return v; }, [](const Tensor& v) { return v * 2; },
                                        [](const Tensor& v) { return v * 3; }},
                       x);
  });
  const Tensor x{1.0, 2.0};
  CHECK(numbers(f(Tensor{-5}, x)) == Numbers{1, 2});
  CHECK(numbers(f(Tensor{1}, x)) == Numbers{2, 4});
  CHECK(numbers(f(Tensor{2}, x)) == Numbers{3, 6});
  CHECK(numbers(f(Tensor{99}, x)) == Numbers{3, 6});
}

BOTH_MODES("loops and branches nest") {
  using Tensor = tyto::Tensor<Mode>;
  auto f = tyto::compile([](Tensor x, Tensor n) {
    return fori_loop(0, n, x, [&](const Tensor& i, const Tensor& outer) {
      return cond(
          i % 2 == 0,
          [&] {
            return while_loop(
                outer, [](const Tensor& v) { return v.sum() < 10; },
                [&](const Tensor& v) {
                  return cond(
                      v.sum() < 5, [&] { return v + 1; }, [&] { return v * 2 + i; });
                });
          },
          [&] { return fori_loop(0, i, outer, [&](const Tensor& j, const Tensor& v) { return v - j; }); });
    });
  });
  std::vector<double> x{1, -1};
  const auto sum = [&] { return x[0] + x[1]; };
  for (int n = 0; n < 7; ++n) {
    CHECK(numbers(f(Tensor{1.0, -1.0}, Tensor(n).astype(DType::i64))) == x);
    if (n % 2 == 0) {
      while (sum() < 10) {
        const bool small = sum() < 5;
        for (double& v : x) v = small ? v + 1 : v * 2 + n;
      }
    } else {
      for (int j = 0; j < n; ++j) {
        for (double& v : x) v -= j;
      }
    }
  }
}

TEST_CASE("the size of a recorded loop does not depend on how often it runs") {
  using Tensor = tyto::Tensor<Lazy>;
  const auto report = [](std::int64_t rows) {
    const Tensor xs = Tensor::placeholder({rows, 8}, DType::f32, "xs");
    const auto [last, ys] =
        scan([](const Tensor& c, const Tensor& x) { return std::pair(tanh(c + x), c * x); }, Tensor::zeros({8}), xs);
    tyto::Graph graph({.inputs = {xs}, .outputs = {last, ys}});
    return std::pair(graph.report().nodes, graph.text().size());
  };
  CHECK(report(10).first == report(1000).first);
  CHECK(report(1000).second < 2000);
}

TEST_CASE("a graph with loops and branches is saved, read and shown whole") {
  using Tensor = tyto::Tensor<Lazy>;
  const Tensor p = Tensor::placeholder({3}, DType::f32, "p");
  const Tensor w = Tensor::variable(Tensor{1.0, 2.0, 3.0}, "w");
  const Tensor y = fori_loop(0, 4, p, [&](const Tensor& i, const Tensor& c) {
    return cond(
        i % 2 == 0, [&] { return c * w; }, [&] { return c + Tensor::uniform({3}) * 0.0 + 1.0; });
  });
  tyto::Graph graph({.inputs = {p}, .outputs = {y}});
  const std::string text = graph.text();
  CHECK(text.find("= loop") != std::string::npos);
  CHECK(text.find("  %") != std::string::npos);
  CHECK(text.find("    %") != std::string::npos);
  CHECK(text.find("update \"carry 0\" = ") != std::string::npos);
  tyto::Graph copy = tyto::Graph::from_bytes(graph.to_bytes());
  CHECK(copy.text() == text);
  for (tyto::Graph* each : {&graph, &copy}) {
    each->set(each->inputs()[0], Tensor{1.0, 1.0, 1.0});
    each->run();
    CHECK(numbers(each->output(0)) == Numbers{3, 7, 13});
    CHECK(each->dot().find("loop") != std::string::npos);
    CHECK(each->html().find("loop") != std::string::npos);
  }
}

TEST_CASE("operands and results of regions are dense in a graph, which fixes the order of their sums") {
  // Channels lie apart: a sum over the other axes goes through the elements as they lie.
  const auto otherwise_laid_out = []<class T>(const T& x) {
    return transpose(copy(transpose(x, {0, 3, 1, 2})), {0, 2, 3, 1});
  };
  const auto program = [](const auto& view, const auto& zeros, int kind) {
    using T = std::decay_t<decltype(view)>;
    const auto summed = [&](const T& x) { return sum(x, {0, 1, 2}, true); };
    switch (kind) {
      case 0:
        return fori_loop(0, 1, view, [&](const T&, const T& c) { return broadcast_to(summed(c), c.shape()) + 0.0; });
      case 1: return fori_loop(0, 1, zeros, [&](const T&, const T& c) { return c + summed(view); });
      case 2:
        return scan([&](const T& c, const T& row) { return std::pair(c + summed(row), c); }, zeros,
                    reshape(view, {1, 1, 4, 5, 2}))
            .first;
      default:
        return summed(cond(
            sum(zeros) == 0, [&] { return view; }, [&] { return zeros; }));
    }
  };
  bool differs = false;
  for (int kind = 0; kind < 4; ++kind) {
    CAPTURE(kind);
    const auto x = tyto::Tensor<Eager>::uniform({1, 4, 5, 2}, {.low = -1, .high = 1, .key = tyto::Key{5, 0}});
    const auto zeros = tyto::Tensor<Eager>::zeros(x.shape());
    const auto input = tyto::Tensor<Lazy>::placeholder(x.shape(), x.dtype(), "x");
    const auto start = tyto::Tensor<Lazy>::placeholder(x.shape(), x.dtype(), "zeros");
    tyto::Graph graph({.inputs = {input, start}, .outputs = {program(otherwise_laid_out(input), start, kind)}},
                      {.passes = "none"});
    graph.set(input, tyto::Tensor<Lazy>::from(x.to_vector<float>(), x.shape()));
    graph.set(start, tyto::Tensor<Lazy>::from(zeros.to_vector<float>(), x.shape()));
    graph.run();
    const std::vector<float> found = graph.output(0).to_vector<float>();
    CHECK(found == program(x, zeros, kind).to_vector<float>());
    differs = differs || found != program(otherwise_laid_out(x), zeros, kind).to_vector<float>();
  }
  CHECK(differs);  // as eager mode's regions are given views
}

TEST_CASE("loops that are equal run once") {
  using Tensor = tyto::Tensor<Lazy>;
  const Tensor p = Tensor::placeholder({3}, DType::f32, "p");
  const auto looped = [&](double factor) {
    return fori_loop(0, 4, p, [&](const Tensor&, const Tensor& c) { return c * factor + 1.0; });
  };
  tyto::Graph same({.inputs = {p}, .outputs = {looped(2) + looped(2)}});
  tyto::Graph other({.inputs = {p}, .outputs = {looped(2) + looped(3)}});
  CHECK(same.report().steps + 1 == other.report().steps);
}

TEST_CASE("unused results of a loop are not computed, and carries that never change become captures") {
  using Tensor = tyto::Tensor<Lazy>;
  using List = std::vector<Tensor>;
  const Tensor p = Tensor::placeholder({3}, DType::f32, "p");
  const Tensor q = Tensor::placeholder({3}, DType::f32, "q");
  const auto rules_of = [&](const Tensor& y) {
    tyto::Graph graph({.inputs = {p, q}, .outputs = {y}}, {.passes = "dead_code,regions"});
    graph.set(p, Tensor{1.0, 2.0, 3.0});
    graph.set(q, Tensor{4.0, 5.0, 6.0});
    graph.run();
    std::map<std::string, std::size_t> fired;
    for (const tyto::PassSummary& pass : graph.report().passes.passes) {
      for (const tyto::RuleCount& rule : pass.rules) fired[rule.rule] += rule.count;
    }
    return std::pair(fired, numbers(graph.output(0)));
  };
  const List last = fori_loop(0, 3, List{p, q, q, p}, [](const Tensor&, const List& c) {
    return List{c[0] + c[1], c[1], c[2] * 2, c[3] + c[2]};
  });
  CHECK(rules_of(last[0]).second == Numbers{13, 17, 21});
  CHECK(rules_of(last[0]).first["unused_in_loop"] == 1);
  CHECK(rules_of(last[1]).second == Numbers{4, 5, 6});
  CHECK(rules_of(last[1]).first["kept_carry"] == 1);
  CHECK(rules_of(last[3]).second == Numbers{29, 37, 45});
  const auto [carry, stacks] =
      scan([](const Tensor& c, const Tensor& x) { return std::pair(c + x, std::pair(c * x, c - x)); },
           Tensor::full({}, 0.0), p);
  CHECK(rules_of(stacks.second).second == Numbers{-1, -1, 0});
  CHECK(rules_of(stacks.second).first["unused_in_loop"] == 1);
  const auto chosen = [&](double number) {
    return cond(
        Tensor::full({}, number) > 0.0, [&] { return p * 2; }, [&] { return q; });
  };
  tyto::Graph known({.inputs = {p, q}, .outputs = {chosen(1) + chosen(-1)}});
  CHECK(known.report().steps == 1);
  const Tensor condition = p.sum() > 0.0;
  const List both = cond(
      condition,
      [&] {
        return List{p * 2, p + q};
      },
      [&] {
        return List{p, q};
      });
  CHECK(rules_of(both[0]).second == Numbers{2, 4, 6});
  CHECK(rules_of(both[0]).first["unused_in_branch"] == 1);
}
