// SPDX-License-Identifier: MIT
// Each iteration the body's program is given other addresses: rows move on, carries rotate through a few places,
// results are written where they stay. Nothing is copied between iterations but what the body itself copies.
#include "engine/regions/run/iteration_kernel.hpp"

#include <algorithm>
#include <utility>

#include "core/graph/op_ids.hpp"
#include "core/value/text.hpp"
#include "engine/prepare/storage_lifetimes.hpp"
#include "engine/regions/run/carry_places.hpp"
#include "engine/regions/run/region_kernel.hpp"
#include "engine/regions/run/region_program.hpp"
#include "optimiser/storage/carries.hpp"
#include "optimiser/storage/storages.hpp"

namespace tyto::run {

namespace {

using core::Port;
using optimiser::CarryChain;

constexpr std::uint32_t none = PlacedChain::none;

class IterationKernel final : public RegionKernel {
 public:
  IterationKernel(const core::IterationAttributes& loop, core::Device& device, const CompileOptions& options)
      : memory_(device), loop_(loop) {
    places_.first_carry = std::uint32_t{loop.counted} + std::uint32_t{loop.tested} + std::uint32_t{loop.keyed};
    places_.carries = static_cast<std::uint32_t>(loop.carries);
    places_.tested = loop.tested;
    places_.reverse = loop.reverse;
    const core::Graph& body = loop.body.graph();
    for (const core::GraphInput& input : body.inputs()) input_bytes_.push_back(optimiser::bytes_of(body, input.port));
    for (CarryChain& chain : optimiser::carry_chains(loop)) {
      PlacedChain placed;
      placed.bytes = input_bytes_[chain.members[0]];
      placed.chain = std::move(chain);
      placed.in_place = may_be_in_place(placed.chain);
      places_.chains.push_back(std::move(placed));
    }
    make_program(options);
    // Whether a next value is really computed over the one before shows when the body's steps are made.
    bool other = false;
    for (std::size_t update = 0, i = 0; i < places_.chains.size(); ++i) {
      if (!places_.chains[i].in_place || program_->executable().is_updated_in_place(update++)) continue;
      places_.chains[i].in_place = false;
      other = true;
    }
    if (other) make_program(options);
    list_moving();
    list_strides();
    list_blocks();
    list_turning();
    place_alone(device);
  }

  void place(std::span<const std::size_t> offsets) override {
    RegionOffsets rest(offsets);
    control_at_ = rest.next();
    for (PlacedChain& placed : places_.chains) {
      if (placed.places != 0) placed.workspace = rest.next();
    }
    program_->place(rest);
  }

  void launch(std::span<const core::Address> inputs, std::span<const core::Address> outputs,
              core::Address workspace) const override {
    Launch(*this, inputs, outputs, workspace).run();
  }

  void list_moves(const std::string& path, const SharesAddress& over, std::vector<MovedBytes>& moved) const override {
    for (const PlacedChain& placed : places_.chains) list_carry_moves(placed, path, over, moved);
    for (const CopiedOutput& copied : copied_outputs(program_->executable())) {
      moved.push_back({path, name_of_output(copied.output), copied.why, copied.bytes, 0});
    }
    list_changed_copies(path, moved);
    // The places that an iteration writes are none that it reads, but for carries in place, which are one storage.
    tyto::run::list_moves(
        program_->executable(), path, [](std::size_t, std::size_t) { return false; }, moved);
  }

  PlannedRegion planned() const override {
    PlannedRegion region;
    region.programs.push_back(program_->planned());
    region.keyed = loop_.keyed;
    region.key = control_at_ + key_at;
    region.loop = &loop_;
    region.places = places_;
    region.output_of_row = output_of_row_;
    region.number = control_at_ + number_at;
    region.again = control_at_ + again_at;
    region.repeated = repeated_ != nullptr;
    return region;
  }

 private:
  /// Addresses of a chain that changes places: of the next value, then of the members.
  struct Ring {
    std::size_t addresses, members;
    bool cyclic;
  };

  // In the block of what decides how it goes on, as aligned as operands of a kernel are. Iterations that a kernel
  // repeats find their numbers side by side.
  static constexpr std::size_t number_at = 0, key_at = 64, again_at = 128, control_bytes = 192;
  static constexpr std::int64_t most_numbers = 8;

