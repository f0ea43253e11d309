// SPDX-License-Identifier: MIT
// Attention a block of queries at a time: scores against a block of keys are made weights in the cache, by a softmax
// that is corrected as greater scores appear, and multiplied with the values at once.
#include <algorithm>
#include <optional>
#include <utility>

#include "devices/cpu/device/workspace.hpp"
#include "devices/cpu/products/attention/attention.hpp"
#include "devices/cpu/products/attention/operands.hpp"
#include "devices/cpu/products/attention/row_loops.hpp"

namespace tyto::cpu {

namespace attention {

namespace {

std::int64_t parts(std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; }

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
        tiles_(tiles<T>(instruction_set())) {
    if (masked_) mask_ = MatrixStack::of(step.inputs[3]);
    const int lanes = tiles_.lanes, width = tiles_.width();
    const auto element = static_cast<std::int64_t>(sizeof(T));
    const std::int64_t most =
        block_columns(tile_rows * element, std::max<std::int64_t>(k_.columns + v_.columns, 1) * element, width);
    blocks_ = parts(k_.rows, most);
    key_block_ = blocks_ <= 1 ? k_.rows : parts(parts(k_.rows, blocks_), width) * width;
    blocks_ = key_block_ == 0 ? 0 : parts(k_.rows, key_block_);
    value_layout_ = {v_.columns, lanes, width};
    dots_ = scores_by_dots(q_);

    const auto stacks = static_cast<std::int64_t>(q_.starts.size());
    const double operations = 2.0 * static_cast<double>(stacks) * static_cast<double>(q_.rows) *
                              static_cast<double>(k_.rows) * static_cast<double>(q_.columns + v_.columns + 10);
    threads_ = threads_for(operations / machine::tile_operations);
    const std::int64_t shares = parts(threads_, std::max<std::int64_t>(stacks, 1));
    query_block_ = std::min(block_rows, parts(parts(q_.rows, shares), tile_rows) * tile_rows);
    query_blocks_ = q_.rows == 0 ? 0 : parts(q_.rows, query_block_);

    const auto reserve = [&](std::int64_t elements) {
      return own_.reserve(static_cast<std::size_t>(elements) * sizeof(T));
    };
    pitch_ = whole_vectors(key_block_);
    packed_keys_ = packed_elements({key_block_, lanes, width}, k_.columns);
    packed_values_ = packed_elements(value_layout_, key_block_);
    keys_ = reserve(dots_ ? 0 : blocks_ * packed_keys_);
    values_ = reserve(reads_values() ? 0 : blocks_ * packed_values_);
    copied_ = reserve(k_.is_readable(dots_) ? 0 : k_.rows * std::max(k_.columns, v_.columns));
    copied_queries_ = reserve(q_.is_readable(dots_) ? 0 : query_block_ * q_.columns);
    weights_ = reserve(tile_rows * pitch_);
    result_ = reserve(ResultRows<T>::workspace_elements(y_, query_block_));
    added_ = reserve(masked_ ? 2 * tile_rows * pitch_ : 0);
    running_ = reserve(3 * query_block_);
  }

  std::size_t workspace() const override { return own_.bytes() * static_cast<std::size_t>(threads_); }

  void launch(Addresses inputs, Addresses outputs, core::Address workspace) const override {
    const std::int64_t jobs = static_cast<std::int64_t>(q_.starts.size()) * query_blocks_;
    run_team(threads_, [&](Team team) {
      const Call call{inputs, outputs, workspace.pointer() + own_.bytes() * static_cast<std::size_t>(team.member)};
      const Range mine = share(jobs, team.member, team.size);
      std::int64_t packed = -1;
      ReadableRows<T> keys;
      for (std::int64_t job = mine.begin; job < mine.end; ++job) {
        const std::int64_t matrix = job / query_blocks_;
        if (matrix != std::exchange(packed, matrix)) keys = pack_operands(call, matrix);
        const std::int64_t first = job % query_blocks_ * query_block_;
        attend(call, matrix, keys, first, std::min(query_block_, q_.rows - first));
      }
    });
  }

 private:
  std::int64_t keys_of(std::int64_t block) const noexcept { return std::min(key_block_, k_.rows - block * key_block_); }
  /// Whether values are read where they lie: tiles read whole vectors.
  bool reads_values() const noexcept { return dots_ && v_.column_stride == 1 && v_.columns % tiles_.lanes == 0; }

  RightPanels<T> packed_keys(const Call& call, std::int64_t block) const noexcept {
    return {
        {keys_of(block), tiles_.lanes, tiles_.width()}, k_.columns, at<T>(call.space, keys_) + block * packed_keys_};
  }
  RightPanels<T> values(const Call& call, std::int64_t matrix, std::int64_t block) const noexcept {
    if (reads_values()) {
      const T* const rows = v_.at<T>(call.input(2), matrix, block * key_block_);
      return {value_layout_, keys_of(block), nullptr, rows, v_.row_stride};
    }
    return {value_layout_, keys_of(block), at<T>(call.space, values_) + block * packed_values_};
  }

