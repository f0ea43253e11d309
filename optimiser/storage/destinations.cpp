// SPDX-License-Identifier: MIT
// Goes from consumers to producers: a whole offers views of its storage to its parts; a part that is a whole itself
// passes them on.
#include "optimiser/storage/destinations.hpp"

#include <algorithm>
#include <optional>

#include "core/graph/op_ids.hpp"
#include "optimiser/storage/lifetimes.hpp"
#include "optimiser/storage/overwritten.hpp"
#include "optimiser/storage/storages.hpp"

namespace tyto::optimiser {

using core::GraphNode;
using core::OpId;
using core::Port;
using core::Traits;
using core::View;

namespace {

const IntList* reduced_axes(const core::Attributes& attributes) {
  if (const auto* axes = std::get_if<core::AxesAttributes>(&attributes)) return &axes->axes;
  if (const auto* variance = std::get_if<core::VarianceAttributes>(&attributes)) return &variance->axes;
  if (const auto* group = std::get_if<core::LoopAttributes>(&attributes)) return &group->axes;
  return nullptr;
}

/// Reductions take neighbouring axes as one where they lie without gaps. With a gap between two of them they would add
/// in another order, and graphs give eager mode's sums bit for bit.
bool adds_alike(const core::Attributes& attributes, const View& view) {
  const IntList* axes = reduced_axes(attributes);
  if (axes == nullptr || view.shape.size() < 2) return true;
  std::vector<bool> reduced(view.shape.size(), false);
  for (const std::int64_t axis : *axes) {
    if (axis < view.shape.rank()) reduced[static_cast<std::size_t>(axis)] = true;
  }
  std::optional<std::size_t> inner;  // the last axis before, of those of more than one element
  for (std::size_t i = view.shape.size(); i-- > 0;) {
    if (view.shape[i] == 1) continue;
    if (inner && reduced[i] && reduced[*inner] && view.strides[i] != view.strides[*inner] * view.shape[*inner]) {
      return false;
    }
    inner = i;
  }
  return true;
}

class Chooser {
 public:
  Chooser(const core::Graph& graph, std::span<const std::uint32_t> order, const DestinationCallbacks& callbacks)
      : graph_(graph), callbacks_(callbacks), positions_(positions_in(order)), refused_(graph.port_count(), false) {}

  bool has_wholes() {
    for (std::uint32_t i = 0; i < graph_.nodes().size(); ++i) {
      if (is_whole(i)) wholes_.push_back(i);
    }
    return !wholes_.empty();
  }

  void prepare() {
    last_ = last_consumers(graph_, positions_);
    pinned_.assign(graph_.port_count(), false);
    for (const Port output : graph_.outputs()) pinned_[output] = true;
    for (const core::GraphUpdate& update : graph_.updates()) pinned_[update.port] = true;
    first_consumer_.assign(graph_.port_count() + 1, 0);
    for (const GraphNode& node : graph_.nodes()) {
      for (const Port input : graph_.inputs_of(node)) ++first_consumer_[input + 1];
    }
    for (std::size_t i = 1; i < first_consumer_.size(); ++i) first_consumer_[i] += first_consumer_[i - 1];
    consumers_.resize(first_consumer_.back());
    std::vector<std::uint32_t> next(first_consumer_.begin(), first_consumer_.end() - 1);
    for (std::uint32_t i = 0; i < graph_.nodes().size(); ++i) {
      const std::span<const Port> inputs = graph_.inputs_of(graph_.nodes()[i]);
      for (std::uint32_t k = 0; k < inputs.size(); ++k) consumers_[next[inputs[k]]++] = {i, k};
    }
  }

  void refuse(Port port) { refused_[port] = true; }

  std::vector<Destination> choose() {
    chosen_.assign(graph_.port_count(), {});
    overwritten_ = {};
    limits_.assign(graph_.port_count(), {});
    for (auto whole = wholes_.rbegin(); whole != wholes_.rend(); ++whole) place_parts(*whole);
    return chosen_;
  }

 private:
  struct Consumer {
    std::uint32_t node, input;
  };
  /// When a part may lie in its whole. Its parts keep to the same.
  struct Limits {
    Overwritten::Map overwritten = Overwritten::nothing;  // nobody may read there from then on
    std::uint32_t from = 0;                               // until then an operand of set_slice is being written
  };

  std::uint32_t position_of(Port port) const { return positions_[graph_.producer(port)]; }
  std::int64_t count_of(Port port) const { return element_count(graph_.type(port).shape); }

