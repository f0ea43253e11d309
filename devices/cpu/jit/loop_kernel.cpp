// Cuts a shape into rectangles, deals them to threads, and calls the code on each.
#include "devices/cpu/jit/loop_kernel.hpp"

#include <algorithm>
#include <array>

#include "devices/cpu/jit/compile.hpp"
#include "devices/cpu/jit/loop_geometry.hpp"
#include "devices/cpu/jit/non_temporal.hpp"
#include "devices/cpu/kernels.hpp"
#include "devices/cpu/threads.hpp"

namespace tyto::cpu::jit {

namespace {

/// Elements of a rectangle that threads share out: long enough that a call counts for nothing.
constexpr std::int64_t rectangle_elements = 16384;
constexpr std::int64_t shortest_rectangle = 1024, grain = 64;
constexpr std::int64_t crossed_columns = 64, crossed_rows = 256;
/// Bytes that memory gives or takes in a nanosecond.
constexpr double memory_bytes = 10;

class LoopKernel final : public core::Kernel {
 public:
  LoopKernel(LoopGeometry geometry, std::size_t inputs, Compiled plain, Compiled non_temporal, double bytes,
             int threads)
      : geometry_(std::move(geometry)),
        inputs_(inputs),
        plain_(std::move(plain.code)),
        non_temporal_(std::move(non_temporal.code)) {
    const double nanoseconds =
        std::max(static_cast<double>(geometry_.elements) * plain.nanoseconds, bytes / memory_bytes);
    workers_ = threads > 0 ? Workers{threads} : workers_for(nanoseconds);
    if (geometry_.crossed) {
      block_columns_ = std::min(geometry_.columns, crossed_columns);
      block_rows_ = std::min(geometry_.rows, crossed_rows);
    } else {
      // Short work has a rectangle for each thread all the same.
      const std::int64_t each = std::max(geometry_.elements / workers_.count, shortest_rectangle);
      const std::int64_t elements = std::min(rectangle_elements, (each + grain - 1) / grain * grain);
      block_columns_ = std::min(geometry_.columns, elements);
      block_rows_ = std::clamp<std::int64_t>(elements / block_columns_, 1, geometry_.rows);
    }
    column_blocks_ = (geometry_.columns + block_columns_ - 1) / block_columns_;
    row_blocks_ = (geometry_.rows + block_rows_ - 1) / block_rows_;
  }

  void launch(std::span<const core::Address> inputs, std::span<const core::Address> outputs,
              core::Address) const override {
    const std::int64_t blocks = column_blocks_ * row_blocks_ * geometry_.outer_count;
    if (blocks == 1) return run_whole(inputs, outputs);
    if (workers_.count == 1) return run(inputs, outputs, {0, blocks});
    run_team(workers_, [&](Team team) {
      const Range mine = share(blocks, team.member, team.size);
      if (mine.size() > 0) run(inputs, outputs, mine);
    });
  }

 private:
  static constexpr std::size_t most_places = 2 * TileProgram::most_operands;

  /// The only rectangle: what precedes the call counts for small tensors.
  void run_whole(std::span<const core::Address> inputs, std::span<const core::Address> outputs) const {
    Frame frame;
    frame.rows = geometry_.rows;
    frame.columns = geometry_.columns;
    OperandPlace* to = frame.places;
    for (std::size_t i = 0; i < geometry_.places.size(); ++i) {
      const LoopGeometry::Place& place = geometry_.places[i];
      const core::Address& address = i < inputs_ ? inputs[i] : outputs[i - inputs_];
      to->start = address.pointer() + place.start;
      to->row = place.row;
      to->column = place.column;
      ++to;
    }
    plain_->entry()(&frame);
  }

