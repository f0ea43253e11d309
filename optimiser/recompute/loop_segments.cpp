// SPDX-License-Identifier: MIT
// Copies the graph, and replaces each of the two loops by a loop over segments, with loops over their iterations in its
// body, and a loop over the iterations after the segments.
#include "optimiser/recompute/loop_segments.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>

#include "core/graph/graph_copy.hpp"
#include "core/graph/op_ids.hpp"
#include "optimiser/passes/region_builder.hpp"
#include "optimiser/storage/storages.hpp"

namespace tyto::recompute {

namespace {

using core::Graph;
using core::GraphBuilder;
using core::GraphNode;
using core::IterationAttributes;
using core::OpId;
using core::Port;
using core::TensorType;
using Ports = std::vector<Port>;

/// The meaning of a loop's operands and results.
struct Loop {
  Loop(const Graph& graph, std::uint32_t index)
      : node(graph.nodes()[index]),
        attributes(std::get<IterationAttributes>(graph.attributes(node))),
        operands(graph.inputs_of(node)) {}

  std::size_t carries() const { return static_cast<std::size_t>(attributes.carries); }
  std::size_t rows() const { return static_cast<std::size_t>(attributes.rows); }
  std::size_t stacked() const { return static_cast<std::size_t>(attributes.stacked); }
  std::span<const Port> row_operands() const { return operands.subspan(carries(), rows()); }
  std::span<const Port> captures() const { return operands.subspan(carries() + rows()); }
  Port stack(std::size_t number) const { return node.first_result + static_cast<Port>(carries() + number); }

  const GraphNode& node;
  const IterationAttributes& attributes;
  std::span<const Port> operands;
};

bool is_plain(const GraphNode& node) {
  if (node.op != OpId::loop || core::calls_user_function(node)) return false;
  const auto& loop = std::get<IterationAttributes>(*node.attributes);
  return loop.trips > 0 && !loop.counted && !loop.tested && !loop.keyed;
}

/// The loop that alone reads this stack, row by row against the order in which the rows were made; nothing where
/// somebody else reads it.
std::optional<std::uint32_t> way_back(const Graph& graph, const Loop& loop, std::span<const std::uint32_t> readers,
                                      Port stack) {
  if (readers.empty()) return {};
  for (const std::uint32_t reader : readers) {
    const GraphNode& node = graph.nodes()[reader];
    if (reader != readers[0] || !is_plain(node)) return {};
    const Loop back(graph, reader);
    if (back.attributes.reverse == loop.attributes.reverse || back.attributes.trips != loop.attributes.trips) return {};
    const auto used = std::ranges::count(back.operands, stack), rows = std::ranges::count(back.row_operands(), stack);
    if (used != rows) return {};
  }
  return readers[0];
}

/// The nodes that read each port; what is read from outside has a reader that is no node.
std::vector<std::vector<std::uint32_t>> readers_of(const Graph& graph) {
  std::vector<std::vector<std::uint32_t>> readers(graph.port_count());
  for (std::uint32_t i = 0; i < graph.nodes().size(); ++i) {
    for (const Port input : graph.inputs_of(graph.nodes()[i])) readers[input].push_back(i);
  }
  return readers;
}

std::vector<bool> read_from_outside(const Graph& graph) {
  std::vector<bool> read(graph.port_count(), false);
  for (const Port output : graph.outputs()) read[output] = true;
  for (const core::GraphUpdate& update : graph.updates()) read[update.port] = true;
  return read;
}

/// For each stack of a loop, the loop that is its only reader, if any.
std::vector<std::optional<std::uint32_t>> ways_back(const Graph& graph, const Loop& loop) {
  const auto readers = readers_of(graph);
  const std::vector<bool> outside = read_from_outside(graph);
  std::vector<std::optional<std::uint32_t>> found(loop.stacked());
  for (std::size_t k = 0; k < found.size(); ++k) {
    const Port stack = loop.stack(k);
    if (!outside[stack]) found[k] = way_back(graph, loop, readers[stack], stack);
  }
  return found;
}

class Segmenter {
 public:
  Segmenter(const Graph& graph, const LoopPair& pair, LoopSegments segments)
      : graph_(graph),
        pair_(pair),
        forward_(graph, pair.forward),
        backward_(graph, pair.backward),
        segments_(segments),
        head_(segments.count * segments.length),
        tail_(pair.trips - head_),
        places_(graph, builder_) {
    const auto ways = ways_back(graph, forward_);
    for (std::size_t k = 0; k < ways.size(); ++k) {
      (ways[k] == pair.backward ? residual_ : lasting_).push_back(k);
    }
  }