  // Among the inputs of the body.
  std::size_t first_row_input() const {
    return static_cast<std::size_t>(loop_.carries) + std::size_t{loop_.numbered} + std::size_t{loop_.keyed};
  }

  bool may_be_in_place(const CarryChain& chain) const {
    if (chain.cyclic || chain.stack || chain.history || chain.members.size() != 1) return false;
    const core::Graph& body = loop_.body.graph();
    const core::OpDef& def = core::definition(body.nodes()[body.producer(body.updates()[chain.members[0]].port)].op);
    return !def.is(core::Traits::view) && !def.is(core::Traits::leaf);
  }

  // Outputs: whether to go on, rows that are computed, next values of carries. Next values computed in place are
  // updates.
  void make_program(const CompileOptions& options) {
    core::GraphData data = core::Graph(loop_.body.graph()).take();
    const std::vector<Port> outputs = std::exchange(data.outputs, {});
    const std::vector<core::GraphUpdate> updates = std::exchange(data.updates, {});
    if (loop_.tested) data.outputs.push_back(outputs[0]);
    places_.row_bytes.assign(static_cast<std::size_t>(loop_.stacked), 0);
    output_of_row_.assign(places_.row_bytes.size(), none);
    for (std::uint32_t k = 0; k < places_.row_bytes.size(); ++k) {
      const Port port = outputs[k + (loop_.tested ? 1 : 0)];
      places_.row_bytes[k] = optimiser::bytes_of(loop_.body.graph(), port);
      const bool kept =
          std::ranges::any_of(places_.chains, [&](const PlacedChain& each) { return each.chain.history == k; });
      if (kept) continue;
      output_of_row_[k] = static_cast<std::uint32_t>(data.outputs.size());
      data.outputs.push_back(port);
    }
    for (PlacedChain& placed : places_.chains) {
      if (placed.chain.cyclic || placed.chain.stack) continue;
      const core::GraphUpdate& update = updates[placed.chain.members[0]];
      if (placed.in_place) {
        data.updates.push_back(update);
      } else {
        placed.output = static_cast<std::uint32_t>(data.outputs.size());
        data.outputs.push_back(update.port);
      }
    }
    std::size_t addresses = 0;
    for (PlacedChain& placed : places_.chains) {
      placed.addresses = addresses;
      addresses += placed.address_count();
    }
    program_ = std::make_unique<RegionProgram>(core::Graph(std::move(data)), memory_.device(), options, addresses);
  }

  // Operands in rows move on by a row in each iteration, or back: also carries, once their values come from rows.
  void list_moving() {
    const auto step = [this](std::size_t bytes) { return loop_.reverse ? std::size_t{0} - bytes : bytes; };
    const auto add = [this](std::span<const RegionProgram::BoundOperand> operands, std::size_t bytes) {
      for (const RegionProgram::BoundOperand& each : operands) moving_.push_back({each.operand, bytes});
    };
    for (std::size_t i = 0; i < static_cast<std::size_t>(loop_.rows); ++i) {
      const std::size_t input = first_row_input() + i;
      add(program_->operands_of_input(input), step(input_bytes_[input]));
    }
    for (std::size_t k = 0; k < output_of_row_.size(); ++k) {
      if (output_of_row_[k] != none) {
        add(program_->operands_of_output(output_of_row_[k]), step(places_.row_bytes[k]));
      }
    }
    for (const PlacedChain& placed : places_.chains) {
      if (!placed.in_rows()) continue;
      ends_apart_ = ends_apart_ || placed.chain.history.has_value();
      settled_ = std::max(settled_, static_cast<std::int64_t>(placed.chain.members.size()) + 1);
      for (const std::uint32_t member : placed.chain.members) {
        add(program_->operands_of_input(member), step(placed.bytes));
      }
      if (placed.output != none) add(program_->operands_of_output(placed.output), step(placed.bytes));
    }
  }

