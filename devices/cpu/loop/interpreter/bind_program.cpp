// SPDX-License-Identifier: MIT
// Assigns each value of a loop program a location, and chooses the compiled loops, when a kernel is prepared.
#include <algorithm>
#include <bit>
#include <optional>

#include "core/graph/op_ids.hpp"
#include "core/loop/operator_loop.hpp"
#include "core/value/text.hpp"
#include "devices/cpu/arithmetic/tile_loops/find_loop.hpp"
#include "devices/cpu/loop/interpreter/bound_program.hpp"
#include "devices/cpu/system/machine.hpp"

namespace tyto::cpu {

namespace {

/// Tiles of programs of one loop, of several, and the shortest.
constexpr std::int64_t longest_tile = 1024, usual_tile = 256, shortest_tile = 16;

using Value = core::LoopValue;

/// A program with explicit casts in the order of execution on a tile: inputs are loaded first, in every type that they
/// are read in, then the other instructions run.
struct LoadOrder {
  struct Input {
    Value value;
    std::size_t operand;
  };

  LoadOrder(const core::LoopProgram& given, std::span<const core::Operand> operands) {
    for (const core::Operand& operand : operands) types.push_back(operand.dtype);
    loop = with_explicit_casts(given, types);
    types = core::value_types(loop, types);
    std::vector<bool> read(loop.values(), false), is_result(loop.values(), false);
    for (const Value output : loop.outputs) read[output] = is_result[output] = true;
    for (std::size_t v = loop.first_instruction(); v < loop.values(); ++v) {
      const auto value = static_cast<Value>(v);
      // A result that is no more than a cast is converted where it is written.
      if (is_cast_input(loop, v) && !is_result[v]) {
        inputs.push_back({value, loop.operands_of(v)[0]});
        continue;
      }
      steps.push_back(value);
      for (const Value operand : loop.operands_of(v)) read[operand] = true;
    }
    for (std::size_t v = 0; v < loop.inputs; ++v) {
      if (read[v]) inputs.push_back({static_cast<Value>(v), v});
    }
  }

  bool is_result(Value value) const { return std::ranges::find(loop.outputs, value) != loop.outputs.end(); }

  core::LoopProgram loop;
  std::vector<DType> types;  // by value
  std::vector<Input> inputs;
  std::vector<Value> steps;
};

/// Allocates tiles to values: from the instruction that makes a value to its last use, so that a long program needs few
/// of them.
class Binding {
 public:
  Binding(const LoadOrder& program, std::span<const core::Operand> inputs, std::span<const core::Operand> outputs,
          const TileLoops& loops, std::int64_t tile, bool row_major)
      : program_(program), loop_(program.loop), inputs_(inputs), outputs_(outputs), loops_(loops) {
    result_.geometry = cut_into_tiles(inputs, outputs, tile, row_major);
    result_.output_width = size_of(outputs[0].dtype);
    result_.inputs = inputs.size();
    result_.tiles.assign(loop_.values(), BoundProgram::elsewhere);
    direct_.assign(loop_.values(), false);
    recycled_.assign(loop_.values(), false);
    tile_elements_ = static_cast<std::size_t>(result_.geometry.tile_columns * result_.geometry.tile_rows);
    find_last_uses();
    for (const LoadOrder::Input& input : program_.inputs) direct_[input.value] = is_read_in_place(input);
    choose_direct_outputs();
    place_constants();
    place_loads();
    place_instructions();
    place_stores();
    estimate();
  }

  BoundProgram& result() { return result_; }

 private:
  static constexpr std::size_t never = ~std::size_t{0};

  void find_last_uses() {
    last_use_.assign(loop_.values(), 0);
    for (std::size_t i = 0; i < program_.steps.size(); ++i) {
      for (const Value operand : loop_.operands_of(program_.steps[i])) last_use_[operand] = i;
    }
    for (const Value output : loop_.outputs) last_use_[output] = never;
  }

  DType type_of(Value value) const { return program_.types[value]; }
  const OperandLayout& input_layout(std::size_t operand) const { return result_.geometry.layouts[operand]; }
  const OperandLayout& output_layout(std::size_t operand) const {
    return result_.geometry.layouts[inputs_.size() + operand];
  }
  static std::ptrdiff_t width_of(DType type) { return static_cast<std::ptrdiff_t>(size_of(type)); }

  /// Memory is read where it lies if it is the tile.
  bool is_read_in_place(const LoadOrder::Input& input) const {
    const DType stored = inputs_[input.operand].dtype;
    return stored == type_of(input.value) && result_.geometry.contiguous(input_layout(input.operand), width_of(stored));
  }

