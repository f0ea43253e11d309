// SPDX-License-Identifier: MIT
// Products with weights of few bits as kernels of the device: few rows read the weights once, word by word; for many
// rows panels of weights are made numbers in the cache and multiplied by the register tile.
#include <algorithm>
#include <bit>
#include <utility>
#include <variant>

#include "core/graph/op_ids.hpp"
#include "devices/cpu/device/kernels.hpp"
#include "devices/cpu/device/workspace.hpp"
#include "devices/cpu/products/half_routine.hpp"
#include "devices/cpu/products/quantised/quantised_loops.hpp"
#include "devices/cpu/products/step_terms.hpp"
#include "devices/cpu/products/tile/panel_product.hpp"
#include "devices/cpu/system/machine.hpp"

namespace tyto::cpu {

namespace {

// Bytes from one column to the next, so that the offsets of a vector of columns fit in 32 bits.
constexpr std::int64_t most_column_bytes = std::int64_t{1} << 26;
// Steps of a panel that are written at a time, and vectors of the widest one.
constexpr std::int64_t steps_at_a_time = 128;
constexpr std::size_t most_panel_vectors = 4;
// The tile reads a part of each row at a time; a chunk has rows enough that making the panels does not count.
constexpr std::int64_t row_part_bytes = 256;

/// The operands' extents, and how the weights are stored.
struct QuantisedProblem {
  DType dtype = DType::f32;
  std::int64_t rows = 0, columns = 0, depth = 0;
  std::int64_t blocks = 0, block = 0, bits = 4;
  bool has_zeros = false, packed_zeros = false;

  explicit QuantisedProblem(const core::Step& step)
      : dtype(step.inputs[0].dtype), bits(std::get<core::QuantisationAttributes>(*step.attributes).bits) {
    const Shape &a = step.inputs[0].view.shape, &numbers = step.inputs[1].view.shape;
    rows = a[0];
    depth = a[1];
    columns = numbers[0];
    blocks = numbers[1];
    block = numbers[2] * 8 / bits;
    has_zeros = step.inputs.size() > 3;
    packed_zeros = has_zeros && step.inputs[3].dtype == DType::u8;
  }

  std::int64_t column_bytes() const { return blocks * block * bits / 8; }
  /// How many columns make a vector of words, where each is a part of it without padding; else 1.
  std::int64_t columns_in(std::int64_t lanes) const {
    const std::int64_t words = column_bytes() / 4;
    return depth > 0 && depth == blocks * block && lanes % words == 0 ? lanes / words : 1;
  }
  std::int64_t packed_zero_bytes() const { return (blocks * bits + 7) / 8; }
  /// Estimated time of one thread: reading the weights, or multiplying.
  double nanoseconds() const {
    const auto weights = static_cast<double>(columns) * static_cast<double>(depth);
    return weights * std::max(machine::quantised_weight, static_cast<double>(rows) * machine::quantised_product);
  }
};

/// Scales and zero points of columns as f32: where they lie, or copies.
class BlockNumbers {
 public:
  BlockNumbers(const QuantisedProblem& problem, const QuantisedLoops& loops)
      : problem_(problem), unpack_(loops.unpack), widens_(is_half(problem.dtype)) {}

  /// Elements of the copies that `count` columns need.
  std::int64_t copied_elements(std::int64_t count) const {
    const bool copies_zeros = problem_.packed_zeros || (problem_.has_zeros && widens_);
    return count * problem_.blocks * ((widens_ ? 1 : 0) + (copies_zeros ? 1 : 0));
  }

  /// Scales of `count` blocks of a column from `first` on; `copies` advances by the elements that are copied.
  const float* scales(const void* stored, std::int64_t column, std::int64_t first, std::int64_t count,
                      float*& copies) const {
    const std::int64_t at = column * problem_.blocks + first;
    if (!widens_) return static_cast<const float*>(stored) + at;
    widen(problem_.dtype, static_cast<const std::uint16_t*>(stored) + at, 1, copies, count);
    return std::exchange(copies, copies + count);
  }
  const float* zeros(const void* stored, std::int64_t column, std::int64_t first, std::int64_t count,
                     float*& copies) const {
    if (!problem_.has_zeros) return nullptr;
    if (!problem_.packed_zeros) return scales(stored, column, first, count, copies);
    const auto* bytes = static_cast<const std::uint8_t*>(stored) + column * problem_.packed_zero_bytes();
    unpack_(static_cast<int>(problem_.bits), bytes, first, count, copies);
    return std::exchange(copies, copies + count);
  }