  // A body of one kernel whose operands all stay in place or advance by rows: the kernel repeats itself, which takes a
  // fraction of what is done between two iterations.
  void list_strides() {
    const core::Kernel* const kernel = program_->repeated_kernel(loop_.tested);
    const auto changes_places = [](const PlacedChain& placed) { return !placed.in_place && !placed.in_rows(); };
    if (kernel == nullptr || loop_.keyed || !memory_.on_host() || std::ranges::any_of(places_.chains, changes_places)) {
      return;
    }
    repeated_ = kernel;
    strides_.assign(program_->executable().operands().size(), 0);
    for (const RegionProgram::MovingOperand& each : moving_) {
      strides_[each.operand] = static_cast<std::ptrdiff_t>(each.bytes);
    }
    if (!loop_.numbered) return;
    for (const RegionProgram::BoundOperand& each : program_->operands_of_input(places_.carries)) {
      strides_[each.operand] = sizeof(std::int64_t);
    }
  }

  // Lists operands of carries that change places, for iterations after the first round.
  void list_turning() {
    turned_ = settled_;
    for (const PlacedChain& placed : places_.chains) {
      if (placed.in_place || placed.in_rows()) continue;
      const std::size_t members = placed.chain.members.size();
      rings_.push_back({placed.addresses, members, placed.chain.cyclic});
      turned_ = std::max(turned_, static_cast<std::int64_t>(placed.places));
      const auto add = [this](std::span<const RegionProgram::BoundOperand> operands, std::size_t address) {
        for (const RegionProgram::BoundOperand& each : operands)
          turning_.push_back({each.operand, address, each.shift});
      };
      for (std::size_t i = 0; i < members; ++i) {
        add(program_->operands_of_input(placed.chain.members[i]), placed.addresses + 1 + i);
      }
      if (placed.output != none) add(program_->operands_of_output(placed.output), placed.addresses);
    }
  }

  // A ring has a place for each member and one for the value being computed. Results lie in members' places at the end;
  // where it is not known before when that is, places of their own are copied from once the loop is done. Values that
  // pass from one iteration to the next are alive from the first instant to the last.
  void list_blocks() {
    const std::size_t alignment = memory_.device().properties().alignment;
    layout_.duration = 1;
    layout_.blocks.push_back({0, 0, control_bytes, "loop/number, key and condition"});
    for (PlacedChain& placed : places_.chains) {
      if (placed.chain.cyclic || placed.chain.stack || placed.chain.history || placed.in_place) continue;
      placed.places = placed.chain.members.size() + 1;
      placed.own_places = loop_.tested && placed.places > 2 ? placed.places : 1;
      placed.place_bytes = (placed.bytes + alignment - 1) / alignment * alignment;
      layout_.blocks.push_back(
          {0, 0, placed.own_places * placed.place_bytes, core::text("loop/carry ", placed.chain.members[0])});
    }
    const std::size_t lasting = layout_.blocks.size();
    program_->list_blocks(layout_, "loop", true);
    ++layout_.duration;
    for (std::size_t i = 0; i < lasting; ++i) layout_.blocks[i].upper = layout_.duration;
    list_lifetimes();
  }

  // The next iteration reads again what this one was given. Of a carry in place the initial value is copied first, if
  // it lies elsewhere, and its place holds nothing between the last reader of a value and the next one.
  void list_lifetimes() {
    const std::vector<Span> whole{{0, layout_.duration}};
    const std::size_t own = std::size_t{loop_.numbered} + std::size_t{loop_.keyed};  // inputs that are no operands
    layout_.operands.assign(places_.first_carry + input_bytes_.size() - own, whole);
    layout_.results.assign(places_.carries + places_.row_bytes.size() + std::size_t{loop_.tested}, whole);
    const RegionProgram::BoundLifetimes lifetimes = program_->bound_lifetimes();
    for (const PlacedChain& placed : places_.chains) {
      if (!placed.in_place) continue;
      const std::uint32_t carry = placed.chain.members[0];
      layout_.operands[places_.first_carry + carry] = {{0, 1}};
      std::vector<Span> needed{{0, 1}, {layout_.duration - 1, layout_.duration}};
      append_later(needed, lifetimes.inputs[carry], 1);
      unite(needed);
      layout_.results[carry] = std::move(needed);
    }
  }