  void run(std::span<const core::Address> inputs, std::span<const core::Address> outputs, Range blocks) const {
    Frame frame;
    OperandPlace* const places = frame.places;
    const std::size_t count = geometry_.places.size();
    std::array<std::byte*, most_places> starts;
    for (std::size_t i = 0; i < count; ++i) {
      const core::Address& address = i < inputs_ ? inputs[i] : outputs[i - inputs_];
      starts[i] = address.pointer() + geometry_.places[i].start;
      places[i].row = geometry_.places[i].row;
      places[i].column = geometry_.places[i].column;
    }
    const Function function = stores_non_temporally({starts.data(), count}) ? non_temporal_->entry() : plain_->entry();
    std::int64_t column_block = blocks.begin % column_blocks_, row_block = blocks.begin / column_blocks_ % row_blocks_;
    std::int64_t outer = blocks.begin / (column_blocks_ * row_blocks_);
    for (std::int64_t block = blocks.begin; block < blocks.end;) {
      const std::int64_t column = column_block * block_columns_, row = row_block * block_rows_;
      frame.columns = std::min(block_columns_, geometry_.columns - column);
      frame.rows = std::min(block_rows_, geometry_.rows - row);
      // Neighbouring blocks that make one rectangle are one.
      std::int64_t taken = 1;
      if (!geometry_.crossed) {
        const std::int64_t left = blocks.end - block;
        if (column_blocks_ > 1) {
          taken = std::min(left, column_blocks_ - column_block);
          frame.columns = std::min(taken * block_columns_, geometry_.columns - column);
        } else {
          taken = std::min(left, row_blocks_ - row_block);
          frame.rows = std::min(taken * block_rows_, geometry_.rows - row);
        }
      }
      for (std::size_t i = 0; i < count; ++i) {
        const LoopGeometry::Place& place = geometry_.places[i];
        places[i].start = starts[i] + row * place.row + column * place.column;
      }
      std::int64_t index = outer;
      for (std::size_t axis = geometry_.outer.size(); axis-- > 0 && index != 0;) {
        const std::int64_t position = axis == 0 ? index : index % geometry_.outer[axis];
        if (axis != 0) index /= geometry_.outer[axis];
        for (std::size_t i = 0; i < count; ++i) places[i].start += position * geometry_.places[i].outer[axis];
        if (axis == 0) break;
      }
      function(&frame);
      block += taken;
      if (geometry_.crossed || column_blocks_ > 1) {
        column_block += taken;
        if (column_block < column_blocks_) continue;
        column_block = 0;
        ++row_block;
      } else {
        row_block += taken;
      }
      if (row_block < row_blocks_) continue;
      row_block = 0;
      ++outer;
    }
  }

  bool stores_non_temporally(std::span<std::byte* const> starts) const {
    return non_temporal_ != nullptr && allows_non_temporal_stores(starts, inputs_);
  }

  LoopGeometry geometry_;
  std::size_t inputs_;
  std::shared_ptr<const MachineCode> plain_, non_temporal_;
  std::int64_t block_columns_ = 1, block_rows_ = 1, column_blocks_ = 1, row_blocks_ = 1;
  Workers workers_;
};

Access access_of(const LoopGeometry& geometry, const LoopGeometry::Place& place, DType type) {
  const auto width = static_cast<std::ptrdiff_t>(size_of(type));
  if (geometry.columns == 1 || place.column == width) return Access::contiguous;
  return place.column == 0 ? Access::broadcast : Access::strided;
}

/// Whether non-temporal stores pay: results outgrow the caches, and all rows of all results lie alike.
bool profits_from_non_temporal_stores(const LoopGeometry& geometry, std::span<const core::Operand> outputs,
                                      std::span<const OperandForm> forms) {
  const std::size_t first = geometry.places.size() - outputs.size();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const LoopGeometry::Place &place = geometry.places[first + i], &leader = geometry.places[first];
    if (!outgrows_caches(outputs[i]) || forms[i].access != Access::contiguous) return false;
    if (size_of(forms[i].stored) < 4 || size_of(forms[i].stored) != size_of(forms[0].stored)) return false;
    if (place.row != leader.row || place.outer != leader.outer) return false;
  }
  return geometry.columns >= shortest_non_temporal_row;
}

}  // namespace

std::shared_ptr<const core::Kernel> prepare_loop(const TileProgram& program, std::span<const core::Operand> inputs,
                                                 std::span<const core::Operand> outputs, const KernelChoice& choice) {
  LoopGeometry geometry = loop_geometry(inputs, outputs);
  if (geometry.elements == 0) return no_work();
  std::vector<OperandForm> from, to;
  double bytes = 0;
  for (std::size_t i = 0; i < geometry.places.size(); ++i) {
    const DType type = i < inputs.size() ? inputs[i].dtype : outputs[i - inputs.size()].dtype;
    const Access access = access_of(geometry, geometry.places[i], type);
    (i < inputs.size() ? from : to).push_back({type, access});
    if (access != Access::broadcast)
      bytes += static_cast<double>(size_of(type)) * static_cast<double>(geometry.elements);
  }
  const bool single = geometry.elements == 1;
  const Compiled plain = compile(program, from, to, single ? Variant::single : Variant::rows, choice.set());
  if (plain.code == nullptr) return nullptr;
  Compiled non_temporal;
  if (profits_from_non_temporal_stores(geometry, outputs, to))
    non_temporal = compile(program, from, to, Variant::non_temporal, choice.set());
  return std::make_shared<const LoopKernel>(std::move(geometry), inputs.size(), plain, non_temporal, bytes,
                                            choice.threads);
}

}  // namespace tyto::cpu::jit
