// SPDX-License-Identifier: MIT
// One traversal of the nodes in order; a storage ends with the last consumer of any port in it.
#include "optimiser/storage/lifetimes.hpp"

#include <algorithm>

#include "optimiser/storage/storages.hpp"

namespace tyto::optimiser {

using core::GraphNode;
using core::Port;
using core::Traits;

std::vector<std::uint32_t> positions_in(std::span<const std::uint32_t> order) {
  std::vector<std::uint32_t> positions(order.size());
  for (std::uint32_t position = 0; position < order.size(); ++position) positions[order[position]] = position;
  return positions;
}

std::vector<std::uint32_t> last_consumers(const core::Graph& graph, std::span<const std::uint32_t> positions) {
  std::vector<std::uint32_t> last(graph.port_count(), 0);
  for (Port port = 0; port < last.size(); ++port) last[port] = positions[graph.producer(port)];
  for (const Port output : graph.outputs()) last[output] = UINT32_MAX;
  for (const core::GraphUpdate& update : graph.updates()) last[update.port] = UINT32_MAX;
  for (std::size_t i = graph.nodes().size(); i-- > 0;) {
    const GraphNode& node = graph.nodes()[i];
    const bool view = core::definition(node.op).is(Traits::view) && node.input_count != 0;
    bool first = true;
    for (const Port input : graph.inputs_of(node)) {
      last[input] = std::max(last[input], positions[i]);
      if (view && first) last[input] = std::max(last[input], last[node.first_result]);
      first = false;
    }
  }
  return last;
}

Lifetimes lifetimes_of(const core::Graph& graph, std::span<const std::uint32_t> order,
                       std::span<const Destination> destinations) {
  Lifetimes out;
  out.of_port.assign(graph.port_count(), Lifetimes::none);
  const std::vector<std::uint32_t> last = last_consumers(graph, positions_in(order));
  const auto make = [&](Port port, std::uint32_t first) {
    out.list.push_back({static_cast<std::int64_t>(bytes_of(graph, port)), first, last[port]});
    return static_cast<std::uint32_t>(out.list.size() - 1);
  };
  const auto join = [&](Port port, std::uint32_t lifetime) {
    out.of_port[port] = lifetime;
    out.list[lifetime].last = std::max(out.list[lifetime].last, last[port]);
  };

  for (std::uint32_t i = 0; i < order.size(); ++i) {
    const GraphNode& node = graph.nodes()[order[i]];
    const core::OpDef& def = core::definition(node.op);
    const std::span<const Port> inputs = graph.inputs_of(node);
    if (inputs.empty() && (def.is(Traits::leaf) || def.is(Traits::view))) continue;
    if (def.is(Traits::view)) {
      if (out.of_port[inputs[0]] != Lifetimes::none) join(node.first_result, out.of_port[inputs[0]]);
      continue;
    }
    for (std::uint32_t r = 0; r < node.result_count; ++r) {
      const Port port = node.first_result + r;
      if (out.of_port[port] != Lifetimes::none) {  // the whole of parts seen before
        join(port, out.of_port[port]);
        continue;
      }
      if (!destinations.empty() && destinations[port]) {
        const Port whole = destinations[port].whole;
        if (out.of_port[whole] == Lifetimes::none) out.of_port[whole] = make(whole, i);
        join(port, out.of_port[whole]);
        continue;
      }
      std::uint32_t lifetime = Lifetimes::none;
      const InPlaceRule rule(graph, node, port);
      for (std::size_t k = 0; k < inputs.size() && lifetime == Lifetimes::none; ++k) {
        const std::uint32_t candidate = out.of_port[inputs[k]];
        if (candidate == Lifetimes::none || out.list[candidate].last != i) continue;
        const core::View seen = core::View::dense(graph.type(inputs[k]).shape);
        if (rule.allows(k, seen, static_cast<std::size_t>(out.list[candidate].bytes))) lifetime = candidate;
      }
      if (lifetime == Lifetimes::none) lifetime = make(port, i);
      join(port, lifetime);
    }
  }
  return out;
}

PeakLoad peak_load_of(const Lifetimes& lifetimes, std::uint32_t positions) {
  std::vector<std::int64_t> change(std::size_t{positions} + 1, 0);
  for (const Lifetime& lifetime : lifetimes.list) {
    change[lifetime.first] += lifetime.bytes;
    change[std::min(lifetime.last, positions - 1) + 1] -= lifetime.bytes;
  }
  PeakLoad load;
  std::int64_t alive = 0;
  for (std::uint32_t i = 0; i < positions; ++i) {
    alive += change[i];
    if (alive > load.peak) load = {alive, i};
  }
  return load;
}

}  // namespace tyto::optimiser