  Graph run() {
    places_.add_inputs();
    for (std::uint32_t i = 0; i < graph_.nodes().size(); ++i) {
      const GraphNode& node = graph_.nodes()[i];
      if (places_.has(node)) continue;
      if (i == pair_.forward) add_forward();
      else if (i == pair_.backward) add_backward();
      else places_.add(node);
    }
    return places_.finish();
  }

 private:
  /// A loop over iterations of one of the two, from a number of its rows on.
  struct Part {
    const Loop& loop;
    std::span<const std::size_t> stacks;  // those that are wanted
    std::int64_t trips;
    Port first;  // the number of its first row; none where nobody asks for numbers
  };

  // The segments' rows come before the others, or after them where the loop begins with the last row.
  std::int64_t first_of_head() const { return forward_.attributes.reverse ? tail_ : 0; }
  std::int64_t first_of_tail() const { return forward_.attributes.reverse ? 0 : head_; }

  Port rows_from(Port stack, std::int64_t from, std::int64_t count) {
    const Shape& whole = builder_.graph().type(stack).shape;
    if (whole[0] == count) return stack;
    core::SliceAttributes part{IntList(whole.size(), 0), whole, IntList(whole.size(), 1)};
    part.start[0] = from;
    part.count[0] = count;
    return builder_.add(OpId::slice, part, {stack});
  }
  Port tail_of(Port stack) { return rows_from(stack, first_of_tail(), tail_); }
  /// The segments' rows, a segment a row.
  Port blocks_of(Port stack) {
    const Port head = rows_from(stack, first_of_head(), head_);
    Shape shape = builder_.graph().type(head).shape;
    shape[0] = segments_.length;
    shape.insert(std::size_t{0}, segments_.count);
    return builder_.add(OpId::reshape, core::ListAttributes{shape}, {head});
  }
  Port joined(Port blocks, std::optional<Port> tail) {
    Shape shape = builder_.graph().type(blocks).shape;
    shape.erase(std::size_t{0});
    shape[0] = head_;
    const Port head = builder_.add(OpId::reshape, core::ListAttributes{shape}, {blocks});
    if (!tail) return head;
    return forward_.attributes.reverse ? builder_.add(OpId::concat, core::AxisAttributes{0}, {*tail, head})
                                       : builder_.add(OpId::concat, core::AxisAttributes{0}, {head, *tail});
  }

  static Port number(GraphBuilder& builder, std::int64_t value) {
    return builder.add(OpId::fill, core::RangeAttributes{{}, DType::i64, Scalar(value), Scalar(0)}, {});
  }

  /// The body with only the wanted stacks; where it asks for numbers, those of its rows are counted from one more
  /// capture on.
  static core::Region body_of(const Part& part) {
    const Graph& body = part.loop.attributes.body.graph();
    optimiser::RegionBuilder builder(body);
    for (std::uint32_t i = 0; i < body.inputs().size(); ++i) builder.keep_input(i);
    if (part.loop.attributes.numbered) {
      const Port own = body.inputs()[part.loop.carries()].port;
      const Port first = builder.add_input(body.type(own));
      GraphNode sum{};
      sum.op = OpId::add;
      const Port terms[] = {first, builder.place(own)};
      builder.replace(own, builder.add(sum, terms));
    }
    Ports outputs, updates;
    for (const std::size_t k : part.stacks) outputs.push_back(body.outputs()[k]);
    for (const core::GraphUpdate& update : body.updates()) updates.push_back(update.port);
    return builder.finish(outputs, updates);
  }

  /// Its results: carries, then the wanted stacks.
  static Port add(GraphBuilder& builder, const Part& part, Ports operands) {
    IterationAttributes attributes = part.loop.attributes;
    attributes.body = body_of(part);
    attributes.trips = part.trips;
    attributes.stacked = static_cast<std::int64_t>(part.stacks.size());
    attributes.histories = 0;
    if (attributes.numbered) operands.push_back(part.first);
    return builder.add(OpId::loop, std::make_shared<const core::Attributes>(std::move(attributes)), operands,
                       part.loop.node.label);
  }

  Ports placed(std::span<const Port> ports) const {
    Ports list;
    for (const Port port : ports) list.push_back(places_[port]);
    return list;
  }

  /// The body of a loop over segments under construction, with its operands from outside, each once.
  struct Body {
    GraphBuilder builder;
    Ports rows, captures;  // operands outside
    std::unordered_map<Port, Port> row_inside, capture_inside;

