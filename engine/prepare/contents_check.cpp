// SPDX-License-Identifier: MIT
// Runs a plan symbolically: each value is a number, and memory holds which bytes of which value lie where. What a step
// reads is compared with the graph. Lifetimes, orders and what made the plan are not consulted.
#include "engine/prepare/contents_check.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>

#include "core/graph/op_ids.hpp"
#include "core/value/text.hpp"
#include "optimiser/memory/contents.hpp"

namespace tyto::run {

namespace {

using core::Graph;
using core::GraphNode;
using core::OpId;
using core::Port;
using memory::ByteContents;
using memory::ByteRun;
using memory::Contents;
using memory::ValueNumber;

constexpr std::size_t most_faults = 20;
constexpr std::size_t most_steps = 50'000;  // of all iterations: what is beyond them is not followed

struct Address {
  std::uint32_t memory = 0;
  std::int64_t offset = 0;
  Address operator+(std::int64_t bytes) const { return {memory, offset + bytes}; }
  friend bool operator==(const Address&, const Address&) = default;
};

std::int64_t bytes_of(const Graph& graph, Port port) {
  const core::TensorType& type = graph.type(port);
  return element_count(type.shape) * static_cast<std::int64_t>(size_of(type.dtype));
}

bool is_concat_like(OpId op) { return op == OpId::concat || op == OpId::pad || op == OpId::set_slice; }

class SymbolicRun {
 public:
  /// The scenario's number determines the arms taken and the iterations of loops. Each of the first `fixed` scenarios
  /// takes the arm of its own number throughout.
  SymbolicRun(std::size_t scenario, std::size_t fixed)
      : scenario_(scenario), fixed_(fixed), choices_(scenario * 0x9E3779B97F4A7C15u) {}

  std::vector<std::string> faults(const PlannedProgram& program) {
    Frame frame;
    frame.program = &program;
    frame.arena = {bytes_.add_memory(), 0};
    frame.host = {bytes_.add_memory(), 0};
    const Graph& graph = *program.graph;
    for (const core::GraphInput& input : graph.inputs()) {
      frame.inputs.push_back({bytes_.add_memory(), 0});
      frame.given.push_back(
          fresh(input.name.empty() ? "an input" : std::string_view(input.name), bytes_of(graph, input.port)));
      put(frame.inputs.back(), bytes_of(graph, input.port), frame.given.back());
    }
    for (std::size_t i = 0; i < graph.outputs().size(); ++i) frame.outputs.push_back({bytes_.add_memory(), 0});
    run(frame);
    for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
      const Port port = graph.outputs()[i];
      demand(frame.outputs[i], bytes_of(graph, port), frame.contents[port], "output ", i);
    }
    for (const core::GraphUpdate& update : graph.updates()) {
      demand(frame.inputs[update.input], bytes_of(graph, update.port), frame.contents[update.port],
             "the new value of input ", update.input);
    }
    return std::move(faults_);
  }

 private:
  /// One run of a program: where its memory lies, and what each port means this time.
  struct Frame {
    const PlannedProgram* program = nullptr;
    Address arena, host;
    std::vector<Address> inputs, outputs;
    std::vector<Contents> given;     // of the inputs
    std::vector<Contents> contents;  // of the ports
  };

  /// `what` outlives the run.
  Contents fresh(std::string_view what, std::int64_t bytes) {
    names_.push_back({what, scope_});
    return Contents::of(static_cast<ValueNumber>(names_.size() - 1), bytes);
  }
  std::string name_of(ValueNumber value) const {
    const auto& [what, scope] = names_[value];
    return scope == 0 ? std::string(what) : core::text(what, " of ", scopes_[scope]);
  }
  void fault(const std::string& what) {
    if (faults_.size() < most_faults) faults_.push_back(scope_ == 0 ? what : core::text(scopes_[scope_], ": ", what));
  }

