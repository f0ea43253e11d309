// SPDX-License-Identifier: MIT
// Every golden written as ONNX and read again, gradients included: what comes back computes what the case states. With
// $TYTO_WRITTEN the files stay in that folder, with inputs and results, for tests/onnx/check_written.py.
#include <doctest/doctest.h>

#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "core/graph/operator.hpp"
#include "tests/golden/computation.hpp"
#include "tests/golden/reach.hpp"
#include "tests/golden/verdict.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tyto/io.hpp"
#include "tyto/onnx.hpp"

using namespace tyto;
using namespace tyto::golden;

namespace {

/// Operators that ONNX has no words for.
const std::map<std::string, std::string>& without_words() {
  static const std::map<std::string, std::string> reasons = {
      {"conj", "of complex numbers, which ONNX has no arithmetic for"},
      {"view_as_real", "of complex numbers"},
      {"view_as_complex", "of complex numbers"},
      {"fft", "gives complex numbers"},
      {"rfft", "gives complex numbers"},
      {"irfft", "takes complex numbers"},
      {"erfinv", "no such function"},
      {"dawsn", "no such function"},
      {"lgamma", "no such function"},
      {"digamma", "no such function"},
      {"trigamma", "no such function"},
      {"lu_factor", "no factorisations"},
      {"lu_solve", "no factorisations"},
      {"solve", "no factorisations"},
      {"inv", "no factorisations"},
      {"cholesky", "no factorisations"},
      {"triangular_solve", "no factorisations"},
      {"qr", "no factorisations"},
      {"eigh", "no factorisations"},
      {"eigvalsh", "no factorisations"},
      {"svd", "no factorisations"},
      {"svdvals", "no factorisations"},
      {"pinv", "no factorisations"},
      {"eig", "no factorisations"},
      {"eigvals", "no factorisations"},
      {"expm", "no factorisations"},
      {"custom", "a function of this program"},
      {"send", "processes are none of ONNX' business"},
      {"recv", "processes are none of ONNX' business"},
      {"all_reduce", "processes are none of ONNX' business"},
      {"all_gather", "processes are none of ONNX' business"},
      {"reduce_scatter", "processes are none of ONNX' business"},
      {"broadcast", "processes are none of ONNX' business"},
      {"barrier", "processes are none of ONNX' business"},
      {"fused", "made by the optimiser, and the graph is written as it was recorded"},
      {"matmul_epilogue", "made by the optimiser"},
      {"convolution_epilogue", "made by the optimiser"},
      {"pack_weights", "made by the optimiser"},
  };
  return reasons;
}

/// Written by tests of their own: tests/onnx/writing_test.cpp and random_test.cpp.
const std::set<std::string>& written_elsewhere() {
  static const std::set<std::string> names = {"state",         "read",  "branch",        "loop",         "copy",
                                              "with_gradient", "alias", "stop_gradient", "max_pool_pick"};
  return names;
}

/// Cases that state what ONNX does not.
const std::map<std::string, std::string>& differing_cases() {
  static const std::map<std::string, std::string> reasons = {
      {"copysign.special.bf16", "the sign of NaN, which no operator of ONNX sees"},
      {"searchsorted.unsigned_left.u64", "the vector does not ascend: a binary search and a count differ"},
      {"searchsorted.unsigned_right.u64", "the vector does not ascend"},
  };
  return reasons;
}

bool has_words(const core::OpDef& def) { return !without_words().contains(std::string(def.name)); }

/// The case's inputs as placeholders x0, x1 and so on.
struct Recorded {
  Tensors<Lazy> inputs;
  Computation<Lazy> computation;
};
Recorded recorded(const Case& one) {
  Recorded r;
  for (std::size_t i = 0; i < one.inputs.size(); ++i) {
    const Tensor<Lazy> like = tensor_of<Lazy>(*one.inputs[i]);
    r.inputs.push_back(Tensor<Lazy>::placeholder(like.shape(), like.dtype(), "x" + std::to_string(i)));
  }
  r.computation = compute<Lazy>(one, r.inputs);
  return r;
}

std::vector<Value> values_of(const Tensors<Lazy>& tensors) { return {tensors.begin(), tensors.end()}; }

/// None where something has no words in ONNX.
bool can_be_written(const Tensors<Lazy>& results) {
  for (const core::OpId id : operators_beneath(values_of(results))) {
    if (!has_words(core::definition(id))) return false;
  }
  return true;
}

std::vector<Array> through_a_file(const Case& one, const Tensors<Lazy>& inputs, const Tensors<Lazy>& results,
                                  const std::string& path) {
  write_onnx(path, Graph{{.inputs = inputs, .outputs = results}});
  OnnxModel<Tensor<Eager>> model = read_onnx<Tensor<Eager>>(path);
  NamedList<Tensor<Eager>> given, kept;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    given.push_back({"x" + std::to_string(i), tensor_of<Eager>(*one.inputs[i])});
  }
  kept = given;
  std::vector<Array> found;
  for (const Named<Tensor<Eager>>& result : model(given)) {
    found.push_back(array_of(result.value));
    kept.push_back({"out" + std::to_string(found.size() - 1), result.value});
  }
  if (std::getenv("TYTO_WRITTEN") != nullptr) write_safetensors(path + ".safetensors", kept);
  return found;
}

}  // namespace

TEST_CASE("every golden comes back from an ONNX file, or holds an operator that ONNX has no words for") {
  const testing::TemporaryFolder temporary;
  const char* kept = std::getenv("TYTO_WRITTEN");
  std::set<core::OpId> written;
  std::size_t whole = 0, without_gradients = 0, refused = 0;
  for (const Case& one : committed().cases()) {
    if (eager_only(one) || differing_cases().contains(one.id)) continue;
    CAPTURE(one.id);
    const std::string path = kept != nullptr ? std::string(kept) + "/" + one.id + ".onnx" : temporary / "m.onnx";
    const Recorded r = recorded(one);
    Tensors<Lazy> results = in_order(r.computation);
    const bool all = can_be_written(results);
    if (!all) results = r.computation.outputs;
    if (!can_be_written(results)) {
      ++refused;
      CHECK_THROWS_AS(write_onnx(path, Graph{{.inputs = r.inputs, .outputs = results}}), GraphError);
      continue;
    }
    ++(all ? whole : without_gradients);
    written.merge(operators_beneath(values_of(results)));
    try {
      const std::vector<Array> found = through_a_file(one, r.inputs, results, path);
      const std::vector<Expectation> wanted = expectations(one);
      REQUIRE(found.size() <= wanted.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        const std::string wrong = difference(found[i], *wanted[i].array, *wanted[i].tolerance);
        if (!wrong.empty()) FAIL_CHECK(one.id << ", " << wanted[i].what << ": " << wrong);
      }
    } catch (const std::exception& error) {
      FAIL_CHECK(one.id << ": " << std::string(error.what()));
    }
  }
  MESSAGE(whole, " goldens are written with their gradients, ", without_gradients, " without, ", refused, " refused");
  for (const core::OpDef& def : core::op_table()) {
    const std::string name(def.name);
    const bool elsewhere = written_elsewhere().contains(name) || name.starts_with("random_");
    if (has_words(def) && !written.contains(def.id) && !elsewhere) {
      FAIL_CHECK("no golden writes '" << name << "': add a row to onnx/write/export_*.cpp, or to without_words of this "
                                      << "file the reason why there is none");
    }
  }
}