 private:
  QuantisedProblem problem_;
  void (*unpack_)(int, const std::uint8_t*, std::int64_t, std::int64_t, float*);
  bool widens_;
};

/// f32 and the halves, which are computed in f32 and rounded once.
class QuantisedMatmul final : public core::Kernel {
 public:
  explicit QuantisedMatmul(const core::Step& step)
      : problem_(step),
        set_(instruction_set()),
        loops_(quantised_loops(set_)),
        blocks_(problem_, loops_),
        threads_(threads_for(problem_.nanoseconds())),
        is_half_(is_half(problem_.dtype)) {
    for (std::size_t i = 0; i < step.inputs.size(); ++i) skipped_[i] = skipped(step.inputs[i]);
    // Columns shorter than a vector of words are all tail to the dots, which takes them several times as long; several
    // that fill one are worth it for a single row, since sums within vectors take as long as the products.
    const std::int64_t vector_depth = loops_.lanes * (32 / problem_.bits);
    if (problem_.rows == 1 && problem_.depth < vector_depth) in_vector_ = problem_.columns_in(loops_.lanes);
    const bool few_rows = problem_.rows <= machine::few_rows && problem_.depth * in_vector_ >= vector_depth;
    by_dots_ = few_rows || problem_.depth == 0 || problem_.column_bytes() > most_column_bytes;
    if (is_half_) {
      wide_a_ = HalfCopy::reserve(space_, problem_.rows * problem_.depth);
      wide_c_ = HalfCopy::reserve(space_, problem_.rows * problem_.columns);
    }
    const auto members = static_cast<std::size_t>(threads_);
    const auto reserve_each = [&](std::int64_t elements, std::size_t& stride) {
      return space_.reserve_each(members, static_cast<std::size_t>(elements) * sizeof(float), stride);
    };
    if (by_dots_) {
      const std::int64_t vector_numbers = loops_.lanes * (32 / problem_.bits);
      vectors_ = (problem_.depth + vector_numbers - 1) / vector_numbers;
      arranged_row_ = vectors_ * vector_numbers;
      arranged_ = space_.reserve(static_cast<std::size_t>(problem_.rows * arranged_row_) * sizeof(float));
      copies_ = reserve_each(blocks_.copied_elements(loops_.columns * in_vector_), copies_stride_);
      return;
    }
    product_ = plan_panel_product<float>(set_, problem_.rows, problem_.columns, 1, problem_.depth, 1, row_part_bytes,
                                         false, threads_);
    copies_ = reserve_each(blocks_.copied_elements(product_.layout.width), copies_stride_);
    panel_ = reserve_each(product_.panel_elements(), panel_stride_);
    tables_ = space_.reserve_each(members, product_.table_bytes(), tables_stride_);
  }

  std::size_t workspace() const override { return space_.bytes(); }

  void launch(Addresses inputs, Addresses outputs, core::Address workspace) const override {
    Call call;
    call.space = workspace.pointer();
    const auto input = [&](std::size_t i) -> const void* {
      return i < inputs.size() ? inputs[i].pointer() + skipped_[i] : nullptr;
    };
    call.numbers = static_cast<const std::uint8_t*>(input(1));
    call.scales = input(2);
    call.zeros = input(3);
    call.a = is_half_ ? wide_a_.in(call.space) : static_cast<const float*>(input(0));
    call.c = is_half_ ? wide_c_.in(call.space) : reinterpret_cast<float*>(outputs[0].pointer());
    run_team(threads_, [&](Team team) {
      if (is_half_) {
        wide_a_.load(problem_.dtype, input(0), call.space, team);
        team.barrier();
      }
      if (by_dots_) multiply_by_dots(call, team);
      else multiply_by_panels(call, team);
      if (is_half_) {
        team.barrier();
        wide_c_.store(problem_.dtype, call.space, outputs[0].pointer(), team);
      }
    });
  }