  void put(Address at, std::int64_t bytes, const Contents& contents) {
    const ByteRun run{at.offset, bytes};
    if (bytes != 0) bytes_.write(at.memory, {&run, 1}, contents);
  }
  void move(Address to, Address from, std::int64_t bytes) {
    const ByteRun to_run{to.offset, bytes}, from_run{from.offset, bytes};
    if (bytes != 0 && !(to == from)) bytes_.copy(to.memory, {&to_run, 1}, from.memory, {&from_run, 1});
  }
  /// `what` is said of who finds something else.
  template <class... What>
  void demand(Address at, std::int64_t bytes, const Contents& contents, const What&... what) {
    const ByteRun run{at.offset, bytes};
    if (bytes != 0) demand_runs(at.memory, {&run, 1}, contents, what...);
  }
  template <class... What>
  void demand_runs(std::uint32_t memory, std::span<const ByteRun> runs, const Contents& contents, const What&... what) {
    const std::optional<ByteContents::Fault> found = bytes_.first_fault(memory, runs, contents);
    if (!found) return;
    fault(core::text(what..., " finds ", name_of(found->found), " instead of ", name_of(found->wanted), " at byte ",
                     found->at));
  }

  Address address(const Frame& frame, std::uint32_t index) {
    const Storage& storage = frame.program->storages[index];
    const auto offset = static_cast<std::int64_t>(storage.offset);
    switch (storage.kind) {
      case StorageKind::arena: return frame.arena + offset;
      case StorageKind::host: return frame.host + offset;
      case StorageKind::input: return frame.inputs[storage.index];
      case StorageKind::output: return frame.outputs[storage.index];
      case StorageKind::constant: break;
    }
    return {constant_memory(frame, storage.index), 0};
  }

  std::uint32_t constant_memory(const Frame& frame, std::uint32_t index) {
    return constants_[{frame.program, index}].memory;
  }

  // Views, copies and concat-like nodes consist of their operands' contents; every other result is a value of its own.
  void name_values(Frame& frame) {
    const Graph& graph = *frame.program->graph;
    frame.contents.resize(graph.port_count());
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) frame.contents[graph.inputs()[i].port] = frame.given[i];
    for (std::uint32_t i = 0; i < frame.program->constants.size(); ++i) {
      const PlannedProgram::Constant& constant = frame.program->constants[i];
      auto [known, is_new] = constants_.try_emplace({frame.program, i});
      if (is_new) {
        known->second.memory = bytes_.add_memory();
        known->second.contents = fresh("a constant", bytes_of(graph, constant.port));
        bool ordered = true;
        const auto runs = memory::runs_of(constant.view, constant.element, ordered);
        Contents contents = known->second.contents;
        if (!ordered || !runs) contents.forget_order();
        if (runs) bytes_.write(known->second.memory, *runs, contents);
        else bytes_.excuse(known->second.memory, 0, INT64_MAX / 2);
      }
      frame.contents[constant.port] = known->second.contents;
    }
    for (const GraphNode& node : graph.nodes()) {
      const core::OpDef& def = core::definition(node.op);
      if (node.op == OpId::constant || (node.op == OpId::read && node.input_count == 0)) continue;  // named above
      const std::span<const Port> inputs = graph.inputs_of(node);
      if (def.is(core::Traits::view) && node.input_count != 0) {
        frame.contents[node.first_result] = seen_through(graph, node, frame.contents[inputs[0]]);
      } else if (node.op == OpId::copy) {
        frame.contents[node.first_result] = frame.contents[inputs[0]];
      } else if (is_concat_like(node.op)) {
        frame.contents[node.first_result] = joined(frame, node);
      } else {
        for (std::uint32_t r = 0; r < node.result_count; ++r) {
          frame.contents[node.first_result + r] = fresh(def.name, bytes_of(graph, node.first_result + r));
        }
      }
    }
  }