    static Port take(Port outside, Ports& list, std::unordered_map<Port, Port>& inside,
                     const std::function<Port()>& input) {
      const auto [place, fresh] = inside.emplace(outside, core::no_port);
      if (fresh) {
        place->second = input();
        list.push_back(outside);
      }
      return place->second;
    }
  };

  TensorType row_type(Port stack) const {
    TensorType type = builder_.graph().type(stack);
    type.shape.erase(std::size_t{0});
    type.weak = false;
    return type;
  }
  Port add_row(Body& body, Port blocks) const {
    return Body::take(blocks, body.rows, body.row_inside,
                      [&] { return body.builder.add_input(row_type(blocks), core::GraphInput()); });
  }
  Port add_capture(Body& body, Port outside) const {
    return Body::take(outside, body.captures, body.capture_inside,
                      [&] { return body.builder.add_input(builder_.graph().type(outside), core::GraphInput()); });
  }

  // The first row of the segment whose number the body takes.
  Port first_row(Body& body, std::optional<Port> segment) const {
    if (!segment) return core::no_port;
    const Port length = number(body.builder, segments_.length), from = number(body.builder, first_of_head());
    const Port rows = body.builder.add(OpId::multiply, core::NoAttributes(), {*segment, length});
    return body.builder.add(OpId::add, core::NoAttributes(), {rows, from});
  }

  static std::optional<Port> add_number(Body& body, bool numbered) {
    if (!numbered) return {};
    return body.builder.add_input({DType::i64, {}, false}, core::GraphInput());
  }

  Port first_of_tail(const Loop& loop) {
    return loop.attributes.numbered ? number(builder_, first_of_tail()) : core::no_port;
  }

  /// The loop over segments: `carries` outside, and how it is made inside of those of a segment.
  Port add_outer(Body body, bool reverse, bool numbered, std::int64_t stacked, Ports operands) {
    IterationAttributes outer;
    outer.carries = static_cast<std::int64_t>(operands.size());
    outer.rows = static_cast<std::int64_t>(body.rows.size());
    outer.stacked = stacked;
    outer.trips = segments_.count;
    outer.numbered = numbered;
    outer.reverse = reverse;
    outer.body = core::Region(body.builder.finish());
    operands.insert(operands.end(), body.rows.begin(), body.rows.end());
    operands.insert(operands.end(), body.captures.begin(), body.captures.end());
    return builder_.add(OpId::loop, std::make_shared<const core::Attributes>(std::move(outer)), operands, nullptr);
  }

  Ports add_carries(Body& body, const Loop& loop) const {
    const Graph& own = loop.attributes.body.graph();
    Ports carries;
    for (std::size_t i = 0; i < loop.carries(); ++i) {
      carries.push_back(body.builder.add_input(own.type(own.inputs()[i].port), core::GraphInput()));
    }
    return carries;
  }

  void add_forward() {
    Ports row_blocks, row_tails;
    for (const Port row : forward_.row_operands()) row_blocks.push_back(blocks_of(places_[row]));
    const Ports captures = placed(forward_.captures());
    Body body;
    const Ports begins = add_carries(body, forward_);
    const std::optional<Port> segment = add_number(body, forward_.attributes.numbered);
    Ports operands = begins;
    for (const Port blocks : row_blocks) operands.push_back(add_row(body, blocks));
    for (const Port capture : captures) operands.push_back(add_capture(body, capture));
    // Inputs stand before everything else; rows and captures that come twice are given once.
    const Port first = first_row(body, segment);
    const Port inner = add(body.builder, {forward_, lasting_, segments_.length, first}, operands);
    for (std::size_t k = 0; k < lasting_.size(); ++k) {
      body.builder.add_output(inner + static_cast<Port>(forward_.carries() + k));
    }
    for (const Port begin : begins) body.builder.add_output(begin);
    for (std::uint32_t i = 0; i < forward_.carries(); ++i) body.builder.add_update(i, inner + i);
    const Port outer = add_outer(std::move(body), forward_.attributes.reverse, forward_.attributes.numbered,
                                 static_cast<std::int64_t>(lasting_.size() + begins.size()),
                                 placed(forward_.operands.first(forward_.carries())));
    row_blocks_ = std::move(row_blocks);
    Port carried = outer;
    const Port stacks = outer + static_cast<Port>(forward_.carries());
    for (std::size_t i = 0; i < begins.size(); ++i) {
      begins_.push_back(stacks + static_cast<Port>(lasting_.size() + i));
    }
    std::optional<Port> tail;
    if (tail_ != 0) {
      std::vector<std::size_t> all = lasting_;
      all.insert(all.end(), residual_.begin(), residual_.end());
      Ports given;
      for (Port i = 0; i < forward_.carries(); ++i) given.push_back(outer + i);
      for (const Port row : forward_.row_operands()) given.push_back(tail_of(places_[row]));
      given.insert(given.end(), captures.begin(), captures.end());
      carried = add(builder_, {forward_, all, tail_, first_of_tail(forward_)}, given);
      tail = carried + static_cast<Port>(forward_.carries());
      for (std::size_t k = 0; k < residual_.size(); ++k) {
        tail_of_residual_[forward_.stack(residual_[k])] = *tail + static_cast<Port>(lasting_.size() + k);
      }
    }
    for (Port i = 0; i < forward_.carries(); ++i) places_[forward_.node.first_result + i] = carried + i;
    for (std::size_t k = 0; k < lasting_.size(); ++k) {
      const auto at = static_cast<Port>(k);
      places_[forward_.stack(lasting_[k])] = joined(stacks + at, tail ? std::optional(*tail + at) : std::nullopt);
    }
  }