  bool is_whole(std::uint32_t index) const {
    const GraphNode& node = graph_.nodes()[index];
    if (node.op == OpId::pad) {
      const auto& padding = std::get<core::PadAttributes>(graph_.attributes(node));
      return padding.mode == core::PadMode::constant && callbacks_.is_concat_like(index);
    }
    return (node.op == OpId::concat || node.op == OpId::set_slice) && callbacks_.is_concat_like(index);
  }

  void place_parts(std::uint32_t index) {
    const GraphNode& node = graph_.nodes()[index];
    const std::span<const Port> inputs = graph_.inputs_of(node);
    const Port result = node.first_result;
    const Destination outer = chosen_[result];
    const Port whole = outer ? outer.whole : result;
    const View outer_view = outer ? outer.view : View::dense(graph_.type(result).shape);
    if (node.op == OpId::concat) {
      const auto axis = static_cast<std::size_t>(std::get<core::AxisAttributes>(graph_.attributes(node)).axis);
      IntList start(outer_view.shape.size(), 0);
      const IntList ones(outer_view.shape.size(), 1);
      for (const Port input : inputs) {
        const Shape& shape = graph_.type(input).shape;
        (void)offer(input, whole, core::slice(outer_view, start, shape, ones), index, limits_[result], false);
        start[axis] += shape[axis];
      }
    } else if (node.op == OpId::pad) {
      const auto& padding = std::get<core::PadAttributes>(graph_.attributes(node));
      const Shape& shape = graph_.type(inputs[0]).shape;
      const View inner = core::slice(outer_view, padding.before, shape, IntList(shape.size(), 1));
      (void)offer(inputs[0], whole, inner, index, limits_[result], false);
    } else {
      place_replacement(node, index, whole, outer_view);
    }
  }

  // The operand first: only when it lies in the whole already can the replacement be written before set_slice is
  // reached, and only after the operand was.
  void place_replacement(const GraphNode& node, std::uint32_t index, Port whole, const View& outer_view) {
    const auto& part = std::get<core::SliceAttributes>(graph_.attributes(node));
    const std::span<const Port> inputs = graph_.inputs_of(node);
    Limits limits = limits_[node.first_result];
    const std::optional<Port> base = offer(inputs[0], whole, outer_view, index, limits, true);
    if (!base) return;
    const View view = core::slice(outer_view, part.start, part.count, part.step);
    const std::uint32_t after_base = position_of(*base) + 1;
    const std::optional<Port> value = offer(inputs[1], whole, view, index, {limits.overwritten, after_base}, false);
    // Parts of the replacement may be written before it is put together.
    const std::uint32_t first = !value                              ? positions_[index]
                                : is_whole(graph_.producer(*value)) ? after_base
                                                                    : position_of(*value);
    limits_[*base].overwritten = overwritten_.with(limits.overwritten, count_of(whole), core::touched(view), first);
  }

  /// Gives `port` (or the tensor that it views) the destination, if all consumers allow it. Returns the port that got
  /// it.
  std::optional<Port> offer(Port port, Port whole, View view, std::uint32_t assembly, const Limits& limits,
                            bool alone) {
    if (view.count() == 0) return {};
    while (true) {
      if (pinned_[port] || refused_[port] || chosen_[port]) return {};
      if (alone && first_consumer_[port + 1] - first_consumer_[port] != 1) return {};
      const GraphNode& node = graph_.nodes()[graph_.producer(port)];
      const core::OpDef& def = core::definition(node.op);
      if (node.input_count == 0 && (def.is(Traits::leaf) || def.is(Traits::view))) return {};
      if (!def.is(Traits::view)) break;
      const Port input = graph_.inputs_of(node)[0];
      const std::optional<View> before = view_of_input(node, graph_.type(input).shape, view);
      if (!before) return {};
      view = *before;
      port = input;
    }
    const std::uint32_t producer = graph_.producer(port);
    if (positions_[producer] < limits.from) return {};
    const std::uint32_t end = overwritten_.first_in(limits.overwritten, count_of(whole), core::touched(view));
    if (end != Overwritten::never && last_[port] >= end) return {};
    const GraphNode& node = graph_.nodes()[producer];
    if (!callbacks_.writes(producer, port - node.first_result, view)) return {};
    if (!core::is_dense(view) && !all_read(port, view, assembly, 0)) return {};
    chosen_[port] = {whole, view};
    limits_[port] = limits;
    return port;
  }

  /// The place of a view operator's input, given that of its result; empty when the result is only a part of it.
  std::optional<View> view_of_input(const GraphNode& node, const Shape& shape, const View& result) const {
    std::optional<View> input;
    if (node.op == OpId::reshape) {
      input = core::reshape(result, shape);
    } else if (node.op == OpId::transpose) {
      input = core::permute(result, core::inverse_order(std::get<core::ListAttributes>(graph_.attributes(node)).list));
    } else if (result.shape == shape) {
      input = result;  // alias and its like; what moves elements fails the test below
    }
    if (!input) return {};
    const std::optional<View> again = core::definition(node.op).view(graph_.attributes(node), *input);
    return again && core::same_layout(*again, result) ? input : std::nullopt;
  }

