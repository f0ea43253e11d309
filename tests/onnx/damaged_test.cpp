// SPDX-License-Identifier: MIT
// Models whose numbers, names, types, shapes and operators were damaged end with results or with a tyto::Error.
// bench/fuzz/onnx_model_fuzz draws more of them.
#include <doctest/doctest.h>
#include <tyto/io.hpp>

#include "tests/onnx/drawn_run.hpp"
#include "tests/onnx/structured_mutation.hpp"

namespace tyto::onnx_tests {

namespace {

NamedList<Tensor<Eager>> stored_members() {
  NamedList<Tensor<Eager>> members = read_npz<Tensor<Eager>>("tests/onnx/models.npz");
  for (const char* more : {"tests/onnx/classical_models.npz", "tests/onnx/narrow_models.npz"}) {
    for (const auto& member : read_npz<Tensor<Eager>>(more)) members.push_back(member);
  }
  return members;
}

}  // namespace

TEST_CASE("models of damaged structure run or say what is wrong with them") {
  std::vector<FieldTree> seeds;
  for (const auto& [name, value] : stored_members()) {
    if (name.ends_with("|model")) seeds.push_back(decoded(name, value.bytes()));
  }
  const StructuredMutation mutation(seeds);
  std::mt19937_64 draw(1);
  int ran = 0, refused = 0;
  constexpr int models = 1'000;
  for (int i = 0; i < models; ++i) {
    CAPTURE(i);
    const FieldTree tree = mutation.mutated(seeds[draw() % seeds.size()], draw);
    const std::string bytes = encoded(tree);
    try {
      if (run_drawn(bytes, static_cast<ModelRun>(i % 4), draw)) ++ran;
    } catch (const Error&) {
      ++refused;
    }
  }
  CHECK(ran > models / 10);
  CHECK(refused > models / 10);
}

TEST_CASE("a model's fields are written as they were read") {
  for (const auto& [name, value] : stored_members()) {
    if (!name.ends_with("|model")) continue;
    CAPTURE(name);
    const FieldTree tree = decoded(name, value.bytes());
    const std::string bytes = encoded(tree);
    CHECK(encoded(decoded(name, std::as_bytes(std::span(bytes)))) == bytes);
    CHECK(read<Tensor<Eager>>(bytes).inputs().size() == read_onnx<Tensor<Eager>>(value.bytes(), name).inputs().size());
  }
}

}  // namespace tyto::onnx_tests
