// SPDX-License-Identifier: MIT
// Checks that a graph written as ONNX and read again computes what it did. With $TYTO_WRITTEN the file and what it
// should give stay in that folder, for tests/onnx/check_written.py.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <tyto/onnx.hpp>
#include <tyto/tyto.hpp>

#include "onnx/file/message.hpp"
#include "tests/onnx/data.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tyto::onnx_tests {

/// How far an element that comes back may differ: relative to itself, by itself, and relative to the largest of its
/// tensor.
struct WrittenTolerance {
  double relative = 1e-5;
  double absolute = 1e-6;
  double of_largest = 0;
};

/// Writes a graph of the placeholder x, reads it again, runs both, and compares.
inline void check_written(const std::string& name, const Tensor<Lazy>& x, const Tensor<Eager>& given,
                          const std::vector<Tensor<Lazy>>& outputs, const WrittenTolerance& tolerance = {}) {
  using L = Tensor<Lazy>;
  CAPTURE(name);
  const testing::TemporaryFolder folder;
  Graph graph{{.inputs = {x}, .outputs = outputs}};
  const std::string path = core::text(folder / name, ".onnx");
  write_onnx(path, graph);
  const L value = L::from_bytes(given.bytes().data(), given.size(), given.shape(), given.dtype());
  graph.set(x, value);
  graph.run();
  OnnxModel<L> model = read_onnx<L>(path);
  CHECK(model.inputs()[0].name == "x");
  const NamedList<L> results = model({{"x", value}});
  REQUIRE(results.size() == outputs.size());
  NamedList<L> wanted{{"x", value}};
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    CAPTURE(i);
    const auto copy = [](const L& y) {
      return Tensor<Any>::from_bytes(y.bytes().data(), y.size(), y.shape(), y.dtype());
    };
    const Tensor<Any> want = copy(graph.output(i));
    double allowed = tolerance.absolute;
    if (tolerance.of_largest != 0) allowed += tolerance.of_largest * max(abs(want)).item<double>();
    CHECK(difference(copy(results[i].value), want, tolerance.relative, allowed) == "");
    wanted.push_back({core::text("out", i), graph.output(i)});
  }
  if (const char* keep = std::getenv("TYTO_WRITTEN")) {
    const std::string kept = std::string(keep) + "/" + name + ".onnx";
    write_onnx(kept, graph);
    write_safetensors(kept + ".safetensors", wanted);
  }
}

}  // namespace tyto::onnx_tests