 private:
  /// The operands of a launch: f32, except for scales and zero points.
  struct Call {
    std::byte* space = nullptr;
    const float* a = nullptr;
    const std::uint8_t* numbers = nullptr;
    const void *scales = nullptr, *zeros = nullptr;
    float* c = nullptr;
  };

  float* copies_of(const Call& call, Team team) const noexcept {
    return at<float>(call.space, copies_ + copies_stride_ * static_cast<std::size_t>(team.member));
  }

  void multiply_by_dots(const Call& call, Team team) const noexcept {
    float* const arranged = at<float>(call.space, arranged_);
    const int bits = static_cast<int>(problem_.bits);
    const std::int64_t vector_numbers = loops_.lanes * (32 / problem_.bits);
    const Range vectors = share(problem_.rows * vectors_, team.member, team.size);
    for (std::int64_t at = vectors.begin; at < vectors.end;) {
      const std::int64_t row = at / vectors_, first = at % vectors_;
      const std::int64_t count = std::min(vectors_ - first, vectors.end - at), skipped = first * vector_numbers;
      loops_.arrange(bits, call.a + row * problem_.depth + skipped, problem_.depth - skipped, count,
                     arranged + row * arranged_row_ + skipped);
      if (in_vector_ > 1) repeat_words(arranged + row * arranged_row_);
      at += count;
    }
    team.barrier();

    QuantisedDots d;
    d.bits = bits;
    d.words_shift = std::countr_zero(static_cast<std::uint64_t>(problem_.block * problem_.bits / 32));
    d.a_row = arranged_row_;
    d.c_row = problem_.columns;
    d.in_vector = static_cast<int>(in_vector_);
    const std::int64_t at_a_time = loops_.columns * in_vector_;
    const Range mine = share(problem_.columns, team.member, team.size, at_a_time);
    for (std::int64_t column = mine.begin; column < mine.end;) {
      // Columns that do not fill a vector come last, alone.
      const std::int64_t left = mine.end - column, whole = left - left % in_vector_;
      const std::int64_t in_vector = whole > 0 ? in_vector_ : left;
      d.columns = static_cast<int>(std::min(at_a_time, whole > 0 ? whole : left));
      d.depth = problem_.depth * in_vector;
      float* copies = copies_of(call, team);
      for (int j = 0; j < loops_.columns; ++j) {
        const std::int64_t first = column + j * in_vector;
        if (j * in_vector >= d.columns) {  // computed and not stored
          d.numbers[j] = d.numbers[0];
          d.scales[j] = d.scales[0];
          d.zeros[j] = d.zeros[0];
          continue;
        }
        d.numbers[j] = call.numbers + first * problem_.column_bytes();
        d.scales[j] = each_of_vector(in_vector, [&](std::int64_t k) {
          return blocks_.scales(call.scales, first + k, 0, problem_.blocks, copies);
        });
        d.zeros[j] = each_of_vector(in_vector, [&](std::int64_t k) {
          return blocks_.zeros(call.zeros, first + k, 0, problem_.blocks, copies);
        });
      }
      for (std::int64_t row = 0; row < problem_.rows; row += most_quantised_rows) {
        d.rows = static_cast<int>(std::min<std::int64_t>(most_quantised_rows, problem_.rows - row));
        d.a = arranged + row * arranged_row_;
        d.c = call.c + row * problem_.columns + column;
        loops_.dots(d);
      }
      column += d.columns;
    }
  }

  // Scales and zero points of the columns of one vector lie, or are copied, one behind the other.
  template <class F>
  static const float* each_of_vector(std::int64_t columns, const F& get) {
    const float* const first = get(0);
    for (std::int64_t k = 1; k < columns; ++k) get(k);
    return first;
  }