  /// Lays the keys and values of one matrix out for the products. The keys' rows, for dot products.
  ReadableRows<T> pack_operands(const Call& call, std::int64_t matrix) const noexcept {
    T* const copy = at<T>(call.space, copied_);
    const ReadableRows<T> keys = readable_rows(k_, call.input(1), matrix, 0, k_.rows, copy, dots_);
    for (std::int64_t block = 0; block < blocks_ && !dots_; ++block)
      pack(packed_keys(call, block), keys.transposed(block * key_block_));
    if (!reads_values()) {
      const ReadableRows<T> rows = readable_rows(v_, call.input(2), matrix, 0, v_.rows, copy);
      for (std::int64_t block = 0; block < blocks_; ++block)
        pack(values(call, matrix, block), rows.plain(block * key_block_));
    }
    return keys;
  }

  /// The results of `count` queries from `first` on.
  void attend(const Call& call, std::int64_t matrix, const ReadableRows<T>& keys, std::int64_t first,
              std::int64_t count) const noexcept {
    const ReadableRows<T> queries =
        readable_rows(q_, call.input(0), matrix, first, count, at<T>(call.space, copied_queries_), dots_);
    const ResultRows<T> result(y_, call.output(0), matrix, first, at<T>(call.space, result_));
    T* const space = at<T>(call.space, running_);
    const RunningSoftmax<T> running{space, space + query_block_};
    T* const log_sums = space + 2 * query_block_;
    std::fill_n(running.greatest, count, -static_cast<T>(__builtin_inf()));
    std::fill_n(running.total, count, T(0));
    if (blocks_ == 0) result.clear(count);
    for (std::int64_t block = 0; block < blocks_; ++block) {
      for (std::int64_t i = 0; i < count; i += tile_rows) {
        const std::int64_t rows = std::min<std::int64_t>(tile_rows, count - i);
        attend_block(call, matrix, block, keys, queries, first, i, rows, running, result);
      }
    }
    loops_.conclude(count, running, log_sums);
    for (std::int64_t i = 0; i < count; ++i) {
      loops_.scale(v_.columns, result.row(i), running.total[i]);
      *log_sums_.at<T>(call.output(1), matrix, first + i) = log_sums[i];
    }
    result.store(count);
  }

  /// Adds the part of one block of keys to the results of a tile of queries, the first of them number `i` from `first`
  /// on.
  void attend_block(const Call& call, std::int64_t matrix, std::int64_t block, const ReadableRows<T>& keys,
                    const ReadableRows<T>& queries, std::int64_t first, std::int64_t i, std::int64_t rows,
                    const RunningSoftmax<T>& running, const ResultRows<T>& result) const noexcept {
    const std::int64_t key = block * key_block_, all = keys_of(block);
    const auto seen_by = [&](std::int64_t query) {
      return attributes_.causal ? std::clamp<std::int64_t>(query - key + 1, 0, all) : all;
    };
    const std::int64_t reach = seen_by(first + i + rows - 1);
    if (reach == 0) return;
    ScoreTile<T> tile{.scores = at<T>(call.space, weights_), .pitch = pitch_, .rows = rows};
    if (dots_) {
      dot_scores(tiles_, queries.from(i), rows, keys.from(key), reach, k_.columns, tile.scores, pitch_, 1);
    } else {
      const std::int64_t columns = parts(reach, tiles_.lanes) * tiles_.lanes;
      multiply(tiles_, queries.from(i), rows, packed_keys(call, block), {0, k_.columns}, {0, columns}, tile.scores,
               pitch_, false);
    }
    std::optional<MaskRows<T>> mask;
    if (masked_)
      mask.emplace(mask_, call.input(3), matrix, first + i, rows, key, reach, at<T>(call.space, added_), pitch_);
    for (std::int64_t r = 0; r < rows; ++r) {
      tile.seen[r] = seen_by(first + i + r);
      if (mask) tile.added[r] = mask->added(loops_, r, 0, tile.seen[r]);
    }
    loops_.soften(tile, static_cast<T>(attributes_.scale), running.from(i));
    for (std::int64_t r = 0; r < rows; ++r) {
      if (tile.factors[r] != T(1)) loops_.scale(v_.columns, result.row(i + r), tile.factors[r]);
    }
    const auto seen = [&](std::int64_t r) { return Range{0, tile.seen[r]}; };
    multiply_tile(tiles_, loops_, ReadableRows<T>{tile.scores, pitch_, 1}, rows, values(call, matrix, block), seen,
                  result.row(i), result.pitch(), block > 0);
  }

  core::AttentionAttributes attributes_;
  MatrixStack q_, k_, v_, y_, log_sums_, mask_;
  bool masked_;
  const RowLoops<T>& loops_;
  const TileSet<T>& tiles_;
  PanelLayout value_layout_;
  std::int64_t key_block_ = 0, blocks_ = 0, query_block_ = 0, query_blocks_ = 0;
  std::int64_t pitch_ = 0;                            // of rows of scores
  std::int64_t packed_keys_ = 0, packed_values_ = 0;  // elements of a block
  bool dots_ = false;                                 // scores are dot products of rows that are not packed
  int threads_ = 1;
  WorkspaceLayout own_;  // of one thread
  std::size_t keys_ = 0, values_ = 0, copied_ = 0, copied_queries_ = 0, weights_ = 0, result_ = 0, added_ = 0,
              running_ = 0;
};

}  // namespace

KernelRef prepare_attention(const core::Step& step) {
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