  /// The inputs that are read in memory after the instruction that makes the value, to be computed with or copied; none
  /// where no instruction makes it.
  std::optional<std::uint64_t> read_after(Value made) const {
    const auto from = std::ranges::find(program_.steps, made);
    if (from == program_.steps.end()) return {};
    std::uint64_t read = 0;
    for (const LoadOrder::Input& input : program_.inputs) {
      const auto reads = [&](Value step) {
        const auto operands = loop_.operands_of(step);
        return std::ranges::find(operands, input.value) != operands.end();
      };
      if (direct_[input.value] &&
          (program_.is_result(input.value) || std::any_of(from + 1, program_.steps.end(), reads)))
        read |= std::uint64_t{1} << input.operand;
    }
    return read;
  }

  /// An instruction writes straight to the output, unless later ones read operands in memory over which it turns out to
  /// lie.
  void choose_direct_outputs() {
    for (std::size_t i = 0; i < loop_.outputs.size(); ++i) {
      const Value value = loop_.outputs[i];
      const DType stored = outputs_[i].dtype;
      const bool fits = stored == type_of(value) && !direct_[value] &&
                        result_.geometry.contiguous(output_layout(i), width_of(stored));
      std::optional<std::uint64_t> read = read_after(value);
      // A plain copy gathers into the output.
      if (program_.steps.empty() && program_.inputs.size() == 1 && loop_.outputs.size() == 1) {
        if (!repeats(input_layout(program_.inputs[0].operand))) read = 0;
      }
      for (std::size_t other = 0; other < i; ++other) {
        if (loop_.outputs[other] == value && direct_output_[other]) read.reset();  // it has its place
      }
      if (!fits) read.reset();
      if (read == 0) direct_[value] = true;
      direct_output_.push_back(read);
    }
  }

  bool repeats(const OperandLayout& layout) const {
    const TileGeometry& geometry = result_.geometry;
    return geometry.same_in_all_tiles(layout) ||
           (geometry.same_along_row(layout) && geometry.tile_columns < geometry.columns);
  }

  std::uint32_t reserve(std::size_t bytes) {
    const std::size_t offset = result_.memory;
    result_.memory += (bytes + 63) / 64 * 64;
    return static_cast<std::uint32_t>(offset);
  }

  /// One area serves all conversions: it is in use only within one load or one store.
  std::uint32_t staging() {
    if (staging_ == BoundProgram::elsewhere) staging_ = reserve(tile_elements_ * sizeof(double));
    return staging_;
  }

  void give_tile(Value value) {
    const std::size_t width = size_of(type_of(value));
    auto& spare = spare_[static_cast<std::size_t>(std::countr_zero(width))];
    if (spare.empty()) {
      result_.tiles[value] = reserve(tile_elements_ * width);
    } else {
      result_.tiles[value] = spare.back();
      spare.pop_back();
    }
  }

  void place_constants() {
    for (std::size_t i = 0; i < loop_.constants.size(); ++i) {
      const auto value = static_cast<Value>(loop_.inputs + i);
      const auto& [number, type] = loop_.constants[i];
      give_tile(value);
      result_.constants.push_back({value, element_bits(loops_, number, type), loops_.gather[width_index(type)]});
    }
  }

  void place_loads() {
    for (const LoadOrder::Input& input : program_.inputs) {
      const DType stored = inputs_[input.operand].dtype, type = type_of(input.value);
      const OperandLayout& layout = input_layout(input.operand);
      Load load;
      load.value = input.value;
      load.operand = static_cast<std::uint16_t>(input.operand);
      load.width = static_cast<std::uint32_t>(size_of(stored));
      load.gather = loops_.gather[width_index(stored)];
      load.transpose = loops_.transpose[width_index(stored)];
      if (stored != type) load.convert = conversion(loops_, stored, type);
      if (is_read_in_place(input)) {
        load.form = Load::Form::direct;
      } else if (!result_.geometry.contiguous(layout, width_of(stored))) {
        const bool turned = result_.geometry.transposed(layout, width_of(stored));
        load.form = turned ? Load::Form::transpose : Load::Form::gather;
        if (load.convert != nullptr) load.staging = staging();
      } else {
        load.form = Load::Form::convert;
      }
      load.once = load.form != Load::Form::direct && result_.geometry.same_in_all_tiles(layout);
      load.number = load.once && layout.row == 0 && layout.column == 0;
      load.per_row = load.form == Load::Form::gather && !load.once && repeats(layout);
      if (!direct_[input.value]) give_tile(input.value);
      recycled_[input.value] = !direct_[input.value] && !load.once && !load.per_row;
      result_.loads.push_back(load);
    }
  }

