// Each iteration the body's program is given other addresses: rows move on, carries rotate through a few places,
// results are written where they stay. Nothing is copied between iterations but what the body itself copies.
#include "engine/execution/iteration_kernel.hpp"

#include <algorithm>

#include "core/op_ids.hpp"
#include "engine/execution/region_program.hpp"
#include "optimiser/storage/carries.hpp"

namespace tyto::run {

namespace {

using core::Port;
using optimiser::CarryChain;

constexpr std::uint32_t none = UINT32_MAX;

std::size_t bytes_of(const core::TensorType& type) {
  return static_cast<std::size_t>(element_count(type.shape)) * size_of(type.dtype);
}

/// A chain and where its values lie: in the result's own memory, in a ring of places, or in the rows of a stack.
struct PlacedChain {
  CarryChain chain;
  std::size_t bytes = 0;
  bool in_place = false;        // one place: the next value is computed over the one before
  std::uint32_t output = none;  // of the program: what computes the next value into its place
  std::size_t places = 0;       // of a ring
  std::size_t own_places = 0;   // those of them that lie in the workspace
  std::size_t workspace = 0;    // offset of the first of these
};

class IterationKernel final : public core::Kernel {
 public:
  IterationKernel(const core::IterationAttributes& loop, core::Device& device, const CompileOptions& options)
      : memory_(device), loop_(loop) {
    const core::Graph& body = loop.body.graph();
    for (const core::GraphInput& input : body.inputs()) input_bytes_.push_back(bytes_of(body.type(input.port)));
    for (CarryChain& chain : optimiser::carry_chains(loop)) {
      PlacedChain placed;
      placed.bytes = input_bytes_[chain.members[0]];
      placed.chain = std::move(chain);
      placed.in_place = may_be_in_place(placed.chain);
      chains_.push_back(std::move(placed));
    }
    make_program(options);
    // Whether a next value is really computed over the one before shows when the body's steps are made.
    bool other = false;
    for (std::size_t update = 0, i = 0; i < chains_.size(); ++i) {
      if (!chains_[i].in_place || program_->executable().is_updated_in_place(update++)) continue;
      chains_[i].in_place = false;
      other = true;
    }
    if (other) make_program(options);
    place_rings();
  }

  std::size_t workspace() const override { return program_at_ + program_->workspace(); }

  void launch(std::span<const core::Address> inputs, std::span<const core::Address> outputs,
              core::Address workspace) const override {
    Launch(*this, inputs, outputs, workspace).run();
  }

 private:
  static constexpr std::size_t number_at = 0, key_at = region_alignment, again_at = 2 * region_alignment,
                               rings_at = 3 * region_alignment;

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
    row_bytes_.assign(static_cast<std::size_t>(loop_.stacked), 0);
    output_of_row_.assign(row_bytes_.size(), none);
    for (std::uint32_t k = 0; k < row_bytes_.size(); ++k) {
      const Port port = outputs[k + (loop_.tested ? 1 : 0)];
      row_bytes_[k] = bytes_of(loop_.body.graph().type(port));
      const bool kept = std::ranges::any_of(chains_, [&](const PlacedChain& each) { return each.chain.history == k; });
      if (kept) continue;
      output_of_row_[k] = static_cast<std::uint32_t>(data.outputs.size());
      data.outputs.push_back(port);
    }
    for (PlacedChain& placed : chains_) {
      if (placed.chain.cyclic || placed.chain.stack) continue;
      const core::GraphUpdate& update = updates[placed.chain.members[0]];
      if (placed.in_place) {
        data.updates.push_back(update);
      } else {
        placed.output = static_cast<std::uint32_t>(data.outputs.size());
        data.outputs.push_back(update.port);
      }
    }
    program_ = std::make_unique<const RegionProgram>(core::Graph(std::move(data)), memory_.device(), options);
  }

  // A ring has a place for each member and one for the value being computed. Results lie in members' places at the end;
  // where it is not known before when that is, places of their own are copied from once the loop is done.
  void place_rings() {
    std::size_t at = rings_at;
    for (PlacedChain& placed : chains_) {
      if (placed.chain.cyclic || placed.chain.stack || placed.chain.history || placed.in_place) continue;
      placed.places = placed.chain.members.size() + 1;
      placed.own_places = loop_.tested && placed.places > 2 ? placed.places : 1;
      placed.workspace = at;
      at += placed.own_places * region_padded(placed.bytes);
    }
    program_at_ = at;
  }

