// SPDX-License-Identifier: MIT
// Nanoseconds an element of fused groups, of their operators one by one, of one hand-written loop and of one Eigen
// expression, in one run: fused_bench [LARGEST [NAME]], NAME a part of the chains' names. torch_chains.py adds PyTorch.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/fused/chain_loops.hpp"
#include "bench/measurement.hpp"
#include "core/graph/op_ids.hpp"
#include "devices/cpu/device/device.hpp"
#include "devices/cpu/system/instruction_set.hpp"
#include "devices/cpu/system/threads.hpp"
#include "optimiser/passes/fuse.hpp"

namespace {

using namespace tyto;
using bench::Floats;
using core::OpId;
using core::Port;
using cpu::InstructionSet;

const bench::ChainLoops& chain_loops() {
#if defined(TYTO_HAVE_X86_ISA)
  if (cpu::instruction_set() == InstructionSet::avx512) return bench::avx512::chain_loops;
  if (cpu::instruction_set() == InstructionSet::avx2) return bench::avx2::chain_loops;
#endif
  return bench::baseline::chain_loops;
}

/// The nodes of a graph, each prepared and bound to memory of its own but for what is given.
class Runner {
 public:
  Runner(const core::Graph& graph, const std::vector<float*>& inputs, const std::vector<float*>& outputs) {
    places_.resize(graph.port_count());
    for (std::size_t i = 0; i < inputs.size(); ++i) places_[graph.inputs()[i].port] = inputs[i];
    for (std::size_t i = 0; i < outputs.size(); ++i) places_[graph.outputs()[i]] = outputs[i];
    for (const core::GraphNode& node : graph.nodes()) {
      if (node.op == OpId::read) continue;
      if (node.op == OpId::reshape) {  // what a reduction's result is called outside its group
        places_[graph.inputs_of(node)[0]] = places_[node.first_result];
      }
    }
    for (const core::GraphNode& node : graph.nodes()) {
      if (node.op == OpId::read || node.op == OpId::reshape) continue;
      Call call;
      std::vector<core::Operand> from, to;
      const bool elementwise = core::definition(node.op).is(core::Traits::elementwise);
      for (const Port port : graph.inputs_of(node)) {
        core::View view = core::View::dense(graph.type(port).shape);
        if (elementwise) view = core::broadcast_to(view, graph.type(node.first_result).shape);
        from.push_back({DType::f32, view});
        call.from.push_back({places_[port], 0});
      }
      for (Port port = node.first_result; port < node.first_result + node.result_count; ++port) {
        to.push_back({DType::f32, core::View::dense(graph.type(port).shape)});
        if (places_[port] == nullptr) {
          own_.push_back(std::make_unique<Floats>(std::max<std::int64_t>(element_count(graph.type(port).shape), 1)));
          places_[port] = own_.back()->data();
          if (node.op == OpId::fill) {
            *places_[port] =
                static_cast<float>(std::get<core::RangeAttributes>(graph.attributes(node)).start.as_double());
          }
        }
        call.to.push_back({places_[port], 0});
      }
      if (node.op == OpId::fill) continue;
      call.kernel = cpu::device().prepare({node.op, &graph.attributes(node), from, to});
      workspace_.resize(std::max(workspace_.size(), call.kernel->workspace() + 64));
      calls_.push_back(std::move(call));
    }
  }

  void operator()() {
    void* start = workspace_.data();
    std::size_t room = workspace_.size();
    const core::Address workspace{room == 0 ? nullptr : std::align(64, 1, start, room), 0};
    for (const Call& call : calls_) call.kernel->launch(call.from, call.to, workspace);
  }

 private:
  struct Call {
    std::shared_ptr<const core::Kernel> kernel;
    std::vector<core::Address> from, to;
  };
  std::vector<float*> places_;
  std::vector<std::unique_ptr<Floats>> own_;
  std::vector<Call> calls_;
  std::vector<std::byte> workspace_;
};

struct Chain {
  core::GraphBuilder builder;
  std::int64_t count;

