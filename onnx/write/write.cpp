// SPDX-License-Identifier: MIT
// Writes graphs as ONNX files.
#include "io/atomic_file.hpp"
#include "onnx/write/export.hpp"
#include "tyto/onnx.hpp"

namespace tyto TYTO_API {

namespace {

GraphListing listing_of(const Graph& graph) {
  return list_graph(graph, [](const std::string& op) { return onnx::find_export(op) != nullptr; });
}

void write_file(const std::string& path, const std::string& model) {
  io::AtomicFile file(path);
  file.write(std::as_bytes(std::span(model)));
  file.commit();
}

}  // namespace

void write_onnx(const std::string& path, const Graph& graph, const OnnxNames& names) {
  const GraphListing listing = listing_of(graph);
  write_file(path, onnx::GraphExport(listing).model(names.outputs));
}

void write_onnx(const std::string& path, const std::function<Graph(std::int64_t)>& graph_of, const OnnxNames& names) {
  // Two lengths give a line and the others confirm it, far off and without common factors, so that limits and rounding
  // show; with one or none broadcasting would tell lies.
  constexpr std::int64_t lengths[] = {2, 3, 5, 67, 1031};
  std::vector<onnx::WrittenParts> parts;
  GraphListing first;
  for (const std::int64_t length : lengths) {
    const GraphListing listing = listing_of(graph_of(length));
    parts.push_back(onnx::GraphExport(listing).parts(length, names.outputs));
    if (length == lengths[0]) first = listing;
  }
  const onnx::OpenAxis open = onnx::open_axis_of(names.open_axis, parts);
  write_file(path, onnx::GraphExport(first).model(open, names.outputs));
}

}  // namespace TYTO_API