  // Before the first and after the last iteration. Where the count is not known, the most of all phases in which the
  // loop can end.
  void list_carry_moves(const PlacedChain& placed, const std::string& path, const SharesAddress& over,
                        std::vector<MovedBytes>& moved) const {
    const std::uint32_t first = placed.chain.members[0];
    const auto is_over = [&](std::int64_t trips) {
      const auto crossing = places_.crossing(placed, trips);
      return crossing &&
             over(places_.result(placed, crossing->result).number, places_.initial(placed, crossing->initial).number);
    };
    const auto lies_there = [&](const CarryMove& move) {
      if (move.from.kind == RegionPlace::Kind::operand) return over(move.to.number, move.from.number);
      return move.to == move.from;
    };
    places_.enter(placed, loop_.trips, loop_.trips != 0, [&](const CarryMove& move) {
      if (lies_there(move)) return;
      const char* why = placed.in_place ? "its initial value is not the loop's to write over"
                                        : "its initial value is the first row of a stack";
      moved.push_back({path, core::text("carry ", first), why, 0, move.bytes});
    });
    const bool known = loop_.trips >= 0 && !loop_.counted && !loop_.tested;
    const auto delay = static_cast<std::int64_t>(placed.chain.members.size());
    const std::int64_t least = known ? loop_.trips : delay, most = known ? loop_.trips : 2 * delay + 2;
    std::vector<std::size_t> bytes(placed.chain.members.size(), 0);
    for (std::int64_t done = least; done <= most; ++done) {
      const std::int64_t trips = loop_.tested ? most + 1 : done;
      std::size_t member = 0;
      places_.leave(placed, done, trips, is_over(trips), [&](const CarryMove& move) {
        if (!lies_there(move)) bytes[member] = move.bytes;
        ++member;
      });
    }
    const char* why = placed.chain.cyclic                          ? "values go round where the initial ones lie"
                      : placed.chain.stack || placed.chain.history ? "its last value lies in a stack"
                      : known                                      ? "its last value lies elsewhere"
                                                                   : "where its last value lies depends on the count";
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if (bytes[i] == 0) continue;
      moved.push_back({path, core::text("carry ", placed.chain.members[i]), why, 0, bytes[i]});
    }
  }

  std::string name_of_output(std::size_t output) const {
    for (std::size_t k = 0; k < output_of_row_.size(); ++k) {
      if (output_of_row_[k] == output) return core::text("row ", k);
    }
    for (const PlacedChain& placed : places_.chains) {
      if (placed.output == output) return core::text("carry ", placed.chain.members[0]);
    }
    return "whether it goes on";
  }

  // Operators that change a part of a carry copy the rest where it cannot be changed in place.
  void list_changed_copies(const std::string& path, std::vector<MovedBytes>& moved) const {
    const Executable& program = program_->executable();
    for (const ExecutableStep& step : program.steps()) {
      const core::OpDef& def = core::definition(program.graph().nodes()[step.node].op);
      if (step.copies || def.in_place != core::InPlace::update_first_input) continue;
      const std::uint32_t from = program.operands()[step.first_operand];
      const Storage& changed = program.storages()[from];
      if (changed.kind != StorageKind::input || changed.index >= static_cast<std::size_t>(loop_.carries)) continue;
      if (program.operands()[step.first_operand + step.input_count] == from) continue;
      moved.push_back({path, core::text("carry ", changed.index),
                       core::text(def.name, " changes a part of it, and all of it is still needed"), changed.bytes, 0});
    }
  }

  class Launch {
   public:
    Launch(const IterationKernel& kernel, std::span<const core::Address> inputs, std::span<const core::Address> outputs,
           core::Address workspace)
        : kernel_(kernel),
          memory_(kernel.memory_),
          loop_(kernel.loop_),
          places_(kernel.places_),
          inputs_(inputs),
          outputs_(outputs),
          workspace_(workspace),
          control_(workspace + kernel.control_at_),
          frame_(*kernel.program_, workspace),
          first_program_row_(kernel.first_row_input()) {
      std::size_t next = 0;
      trips_ = loop_.trips >= 0 ? loop_.trips : INT64_MAX;
      if (loop_.counted) {
        trips_ = std::clamp<std::int64_t>(memory_.read<std::int64_t>(inputs_[next++]), 0, trips_);
      }
      if (loop_.tested) runs_ = memory_.read<bool>(inputs_[next++]);
      if (loop_.keyed) key_ = memory_.read<KeyWords>(inputs_[next++]);
      first_row_ = next + static_cast<std::size_t>(loop_.carries);
      first_capture_ = first_row_ + static_cast<std::size_t>(loop_.rows);
    }