  static Contents seen_through(const Graph& graph, const GraphNode& node, Contents contents) {
    const Port input = graph.inputs_of(node)[0];
    const auto view =
        core::definition(node.op).view(graph.attributes(node), core::View::dense(graph.type(input).shape));
    if (view && core::is_dense(*view)) {
      const auto element = static_cast<std::int64_t>(size_of(graph.type(input).dtype));
      return contents.part(view->offset * element, bytes_of(graph, node.first_result));
    }
    contents.forget_order();
    return contents;
  }

  Contents joined(Frame& frame, const GraphNode& node) {
    const Graph& graph = *frame.program->graph;
    const std::span<const Port> inputs = graph.inputs_of(node);
    Contents contents;
    for (const Port input : inputs) contents.append(frame.contents[input]);
    bool ordered = false;
    if (node.op == OpId::concat) {
      const std::int64_t axis = std::get<core::AxisAttributes>(graph.attributes(node)).axis;
      const Shape& shape = graph.type(node.first_result).shape;
      ordered = std::all_of(shape.begin(), shape.begin() + axis, [](std::int64_t length) { return length == 1; });
    }
    if (node.op == OpId::set_slice) {
      // A part without gaps leaves what is before and after it.
      const auto& part = std::get<core::SliceAttributes>(graph.attributes(node));
      const core::View whole = core::View::dense(graph.type(node.first_result).shape);
      const core::View view = core::slice(whole, part.start, part.count, part.step);
      const auto element = static_cast<std::int64_t>(size_of(graph.type(node.first_result).dtype));
      const Contents& all = frame.contents[inputs[0]];
      if (core::is_dense(view) && all.ordered) {
        const std::int64_t begin = view.offset * element, bytes = bytes_of(graph, inputs[1]);
        contents = all.part(0, begin);
        contents.append(frame.contents[inputs[1]]);
        contents.append(all.part(begin + bytes, bytes_of(graph, inputs[0]) - begin - bytes));
        ordered = true;
      }
    }
    if (node.op == OpId::pad) contents.append(fresh("pad", 1));
    if (!ordered) contents.forget_order();
    return contents;
  }

  /// The bytes of an operand; nothing for operands that are not followed.
  std::optional<std::vector<ByteRun>> runs(const Frame&, const PlannedOperand& operand, Address base, bool& ordered) {
    auto list = memory::runs_of(operand.view, operand.element, ordered);
    if (!list) return list;
    for (ByteRun& run : *list) run.begin += base.offset;
    return list;
  }

  void read(Frame& frame, const PlannedOperand& operand, const Contents& contents, const std::string& step,
            std::size_t number) {
    const Address base = address(frame, operand.storage);
    bool ordered = true;
    const auto list = runs(frame, operand, base, ordered);
    if (!list) return;
    if (ordered) {
      demand_runs(base.memory, *list, contents, step, ", operand ", number, ",");
      return;
    }
    Contents some = contents;
    some.forget_order();
    demand_runs(base.memory, *list, some, step, ", operand ", number, ",");
  }

  void write(Frame& frame, const PlannedOperand& operand, const Contents& contents) {
    const Address base = address(frame, operand.storage);
    bool ordered = true;
    if (const auto list = runs(frame, operand, base, ordered)) {
      bytes_.write(base.memory, *list, contents);
    } else {
      const core::ElementRange range = core::touched(operand.view);
      bytes_.excuse(base.memory, base.offset + range.first * operand.element,
                    (range.past - range.first) * operand.element);
    }
  }

  void copy(Frame& frame, const PlannedStep& step) {
    const Address from = address(frame, step.inputs[0].storage), to = address(frame, step.outputs[0].storage);
    bool ordered = true;
    const auto from_runs = runs(frame, step.inputs[0], from, ordered);
    const auto to_runs = runs(frame, step.outputs[0], to, ordered);
    if (from_runs && to_runs && ordered) {
      if (!(from == to)) bytes_.copy(to.memory, *to_runs, from.memory, *from_runs);
    } else {
      Contents unknown;
      unknown.any = true;
      unknown.ordered = false;
      write(frame, step.outputs[0], unknown);
    }
  }

