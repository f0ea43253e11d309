// SPDX-License-Identifier: MIT
// Loops and branches against JAX: values and gradients, eager, lazy, and as graphs with passes and planners switched.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tyto/autodiff.hpp>
#include <tyto/io.hpp>

#include "tests/flow/cases.hpp"

using tyto::DType;
using tyto::Eager;
using tyto::Lazy;
using tyto::Tensor;

namespace {

using Numbers = std::vector<double>;
using Named = std::map<std::string, Numbers>;

/// A case as the archive has it: inputs, results, and gradients of the sum of squares of all results.
struct Case {
  std::map<std::string, Tensor<Eager>> in;
  std::map<std::string, Tensor<Eager>> out;
  std::map<std::string, Tensor<Eager>> gradients;
};

const std::map<std::string, Case>& cases() {
  static const std::map<std::string, Case> all = [] {
    std::map<std::string, Case> list;
    for (const auto& array : tyto::read_npz("tests/flow/goldens/flow.npz")) {
      const std::size_t slash = array.name.find('/');
      const std::size_t last = array.name.rfind('/');
      const std::string kind = array.name.substr(slash + 1, last - slash - 1);
      const std::string key = array.name.substr(last + 1);
      Case& one = list[array.name.substr(0, slash)];
      if (kind == "in") one.in.emplace(key, array.value);
      else if (key.rfind("d_", 0) == 0) one.gradients.emplace(key.substr(2), array.value);
      else one.out.emplace(key, array.value);
    }
    return list;
  }();
  return all;
}

template <class M>
std::map<std::string, Tensor<M>> in_mode(const std::map<std::string, Tensor<Eager>>& arrays) {
  std::map<std::string, Tensor<M>> out;
  for (const auto& [name, x] : arrays) {
    out.emplace(name, Tensor<M>::from_bytes(x.bytes().data(), x.size(), x.shape(), x.dtype()));
  }
  return out;
}

Numbers numbers(const auto& x) { return x.template to_vector<double>(); }

/// The case's results, and the gradients that the archive has, as they are computed in a mode.
template <class M>
Named computed(const std::string& name, std::map<std::string, Tensor<M>> in, const Case& expected) {
  std::map<std::string, Tensor<M>> made = flow_cases::run(name, in);
  Named found;
  for (const auto& [key, value] : made) found[key] = numbers(value);
  if (expected.gradients.empty()) return found;
  tyto::detail::Tape tape;
  for (const auto& [key, value] : expected.gradients) in.at(key) = tape.track(in.at(key));
  Tensor<M> loss = 0.0;
  for (const auto& [key, value] : flow_cases::run(name, in)) loss = loss + (value * value).sum();
  const std::vector<tyto::Value> gradients = tape.gradients({loss});
  std::size_t next = 0;
  for (const auto& [key, value] : expected.gradients) found["d_" + key] = numbers(Tensor<M>(gradients[next++]));
  return found;
}

/// The same by an explicit graph.
Named by_graph(const std::string& name, const Case& expected, const tyto::CompileOptions& options) {
  using T = Tensor<Lazy>;
  std::map<std::string, T> in;
  tyto::GraphSpec spec;
  for (const auto& [key, value] : expected.in) {
    in.emplace(key, T::placeholder(value.shape(), value.dtype(), key));
    spec.inputs.push_back(in.at(key));
  }
  std::vector<std::string> names;
  for (const auto& [key, value] : flow_cases::run(name, in)) {
    names.push_back(key);
    spec.outputs.push_back(value);
  }
  if (!expected.gradients.empty()) {
    tyto::detail::Tape tape;
    std::map<std::string, T> tracked = in;
    for (const auto& [key, value] : expected.gradients) tracked.at(key) = tape.track(in.at(key));
    T loss = 0.0;
    for (const auto& [key, value] : flow_cases::run(name, tracked)) loss = loss + (value * value).sum();
    const std::vector<tyto::Value> gradients = tape.gradients({loss});
    std::size_t next = 0;
    for (const auto& [key, value] : expected.gradients) {
      names.push_back("d_" + key);
      spec.outputs.emplace_back(gradients[next++]);
    }
  }
  tyto::Graph graph(spec, options);
  for (const auto& [key, value] : in_mode<Lazy>(expected.in)) graph.set(in.at(key), value);
  graph.run();
  graph.run();
  Named found;
  for (std::size_t i = 0; i < names.size(); ++i) found[names[i]] = numbers(graph.output(i));
  CHECK(graph.report().unplanned_allocations == 0);
  CHECK(graph.report().fallbacks.empty());
  return found;
}

void check_near(const Numbers& found, const Numbers& expected) {
  REQUIRE(found.size() == expected.size());
  double largest = 1e-3;
  for (const double value : expected) largest = std::max(largest, std::abs(value));
  double worst = 0;
  for (std::size_t i = 0; i < found.size(); ++i) worst = std::max(worst, std::abs(found[i] - expected[i]) / largest);
  CHECK(worst < 1e-12);
}

void check(const Named& found, const Case& expected) {
  for (const auto& each : expected.out) {
    const auto& key = each.first;
    const auto& value = each.second;
    if (found.count(key) == 0) continue;
    CAPTURE(key);
    check_near(found.at(key), numbers(value));
  }
  for (const auto& each : expected.gradients) {
    const auto& key = each.first;
    const auto& value = each.second;
    CAPTURE(key);
    check_near(found.at("d_" + key), numbers(value));
  }
}

void check_same(const Named& found, const Named& expected) {
  for (const auto& each : expected) {
    const auto& key = each.first;
    const auto& value = each.second;
    CAPTURE(key);
    CHECK(found.at(key) == value);
  }
}

}  // namespace