    void run() {
      bind_once();
      while (done_ < trips_ && runs_) {
        const std::int64_t launches = repeated();
        bind_iteration(launches);
        if (launches > 1) {
          done_ += frame_.repeat(*kernel_.repeated_, {launches, kernel_.strides_, goes_on()});
        } else {
          frame_.run();
          ++done_;
        }
        if (loop_.tested) runs_ = memory_.read<bool>(control_ + again_at);
      }
      finish();
    }

   private:
    core::Address at(const RegionPlace& place) const {
      if (place.kind == RegionPlace::Kind::workspace) return workspace_ + place.offset;
      const bool operand = place.kind == RegionPlace::Kind::operand;
      return (operand ? inputs_.data() : outputs_.data())[place.number] + place.offset;
    }
    bool is_over(const PlacedChain& placed) const {
      const auto crossing = places_.crossing(placed, trips_);
      return crossing && memory_.is_same(at(places_.result(placed, crossing->result)),
                                         at(places_.initial(placed, crossing->initial)));
    }
    void move(const CarryMove& move) const { memory_.move(at(move.to), at(move.from), move.bytes); }

    void bind_once() {
      const auto carries = static_cast<std::size_t>(loop_.carries);
      std::size_t next = carries;
      if (loop_.numbered) frame_.bind_input(next++, control_ + number_at);
      if (loop_.keyed) frame_.bind_input(next++, control_ + key_at);
      next += static_cast<std::size_t>(loop_.rows);
      for (std::size_t i = first_capture_; i < inputs_.size(); ++i) frame_.bind_input(next++, inputs_[i]);
      if (loop_.tested) frame_.bind_output(0, control_ + again_at);
      for (const PlacedChain& placed : places_.chains) {
        places_.enter(placed, trips_, trips_ > 0 && runs_, [this](const CarryMove& each) { move(each); });
        if (placed.in_place) frame_.bind_input(placed.chain.members[0], at(places_.result(placed, 0)));
      }
    }

    // How many iterations from this one on the kernel does by itself. Carries must have come to where they move on by
    // rows, and the last iteration of a loop that stacks them has its result elsewhere.
    std::int64_t repeated() const {
      if (kernel_.repeated_ == nullptr || done_ + 1 < kernel_.settled_) return 1;
      const std::int64_t launches = trips_ - done_ - std::int64_t{kernel_.ends_apart_};
      return loop_.numbered ? std::min(launches, most_numbers) : launches;
    }
    const std::byte* goes_on() const { return loop_.tested ? (control_ + again_at).pointer() : nullptr; }

    void bind_iteration(std::int64_t launches) {
      const std::int64_t row = places_.row_at(done_, trips_);
      if (loop_.numbered) bind_numbers(std::max<std::int64_t>(launches, 1));
      if (loop_.keyed) memory_.write(control_ + key_at, region_key(key_, loop_.draw, row));
      if (done_ < kernel_.settled_) bind_rows(row);
      else frame_.move(kernel_.moving_);
      if (done_ >= kernel_.turned_ && done_ + 1 != trips_) {
        for (const Ring& ring : kernel_.rings_) turn(ring);
        return frame_.turn(kernel_.turning_);
      }
      for (const PlacedChain& placed : places_.chains) {
        if (placed.in_place) continue;
        if (!placed.in_rows()) bind_changing(placed);
        else if (done_ < kernel_.settled_ || done_ + 1 == trips_) bind_carries(placed);
      }
    }

    void bind_numbers(std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) {
        const auto at = number_at + static_cast<std::size_t>(i) * sizeof(std::int64_t);
        memory_.write(control_ + at, places_.row_at(done_ + i, trips_));
      }
      if (kernel_.repeated_ != nullptr) frame_.bind_input(places_.carries, control_ + number_at);
    }

