// SPDX-License-Identifier: MIT
// Attention a block of queries at a time: scores against a block of keys are made weights in the cache, by a softmax
// that is corrected as greater scores appear, and multiplied with the values at once.
#include <algorithm>
#include <cmath>
#include <utility>

#include "devices/cpu/device/workspace.hpp"
#include "devices/cpu/products/attention/attention.hpp"
#include "devices/cpu/products/attention/operands.hpp"
#include "devices/cpu/products/attention/row_loops.hpp"
#include "devices/cpu/system/machine.hpp"

namespace tyto::cpu {

namespace attention {

namespace {

constexpr std::int64_t most_query_rows = 96;
constexpr std::int64_t key_block = 256;  // their scores, and the panels that make them, stay in the second-level cache

template <class T>
class AttentionKernel final : public core::Kernel {
 public:
  explicit AttentionKernel(const core::Step& step)
      : attributes_(std::get<core::AttentionAttributes>(*step.attributes)),
        q_(MatrixStack::of(step.inputs[0])),
        k_(MatrixStack::of(step.inputs[1])),
        v_(MatrixStack::of(step.inputs[2])),
        y_(MatrixStack::of(step.outputs[0])),
        log_sums_(MatrixStack::of(step.outputs[1], true)),
        masked_(step.inputs.size() > 3),
        loops_(row_loops<T>(instruction_set())),
        last_keys_(k_.rows == 0 ? 0 : (k_.rows - 1) % key_block + 1),
        blocks_((k_.rows + key_block - 1) / key_block) {
    if (masked_) mask_ = MatrixStack::of(step.inputs[3]);
    const InstructionSet set = instruction_set();
    const std::int64_t rows = std::min(most_query_rows, q_.rows);
    const std::int64_t query_stride = q_.is_readable() ? q_.column_stride : 1;
    const auto element = static_cast<std::int64_t>(sizeof(T));
    for (const bool whole : {true, false}) {
      const std::int64_t keys = whole ? key_block : last_keys_;
      (whole ? scores_.whole : scores_.rest) =
          plan_panel_product<T>(set, rows, keys, 1, q_.columns, query_stride, q_.columns * element, true, 1);
      (whole ? sums_.whole : sums_.rest) =
          plan_panel_product<T>(set, rows, v_.columns, 1, keys, 1, key_block * element, true, 1);
    }
    query_block_ = std::min({most_query_rows, scores_.whole.chunk_rows, scores_.rest.chunk_rows, sums_.whole.chunk_rows,
                             sums_.rest.chunk_rows});
    query_blocks_ = (q_.rows + query_block_ - 1) / query_block_;
    direct_ =
        q_.rows <= dot_rows && q_.is_readable() && query_stride == 1 && k_.column_stride == 1 && v_.column_stride == 1;

    const double operations = 2.0 * static_cast<double>(q_.starts.size()) * static_cast<double>(q_.rows) *
                              static_cast<double>(k_.rows) * static_cast<double>(q_.columns + v_.columns + 10);
    threads_ = threads_for(operations / machine::tile_operations);
    const auto reserve = [&](std::int64_t elements) {
      return own_.reserve(static_cast<std::size_t>(elements) * sizeof(T));
    };
    keys_ = reserve(direct_ ? 0 : blocks_ * scores_.whole.packed_elements());
    values_ = reserve(direct_ ? tail_elements() : blocks_ * sums_.whole.packed_elements());
    wide_keys_ = reserve(k_.is_readable() ? 0 : k_.rows * std::max(k_.columns, v_.columns));
    wide_queries_ = reserve(q_.is_readable() ? 0 : query_block_ * q_.columns);
    weights_ = reserve(query_block_ * key_block);
    result_ = reserve(query_block_ * v_.columns);
    added_ = reserve(masked_ ? key_block : 0);
    running_ = own_.reserve(static_cast<std::size_t>(query_block_) * sizeof(RunningSoftmax<T>));
    tables_ = own_.reserve(row_table_bytes<T>(query_block_));
  }

  std::size_t workspace() const override { return own_.bytes() * static_cast<std::size_t>(threads_); }

