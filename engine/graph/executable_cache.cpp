// SPDX-License-Identifier: MIT
// A bounded cache: compared by structure, least recently used out first, idle sessions kept for the next run.
#include "engine/graph/executable_cache.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <list>
#include <mutex>

#include "engine/prepare/graph_passes.hpp"

namespace tyto::run {

namespace {

constexpr std::size_t cache_limit = 64;
constexpr std::size_t sessions_limit = 4;

struct Entry {
  std::size_t hash;
  std::shared_ptr<const core::Graph> graph;  // as it was recorded; the executable's own has been through the passes
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

std::atomic<std::uint64_t> compiled{0};

std::shared_ptr<const Executable> compile(const core::Graph& graph, core::Device& device) {
  CompileOptions options;
  options.passes = bit_exact;
  return std::make_shared<const Executable>(graph, device, options);
}

void run(Session& session, const Traced& traced) {
  for (std::uint32_t i = 0; i < traced.arguments.size(); ++i) session.bind(i, traced.arguments[i]);
  session.run();
}

/// Whether two graphs of the same structure have the same labels.
bool same_labels(const core::Graph& a, const core::Graph& b) {
  for (std::size_t i = 0; i < a.nodes().size(); ++i) {
    const core::GraphNode &x = a.nodes()[i], &y = b.nodes()[i];
    if (x.label != y.label && !(x.label && y.label && *x.label == *y.label)) return false;
    const auto same = [](const core::Region& p, const core::Region& q) { return same_labels(p.graph(), q.graph()); };
    if (!std::ranges::equal(core::regions_of(a.attributes(x)), core::regions_of(b.attributes(y)), same)) return false;
  }
  return true;
}

}  // namespace

std::uint64_t executables_compiled() { return compiled; }

std::vector<core::Array> run_cached(Traced traced, core::Device& device) {
  const std::size_t hash = core::hash_of(traced.graph);
  std::shared_ptr<const Executable> executable;
  std::shared_ptr<const core::Graph> recorded;  // what the executable was made from, if it is not this graph
  std::unique_ptr<Session> session;
  {
    Cache& kept = cache();
    const std::lock_guard lock(kept.mutex);
    for (auto entry = kept.entries.begin(); entry != kept.entries.end(); ++entry) {
      if (entry->hash != hash || &entry->executable->device() != &device ||
          !core::same_structure(*entry->graph, traced.graph)) {
        continue;
      }
      kept.entries.splice(kept.entries.begin(), kept.entries, entry);
      executable = entry->executable;
      recorded = entry->graph;
      if (!entry->idle.empty()) {
        session = std::move(entry->idle.back());
        entry->idle.pop_back();
      }
      break;
    }
  }
  if (!executable) {
    executable = compile(traced.graph, device);
    ++compiled;
    Cache& kept = cache();
    const std::lock_guard lock(kept.mutex);
    kept.entries.push_front({hash, std::make_shared<const core::Graph>(std::move(traced.graph)), executable, {}});
    if (kept.entries.size() > cache_limit) kept.entries.pop_back();
  }
  if (!session) session = std::make_unique<Session>(executable);
  try {
    run(*session, traced);
  } catch (const Error&) {
    // The error may name a layer of the graph that the executable was made from: one of this graph's own names its. Not
    // where others are waited for, or what the user wrote would be called twice.
    if (!recorded || !executable->collectives().empty() || same_labels(*recorded, traced.graph) ||
        std::ranges::any_of(traced.graph.nodes(), core::calls_user_function)) {
      throw;
    }
    const std::exception_ptr first = std::current_exception();
    session.reset();
    try {
      session = std::make_unique<Session>(compile(traced.graph, device));
    } catch (...) {
      std::rethrow_exception(first);
    }
    run(*session, traced);
    std::rethrow_exception(first);
  }
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