    void bind_rows(std::int64_t row) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(loop_.rows); ++i) {
        const std::size_t input = first_program_row_ + i;
        frame_.bind_input(input, inputs_[first_row_ + i] + static_cast<std::size_t>(row) * kernel_.input_bytes_[input]);
      }
      for (std::uint32_t k = 0; k < kernel_.output_of_row_.size(); ++k) {
        const std::uint32_t output = kernel_.output_of_row_[k];
        if (output != none) frame_.bind_output(output, at(places_.row(k, done_, trips_)));
      }
    }

    void bind_carries(const PlacedChain& placed) {
      for (std::size_t i = 0; i < placed.chain.members.size(); ++i) {
        frame_.bind_input(placed.chain.members[i], at(places_.value(placed, i, done_, trips_, false)));
      }
      if (placed.output != none) frame_.bind_output(placed.output, at(places_.next(placed, done_, trips_, false)));
    }

    // Binds carries that change places: the address of the next value and those of the members. What is computed is the
    // first member's in the iteration after, whose address is the second one's in the one after that. The next value
    // takes the place of the last member's; before that was computed, a place of the ring that none has.
    void bind_changing(const PlacedChain& placed) {
      core::Address* const next = frame_.more_addresses() + placed.addresses;
      core::Address* const values = next + 1;
      const std::vector<std::uint32_t>& members = placed.chain.members;
      const std::size_t last = members.size() - 1;
      if (done_ == 0) {
        for (std::size_t i = 0; i <= last; ++i) values[i] = at(places_.initial(placed, i));
        if (placed.chain.cyclic) *next = values[last];
      } else {
        turn({placed.addresses, members.size(), placed.chain.cyclic});
      }
      if (!placed.chain.cyclic && done_ < static_cast<std::int64_t>(placed.places)) {
        *next = at(places_.next(placed, done_, trips_, is_over(placed)));
      }
      for (std::size_t i = 0; i <= last; ++i) frame_.bind_input(members[i], values[i]);
      if (placed.output != none) frame_.bind_output(placed.output, *next);
    }

    // Rotates the ring's addresses: the next iteration writes its value where that of the last member was.
    void turn(const Ring& ring) const {
      core::Address* const next = frame_.more_addresses() + ring.addresses;
      core::Address moved = next[ring.members];
      for (std::size_t i = 0; i <= ring.members; ++i) std::swap(moved, next[i]);
      if (ring.cyclic) *next = next[ring.members];
    }

    // Results that lie elsewhere are copied, rows that were not reached are zeros.
    void finish() {
      for (const PlacedChain& placed : places_.chains) {
        places_.leave(placed, done_, trips_, is_over(placed), [this](const CarryMove& each) { move(each); });
      }
      for (std::uint32_t k = 0; k < places_.row_bytes.size() && done_ < loop_.trips; ++k) {
        const std::size_t row = places_.row_bytes[k];
        memory_.fill(outputs_[places_.carries + k] + static_cast<std::size_t>(done_) * row, std::byte{0},
                     static_cast<std::size_t>(loop_.trips - done_) * row);
      }
      if (loop_.tested) memory_.write(outputs_.back(), done_);
    }

    const IterationKernel& kernel_;
    const RegionMemory& memory_;
    const core::IterationAttributes& loop_;
    const CarryPlaces& places_;
    std::span<const core::Address> inputs_, outputs_;
    core::Address workspace_, control_;
    RegionProgram::Frame frame_;
    KeyWords key_ = {};
    std::int64_t trips_ = 0;
    std::int64_t done_ = 0;
    bool runs_ = true;
    std::size_t first_row_ = 0, first_capture_ = 0;  // among the operands
    std::size_t first_program_row_;                  // among the body's inputs
  };

  RegionMemory memory_;
  core::IterationAttributes loop_;
  std::vector<std::size_t> input_bytes_;  // of the body's inputs
  std::vector<std::uint32_t> output_of_row_;
  CarryPlaces places_;
  std::unique_ptr<RegionProgram> program_;
  std::vector<RegionProgram::MovingOperand> moving_;
  std::int64_t settled_ = 1;  // from this iteration on they move
  std::vector<Ring> rings_;
  std::vector<RegionProgram::TurningOperand> turning_;
  std::int64_t turned_ = 1;                 // from this iteration on they have gone round
  bool ends_apart_ = false;                 // the last iteration writes a carry elsewhere
  const core::Kernel* repeated_ = nullptr;  // the body's only kernel, where it does many iterations by itself
  std::vector<std::ptrdiff_t> strides_;     // bytes that its operands move on by in each
  std::size_t control_at_ = 0;
};

}  // namespace

std::shared_ptr<RegionKernel> iteration_kernel(const core::Step& step, core::Device& device,
                                               const CompileOptions& options) {
  return std::make_shared<IterationKernel>(std::get<core::IterationAttributes>(*step.attributes), device, options);
}

}  // namespace tyto::run
