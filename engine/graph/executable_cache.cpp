// A bounded cache: compared by structure, least recently used out first, idle sessions kept for the next run.
#include "engine/graph/executable_cache.hpp"

#include <list>
#include <mutex>

#include "engine/execution/graph_passes.hpp"

namespace tyto::run {

namespace {

constexpr std::size_t cache_limit = 64;
constexpr std::size_t sessions_limit = 4;

std::size_t hash_of(const core::Graph& graph) {
  std::size_t seed = graph.nodes().size();
  const auto mix = [&](std::size_t value) { seed ^= value + 0x9e3779b97f4a7c15u + (seed << 6) + (seed >> 2); };
  for (const core::GraphNode& node : graph.nodes()) {
    mix(static_cast<std::size_t>(node.op));
    mix(core::hash_of(graph.attributes(node)));
    for (const core::Port input : graph.inputs_of(node)) mix(input);
  }
  for (const core::GraphInput& input : graph.inputs()) {
    mix(static_cast<std::size_t>(graph.type(input.port).dtype));
    for (const std::int64_t length : graph.type(input.port).shape) mix(static_cast<std::size_t>(length));
  }
  for (const core::Port output : graph.outputs()) mix(output);
  return seed;
}

struct Entry {
  std::size_t hash;
  core::Graph graph;  // as it was recorded; the executable's own has been through the passes
  std::shared_ptr<const Executable> executable;
  std::vector<std::unique_ptr<Session>> idle;
};

struct Cache {
  std::mutex mutex;
  std::list<Entry> entries;  // most recently used first
};

// Never destroyed: tensors of static lifetime may still be evaluated while the process ends.
Cache& cache() {
  static Cache* const kept = new Cache;
  return *kept;
}

}  // namespace

bool same_structure(const core::Graph& a, const core::Graph& b) {
  if (a.nodes().size() != b.nodes().size() || a.port_count() != b.port_count() ||
      a.inputs().size() != b.inputs().size() || a.outputs().size() != b.outputs().size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.nodes().size(); ++i) {
    const core::GraphNode& x = a.nodes()[i];
    const core::GraphNode& y = b.nodes()[i];
    const auto x_inputs = a.inputs_of(x);
    const auto y_inputs = b.inputs_of(y);
    if (x.op != y.op || !std::equal(x_inputs.begin(), x_inputs.end(), y_inputs.begin(), y_inputs.end()) ||
        !(a.attributes(x) == b.attributes(y))) {
      return false;
    }
  }
  for (std::size_t i = 0; i < a.inputs().size(); ++i) {
    if (a.inputs()[i].port != b.inputs()[i].port || a.inputs()[i].state != b.inputs()[i].state) return false;
  }
  for (core::Port port = 0; port < a.port_count(); ++port) {
    if (!(a.type(port) == b.type(port))) return false;
  }
  return std::equal(a.outputs().begin(), a.outputs().end(), b.outputs().begin());
}

std::vector<core::Array> run_cached(Traced traced, core::Device& device) {
  const std::size_t hash = hash_of(traced.graph);
  std::shared_ptr<const Executable> executable;
  std::unique_ptr<Session> session;
  std::vector<std::shared_ptr<const Executable>> related;  // perhaps the same program at other sizes
  {
    Cache& kept = cache();
    const std::lock_guard lock(kept.mutex);
    for (auto entry = kept.entries.begin(); entry != kept.entries.end(); ++entry) {
      if (entry->hash != hash || &entry->executable->device() != &device ||
          !same_structure(entry->graph, traced.graph)) {
        if (entry->graph.nodes().size() == traced.graph.nodes().size()) related.push_back(entry->executable);
        continue;
      }
      kept.entries.splice(kept.entries.begin(), kept.entries, entry);
      executable = entry->executable;
      if (!entry->idle.empty()) {
        session = std::move(entry->idle.back());
        entry->idle.pop_back();
      }
      break;
    }
  }
  if (!executable) {
    CompileOptions options;
    options.passes = bit_exact;
    executable = std::make_shared<const Executable>(traced.graph, device, options, related);
    Cache& kept = cache();
    const std::lock_guard lock(kept.mutex);
    kept.entries.push_front({hash, std::move(traced.graph), executable, {}});
    if (kept.entries.size() > cache_limit) kept.entries.pop_back();
  }
  if (!session) session = std::make_unique<Session>(executable);
  for (std::uint32_t i = 0; i < traced.arguments.size(); ++i) session->bind(i, traced.arguments[i]);
  session->run();
  std::vector<core::Array> outputs;
  for (std::size_t i = 0; i < executable->graph().outputs().size(); ++i) outputs.push_back(session->take_output(i));
  session->release_inputs();
  Cache& kept = cache();
  const std::lock_guard lock(kept.mutex);
  for (Entry& entry : kept.entries) {
    if (entry.executable == executable && entry.idle.size() < sessions_limit) {
      entry.idle.push_back(std::move(session));
      break;
    }
  }
  return outputs;
}

}  // namespace tyto::run