  void add_backward() {
    std::vector<std::size_t> all(backward_.stacked());
    for (std::size_t k = 0; k < all.size(); ++k) all[k] = k;
    const auto is_residual = [&](Port row) {
      return std::ranges::any_of(residual_, [&](std::size_t k) { return forward_.stack(k) == row; });
    };
    Ports carries = placed(backward_.operands.first(backward_.carries()));
    const Ports captures = placed(backward_.captures());
    // It begins with the iterations after the segments.
    std::optional<Port> tail;
    if (tail_ != 0) {
      Ports given = carries;
      for (const Port row : backward_.row_operands()) {
        given.push_back(is_residual(row) ? tail_of_residual_.at(row) : tail_of(places_[row]));
      }
      given.insert(given.end(), captures.begin(), captures.end());
      const Port after = add(builder_, {backward_, all, tail_, first_of_tail(backward_)}, given);
      for (std::size_t i = 0; i < carries.size(); ++i) carries[i] = after + static_cast<Port>(i);
      tail = after + static_cast<Port>(carries.size());
    }
    Ports row_blocks;
    for (const Port row : backward_.row_operands()) {
      row_blocks.push_back(is_residual(row) ? core::no_port : blocks_of(places_[row]));
    }
    Body body;
    const Ports own = add_carries(body, backward_);
    const bool numbered = forward_.attributes.numbered || backward_.attributes.numbered;
    const std::optional<Port> segment = add_number(body, numbered);
    // Rows stand before captures.
    Ports again, back = own;
    for (const Port begin : begins_) again.push_back(add_row(body, begin));
    for (const Port blocks : row_blocks_) again.push_back(add_row(body, blocks));
    for (const Port blocks : row_blocks) back.push_back(blocks == core::no_port ? blocks : add_row(body, blocks));
    for (const Port capture : forward_.captures()) again.push_back(add_capture(body, places_[capture]));
    for (const Port capture : captures) back.push_back(add_capture(body, capture));
    const Port first = first_row(body, segment);
    const Port made = add(body.builder, {forward_, residual_, segments_.length, first}, again);
    for (std::size_t i = 0; i < backward_.rows(); ++i) {
      Port& row = back[own.size() + i];
      if (row != core::no_port) continue;
      const auto k = std::ranges::find_if(
          residual_, [&](std::size_t each) { return forward_.stack(each) == backward_.row_operands()[i]; });
      row = made + static_cast<Port>(forward_.carries() + static_cast<std::size_t>(k - residual_.begin()));
    }
    const Port inner = add(body.builder, {backward_, all, segments_.length, first}, back);
    for (std::size_t k = 0; k < all.size(); ++k) body.builder.add_output(inner + static_cast<Port>(own.size() + k));
    for (std::uint32_t i = 0; i < own.size(); ++i) body.builder.add_update(i, inner + i);
    const Port outer = add_outer(std::move(body), backward_.attributes.reverse, numbered,
                                 static_cast<std::int64_t>(all.size()), carries);
    const Port results = backward_.node.first_result;
    for (Port i = 0; i < own.size(); ++i) places_[results + i] = outer + i;
    for (std::size_t k = 0; k < all.size(); ++k) {
      const auto at = static_cast<Port>(k);
      places_[backward_.stack(k)] =
          joined(outer + static_cast<Port>(own.size()) + at, tail ? std::optional(*tail + at) : std::nullopt);
    }
  }