  // No step may write where it still reads but in the way that its operator allows.
  void check_overlaps(Frame& frame, const PlannedStep& step, OpId op) {
    const core::InPlace rule = core::definition(op).in_place;
    // A product with an epilogue reads only the residual, its last operand, element by element.
    const bool product = op == OpId::matmul_epilogue || op == OpId::convolution_epilogue;
    for (const PlannedOperand& output : step.outputs) {
      for (std::size_t i = 0; i < step.inputs.size(); ++i) {
        const PlannedOperand& input = step.inputs[i];
        const Address from = address(frame, input.storage), to = address(frame, output.storage);
        if (from.memory != to.memory || input.view.count() == 0 || output.view.count() == 0) continue;
        if (!core::is_dense(input.view) || !core::is_dense(output.view)) continue;
        const std::int64_t read = from.offset + input.view.offset * input.element;
        const std::int64_t written = to.offset + output.view.offset * output.element;
        const std::int64_t read_bytes = input.view.count() * input.element;
        const std::int64_t written_bytes = output.view.count() * output.element;
        if (read + read_bytes <= written || written + written_bytes <= read) continue;
        const bool allowed = rule != core::InPlace::none && read == written && read_bytes == written_bytes &&
                             (rule != core::InPlace::update_first_input || i == 0) &&
                             (!product || i + 1 == step.inputs.size());
        if (!allowed) fault(core::text(step.name, " writes over its operand ", i, " while it reads that"));
      }
    }
  }

  void run(Frame& frame) {
    name_values(frame);
    const Graph& graph = *frame.program->graph;
    for (const PlannedStep& step : frame.program->steps) {
      if (scope_ != 0 && (++steps_ > most_steps || faults_.size() >= most_faults)) return;
      if (step.copies) {
        copy(frame, step);
        continue;
      }
      const GraphNode& node = graph.nodes()[step.node];
      const std::span<const Port> ports = graph.inputs_of(node);
      Address workspace;
      std::int64_t workspace_bytes = 0;
      if (step.workspace != UINT32_MAX) {
        workspace = address(frame, step.workspace);
        workspace_bytes = static_cast<std::int64_t>(frame.program->storages[step.workspace].bytes);
      }
      const Contents scratch = fresh("workspace", workspace_bytes);
      put(workspace, workspace_bytes, scratch);
      for (std::size_t i = 0; i < ports.size(); ++i) {
        read(frame, step.inputs[i], frame.contents[ports[i]], step.name, i);
      }
      if (step.regions) {
        run_regions(frame, step, workspace);
        continue;
      }
      if (!is_concat_like(node.op)) check_overlaps(frame, step, node.op);
      for (std::uint32_t r = 0; r < node.result_count; ++r) {
        write(frame, step.outputs[r], frame.contents[node.first_result + r]);
      }
      put(workspace, workspace_bytes, scratch);
    }
  }

  // The results are what the regions made of the operands; from here on they have the names of the node's results.
  void run_regions(Frame& frame, const PlannedStep& step, Address workspace) {
    const Graph& graph = *frame.program->graph;
    const GraphNode& node = graph.nodes()[step.node];
    std::vector<Address> inputs, outputs;
    std::vector<Contents> given, made;
    const auto place = [&](const PlannedOperand& operand) {
      return address(frame, operand.storage) + operand.view.offset * operand.element;
    };
    for (const PlannedOperand& input : step.inputs) inputs.push_back(place(input));
    for (const PlannedOperand& output : step.outputs) outputs.push_back(place(output));
    for (const Port port : graph.inputs_of(node)) given.push_back(frame.contents[port]);
    if (step.regions->loop != nullptr) made = loop(*step.regions, inputs, outputs, given, workspace);
    else made = branch(*step.regions, inputs, outputs, given, workspace);
    for (std::uint32_t r = 0; r < node.result_count; ++r) {
      const std::int64_t bytes = bytes_of(graph, node.first_result + r);
      if (steps_ <= most_steps) demand(outputs[r], bytes, made[r], "result ", r, " of ", step.name);
      put(outputs[r], bytes, frame.contents[node.first_result + r]);
    }
  }