  Port input(const Shape& shape) {
    return builder.add_input({DType::f32, shape, false},
                             {.port = 0, .name = "x", .state = nullptr, .generator = false});
  }
  Port input() { return input({count}); }
  Port over_rows(OpId op, Port port) { return builder.add(op, core::AxesAttributes{{1}, true}, {port}); }
  Port number(double value) { return builder.add(OpId::fill, core::RangeAttributes{{}, DType::f32, value, 0}, {}); }
  Port apply(OpId op, std::initializer_list<Port> inputs) { return builder.add(op, core::Attributes(), inputs); }
};

std::string wanted;  // chains whose names have it

/// The work of a thread on its share of the elements, called with the first one and their count.
using Part = std::function<void(std::int64_t, std::int64_t)>;

/// The part that body(loops, begin, count) does by these loops.
template <class Body>
Part with(const bench::ChainLoops& loops, const Body& body) {
  return [&loops, body](std::int64_t begin, std::int64_t count) { body(loops, begin, count); };
}

void report(const std::string& name, std::int64_t count, int threads, core::Graph graph,
            const std::vector<float*>& inputs, const std::vector<float*>& outputs, const Part& hand, const Part& eigen,
            std::int64_t grain = 64) {
  if (name.find(wanted) == std::string::npos) return;
  cpu::set_threads(threads);
  auto plain = std::make_shared<Runner>(graph, inputs, outputs);
  auto fused = std::make_shared<Runner>(optimiser::fuse(std::move(graph)), inputs, outputs);
  const auto dealt = [count, threads, grain](const Part& body) {
    return [=] {
      cpu::run_team(threads, [&](cpu::Team team) {
        const cpu::Range mine = cpu::share(count, team.member, team.size, grain);
        body(mine.begin, mine.size());
      });
    };
  };
  const std::vector<double> seconds =
      bench::compare(threads, {[fused] { (*fused)(); }, [plain] { (*plain)(); }, dealt(hand), dealt(eigen)}, 0.5);
  const double scale = 1e9 / static_cast<double>(count);
  std::printf("%-34s %9lld %7d %9.4f %9.4f %9.4f %9.4f %9.2f %9.2f\n", name.c_str(), static_cast<long long>(count),
              threads, seconds[0] * scale, seconds[1] * scale, seconds[2] * scale, seconds[3] * scale,
              seconds[0] / seconds[2], seconds[1] / seconds[0]);
  std::fflush(stdout);
}

/// Chains that reduce rows.
void run_rows(std::int64_t count, int threads, std::int64_t row) {
  const bench::ChainLoops& hand = chain_loops();
  const Floats a(count), b(count), c(count), y(count);
  const std::string of_rows = ", rows of " + std::to_string(row);
  {
    Chain chain{{}, count};
    const Port p = chain.input({count / row, row}), q = chain.input({count / row, row});
    const Port distance = chain.apply(OpId::square, {chain.apply(OpId::subtract, {p, q})});
    chain.builder.add_output(chain.over_rows(OpId::sum, distance));
    const auto body = [&](const bench::ChainLoops& loops, std::int64_t at, std::int64_t n) {
      for (std::int64_t i = at; i < at + n; i += row) {
        y.data()[i / row] =
            static_cast<float>(loops.squared_distance(a.data() + i, b.data() + i, static_cast<std::size_t>(row)));
      }
    };
    report("(x - y)^2 summed" + of_rows, count, threads, chain.builder.finish(), {a.data(), b.data()}, {y.data()},
           with(hand, body), with(bench::eigen_chains, body), row);
  }
  {
    Chain chain{{}, count};
    const Port p = chain.input({count / row, row});
    const Port terms = chain.apply(OpId::exp, {chain.apply(OpId::subtract, {p, chain.over_rows(OpId::max, p)})});
    chain.builder.add_output(chain.apply(OpId::divide, {terms, chain.over_rows(OpId::sum, terms)}));
    const auto body = [&](const bench::ChainLoops& loops, std::int64_t at, std::int64_t n) {
      loops.softmax(a.data() + at, y.data() + at, static_cast<std::size_t>(n / row), static_cast<std::size_t>(row));
    };
    report("softmax" + of_rows, count, threads, chain.builder.finish(), {a.data()}, {y.data()}, with(hand, body),
           with(bench::eigen_chains, body), row);
  }
  {
    Chain chain{{}, count};
    const Port p = chain.input({count / row, row}), g = chain.input({row}), s = chain.input({row});
    const Port centred = chain.apply(OpId::subtract, {p, chain.over_rows(OpId::mean, p)});
    const Port spread = chain.over_rows(OpId::mean, chain.apply(OpId::square, {centred}));
    const Port scale = chain.apply(OpId::rsqrt, {chain.apply(OpId::add, {spread, chain.number(1e-5)})});
    const Port normal = chain.apply(OpId::multiply, {centred, scale});
    chain.builder.add_output(chain.apply(OpId::add, {chain.apply(OpId::multiply, {normal, g}), s}));
    const auto body = [&](const bench::ChainLoops& loops, std::int64_t at, std::int64_t n) {
      loops.layer_norm(a.data() + at, b.data(), c.data(), y.data() + at, 1e-5f, static_cast<std::size_t>(n / row),
                       static_cast<std::size_t>(row));
    };
    report("layer norm" + of_rows, count, threads, chain.builder.finish(), {a.data(), b.data(), c.data()}, {y.data()},
           with(hand, body), with(bench::eigen_chains, body), row);
  }
}

void run(std::int64_t count, int threads) {
  const bench::ChainLoops& hand = chain_loops();
  const Floats a(count), b(count), c(count), x(count), y(count);
  float result = 0;
  {
    Chain chain{{}, count};
    const Port p = chain.input(), q = chain.input(), r = chain.input();
    chain.builder.add_output(chain.apply(OpId::add, {chain.apply(OpId::multiply, {p, q}), r}));
    const auto body = [&](const bench::ChainLoops& loops, std::int64_t at, std::int64_t n) {
      loops.multiply_add(a.data() + at, b.data() + at, c.data() + at, y.data() + at, static_cast<std::size_t>(n));
    };
    report("a b + c", count, threads, chain.builder.finish(), {a.data(), b.data(), c.data()}, {y.data()},
           with(hand, body), with(bench::eigen_chains, body));
  }
  {
    Chain chain{{}, count};
    const Port p = chain.input(), q = chain.input(), r = chain.input(), v = chain.input();
    const Port bent = chain.apply(OpId::tanh, {chain.apply(OpId::add, {chain.apply(OpId::multiply, {p, v}), q})});
    const Port bell = chain.apply(OpId::exp, {chain.apply(OpId::negate, {chain.apply(OpId::square, {v})})});
    chain.builder.add_output(chain.apply(OpId::add, {chain.apply(OpId::multiply, {bent, r}), bell}));
    const auto body = [&](const bench::ChainLoops& loops, std::int64_t at, std::int64_t n) {
      loops.tanh_chain(a.data() + at, b.data() + at, c.data() + at, x.data() + at, y.data() + at,
                       static_cast<std::size_t>(n));
    };
    report("tanh(a x + b) c + exp(-x x)", count, threads, chain.builder.finish(),
           {a.data(), b.data(), c.data(), x.data()}, {y.data()}, with(hand, body), with(bench::eigen_chains, body));
  }
  {
    Chain chain{{}, count};
    const Port p = chain.input(), q = chain.input();
    const Port distance = chain.apply(OpId::square, {chain.apply(OpId::subtract, {p, q})});
    chain.builder.add_output(chain.builder.add(OpId::sum, core::AxesAttributes{{0}, false}, {distance}));
    const auto body = [&](const bench::ChainLoops& loops, std::int64_t at, std::int64_t n) {
      result += static_cast<float>(loops.squared_distance(x.data() + at, a.data() + at, static_cast<std::size_t>(n)));
    };
    report("sum((x - y)^2)", count, threads, chain.builder.finish(), {x.data(), a.data()}, {&result}, with(hand, body),
           with(bench::eigen_chains, body));
  }
  {
    Chain chain{{}, count};
    const Port w = chain.input(), s = chain.input(), g = chain.input();
    const Port squares = chain.apply(OpId::add, {s, chain.apply(OpId::square, {g})});
    const Port root = chain.apply(OpId::add, {chain.apply(OpId::sqrt, {squares}), chain.number(1e-8)});
    const Port step = chain.apply(OpId::divide, {chain.apply(OpId::multiply, {chain.number(0.005), g}), root});
    chain.builder.add_output(chain.apply(OpId::subtract, {w, step}));
    chain.builder.add_output(squares);
    const auto body = [&](const bench::ChainLoops& loops, std::int64_t at, std::int64_t n) {
      loops.adagrad(a.data() + at, b.data() + at, c.data() + at, 0.005f, 1e-8f, static_cast<std::size_t>(n));
    };
    report("Adagrad", count, threads, chain.builder.finish(), {a.data(), b.data(), c.data()}, {a.data(), b.data()},
           with(hand, body), with(bench::eigen_chains, body));
  }
  for (const std::int64_t row : {1000, 80}) run_rows(count, threads, row);
}

}  // namespace

int main(int count, char** arguments) {
  const std::int64_t largest = count > 1 ? std::atoll(arguments[1]) : 50'000'000;
  if (count > 2) wanted = arguments[2];
  std::printf("%s, ns an element\n%-34s %9s %7s %9s %9s %9s %9s %9s %9s\n", cpu::name_of(cpu::instruction_set()),
              "chain", "elements", "threads", "fused", "one by 1", "by hand", "Eigen", "f/hand", "gain");
  for (const std::int64_t n : {10'000, 100'000, 1'000'000, 10'000'000, 50'000'000}) {
    if (n > largest) break;
    for (const int threads : {1, 2}) run(n, threads);
  }
}
