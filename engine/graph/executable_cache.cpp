// SPDX-License-Identifier: MIT
// A bounded cache: compared by structure, least recently used out first, idle sessions kept for the next run.
#include "engine/graph/executable_cache.hpp"

#include <list>
#include <mutex>

#include "engine/prepare/graph_passes.hpp"

namespace tyto::run {

namespace {

constexpr std::size_t cache_limit = 64;
constexpr std::size_t sessions_limit = 4;

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

thread_local std::uint64_t compiled = 0;

}  // namespace

std::uint64_t executables_compiled() { return compiled; }

std::vector<core::Array> run_cached(Traced traced, core::Device& device) {
  const std::size_t hash = core::hash_of(traced.graph);
  std::shared_ptr<const Executable> executable;
  std::unique_ptr<Session> session;
  std::vector<std::shared_ptr<const Executable>> related;  // perhaps the same program at other sizes
  {
    Cache& kept = cache();
    const std::lock_guard lock(kept.mutex);
    for (auto entry = kept.entries.begin(); entry != kept.entries.end(); ++entry) {
      if (entry->hash != hash || &entry->executable->device() != &device ||
          !core::same_structure(entry->graph, traced.graph)) {
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
    ++compiled;
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
