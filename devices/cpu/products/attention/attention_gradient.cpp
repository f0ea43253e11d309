// SPDX-License-Identifier: MIT
// The gradient of attention: weights are made anew, a block of keys against a block of queries at a time, and used for
// all three gradients while they lie in the cache.
//
// Blocks are held transposed, keys by queries, so that two of the three products that use them read rows.
#include <algorithm>
#include <optional>

#include "devices/cpu/device/workspace.hpp"
#include "devices/cpu/products/attention/attention.hpp"
#include "devices/cpu/products/attention/operands.hpp"
#include "devices/cpu/products/attention/row_loops.hpp"

namespace tyto::cpu::attention {

namespace {

template <class T>
class AttentionGradientKernel final : public core::Kernel {
 public:
  explicit AttentionGradientKernel(const core::Step& step)
      : attributes_(std::get<core::AttentionAttributes>(*step.attributes)),
        q_(MatrixStack::of(step.inputs[0])),
        k_(MatrixStack::of(step.inputs[1])),
        v_(MatrixStack::of(step.inputs[2])),
        log_sums_(MatrixStack::of(step.inputs[3], true)),
        deltas_(MatrixStack::of(step.inputs[4], true)),
        g_(MatrixStack::of(step.inputs[5])),
        by_q_(MatrixStack::of(step.outputs[0])),
        by_k_(MatrixStack::of(step.outputs[1])),
        by_v_(MatrixStack::of(step.outputs[2])),
        masked_(step.inputs.size() > 6),
        loops_(row_loops<T>(instruction_set())),
        tiles_(tiles<T>(instruction_set())) {
    // Divided by keys, the rows of the kernel's blocks.
    if (masked_) {
      mask_ = MatrixStack::of(step.inputs[6]);
      std::swap(mask_.row_stride, mask_.column_stride);
    }
    dots_ = scores_by_dots(q_);
    const std::int64_t e = q_.columns, w = v_.columns;
    const int lanes = tiles_.lanes, width = tiles_.width();
    key_block_ = std::min(block_rows, k_.rows);
    const auto element = static_cast<std::int64_t>(sizeof(T));
    query_block_ =
        std::min(block_columns(2 * tile_rows * element, (2 * (e + w) + block_rows) * element, width), q_.rows);
    blocks_ = q_.rows == 0 ? 0 : (q_.rows + query_block_ - 1) / query_block_;
    by_features_ = {e, lanes, width};
    by_values_ = {w, lanes, width};
    by_queries_ = {query_block_, lanes, width};
    // An odd number of cache lines, so that what is read down the columns falls into all sets of a cache.
    pitch_ = whole_vectors(query_block_) | row_lanes;

    const double operations = 2.0 * static_cast<double>(q_.starts.size()) * static_cast<double>(q_.rows) *
                              static_cast<double>(k_.rows) * static_cast<double>(3 * e + 2 * w + 20);
    threads_ = std::min<int>(threads_for(operations / machine::tile_operations),
                             static_cast<int>(std::max<std::size_t>(q_.starts.size(), 1)));
    const auto reserve = [&](std::int64_t elements) {
      return own_.reserve(static_cast<std::size_t>(elements) * sizeof(T));
    };
    queries_across_ = reserve(dots_ ? 0 : blocks_ * packed_elements(by_queries_, e));
    gradients_across_ = reserve(blocks_ * packed_elements(by_queries_, w));
    queries_ = reserve(blocks_ * packed_elements(by_features_, query_block_));
    gradients_ = reserve(blocks_ * packed_elements(by_values_, query_block_));
    keys_ = reserve(packed_elements(by_features_, key_block_));
    copied_ = reserve(q_.is_readable(dots_) ? 0 : q_.rows * std::max(e, w));
    copied_keys_ = reserve(k_.is_readable(dots_) ? 0 : key_block_ * e);
    copied_values_ = reserve(v_.is_readable() ? 0 : key_block_ * w);
    rows_ = reserve(2 * blocks_ * pitch_);
    weights_ = reserve(tile_rows * pitch_);
    of_scores_ = reserve(key_block_ * pitch_);
    added_ = reserve(masked_ ? (key_block_ + tile_rows) * pitch_ : 0);
    sum_q_ = reserve(ResultRows<T>::workspace_elements(by_q_, q_.rows));
    sum_k_ = reserve(ResultRows<T>::workspace_elements(by_k_, key_block_));
    sum_v_ = reserve(ResultRows<T>::workspace_elements(by_v_, key_block_));
  }

  std::size_t workspace() const override { return own_.bytes() * static_cast<std::size_t>(threads_); }

  void launch(Addresses inputs, Addresses outputs, core::Address workspace) const override {
    run_team(threads_, [&](Team team) {
      const Call call{inputs, outputs, workspace.pointer() + own_.bytes() * static_cast<std::size_t>(team.member)};
      const Range mine = share(static_cast<std::int64_t>(q_.starts.size()), team.member, team.size);
      for (std::int64_t matrix = mine.begin; matrix < mine.end; ++matrix) differentiate(call, matrix);
    });
  }