  class Launch {
   public:
    Launch(const IterationKernel& kernel, std::span<const core::Address> inputs, std::span<const core::Address> outputs,
           core::Address workspace)
        : kernel_(kernel),
          memory_(kernel.memory_),
          loop_(kernel.loop_),
          inputs_(inputs),
          outputs_(outputs),
          workspace_(workspace),
          frame_(*kernel.program_, workspace + kernel.program_at_) {
      std::size_t next = 0;
      trips_ = loop_.trips >= 0 ? loop_.trips : INT64_MAX;
      if (loop_.counted) {
        trips_ = std::clamp<std::int64_t>(memory_.read<std::int64_t>(inputs_[next++]), 0, trips_);
      }
      if (loop_.tested) runs_ = memory_.read<bool>(inputs_[next++]);
      if (loop_.keyed) key_ = memory_.read<KeyWords>(inputs_[next++]);
      first_carry_ = next;
      first_row_ = first_carry_ + static_cast<std::size_t>(loop_.carries);
      first_capture_ = first_row_ + static_cast<std::size_t>(loop_.rows);
    }

    void run() {
      bind_once();
      while (done_ < trips_ && runs_) {
        bind_iteration();
        frame_.run();
        ++done_;
        if (loop_.tested) runs_ = memory_.read<bool>(workspace_ + again_at);
      }
      finish();
    }

   private:
    core::Address init(const CarryChain& chain, std::size_t member) const {
      return inputs_[first_carry_ + chain.members[member]];
    }
    core::Address result(std::size_t index) const { return outputs_[index]; }
    core::Address row_of_result(std::uint32_t stack, std::int64_t iteration) const {
      return result(static_cast<std::size_t>(loop_.carries) + stack) +
             static_cast<std::size_t>(row_at(iteration)) * kernel_.row_bytes_[stack];
    }
    std::int64_t row_at(std::int64_t iteration) const { return loop_.reverse ? trips_ - 1 - iteration : iteration; }

    // Place number `place` of a ring. In a loop whose end is known the members' places at the end are the results'.
    core::Address ring(const PlacedChain& placed, std::size_t place) const {
      const std::size_t members = placed.chain.members.size();
      const core::Address own = workspace_ + placed.workspace;
      // The first iteration reads the initial value, so that it must not write there.
      if (memory_.is_same(result(placed.chain.members[0]), init(placed.chain, 0)))
        return place == 0 ? own : result(placed.chain.members[0]);
      if (loop_.tested) {
        if (placed.own_places > 1) return own + place * region_padded(placed.bytes);
        return place == 0 ? result(placed.chain.members[0]) : own;
      }
      const auto end = static_cast<std::size_t>(trips_ % static_cast<std::int64_t>(placed.places));
      // The member i, from one, whose value is at the end in this place: (end - i) mod places = place.
      const std::size_t member = (end + placed.places - place) % placed.places;
      if (member == 0 || member > members || static_cast<std::int64_t>(member) > trips_) return own;
      return result(placed.chain.members[member - 1]);
    }

    // Where what the chain's first carry becomes in an iteration is computed.
    core::Address place_of_next(const PlacedChain& placed, std::int64_t iteration) const {
      if (placed.in_place) return result(placed.chain.members[0]);
      if (placed.chain.stack) return row_of_result(*placed.chain.stack, iteration);
      if (placed.chain.history) {
        return iteration + 1 < trips_ ? row_of_result(*placed.chain.history, iteration + 1)
                                      : result(placed.chain.members[0]);
      }
      return ring(placed, static_cast<std::size_t>(iteration % static_cast<std::int64_t>(placed.places)));
    }

    // Where the value lies that member number `member`, from zero, has at the beginning of an iteration.
    core::Address place_of(const PlacedChain& placed, std::size_t member, std::int64_t iteration) const {
      const auto i = static_cast<std::int64_t>(member);
      if (placed.in_place) return result(placed.chain.members[0]);
      if (placed.chain.cyclic) {
        const auto length = static_cast<std::int64_t>(placed.chain.members.size());
        return init(placed.chain, static_cast<std::size_t>(((i - iteration) % length + length) % length));
      }
      if (iteration <= i) return init(placed.chain, static_cast<std::size_t>(i - iteration));
      return place_of_next(placed, iteration - i - 1);
    }

