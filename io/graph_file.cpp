// SPDX-License-Identifier: MIT
// Saves and loads graphs as files, written whole or not at all.
#include "io/atomic_file.hpp"
#include "io/stream.hpp"
#include "tyto/io.hpp"

namespace tyto TYTO_API {

void save_graph(const std::string& path, const Graph& graph) {
  const std::vector<std::byte> bytes = graph.to_bytes();
  io::AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

Graph load_graph(const std::string& path, const CompileOptions& options) {
  const io::FileSource source(path);
  io::RangeStream stream(source);
  const std::vector<std::byte> bytes = stream.read_new(source.size(), "the graph");
  return Graph::from_bytes(bytes, path, options);
}

}  // namespace TYTO_API