  Frame frame_of(const PlannedRegion::Program& program, Address workspace) {
    Frame frame;
    frame.program = &program.program;
    frame.arena = workspace;
    frame.inputs.resize(program.program.graph->inputs().size());
    frame.given.resize(frame.inputs.size());
    frame.outputs.resize(program.program.graph->outputs().size());
    return frame;
  }

  std::uint64_t choose(std::uint64_t among) {
    choices_ = choices_ * 6364136223846793005u + 1442695040888963407u;
    return (choices_ >> 33) % among;
  }

  std::vector<Contents> branch(const PlannedRegion& region, const std::vector<Address>& inputs,
                               const std::vector<Address>& outputs, const std::vector<Contents>& given,
                               Address workspace) {
    const std::size_t count = region.programs.size();
    const std::size_t arm = scenario_ < fixed_ ? std::min(scenario_, count - 1) : choose(count);
    const Within within(*this, core::text("arm ", arm));
    const PlannedRegion::Program& program = region.programs[arm];
    Frame frame = frame_of(program, workspace);
    for (std::size_t i = 1; i < inputs.size(); ++i) {
      frame.inputs[i - 1] = inputs[i];
      frame.given[i - 1] = given[i];
    }
    if (region.keyed) {
      frame.inputs[0] = workspace + static_cast<std::int64_t>(region.key);
      frame.given[0] = fresh("the key", 16);
      put(frame.inputs[0], 16, frame.given[0]);
    }
    frame.outputs = outputs;
    const auto table_bytes = static_cast<std::int64_t>(program.table_bytes);
    const Address table = workspace + static_cast<std::int64_t>(program.table);
    const Contents addresses = fresh("the table of addresses", table_bytes);
    put(table, table_bytes, addresses);
    run(frame);
    if (steps_ <= most_steps) demand(table, table_bytes, addresses, "the arm's end");
    std::vector<Contents> made;
    for (const Port port : program.program.graph->outputs()) made.push_back(frame.contents[port]);
    return made;
  }

  /// Few iterations, as many as leave the carries in the phase that the loop ends in.
  std::int64_t trips_of(const PlannedRegion& region) {
    constexpr std::int64_t worth_following = 6;
    std::int64_t delay = 1, phases = 1;
    for (const PlacedChain& placed : region.places.chains) {
      delay = std::max(delay, static_cast<std::int64_t>(placed.chain.members.size()));
      if (placed.places != 0) phases = std::lcm(phases, static_cast<std::int64_t>(placed.places));
    }
    const core::IterationAttributes& loop = *region.loop;
    if (loop.counted || loop.tested || loop.trips < 0) {
      const auto count = static_cast<std::int64_t>(choose(static_cast<std::uint64_t>(2 * delay + 3)));
      return loop.trips < 0 ? count : std::min(loop.trips, count);
    }
    if (loop.trips <= worth_following) return loop.trips;
    if (phases > 24) return std::min<std::int64_t>(loop.trips, 2 * delay + 1);
    std::int64_t trips = loop.trips % phases;
    while (trips < delay + 2) trips += phases;
    return std::min(trips, loop.trips);
  }

