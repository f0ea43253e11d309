// SPDX-License-Identifier: MIT
// Graphs written as ONNX files.
#include "io/atomic_file.hpp"
#include "onnx/write/export.hpp"
#include "tyto/onnx.hpp"

namespace tyto TYTO_API {

void write_onnx(const std::string& path, const Graph& graph) {
  const GraphListing listing =
      list_graph(graph, [](const std::string& op) { return onnx::find_export(op) != nullptr; });
  const std::string model = onnx::GraphExport(listing).model();
  io::AtomicFile file(path);
  file.write(std::as_bytes(std::span(model)));
  file.commit();
}

}  // namespace TYTO_API