    void bind_once() {
      const auto carries = static_cast<std::size_t>(loop_.carries);
      std::size_t next = carries;
      if (loop_.numbered) frame_.bind_input(next++, workspace_ + number_at);
      if (loop_.keyed) frame_.bind_input(next++, workspace_ + key_at);
      first_program_row_ = next;
      next += static_cast<std::size_t>(loop_.rows);
      for (std::size_t i = first_capture_; i < inputs_.size(); ++i) frame_.bind_input(next++, inputs_[i]);
      if (loop_.tested) frame_.bind_output(0, workspace_ + again_at);
      for (const PlacedChain& placed : kernel_.chains_) {
        const std::uint32_t first = placed.chain.members[0];
        if (placed.in_place) {
          memory_.move(result(first), init(placed.chain, 0), placed.bytes);
          frame_.bind_input(first, result(first));
        }
        if (placed.chain.history && trips_ > 0 && runs_) {
          memory_.move(row_of_result(*placed.chain.history, 0), init(placed.chain, 0), placed.bytes);
        }
      }
    }

    void bind_iteration() {
      const std::int64_t row = row_at(done_);
      if (loop_.numbered) memory_.write(workspace_ + number_at, row);
      if (loop_.keyed) memory_.write(workspace_ + key_at, region_key(key_, loop_.draw, row));
      for (std::size_t i = 0; i < static_cast<std::size_t>(loop_.rows); ++i) {
        frame_.bind_input(
            first_program_row_ + i,
            inputs_[first_row_ + i] + static_cast<std::size_t>(row) * kernel_.input_bytes_[first_program_row_ + i]);
      }
      for (std::uint32_t k = 0; k < kernel_.output_of_row_.size(); ++k) {
        if (kernel_.output_of_row_[k] != none) {
          frame_.bind_output(kernel_.output_of_row_[k], row_of_result(k, done_));
        }
      }
      for (const PlacedChain& placed : kernel_.chains_) {
        if (placed.in_place) continue;
        for (std::size_t i = 0; i < placed.chain.members.size(); ++i) {
          frame_.bind_input(placed.chain.members[i], place_of(placed, i, done_));
        }
        if (placed.output != none) frame_.bind_output(placed.output, place_of_next(placed, done_));
      }
    }

    // Results that lie elsewhere are copied, rows that were not reached are zeros.
    void finish() {
      for (const PlacedChain& placed : kernel_.chains_) {
        for (std::size_t i = 0; i < placed.chain.members.size(); ++i) {
          memory_.move(result(placed.chain.members[i]), place_of(placed, i, done_), placed.bytes);
        }
      }
      for (std::uint32_t k = 0; k < kernel_.row_bytes_.size() && done_ < loop_.trips; ++k) {
        memory_.fill(result(static_cast<std::size_t>(loop_.carries) + k) +
                         static_cast<std::size_t>(done_) * kernel_.row_bytes_[k],
                     std::byte{0}, static_cast<std::size_t>(loop_.trips - done_) * kernel_.row_bytes_[k]);
      }
      if (loop_.tested) memory_.write(outputs_.back(), done_);
    }

    const IterationKernel& kernel_;
    const RegionMemory& memory_;
    const core::IterationAttributes& loop_;
    std::span<const core::Address> inputs_, outputs_;
    core::Address workspace_;
    RegionProgram::Frame frame_;
    KeyWords key_ = {};
    std::int64_t trips_ = 0;
    std::int64_t done_ = 0;
    bool runs_ = true;
    std::size_t first_carry_ = 0, first_row_ = 0, first_capture_ = 0;  // among the operands
    std::size_t first_program_row_ = 0;                                // among the body's inputs
  };

  RegionMemory memory_;
  core::IterationAttributes loop_;
  std::vector<std::size_t> input_bytes_;  // of the body's inputs
  std::vector<std::size_t> row_bytes_;    // of the stacked results
  std::vector<std::uint32_t> output_of_row_;
  std::vector<PlacedChain> chains_;
  std::unique_ptr<const RegionProgram> program_;
  std::size_t program_at_ = 0;
};

}  // namespace

std::shared_ptr<const core::Kernel> iteration_kernel(const core::Step& step, core::Device& device,
                                                     const CompileOptions& options) {
  return std::make_shared<IterationKernel>(std::get<core::IterationAttributes>(*step.attributes), device, options);
}

}  // namespace tyto::run
