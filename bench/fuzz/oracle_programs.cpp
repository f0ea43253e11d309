// SPDX-License-Identifier: MIT
// Writes random programs of loops and branches as JSON, one a line, with what both modes make of them; oracle.py runs
// them by JAX and compares. Without passes both modes have to give the same bits.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "bench/fuzz/oracle_program.hpp"

namespace {

using tyto::DType;
using tyto::Eager;
using tyto::Lazy;
using tyto::Tensor;
using tyto::oracle::Kind;
using tyto::oracle::Program;

constexpr char usage[] = "usage: oracle_programs PROGRAMS [FIRST_SEED] > programs.jsonl\n";

/// Of each call: results, then gradients, then states after it.
using Calls = std::vector<std::vector<std::vector<double>>>;

template <class M>
Calls calls_of(const Program& program, const tyto::CompileOptions& options = {}) {
  using List = std::vector<Tensor<M>>;
  List inputs, states;
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    const Kind kind = program.inputs[i];
    tyto::Shape shape;
    for (int axis = kind == Kind::page ? 2 : kind == Kind::line ? 1 : 0; axis > 0; --axis) {
      shape.push_back(program.length);
    }
    inputs.push_back(
        cast(Tensor<M>::from(program.input_data[i], shape), kind == Kind::whole ? DType::i64 : DType::f64));
  }
  for (const auto& data : program.state_data) {
    states.push_back(Tensor<M>::variable(Tensor<M>::from(data, {program.length})));
  }
  auto compiled = tyto::compile(
      [&](Tensor<M> a, Tensor<M> b, Tensor<M> c, Tensor<M> d, Tensor<M> e) {
        const List given{a, b, c, d, e};
        if (!program.differentiated) return tyto::oracle::run<M>(program, given, states);
        tyto::detail::Tape tape;
        List tracked = given;
        for (Tensor<M>& each : tracked) {
          if (each.dtype() == DType::f64) each = Tensor<M>(tape.track(each));
        }
        List results = tyto::oracle::run<M>(program, tracked, states);
        Tensor<M> loss = Tensor<M>::full({}, 0.0, DType::f64);
        for (const Tensor<M>& x : results) {
          if (x.dtype() == DType::f64) loss = loss + sum(x * x);
        }
        for (const tyto::Value& slope : tape.gradients({loss})) results.emplace_back(slope);
        return results;
      },
      options);
  Calls calls;
  for (int call = 0; call < 2; ++call) {
    List made = compiled(inputs[0], inputs[1], inputs[2], inputs[3], inputs[4]);
    made.insert(made.end(), states.begin(), states.end());
    calls.emplace_back();
    for (const Tensor<M>& x : made) calls.back().push_back(cast(x, DType::f64).template to_vector<double>());
  }
  return calls;
}

bool multiplies(const tyto::oracle::Region& region) {
  return std::ranges::any_of(region.lines, [](const tyto::oracle::Line& line) {
    return line.op == "matmul" || std::ranges::any_of(line.regions, multiplies);
  });
}

// Bits of results and states, but for products, which add up in an order that depends on how their operands lie. Slopes
// of a value that several lines use are added in another order where some of these lines lie in a region.
bool agree(const Program& program, const Calls& found, const Calls& expected) {
  const bool exact = !multiplies(program.body);
  for (std::size_t call = 0; call < expected.size(); ++call) {
    for (std::size_t i = 0; i < expected[call].size(); ++i) {
      const bool slope = program.differentiated && i >= program.body.results.size();
      if (exact && !slope && found[call][i] != expected[call][i]) return false;
      double largest = 1;
      for (const double x : expected[call][i]) largest = std::max(largest, std::abs(x));
      for (std::size_t k = 0; k < expected[call][i].size(); ++k) {
        if (!(std::abs(found[call][i][k] - expected[call][i][k]) <= 1e-11 * largest)) return false;
      }
    }
  }
  return true;
}

void print(const Calls& calls) {
  const char* before_call = "";
  for (const auto& call : calls) {
    std::printf("%s[", before_call);
    before_call = ",";
    const char* before_list = "";
    for (const auto& list : call) {
      std::printf("%s[", before_list);
      before_list = ",";
      for (std::size_t i = 0; i < list.size(); ++i) std::printf(i == 0 ? "%.17g" : ",%.17g", list[i]);
      std::printf("]");
    }
    std::printf("]");
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2 && count != 3) {
    std::fputs(usage, stderr);
    return 2;
  }
  const std::uint64_t programs = std::strtoull(arguments[1], nullptr, 10);
  const std::uint64_t first = count == 3 ? std::strtoull(arguments[2], nullptr, 10) : 1;
  int status = 0;
  tyto::threads(1);
  for (std::uint64_t seed = first; seed < first + programs; ++seed) {
    const Program program = tyto::oracle::program_of(seed);
    try {
      const Calls eager = calls_of<Eager>(program), lazy = calls_of<Lazy>(program);
      if (!agree(program, calls_of<Lazy>(program, {.check_plan = true, .poison = true, .passes = "none"}), eager)) {
        std::fprintf(stderr, "seed %llu: without passes the modes differ\n", static_cast<unsigned long long>(seed));
        status = 1;
      }
      std::printf("%s,\"seed\":%llu,\"eager\":[", tyto::oracle::json_of(program).c_str(),
                  static_cast<unsigned long long>(seed));
      print(eager);
      std::printf("],\"lazy\":[");
      print(lazy);
      std::printf("]}\n");
    } catch (const std::exception& error) {
      std::fprintf(stderr, "seed %llu: %s\n", static_cast<unsigned long long>(seed), error.what());
      status = 1;
    }
  }
  return status;
}