  void launch(std::span<const core::Address> inputs, std::span<const core::Address> outputs,
              core::Address workspace) const override {
    const std::int64_t jobs = static_cast<std::int64_t>(q_.starts.size()) * query_blocks_;
    run_team(threads_, [&](Team team) {
      const Call call{inputs, outputs, workspace.pointer() + own_.bytes() * static_cast<std::size_t>(team.member)};
      const Range mine = share(jobs, team.member, team.size);
      std::int64_t packed = -1;
      for (std::int64_t job = mine.begin; job < mine.end; ++job) {
        const std::int64_t matrix = job / query_blocks_;
        if (matrix != std::exchange(packed, matrix)) pack(call, matrix);
        const std::int64_t first = job % query_blocks_ * query_block_;
        attend(call, matrix, first, std::min(query_block_, q_.rows - first));
      }
    });
  }

 private:
  /// One call as a thread sees it, with its own part of the workspace.
  struct Call {
    std::span<const core::Address> inputs, outputs;
    std::byte* space;

    const std::byte* input(std::size_t i) const noexcept { return inputs[i].pointer(); }
    std::byte* output(std::size_t i) const noexcept { return outputs[i].pointer(); }
  };

  bool is_whole(std::int64_t block) const noexcept { return block + 1 < blocks_ || last_keys_ == key_block; }
  std::int64_t keys_of(std::int64_t block) const noexcept { return is_whole(block) ? key_block : last_keys_; }
  std::int64_t tail_elements() const noexcept {
    const PanelLayout& layout = sums_.whole.layout;
    return layout.count() == 0 ? 0 : key_block * layout.pitch_of(layout.count() - 1);
  }

  /// Lays the keys and values of one matrix out for the products.
  void pack(const Call& call, std::int64_t matrix) const noexcept {
    if (direct_) return;
    T* const wide = at<T>(call.space, wide_keys_);
    const ReadableRows<T> keys = readable_rows(k_, call.input(1), matrix, 0, k_.rows, wide);
    for (std::int64_t block = 0; block < blocks_; ++block) {
      pack_panels(scores_.of(is_whole(block)), keys.transposed(block * key_block),
                  at<T>(call.space, keys_) + block * scores_.whole.packed_elements(), Team{});
    }
    const ReadableRows<T> values = readable_rows(v_, call.input(2), matrix, 0, v_.rows, wide);
    for (std::int64_t block = 0; block < blocks_; ++block) {
      pack_panels(sums_.of(is_whole(block)), values.plain(block * key_block),
                  at<T>(call.space, values_) + block * sums_.whole.packed_elements(), Team{});
    }
  }

  /// The results of `count` queries from `first` on.
  void attend(const Call& call, std::int64_t matrix, std::int64_t first, std::int64_t count) const noexcept {
    const ReadableRows<T> queries =
        readable_rows(q_, call.input(0), matrix, first, count, at<T>(call.space, wide_queries_));
    T* const weights = at<T>(call.space, weights_);
    T* const result = at<T>(call.space, result_);
    auto* const running = at<RunningSoftmax<T>>(call.space, running_);
    const auto tables = row_tables<T>(at<std::byte>(call.space, tables_), query_block_);
    std::fill_n(running, count, RunningSoftmax<T>{});
    std::fill_n(result, count * v_.columns, T(0));
    const std::int64_t reach = attributes_.causal ? std::min(k_.rows, first + count) : k_.rows;
    for (std::int64_t block = 0; block * key_block < reach; ++block) {
      const std::int64_t key = block * key_block, keys = keys_of(block);
      score(call, matrix, queries, count, block, weights, tables);
      for (std::int64_t i = 0; i < count; ++i) {
        T* const row = weights + i * key_block;
        const std::int64_t seen = attributes_.causal ? std::clamp<std::int64_t>(first + i - key + 1, 0, keys) : keys;
        const T* added = nullptr;
        if (masked_) {
          T* const mask = at<T>(call.space, added_);
          MaskBlock<T>(mask_, call.input(3), matrix).of_query(first + i, key, seen, mask);
          added = mask;
        }
        const T factor = loops_.soften(seen, row, added, static_cast<T>(attributes_.scale), running[i]);
        std::fill(row + std::min(keys, with_room(seen)), row + keys, T(0));
        if (factor != T(1)) loops_.scale(v_.columns, result + i * v_.columns, factor);
      }
      add_values(call, matrix, count, block, weights, result, tables);
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const RunningSoftmax<T>& row = running[i];
      const bool nowhere = row.total == 0;
      if (!nowhere) loops_.scale(v_.columns, result + i * v_.columns, T(1) / row.total);
      store_row(y_, call.output(0), matrix, first + i, result + i * v_.columns);
      *log_sums_.at<T>(call.output(1), matrix, first + i) =
          nowhere ? static_cast<T>(__builtin_inf()) : row.greatest + std::log(row.total);
    }
  }