  /// No consumer besides the concat-like node makes a dense copy of the part first, which would cost what is to be
  /// saved.
  bool all_read(Port port, const View& view, std::uint32_t assembly, int depth) const {
    constexpr int deepest = 8;
    for (std::uint32_t at = first_consumer_[port]; at < first_consumer_[port + 1]; ++at) {
      const Consumer consumer = consumers_[at];
      if (consumer.node == assembly) continue;
      const GraphNode& node = graph_.nodes()[consumer.node];
      const core::OpDef& def = core::definition(node.op);
      if (def.is(Traits::view)) {
        if (consumer.input != 0) continue;
        const std::optional<View> seen = def.view(graph_.attributes(node), view);
        if (!seen || depth == deepest || !all_read(node.first_result, *seen, assembly, depth + 1)) return false;
      } else if (!adds_alike(graph_.attributes(node), view) || !callbacks_.reads(consumer.node, consumer.input, view)) {
        return false;
      }
    }
    return true;
  }

  const core::Graph& graph_;
  const DestinationCallbacks& callbacks_;
  std::vector<std::uint32_t> positions_;
  std::vector<bool> refused_, pinned_;
  std::vector<std::uint32_t> wholes_, last_, first_consumer_;
  std::vector<Consumer> consumers_;
  std::vector<Destination> chosen_;
  Overwritten overwritten_;
  std::vector<Limits> limits_;
};

/// The old parts of the costliest whole that is alive at the peak only because of them.
std::vector<Port> parts_to_free(const core::Graph& graph, std::span<const std::uint32_t> positions,
                                std::span<const Destination> chosen, const Lifetimes& lifetimes, std::uint32_t peak) {
  struct Whole {
    Port port;
    std::int64_t saving;
    std::vector<Port> old;
  };
  std::vector<Whole> wholes;
  for (Port port = 0; port < chosen.size(); ++port) {
    if (!chosen[port]) continue;
    const Lifetime& lifetime = lifetimes.list[lifetimes.of_port[chosen[port].whole]];
    const bool joined = positions[graph.producer(chosen[port].whole)] <= peak;
    if (joined || lifetime.first > peak || lifetime.last < peak || positions[graph.producer(port)] > peak) continue;
    auto found =
        std::find_if(wholes.begin(), wholes.end(), [&](const Whole& w) { return w.port == chosen[port].whole; });
    if (found == wholes.end()) found = wholes.insert(wholes.end(), {chosen[port].whole, lifetime.bytes, {}});
    found->saving -= static_cast<std::int64_t>(bytes_of(graph, port));
    found->old.push_back(port);
  }
  const auto most = std::max_element(wholes.begin(), wholes.end(),
                                     [](const Whole& a, const Whole& b) { return a.saving < b.saving; });
  return most == wholes.end() || most->saving <= 0 ? std::vector<Port>() : std::move(most->old);
}

}  // namespace

std::vector<Destination> choose_destinations(const core::Graph& graph, std::span<const std::uint32_t> order,
                                             const DestinationCallbacks& callbacks) {
  Chooser chooser(graph, order, callbacks);
  if (!chooser.has_wholes()) return std::vector<Destination>(graph.port_count());
  chooser.prepare();
  std::vector<Destination> chosen = chooser.choose();
  // A whole lives from its first part on. Where that raises the peak, its oldest parts are copied in after all.
  constexpr int trials = 32;
  const std::vector<std::uint32_t> positions = positions_in(order);
  const auto count = static_cast<std::uint32_t>(order.size());
  Lifetimes lifetimes = lifetimes_of(graph, order, chosen);
  PeakLoad load = peak_load_of(lifetimes, count);
  for (int trial = 0; trial < trials; ++trial) {
    const std::vector<Port> old = parts_to_free(graph, positions, chosen, lifetimes, load.position);
    if (old.empty()) break;
    for (const Port port : old) chooser.refuse(port);
    std::vector<Destination> fewer = chooser.choose();
    Lifetimes changed = lifetimes_of(graph, order, fewer);
    const PeakLoad lower = peak_load_of(changed, count);
    if (lower.peak >= load.peak) break;
    chosen = std::move(fewer);
    lifetimes = std::move(changed);
    load = lower;
  }
  return chosen;
}

}  // namespace tyto::optimiser