  // The words of an arranged row that is shorter than a vector, once for each column that the vector holds.
  void repeat_words(float* row) const noexcept {
    const std::int64_t words = loops_.lanes / in_vector_;
    for (std::int64_t number = 0; number < 32 / problem_.bits; ++number, row += loops_.lanes) {
      for (std::int64_t lane = words; lane < loops_.lanes; ++lane) row[lane] = row[lane - words];
    }
  }

  /// Writes panels of weights.
  struct PanelWriter {
    const QuantisedMatmul& kernel;
    const Call& call;
    float* copies;
  };

  static void write_panel(const void* writer, const InnerBlock& block, std::int64_t panel, float* packed) noexcept {
    const auto& [kernel, call, copies] = *static_cast<const PanelWriter*>(writer);
    const QuantisedProblem& problem = kernel.problem_;
    const PanelLayout& layout = kernel.product_.layout;
    if (block.steps == 0) return;
    const std::int64_t columns = layout.columns_of(panel), end = block.first + block.steps;
    const std::int64_t first_block = block.first / problem.block;
    const std::int64_t blocks = (end - 1) / problem.block + 1 - first_block;
    QuantisedPanel parts[most_panel_vectors];
    std::size_t vectors = 0;
    float* behind = copies;
    for (std::int64_t first = 0; first < columns; first += layout.lanes, ++vectors) {
      const std::int64_t column = panel * layout.width + first;
      QuantisedPanel& p = parts[vectors];
      p.bits = static_cast<int>(problem.bits);
      p.block = problem.block;
      p.first_block = first_block;
      p.pitch = layout.pitch_of(panel);
      p.numbers = call.numbers + column * problem.column_bytes();
      const std::int64_t there = std::min<std::int64_t>(layout.lanes, columns - first);
      for (std::int64_t j = 0; j < layout.lanes; ++j) {
        const auto to = static_cast<std::size_t>(j), last = static_cast<std::size_t>(std::min(j, there - 1));
        if (j < there) {
          p.offsets[to] = static_cast<std::int32_t>(j * problem.column_bytes());
          p.scales[to] = kernel.blocks_.scales(call.scales, column + j, first_block, blocks, behind);
          p.zeros[to] = kernel.blocks_.zeros(call.zeros, column + j, first_block, blocks, behind);
        } else {  // never stored
          p.offsets[to] = p.offsets[last];
          p.scales[to] = p.scales[last];
          p.zeros[to] = p.zeros[last];
        }
      }
    }
    // Few steps of all columns at a time, which stay in the first-level cache until their lines are whole.
    const std::int64_t steps = std::max(steps_at_a_time, layout.lanes * (32 / problem.bits));
    for (std::int64_t first = block.first; first < end; first += steps) {
      for (std::size_t i = 0; i < vectors; ++i) {
        parts[i].first = first;
        parts[i].steps = std::min(steps, end - first);
        parts[i].to = packed + (first - block.first) * parts[i].pitch + static_cast<std::int64_t>(i) * layout.lanes;
        kernel.loops_.panel(parts[i]);
      }
    }
  }

  void multiply_by_panels(const Call& call, Team team) const noexcept {
    const auto member = static_cast<std::size_t>(team.member);
    const PanelWriter writer{*this, call, copies_of(call, team)};
    PanelOperand<float> weights;
    weights.write = write_panel;
    weights.writer = &writer;
    weights.scratch = at<float>(call.space, panel_ + panel_stride_ * member);
    const auto tables = RowTables<float>::in(at<std::byte>(call.space, tables_ + tables_stride_ * member), product_);
    multiply_panels(product_, member_share(product_, team), weights, call.c, Epilogue<float>{}, tables,
                    [&](std::int64_t first, std::int64_t count, const RowTables<float>& to) {
                      for (std::int64_t i = 0; i < count; ++i) {
                        to.rows[i] = call.a + (first + i) * problem_.depth;
                        to.c_offsets[i] = (first + i) * problem_.columns;
                      }
                    });
  }