  std::vector<Contents> loop(const PlannedRegion& region, const std::vector<Address>& inputs,
                             const std::vector<Address>& outputs, const std::vector<Contents>& given,
                             Address workspace) {
    const core::IterationAttributes& loop = *region.loop;
    const CarryPlaces& places = region.places;
    const PlannedRegion::Program& program = region.programs[0];
    const Graph& body = loop.body.graph();
    const Graph& graph = *program.program.graph;
    const auto carries = static_cast<std::size_t>(loop.carries), rows = static_cast<std::size_t>(loop.rows);
    const std::size_t first_carry = std::size_t{loop.counted} + std::size_t{loop.tested} + std::size_t{loop.keyed};
    const std::size_t first_row = first_carry + carries, first_capture = first_row + rows;
    const auto at = [&](const RegionPlace& place) {
      const auto offset = static_cast<std::int64_t>(place.offset);
      switch (place.kind) {
        case RegionPlace::Kind::operand: return inputs[place.number] + offset;
        case RegionPlace::Kind::result: return outputs[place.number] + offset;
        case RegionPlace::Kind::workspace: break;
      }
      return workspace + offset;
    };
    const auto follow = [&](const CarryMove& each) {
      move(at(each.to), at(each.from), static_cast<std::int64_t>(each.bytes));
    };
    const std::int64_t trips = trips_of(region);
    const std::int64_t bound = loop.tested ? (loop.trips < 0 ? INT64_MAX : loop.trips) : trips;
    const auto is_over = [&](const PlacedChain& placed) {
      const auto crossing = places.crossing(placed, bound);
      return crossing && at(places.result(placed, crossing->result)) == at(places.initial(placed, crossing->initial));
    };
    const auto table_bytes = static_cast<std::int64_t>(program.table_bytes);
    const Address table = workspace + static_cast<std::int64_t>(program.table);
    const Contents addresses = fresh("the table of addresses", table_bytes);
    put(table, table_bytes, addresses);
    for (const PlacedChain& placed : places.chains) places.enter(placed, bound, trips > 0, follow);

    // The expected contents, by the loop's attributes and the body alone.
    std::vector<Contents> carried(given.begin() + static_cast<std::ptrdiff_t>(first_carry),
                                  given.begin() + static_cast<std::ptrdiff_t>(first_row));
    std::vector<std::vector<Contents>> stacked(static_cast<std::size_t>(loop.stacked));
    for (std::int64_t t = 0; t < trips && steps_ <= most_steps && faults_.size() < most_faults; ++t) {
      const Within within(*this, core::text("iteration ", t));
      const std::int64_t row = loop.reverse ? bound - 1 - t : t;
      Frame frame = frame_of(program, workspace);
      std::size_t next = carries;
      const auto give = [&](Address where, const Contents& what) {
        frame.inputs[next] = where;
        frame.given[next++] = what;
      };
      if (loop.numbered) {
        give(workspace + static_cast<std::int64_t>(region.number), fresh("the number of the row", 8));
        put(frame.inputs[next - 1], 8, frame.given[next - 1]);
      }
      if (loop.keyed) {
        give(workspace + static_cast<std::int64_t>(region.key), fresh("the key", 16));
        put(frame.inputs[next - 1], 16, frame.given[next - 1]);
      }
      for (std::size_t i = 0; i < rows; ++i) {
        const std::int64_t bytes = bytes_of(body, body.inputs()[next].port);
        give(inputs[first_row + i] + row * bytes, given[first_row + i].part(row * bytes, bytes));
      }
      for (std::size_t i = first_capture; i < inputs.size(); ++i) give(inputs[i], given[i]);
      if (loop.tested) frame.outputs[0] = workspace + static_cast<std::int64_t>(region.again);
      for (std::uint32_t k = 0; k < region.output_of_row.size(); ++k) {
        if (region.output_of_row[k] == PlacedChain::none) continue;
        frame.outputs[region.output_of_row[k]] = at(places.row(k, t, bound));
      }
      for (const PlacedChain& placed : places.chains) {
        const bool over = is_over(placed);
        for (std::size_t i = 0; i < placed.chain.members.size(); ++i) {
          const std::uint32_t member = placed.chain.members[i];
          frame.inputs[member] =
              at(region.value ? region.value(placed, i, t, bound, over) : places.value(placed, i, t, bound, over));
          frame.given[member] = carried[member];
        }
        if (placed.output != PlacedChain::none) frame.outputs[placed.output] = at(places.next(placed, t, bound, over));
      }
      run(frame);
      if (graph.port_count() != body.port_count()) {
        fault("the program of the body is not the body");
        break;
      }
      for (std::size_t i = 0; i < carries; ++i) carried[i] = frame.contents[body.updates()[i].port];
      for (std::size_t k = 0; k < stacked.size(); ++k) {
        stacked[k].push_back(frame.contents[body.outputs()[k + (loop.tested ? 1 : 0)]]);
      }
    }
    if (steps_ <= most_steps) demand(table, table_bytes, addresses, "the next iteration");
    for (const PlacedChain& placed : places.chains) {
      const bool over = is_over(placed);
      if (!region.last) {
        places.leave(placed, trips, bound, over, follow);
        continue;
      }
      for (std::size_t i = 0; i < placed.chain.members.size(); ++i) {
        follow({places.result(placed, i), region.last(placed, i, trips, bound, over), placed.bytes});
      }
    }
    std::vector<Contents> made = std::move(carried);
    for (std::size_t k = 0; k < stacked.size(); ++k) {
      if (loop.reverse) std::ranges::reverse(stacked[k]);
      Contents all;
      for (const Contents& each : stacked[k]) all.append(each);
      const std::int64_t row = bytes_of(body, body.outputs()[k + (loop.tested ? 1 : 0)]);
      if (trips < loop.trips) {
        const Contents zeros = fresh("zeros", (loop.trips - trips) * row);
        put(outputs[carries + k] + trips * row, (loop.trips - trips) * row, zeros);
        all.append(zeros);
      }
      made.push_back(std::move(all));
    }
    if (loop.tested) {
      made.push_back(fresh("the count", 8));
      put(outputs.back(), 8, made.back());
    }
    return made;
  }

