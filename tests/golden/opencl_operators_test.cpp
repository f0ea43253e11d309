// SPDX-License-Identifier: MIT
// Golden cases on the OpenCL device: many in one graph, since compiling its kernels is what takes the time.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <string_view>

#include "core/graph/op_ids.hpp"
#include "core/graph/operator.hpp"
#include "devices/opencl/device/device.hpp"
#include "tests/golden/computation.hpp"
#include "tests/golden/summary.hpp"
#include "tests/golden/verdict.hpp"
#include "tyto/device.hpp"
#include "tyto/graph.hpp"

using namespace tyto;
using namespace tyto::golden;

namespace {

bool has_opencl() {
  for (const DeviceInfo& device : devices()) {
    if (device.name == "opencl:0") return true;
  }
  MESSAGE("no OpenCL device: no goldens are computed on it");
  return false;
}

/// Whether the device computes in f64, as devices of OpenCL need not.
bool computes_wide() {
  for (const DeviceInfo& device : devices()) {
    if (device.name == "opencl:0") return std::ranges::count(device.types, DType::f64) > 0;
  }
  return false;
}

/// Whether a case takes or makes numbers in f64.
bool is_wide(const Case& one) {
  const auto wide = [](const Array* array) { return array->dtype == "f64" || array->dtype == "c128"; };
  return std::ranges::any_of(one.inputs, wide) || std::ranges::any_of(one.outputs, wide);
}

/// Whether the device keeps numbers below the smallest normal one of f32; OpenCL lets devices take them for zero.
bool keeps_subnormals() {
  const Tensor<Eager> smallest{std::numeric_limits<float>::min()};
  return (smallest * 0.5F).item<float>() != 0;
}

/// Whether a case takes or should give such numbers, in types that are computed in f32.
bool has_subnormals(const Case& one) {
  const auto has = [](const Array* array) {
    if (array->dtype != "f32" && array->dtype != "bf16") return false;
    for (std::int64_t i = 0; i < array->count(); ++i) {
      const double size = std::abs(element(*array, i));
      if (size > 0 && size < static_cast<double>(std::numeric_limits<float>::min())) return true;
    }
    return false;
  };
  return std::ranges::any_of(one.inputs, has) || std::ranges::any_of(one.outputs, has);
}

/// Drops what the device leaves to the CPU or need not tell from zero, and says how much that is.
void keep_computed(std::vector<Case>& cases) {
  if (!computes_wide()) {
    const std::size_t dropped = std::erase_if(cases, is_wide);
    MESSAGE(dropped, " cases in f64 are not computed on this device, which has none");
  }
  if (!keeps_subnormals()) {
    const std::size_t dropped = std::erase_if(cases, has_subnormals);
    MESSAGE(dropped, " cases with subnormal numbers are not computed on this device, which takes them for zero");
  }
}

/// Whether it takes f64 for the device to leave an operator to the CPU: in f32 it has a kernel. Gamma's is composed in
/// f64.
bool is_left_for_f64([[maybe_unused]] std::string_view name) {
#if defined(TYTO_HAVE_OPENCL)
  const DType single = DType::f32;
  for (const core::OpDef& def : core::op_table()) {
    if (def.name != name) continue;
    return def.id == core::OpId::random_gamma ||
           opencl::devices().front()->supports(def.id, {&single, 1}, {&single, 1});
  }
#endif
  return false;
}

/// Factorisations and what is made of them: one matrix keeps one unit of a device busy, so the CPU computes them.
bool is_of_matrices(std::string_view name) {
  static const std::set<std::string_view> names = {
      "lu_factor", "lu_solve", "solve",   "inv",  "det", "cholesky", "qr",   "eigh",
      "eigvalsh",  "svd",      "svdvals", "pinv", "eig", "eigvals",  "expm", "triangular_solve"};
  return names.contains(name);
}

Case values_of(Case one) {
  one.cotangents.clear();
  one.gradients.clear();
  one.second_gradients.clear();
  return one;
}

/// The part of the cases that the environment asks for as "K/N", K from 1 to N: drivers that compile slowly take them
/// in turn.
std::vector<Case> asked_part(std::vector<Case> cases) {
  const char* asked = std::getenv("TYTO_GOLDEN_PART");
  if (asked == nullptr) return cases;
  std::size_t part = 0, parts = 0;
  char slash = 0;
  std::istringstream text(asked);
  REQUIRE_MESSAGE((text >> part >> slash >> parts && slash == '/' && part >= 1 && part <= parts),
                  "TYTO_GOLDEN_PART is K/N, not ", asked);
  const auto begin = cases.begin() + static_cast<std::ptrdiff_t>((part - 1) * cases.size() / parts);
  const auto end = cases.begin() + static_cast<std::ptrdiff_t>(part * cases.size() / parts);
  return {begin, end};
}

/// Every case where the environment asks for all. Else one of every operator in every element type that it has cases
/// of, with gradients in f32 and values alone in the others; each time another of its kind, so that layouts are spread.
std::vector<Case> chosen() {
  std::vector<Case> list;
  const char* asked = std::getenv("TYTO_GOLDEN_OPENCL");
  const bool all = asked != nullptr && std::string(asked) == "all";
  std::map<std::pair<std::string, std::string>, std::vector<const Case*>> kinds;
  const auto is_whole = [](const Case* one) { return one->dtype == "f32" && !one->gradients.empty(); };
  for (const Case& one : committed().cases()) {
    if (eager_only(one)) continue;
    if (all) list.push_back(one);
    else kinds[{one.op, one.dtype}].push_back(&one);
  }
  std::size_t turn = 0;
  for (auto& [kind, cases] : kinds) {
    if (std::any_of(cases.begin(), cases.end(), is_whole)) std::erase_if(cases, std::not_fn(is_whole));
    const Case& one = *cases[turn++ % cases.size()];
    list.push_back(is_whole(&one) ? one : values_of(one));
  }
  return list;
}

/// The results of the cases, computed together in one graph.
std::vector<std::vector<Array>> in_one_graph(std::span<const Case> cases) {
  GraphSpec spec;
  Tensors<Lazy> values;
  std::vector<std::size_t> ends;
  for (const Case& one : cases) {
    Tensors<Lazy> inputs;
    for (const Tensor<Lazy>& value : tensors_of<Lazy>(one.inputs)) {
      inputs.push_back(Tensor<Lazy>::placeholder(value.shape(), value.dtype()));
      values.push_back(value);
    }
    for (const Tensor<Lazy>& value : inputs) spec.inputs.push_back(value);
    for (const Tensor<Lazy>& result : in_order(compute<Lazy>(one, inputs))) spec.outputs.push_back(result);
    ends.push_back(spec.outputs.size());
  }
  Graph graph(spec);
  for (std::size_t i = 0; i < values.size(); ++i) graph.set(spec.inputs[i], values[i]);
  graph.run();
  // Some functions of f32 compute in f64 on the way.
  const bool wide = computes_wide();
  std::string fallbacks;
  for (const std::string& each : graph.report().fallbacks) {
    if (!is_of_matrices(each) && (wide || !is_left_for_f64(each))) fallbacks += each + ' ';
  }
  CHECK(fallbacks == "");
  std::vector<std::vector<Array>> found;
  std::size_t next = 0;
  for (const std::size_t end : ends) {
    found.emplace_back();
    for (; next < end; ++next) found.back().push_back(array_of(graph.output(next)));
  }
  return found;
}

void check(std::span<const Case> cases) {
  const auto report = [](const Case& one, const std::string& wrong) {
    if (!wrong.empty()) FAIL_CHECK(one.id << " (OpenCL, in a graph): " << wrong);
    summary().count(one, "OpenCL in a graph");
  };
  try {
    const std::vector<std::vector<Array>> found = in_one_graph(cases);
    for (std::size_t i = 0; i < cases.size(); ++i) report(cases[i], verdict(cases[i], found[i]));
  } catch (const std::exception&) {
    // One of them throws; alone, each says which.
    for (const Case& one : cases) {
      report(one, verdict(one, [](const Case& alone) { return in_one_graph({&alone, 1}).at(0); }));
    }
  }
}

}  // namespace

TEST_CASE("operators compute their goldens in graphs on the OpenCL device") {
  if (!has_opencl()) return;
  const DeviceScope scope("opencl");
  constexpr std::size_t together = 32;
  std::vector<Case> cases = asked_part(chosen());
  keep_computed(cases);
  for (std::size_t first = 0; first < cases.size(); first += together) {
    check(std::span(cases).subspan(first, std::min(together, cases.size() - first)));
  }
}

TEST_CASE("every operator computes a golden eagerly on the OpenCL device") {
  if (!has_opencl()) return;
  const DeviceScope scope("opencl");
  std::set<std::string> done;
  std::vector<Case> cases = asked_part(committed().cases());
  keep_computed(cases);
  for (const Case& one : cases) {
    if (one.outputs.at(0)->count() == 0 || !done.insert(one.op).second) continue;
    const Case values = values_of(one);
    const std::string wrong = verdict(values, [](const Case& case_of_it) {
      return arrays_of(in_order(compute<Eager>(case_of_it, tensors_of<Eager>(case_of_it.inputs))));
    });
    if (!wrong.empty()) FAIL_CHECK(one.id << " (OpenCL, eager): " << wrong);
    summary().count(values, "OpenCL eager");
  }
}