  TileLoop loop_of(Value value) const {
    const core::OpId op = loop_.instruction_of(value).op;
    const DType type = type_of(loop_.operands_of(value).back());
    if (op == core::OpId::cast) return conversion(loops_, type, type_of(value));
    return find_loop(loops_, op, type);
  }

  void place_instructions() {
    for (std::size_t i = 0; i < program_.steps.size(); ++i) {
      const Value value = program_.steps[i];
      const auto operands = loop_.operands_of(value);
      for (const Value operand : operands) {
        if (last_use_[operand] != i || !recycled_[operand]) continue;
        recycled_[operand] = false;
        spare_[width_index(type_of(operand))].push_back(result_.tiles[operand]);
      }
      if (!direct_[value]) {
        give_tile(value);
        recycled_[value] = true;
      }
      result_.nanoseconds += machine::interpreted_instruction;
      // Operands that the operator does not have repeat the last one.
      Instruction placed{loop_of(value), value, {operands.back(), operands.back(), operands.back()}};
      std::ranges::copy(operands, placed.operands.begin());
      result_.instructions.push_back(placed);
    }
  }

  void place_stores() {
    for (std::size_t i = 0; i < loop_.outputs.size(); ++i) {
      const Value value = loop_.outputs[i];
      const DType stored = outputs_[i].dtype, type = type_of(value);
      Store store;
      store.value = value;
      store.operand = static_cast<std::uint16_t>(i);
      store.width = static_cast<std::uint32_t>(size_of(stored));
      store.scatter = loops_.scatter[width_index(stored)];
      store.convert = conversion(loops_, type, stored);
      if (direct_output_[i]) {
        store.form = Store::Form::direct;
        store.read_later = *direct_output_[i];
      } else if (!result_.geometry.contiguous(output_layout(i), width_of(stored))) {
        store.form = Store::Form::scatter;
        if (type == stored) store.convert = nullptr;
        else store.staging = staging();
      }
      result_.stores.push_back(store);
    }
    // Copies from an operand's memory are made before other results may overwrite it.
    std::stable_partition(result_.stores.begin(), result_.stores.end(),
                          [&](const Store& store) { return store.value < loop_.inputs; });
  }

  void estimate() {
    const TileGeometry& geometry = result_.geometry;
    const auto elements = static_cast<double>(geometry.elements);
    double bytes = 0;  // moved an element
    const auto moved = [&](const core::Operand& operand, const OperandLayout& layout) {
      if (!geometry.same_in_all_tiles(layout)) bytes += static_cast<double>(size_of(operand.dtype));
      // An element that is repeated is not gathered one by one.
      if (layout.column != 0 && !geometry.contiguous(layout, width_of(operand.dtype)))
        result_.nanoseconds += machine::interpreted_instruction;
    };
    for (std::size_t i = 0; i < inputs_.size(); ++i) moved(inputs_[i], geometry.layouts[i]);
    for (std::size_t i = 0; i < outputs_.size(); ++i) moved(outputs_[i], geometry.layouts[inputs_.size() + i]);
    result_.nanoseconds = result_.nanoseconds * elements + machine::nanoseconds_to_move(bytes * elements);
  }

  const LoadOrder& program_;
  const core::LoopProgram& loop_;
  std::span<const core::Operand> inputs_, outputs_;
  const TileLoops& loops_;
  BoundProgram result_;
  std::size_t tile_elements_ = 0;
  std::uint32_t staging_ = BoundProgram::elsewhere;
  std::vector<std::size_t> last_use_;
  std::vector<bool> direct_;    // values whose tile is an operand's memory
  std::vector<bool> recycled_;  // values whose tile is free after their last use
  /// By output: whether an instruction may write it directly, and the inputs that are read after that.
  std::vector<std::optional<std::uint64_t>> direct_output_;
  std::array<std::vector<std::uint32_t>, element_widths> spare_;
};

}  // namespace

BoundProgram bind_program(const core::BoundLoop& bound, const TileLoops& loops, bool row_major) {
  const LoadOrder program(bound.loop.program, bound.inputs);
  constexpr std::size_t most = BoundProgram::most_values;
  if (const std::size_t values = program.loop.values(); values > most)
    core::throw_error<DeviceError>("cpu: an element-wise program may have ", most, " values, this one has ", values);
  const bool one_loop = program.steps.size() <= 1;
  for (std::int64_t tile = one_loop ? longest_tile : usual_tile;; tile /= 2) {
    Binding binding(program, bound.inputs, bound.outputs, loops, tile, row_major);
    if (binding.result().memory <= machine::block_bytes || tile <= shortest_tile) return std::move(binding.result());
  }
}

}  // namespace tyto::cpu