  /// Names the region in the messages of faults and in values.
  class Within {
   public:
    Within(SymbolicRun& run, const std::string& name) : run_(run), before_(run.scope_) {
      run.scopes_.push_back(before_ == 0 ? name : run.scopes_[before_] + ", " + name);
      run.scope_ = run.scopes_.size() - 1;
    }
    ~Within() { run_.scope_ = before_; }
    Within(const Within&) = delete;
    Within& operator=(const Within&) = delete;

   private:
    SymbolicRun& run_;
    std::size_t before_;
  };

  struct Constant {
    std::uint32_t memory = 0;
    Contents contents;
  };

  std::size_t scenario_, fixed_;
  std::uint64_t choices_;
  ByteContents bytes_;
  std::vector<std::pair<std::string_view, std::size_t>> names_{{"nothing", 0}};  // of values, with their scopes
  std::vector<std::string> scopes_{""};
  std::map<std::pair<const PlannedProgram*, std::uint32_t>, Constant> constants_;
  std::size_t scope_ = 0;
  std::size_t steps_ = 0;
  std::vector<std::string> faults_;
};

// Arms of the branch that has most, or two where there are only loops; none where there are no regions.
std::size_t most_arms(const PlannedProgram& program) {
  std::size_t most = 0;
  for (const PlannedStep& step : program.steps) {
    if (step.regions == nullptr) continue;
    most = std::max({most, std::size_t{2}, step.regions->programs.size()});
    for (const PlannedRegion::Program& inner : step.regions->programs) most = std::max(most, most_arms(inner.program));
  }
  return most;
}

}  // namespace

std::vector<std::string> check_contents(const PlannedProgram& program) {
  const std::size_t fixed = std::min<std::size_t>(most_arms(program), 8);
  const std::size_t scenarios = fixed == 0 ? 1 : fixed + 2;
  for (std::size_t i = 0; i < scenarios; ++i) {
    std::vector<std::string> faults = SymbolicRun(i, fixed).faults(program);
    if (!faults.empty()) return faults;
  }
  return {};
}

}  // namespace tyto::run