  QuantisedProblem problem_;
  InstructionSet set_;
  QuantisedLoops loops_;
  BlockNumbers blocks_;
  int threads_;
  bool is_half_;
  bool by_dots_ = true;
  std::int64_t in_vector_ = 1;  // columns of a vector of words, to the dots
  std::ptrdiff_t skipped_[4] = {};
  WorkspaceLayout space_;
  HalfCopy wide_a_, wide_c_;
  std::size_t copies_ = 0, copies_stride_ = 0;
  // Fields for dot products.
  std::int64_t vectors_ = 0, arranged_row_ = 0;
  std::size_t arranged_ = 0;
  // Fields for products by panels.
  PanelProduct<float> product_;
  std::size_t panel_ = 0, panel_stride_ = 0, tables_ = 0, tables_stride_ = 0;
};

/// f64, a column of weights at a time.
KernelRef prepare_wide(const core::Step& step) {
  const QuantisedProblem problem(step);
  const int count = threads_for(problem.nanoseconds() * 40);
  WorkspaceLayout space;
  std::size_t stride = 0;
  const std::size_t column = space.reserve_each(static_cast<std::size_t>(count),
                                                static_cast<std::size_t>(problem.depth) * sizeof(double), stride);
  std::ptrdiff_t before[4] = {};
  for (std::size_t i = 0; i < step.inputs.size(); ++i) before[i] = skipped(step.inputs[i]);
  return make_kernel(
      [problem, count, column, stride, a_before = before[0], numbers_before = before[1], scales_before = before[2],
       zeros_before = before[3]](Addresses in, Addresses out, core::Address workspace) {
        const auto* a = reinterpret_cast<const double*>(in[0].pointer() + a_before);
        const auto* numbers = reinterpret_cast<const std::uint8_t*>(in[1].pointer() + numbers_before);
        const auto* scales = reinterpret_cast<const double*>(in[2].pointer() + scales_before);
        const std::byte* zeros = problem.has_zeros ? in[3].pointer() + zeros_before : nullptr;
        auto* c = reinterpret_cast<double*>(out[0].pointer());
        const auto number_at = [&](const std::uint8_t* packed, std::int64_t i) {
          const std::int64_t in_byte = 8 / problem.bits;
          const unsigned mask = (1u << problem.bits) - 1;
          return static_cast<double>((packed[i / in_byte] >> (i % in_byte * problem.bits)) & mask);
        };
        const auto zero_at = [&](std::int64_t j, std::int64_t block) {
          if (!problem.has_zeros) return static_cast<double>(1 << (problem.bits - 1));
          if (!problem.packed_zeros) return reinterpret_cast<const double*>(zeros)[j * problem.blocks + block];
          return number_at(reinterpret_cast<const std::uint8_t*>(zeros) + j * problem.packed_zero_bytes(), block);
        };
        run_team(count, [&](Team team) {
          auto* const weights =
              at<double>(workspace.pointer(), column + stride * static_cast<std::size_t>(team.member));
          const Range mine = share(problem.columns, team.member, team.size);
          for (std::int64_t j = mine.begin; j < mine.end; ++j) {
            const std::uint8_t* const packed = numbers + j * problem.column_bytes();
            for (std::int64_t i = 0; i < problem.depth; ++i) {
              const std::int64_t block = i / problem.block;
              weights[i] = (number_at(packed, i) - zero_at(j, block)) * scales[j * problem.blocks + block];
            }
            for (std::int64_t row = 0; row < problem.rows; ++row) {
              double sum = 0;
              for (std::int64_t i = 0; i < problem.depth; ++i) sum += a[row * problem.depth + i] * weights[i];
              c[row * problem.columns + j] = sum;
            }
          }
        });
      },
      space.bytes());
}

KernelRef prepare_quantised(const core::Step& step) {
  if (result_is_empty(step)) return no_work();
  if (step.inputs[0].dtype == DType::f64) return prepare_wide(step);
  return std::make_shared<const QuantisedMatmul>(step);
}

}  // namespace

std::span<const KernelEntry> quantised_kernels() {
  static constexpr KernelEntry entries[] = {{core::OpId::quantised_matmul, prepare_quantised, all_dense}};
  return entries;
}

}  // namespace tyto::cpu