  void score(const Call& call, std::int64_t matrix, const ReadableRows<T>& queries, std::int64_t count,
             std::int64_t block, T* weights, const RowTables<T>& tables) const noexcept {
    if (!direct_) {
      PanelOperand<T> right;
      right.packed = at<T>(call.space, keys_) + block * scores_.whole.packed_elements();
      multiply_rows(scores_.of(is_whole(block)), queries.base, queries.row_stride, count, right, weights, key_block,
                    false, tables);
      return;
    }
    const T* rows[dot_rows];
    std::int64_t offsets[dot_rows];
    for (std::int64_t i = 0; i < count; ++i) {
      rows[i] = queries.row(i);
      offsets[i] = i * key_block;
    }
    DotArguments<T> dots;
    dots.rows = rows;
    dots.row_count = static_cast<int>(count);
    dots.b = k_.at<T>(call.input(1), matrix, block * key_block);
    dots.b_step = k_.row_stride;
    dots.steps = k_.columns;
    dots.columns = keys_of(block);
    dots.c = weights;
    dots.c_offsets = offsets;
    tiles<T>(instruction_set()).dots(dots);
  }

  void add_values(const Call& call, std::int64_t matrix, std::int64_t count, std::int64_t block, const T* weights,
                  T* result, const RowTables<T>& tables) const noexcept {
    PanelOperand<T> right;
    if (direct_) {
      right.in_place = v_.at<T>(call.input(2), matrix, block * key_block);
      right.in_place_pitch = v_.row_stride;
      const PanelLayout& layout = sums_.whole.layout;
      if (layout.columns % layout.width != 0) {
        T* const tail = at<T>(call.space, values_);
        const PanelSource<T> source{right.in_place, nullptr, v_.row_stride, 1};
        pack_panel(layout, InnerBlock{0, 1, 0, keys_of(block), 0}, layout.count() - 1, source, tail);
        right.packed_tail = tail;
      }
    } else {
      right.packed = at<T>(call.space, values_) + block * sums_.whole.packed_elements();
    }
    multiply_rows(sums_.of(is_whole(block)), weights, key_block, count, right, result, v_.columns, true, tables);
  }

  core::AttentionAttributes attributes_;
  MatrixStack q_, k_, v_, y_, log_sums_, mask_;
  bool masked_;
  const RowLoops<T>& loops_;
  std::int64_t last_keys_, blocks_;
  BlockedProduct<T> scores_, sums_;
  std::int64_t query_block_ = 0, query_blocks_ = 0;
  bool direct_ = false;  // few queries: keys and values are read where they lie, since packing costs as much
  int threads_ = 1;
  WorkspaceLayout own_;  // of one thread
  std::size_t keys_ = 0, values_ = 0, wide_keys_ = 0, wide_queries_ = 0, weights_ = 0, result_ = 0, added_ = 0,
              running_ = 0, tables_ = 0;
};

}  // namespace

std::shared_ptr<const core::Kernel> prepare_attention(const core::Step& step) {
  if (result_is_empty(step) && step.outputs[1].view.count() == 0) return no_work();
  if (step.inputs[0].dtype == DType::f64) return std::make_shared<const AttentionKernel<double>>(step);
  return std::make_shared<const AttentionKernel<float>>(step);
}

}  // namespace attention

std::span<const KernelEntry> attention_kernels() {
  static constexpr KernelEntry entries[] = {
      {core::OpId::attention, attention::prepare_attention, nullptr, any_result},
      {core::OpId::attention_gradient, attention::prepare_attention_gradient, nullptr, any_result},
  };
  return entries;
}

}  // namespace tyto::cpu