 private:
  void differentiate(const Call& call, std::int64_t matrix) const noexcept {
    const ReadableRows<T> queries = pack_queries(call, matrix);
    const ResultRows<T> sum_q(by_q_, call.output(0), matrix, 0, at<T>(call.space, sum_q_));
    sum_q.clear(q_.rows);
    for (std::int64_t first = 0; first < k_.rows; first += key_block_) {
      of_keys(call, matrix, queries, first, std::min(key_block_, k_.rows - first), sum_q);
    }
    sum_q.store(q_.rows);
  }

  std::int64_t queries_of(std::int64_t block) const noexcept {
    return std::min(query_block_, q_.rows - block * query_block_);
  }
  /// The panels of a block of queries whose columns are queries, and of those whose rows are.
  RightPanels<T> across(const Call& call, std::size_t place, std::int64_t block, std::int64_t depth) const noexcept {
    const PanelLayout layout{queries_of(block), tiles_.lanes, tiles_.width()};
    return {layout, depth, at<T>(call.space, place) + block * packed_elements(by_queries_, depth)};
  }
  RightPanels<T> along(const Call& call, std::size_t place, std::int64_t block,
                       const PanelLayout& layout) const noexcept {
    return {layout, queries_of(block), at<T>(call.space, place) + block * packed_elements(layout, query_block_)};
  }

  /// Lays queries and the result's gradient out for the products, and gathers the numbers of each query. The queries'
  /// rows, for dot products.
  ReadableRows<T> pack_queries(const Call& call, std::int64_t matrix) const noexcept {
    T* const copy = at<T>(call.space, copied_);
    const ReadableRows<T> queries = readable_rows(q_, call.input(0), matrix, 0, q_.rows, copy, dots_);
    for (std::int64_t block = 0; block < blocks_; ++block) {
      if (!dots_) pack(across(call, queries_across_, block, q_.columns), queries.transposed(block * query_block_));
      pack(along(call, queries_, block, by_features_), queries.plain(block * query_block_));
    }
    const ReadableRows<T> gradients = readable_rows(g_, call.input(5), matrix, 0, g_.rows, copy);
    for (std::int64_t block = 0; block < blocks_; ++block) {
      pack(across(call, gradients_across_, block, v_.columns), gradients.transposed(block * query_block_));
      pack(along(call, gradients_, block, by_values_), gradients.plain(block * query_block_));
    }
    for (std::int64_t block = 0; block < blocks_; ++block) {
      T* const log_sums = at<T>(call.space, rows_) + 2 * block * pitch_;
      std::fill_n(log_sums, 2 * pitch_, T(0));
      for (std::int64_t i = 0; i < queries_of(block); ++i) {
        log_sums[i] = *log_sums_.at<T>(call.input(3), matrix, block * query_block_ + i);
        log_sums[pitch_ + i] = *deltas_.at<T>(call.input(4), matrix, block * query_block_ + i);
      }
    }
    return queries;
  }

  /// The gradients of `count` keys from `first` on, and their part of the queries' gradients.
  void of_keys(const Call& call, std::int64_t matrix, const ReadableRows<T>& queries, std::int64_t first,
               std::int64_t count, const ResultRows<T>& sum_q) const noexcept {
    const ReadableRows<T> keys =
        readable_rows(k_, call.input(1), matrix, first, count, at<T>(call.space, copied_keys_), dots_);
    const ReadableRows<T> values =
        readable_rows(v_, call.input(2), matrix, first, count, at<T>(call.space, copied_values_));
    const ResultRows<T> sum_k(by_k_, call.output(1), matrix, first, at<T>(call.space, sum_k_));
    const ResultRows<T> sum_v(by_v_, call.output(2), matrix, first, at<T>(call.space, sum_v_));
    sum_k.clear(count);
    sum_v.clear(count);
    const RightPanels<T> packed_keys{by_features_, count, at<T>(call.space, keys_)};
    pack(packed_keys, keys.plain(0));
    T* const of_scores = at<T>(call.space, of_scores_);
    for (std::int64_t block = 0; block < blocks_; ++block) {
      const std::int64_t query = block * query_block_, queried = queries_of(block);
      if (attributes_.causal && query + queried <= first) continue;  // queries before the first key do not see it
      std::optional<MaskRows<T>> mask;
      if (masked_)
        mask.emplace(mask_, call.input(6), matrix, first, count, query, queried, at<T>(call.space, added_), pitch_);
      for (std::int64_t r = 0; r < count; r += tile_rows) {
        const std::int64_t rows = std::min<std::int64_t>(tile_rows, count - r);
        of_tile(call, block, queries.from(query), keys.from(r), values.from(r), rows, first + r - query, mask, r,
                of_scores + r * pitch_, sum_k, sum_v);
      }
      // Queries before the block's keys see none of them, those among them a few, those behind all.
      const auto queries_before = [&](std::int64_t end) {
        return attributes_.causal ? std::clamp<std::int64_t>(end - query, 0, queried) : 0;
      };
      const ReadableRows<T> by_query{of_scores, 1, pitch_};
      std::int64_t i = queries_before(first);
      for (const std::int64_t behind = queries_before(first + count - 1); i < behind; i += tile_rows) {
        const std::int64_t rows = std::min<std::int64_t>(tile_rows, queried - i);
        const auto seen = [&](std::int64_t r) { return Range{0, std::min(query + i + r - first + 1, count)}; };
        multiply_tile(tiles_, loops_, by_query.from(i), rows, packed_keys, seen, sum_q.row(query + i), sum_q.pitch(),
                      true);
      }
      if (i < queried)
        multiply(tiles_, by_query.from(i), queried - i, packed_keys, {0, count}, {0, q_.columns}, sum_q.row(query + i),
                 sum_q.pitch(), true);
    }
    sum_k.store(count);
    sum_v.store(count);
  }