TEST_CASE("loops and branches give JAX's values and gradients in every mode, and the same bits in all of them") {
  std::size_t compared = 0;
  for (const auto& each : cases()) {
    const auto& name = each.first;
    const auto& expected = each.second;
    CAPTURE(name);
    if (flow_cases::run(name, in_mode<Eager>(expected.in)).empty()) {
      CHECK(name == "second_order");  // tested below
      continue;
    }
    ++compared;
    const Named eager = computed<Eager>(name, in_mode<Eager>(expected.in), expected);
    check(eager, expected);
    const Named lazy = computed<Lazy>(name, in_mode<Lazy>(expected.in), expected);
    check_same(lazy, eager);
    check(by_graph(name, expected, {.check_plan = true}), expected);
    // Products of packed weights round otherwise than eager ones.
    for (const char* passes : {"-packing", "none"}) {
      for (const char* strategy : {"best", "bump"}) {
        CAPTURE(passes);
        CAPTURE(strategy);
        const tyto::CompileOptions options{
            .memory_strategy = strategy, .check_plan = true, .poison = true, .passes = passes};
        check_same(by_graph(name, expected, options), eager);
      }
    }
  }
  CHECK(compared == 80);
}

TEST_CASE("loops and branches give JAX's values and gradients on the OpenCL device, and none leaves it") {
  const std::vector<tyto::DeviceInfo> known = tyto::devices();
  if (std::none_of(known.begin(), known.end(), [](const auto& each) { return each.name == "opencl:0"; })) {
    MESSAGE("no OpenCL device: nothing is computed on it");
    return;
  }
  const tyto::DeviceScope device("opencl");
  for (const auto& each : cases()) {
    const auto& name = each.first;
    const auto& expected = each.second;
    if (flow_cases::run(name, in_mode<Lazy>(expected.in)).empty()) continue;
    CAPTURE(name);
    check(by_graph(name, expected, {.check_plan = true}), expected);
    check(by_graph(name, expected, {.memory_strategy = "bump", .poison = true, .passes = "none"}), expected);
  }
}