  const Graph& graph_;
  LoopPair pair_;
  Loop forward_, backward_;
  LoopSegments segments_;
  std::int64_t head_, tail_;                     // iterations in segments, and after them
  std::vector<std::size_t> lasting_, residual_;  // stacks of the way there, by number
  GraphBuilder builder_;
  core::GraphCopy places_;  // of the graph
  Ports row_blocks_;        // rows of the way there, a segment a row
  Ports begins_;            // its carries as each segment began
  std::unordered_map<Port, Port> tail_of_residual_;
};

// Regions are no deeper than the program's own nesting.
void add_pairs(const Graph& graph, std::vector<RegionStep>& path, std::vector<LoopPair>& pairs) {
  for (std::uint32_t i = 0; i < graph.nodes().size(); ++i) {
    const GraphNode& node = graph.nodes()[i];
    if (node.attributes) {
      const std::span<const core::Region> regions = core::regions_of(*node.attributes);
      for (std::size_t k = 0; k < regions.size(); ++k) {
        path.push_back({i, k});
        add_pairs(regions[k].graph(), path, pairs);
        path.pop_back();
      }
    }
    if (!is_plain(node)) continue;
    const Loop loop(graph, i);
    const auto ways = ways_back(graph, loop);
    const std::size_t known = pairs.size();
    for (std::size_t k = 0; k < ways.size(); ++k) {
      if (!ways[k]) continue;
      auto pair = std::find_if(pairs.begin() + static_cast<std::ptrdiff_t>(known), pairs.end(),
                               [&](const LoopPair& each) { return each.backward == *ways[k]; });
      if (pair == pairs.end()) pair = pairs.insert(pair, {i, *ways[k], loop.attributes.trips, 0, 0, path});
      pair->kept += static_cast<std::int64_t>(optimiser::bytes_of(graph, loop.stack(k))) / loop.attributes.trips;
    }
    for (std::size_t p = known; p < pairs.size(); ++p) {
      for (std::size_t c = 0; c < loop.carries(); ++c) {
        pairs[p].carried += static_cast<std::int64_t>(optimiser::bytes_of(graph, loop.operands[c]));
      }
    }
  }
}

}  // namespace

std::vector<LoopPair> loop_pairs(const Graph& graph) {
  std::vector<LoopPair> pairs;
  std::vector<RegionStep> path;
  add_pairs(graph, path, pairs);
  std::ranges::stable_sort(pairs, std::ranges::greater(), [](const LoopPair& each) { return each.kept * each.trips; });
  return pairs;
}

LoopSegments segments_of(const LoopPair& pair, double share) {
  const double trips = std::min(1.0, share) * static_cast<double>(pair.trips);
  const double best = std::sqrt(trips * static_cast<double>(pair.carried + 1) / static_cast<double>(pair.kept + 1));
  const auto most = static_cast<std::int64_t>(trips);
  const std::int64_t length = std::clamp<std::int64_t>(std::llround(best), 1, std::max<std::int64_t>(most / 2, 1));
  // Of segments nearly as long those that leave nothing over are the best: joining what is left over takes a copy.
  if (share >= 1) {
    for (std::int64_t longer = length; longer <= length + length / 2 && longer <= pair.trips / 2; ++longer) {
      if (pair.trips % longer == 0) return {pair.trips / longer, longer};
    }
  }
  const LoopSegments segments{most / length, length};
  return segments.count < 2 ? LoopSegments() : segments;
}

Graph with_segments(const Graph& graph, const LoopPair& pair, LoopSegments segments) {
  if (pair.path.empty()) return Segmenter(graph, pair, segments).run();
  const RegionStep step = pair.path.front();
  LoopPair inside = pair;
  inside.path.erase(inside.path.begin());
  core::GraphData data = Graph(graph).take();
  GraphNode& node = data.nodes[step.node];
  core::Attributes attributes = *node.attributes;
  auto* branch = std::get_if<core::BranchAttributes>(&attributes);
  core::Region& region = branch != nullptr ? branch->arms[step.region] : std::get<IterationAttributes>(attributes).body;
  region = core::Region(with_segments(region.graph(), inside, segments));
  node.attributes = std::make_shared<const core::Attributes>(std::move(attributes));
  return Graph(std::move(data));
}

}  // namespace tyto::recompute