  /// A tile of the block's keys, the first of them number `tile` and so many positions behind the first query: the
  /// gradients of their scores, and what they add to those of keys and values.
  void of_tile(const Call& call, std::int64_t block, const ReadableRows<T>& queries, const ReadableRows<T>& keys,
               const ReadableRows<T>& values, std::int64_t rows, std::int64_t behind,
               const std::optional<MaskRows<T>>& mask, std::int64_t tile, T* of_scores, const ResultRows<T>& sum_k,
               const ResultRows<T>& sum_v) const noexcept {
    const std::int64_t queried = queries_of(block), width = tiles_.width();
    const auto unseen_by = [&](std::int64_t r) {
      return attributes_.causal ? std::clamp<std::int64_t>(behind + r, 0, queried) : 0;
    };
    // Whole panels and vectors: there is room.
    const Range columns{unseen_by(0) / width * width, (queried + tiles_.lanes - 1) / tiles_.lanes * tiles_.lanes};
    T* const weights = at<T>(call.space, weights_);
    if (dots_) {
      dot_scores(tiles_, queries, queried, keys, rows, q_.columns, weights, 1, pitch_);
    } else {
      multiply(tiles_, keys, rows, across(call, queries_across_, block, q_.columns), {0, q_.columns}, columns, weights,
               pitch_, false);
    }
    multiply(tiles_, values, rows, across(call, gradients_across_, block, v_.columns), {0, v_.columns}, columns,
             of_scores, pitch_, false);
    const T* const log_sums = at<T>(call.space, rows_) + 2 * block * pitch_;
    const auto seen = [&](std::int64_t r) { return Range{unseen_by(r), queried}; };
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t from = unseen_by(r) / row_lanes * row_lanes;
      loops_.differentiate(queried - from, weights + r * pitch_ + from, of_scores + r * pitch_ + from,
                           mask ? mask->added(loops_, tile + r, from, queried - from) : nullptr,
                           static_cast<T>(attributes_.scale), log_sums + from, log_sums + pitch_ + from);
    }
    multiply_tile(tiles_, loops_, ReadableRows<T>{weights, pitch_, 1}, rows, along(call, gradients_, block, by_values_),
                  seen, sum_v.row(tile), sum_v.pitch(), true);
    multiply_tile(tiles_, loops_, ReadableRows<T>{of_scores, pitch_, 1}, rows,
                  along(call, queries_, block, by_features_), seen, sum_k.row(tile), sum_k.pitch(), true);
  }

  core::AttentionAttributes attributes_;
  MatrixStack q_, k_, v_, log_sums_, deltas_, g_, by_q_, by_k_, by_v_, mask_;
  bool masked_;
  const RowLoops<T>& loops_;
  const TileSet<T>& tiles_;
  PanelLayout by_features_, by_values_, by_queries_;
  std::int64_t key_block_ = 0, query_block_ = 0, blocks_ = 0;
  std::int64_t pitch_ = 0;  // of rows of scores
  bool dots_ = false;       // scores are dot products
  int threads_ = 1;
  WorkspaceLayout own_;  // of one thread
  std::size_t queries_across_ = 0, gradients_across_ = 0, queries_ = 0, gradients_ = 0, keys_ = 0, copied_ = 0,
              copied_keys_ = 0, copied_values_ = 0, rows_ = 0, weights_ = 0, of_scores_ = 0, added_ = 0, sum_q_ = 0,
              sum_k_ = 0, sum_v_ = 0;
};

}  // namespace

KernelRef prepare_attention_gradient(const core::Step& step) {
  if (std::ranges::all_of(step.outputs, [](const core::Operand& each) { return each.view.count() == 0; })) {
    return no_work();
  }
  if (step.inputs[0].dtype == DType::f64) return std::make_shared<const AttentionGradientKernel<double>>(step);
  return std::make_shared<const AttentionGradientKernel<float>>(step);
}

}  // namespace tyto::cpu::attention
