// SPDX-License-Identifier: MIT
// The gradient of attention: weights are made anew, a block of keys against a block of queries at a time, and used for
// all three gradients while they lie in the cache.
//
// Blocks are held transposed, keys by queries, so that two of the three products that use them read rows.
#include <algorithm>

#include "devices/cpu/device/workspace.hpp"
#include "devices/cpu/products/attention/attention.hpp"
#include "devices/cpu/products/attention/operands.hpp"
#include "devices/cpu/products/attention/row_loops.hpp"
#include "devices/cpu/system/machine.hpp"

namespace tyto::cpu::attention {

namespace {

constexpr std::int64_t most_key_rows = 96;
constexpr std::int64_t query_block = 256;

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
        last_queries_(q_.rows == 0 ? 0 : (q_.rows - 1) % query_block + 1),
        blocks_((q_.rows + query_block - 1) / query_block) {
    if (masked_) mask_ = MatrixStack::of(step.inputs[6]);
    const InstructionSet set = instruction_set();
    const std::int64_t rows = std::min(most_key_rows, k_.rows), e = q_.columns, w = v_.columns;
    const auto element = static_cast<std::int64_t>(sizeof(T));
    const std::int64_t k_stride = k_.is_readable() ? k_.column_stride : 1;
    const std::int64_t v_stride = v_.is_readable() ? v_.column_stride : 1;
    std::int64_t chunk = most_key_rows;
    const auto plan = [&](std::int64_t count, std::int64_t columns, std::int64_t steps, std::int64_t stride) {
      PanelProduct<T> product = plan_panel_product<T>(set, count, columns, 1, steps, stride, steps * element, true, 1);
      chunk = std::min(chunk, product.chunk_rows);
      return product;
    };
    for (const bool whole : {true, false}) {
      const std::int64_t queries = whole ? query_block : last_queries_;
      (whole ? scores_.whole : scores_.rest) = plan(rows, queries, e, k_stride);
      (whole ? inner_.whole : inner_.rest) = plan(rows, queries, w, v_stride);
      (whole ? for_values_.whole : for_values_.rest) = plan(rows, w, queries, 1);
      (whole ? for_keys_.whole : for_keys_.rest) = plan(rows, e, queries, 1);
    }
    key_block_ = chunk;
    last_keys_ = k_.rows == 0 ? 0 : (k_.rows - 1) % key_block_ + 1;
    key_blocks_ = (k_.rows + key_block_ - 1) / key_block_;
    for (const bool whole : {true, false}) {
      (whole ? for_queries_.whole : for_queries_.rest) =
          plan(query_rows, e, whole ? key_block_ : last_keys_, query_block);
    }
    query_chunk_ = std::min({query_rows, for_queries_.whole.chunk_rows, for_queries_.rest.chunk_rows});

    const double operations = 2.0 * static_cast<double>(q_.starts.size()) * static_cast<double>(q_.rows) *
                              static_cast<double>(k_.rows) * static_cast<double>(3 * e + 2 * w + 20);
    threads_ = std::min<int>(threads_for(operations / machine::tile_operations),
                             static_cast<int>(std::max<std::size_t>(q_.starts.size(), 1)));
    const auto reserve = [&](std::int64_t elements) {
      return own_.reserve(static_cast<std::size_t>(elements) * sizeof(T));
    };
    packed_scores_ = reserve(blocks_ * scores_.whole.packed_elements());
    packed_inner_ = reserve(blocks_ * inner_.whole.packed_elements());
    packed_for_values_ = reserve(blocks_ * for_values_.whole.packed_elements());
    packed_for_keys_ = reserve(blocks_ * for_keys_.whole.packed_elements());
    packed_for_queries_ = reserve(for_queries_.whole.packed_elements());
    wide_ = reserve(q_.is_readable() ? 0 : q_.rows * std::max(e, w));
    wide_keys_ = reserve(q_.is_readable() ? 0 : key_block_ * e);
    wide_values_ = reserve(q_.is_readable() ? 0 : key_block_ * w);
    rows_ = reserve(2 * with_room(q_.rows));
    weights_ = reserve(key_block_ * query_block);
    gradients_ = reserve(key_block_ * query_block);
    added_ = reserve(masked_ ? query_block : 0);
    sum_q_ = reserve(q_.rows * e);
    sum_k_ = reserve(key_block_ * e);
    sum_v_ = reserve(key_block_ * w);
    tables_ = own_.reserve(row_table_bytes<T>(std::max(key_block_, query_chunk_)));
  }

  std::size_t workspace() const override { return own_.bytes() * static_cast<std::size_t>(threads_); }

  void launch(std::span<const core::Address> inputs, std::span<const core::Address> outputs,
              core::Address workspace) const override {
    run_team(threads_, [&](Team team) {
      const Call call{inputs, outputs, workspace.pointer() + own_.bytes() * static_cast<std::size_t>(team.member)};
      const Range mine = share(static_cast<std::int64_t>(q_.starts.size()), team.member, team.size);
      for (std::int64_t matrix = mine.begin; matrix < mine.end; ++matrix) differentiate(call, matrix);
    });
  }

 private:
  static constexpr std::int64_t query_rows = 96;

  /// One call as a thread sees it, with its own part of the workspace.
  struct Call {
    std::span<const core::Address> inputs, outputs;
    std::byte* space;

    const std::byte* input(std::size_t i) const noexcept { return inputs[i].pointer(); }
    std::byte* output(std::size_t i) const noexcept { return outputs[i].pointer(); }
  };

  bool is_whole(std::int64_t block) const noexcept { return block + 1 < blocks_ || last_queries_ == query_block; }

  void differentiate(const Call& call, std::int64_t matrix) const noexcept {
    pack(call, matrix);
    T* const sum_q = at<T>(call.space, sum_q_);
    std::fill_n(sum_q, q_.rows * q_.columns, T(0));
    for (std::int64_t block = 0; block < key_blocks_; ++block) {
      const std::int64_t first = block * key_block_;
      of_keys(call, matrix, first, std::min(key_block_, k_.rows - first));
    }
    for (std::int64_t i = 0; i < q_.rows; ++i) {
      store_row(by_q_, call.output(0), matrix, i, sum_q + i * q_.columns);
    }
  }

  /// Lays queries and the result's gradient out for the products, and gathers the numbers of each query.
  void pack(const Call& call, std::int64_t matrix) const noexcept {
    T* const wide = at<T>(call.space, wide_);
    const ReadableRows<T> queries = readable_rows(q_, call.input(0), matrix, 0, q_.rows, wide);
    for (std::int64_t block = 0; block < blocks_; ++block) {
      pack_block(scores_, packed_scores_, call, block, queries.transposed(block * query_block));
      pack_block(for_keys_, packed_for_keys_, call, block, queries.plain(block * query_block));
    }
    const ReadableRows<T> gradients = readable_rows(g_, call.input(5), matrix, 0, g_.rows, wide);
    for (std::int64_t block = 0; block < blocks_; ++block) {
      pack_block(inner_, packed_inner_, call, block, gradients.transposed(block * query_block));
      pack_block(for_values_, packed_for_values_, call, block, gradients.plain(block * query_block));
    }
    T* const log_sums = at<T>(call.space, rows_);
    T* const deltas = log_sums + with_room(q_.rows);
    std::fill_n(log_sums, 2 * with_room(q_.rows), T(0));
    for (std::int64_t i = 0; i < q_.rows; ++i) {
      log_sums[i] = *log_sums_.at<T>(call.input(3), matrix, i);
      deltas[i] = *deltas_.at<T>(call.input(4), matrix, i);
    }
  }

  void pack_block(const BlockedProduct<T>& product, std::size_t place, const Call& call, std::int64_t block,
                  const PanelSource<T>& source) const noexcept {
    pack_panels(product.of(is_whole(block)), source, at<T>(call.space, place) + block * product.whole.packed_elements(),
                Team{});
  }
  PanelOperand<T> packed(const BlockedProduct<T>& product, std::size_t place, const Call& call,
                         std::int64_t block) const noexcept {
    PanelOperand<T> right;
    right.packed = at<T>(call.space, place) + block * product.whole.packed_elements();
    return right;
  }

  /// What `count` keys from `first` on give: the gradients of theirs, and their part of the queries'.
  void of_keys(const Call& call, std::int64_t matrix, std::int64_t first, std::int64_t count) const noexcept {
    const ReadableRows<T> keys = readable_rows(k_, call.input(1), matrix, first, count, at<T>(call.space, wide_keys_));
    const ReadableRows<T> values =
        readable_rows(v_, call.input(2), matrix, first, count, at<T>(call.space, wide_values_));
    T* const sum_k = at<T>(call.space, sum_k_);
    T* const sum_v = at<T>(call.space, sum_v_);
    std::fill_n(sum_k, count * k_.columns, T(0));
    std::fill_n(sum_v, count * v_.columns, T(0));
    const PanelProduct<T>& for_queries = for_queries_.of(count == key_block_);
    T* const packed_keys = at<T>(call.space, packed_for_queries_);
    pack_panels(for_queries, keys.plain(0), packed_keys, Team{});
    PanelOperand<T> right_keys;
    right_keys.packed = packed_keys;
    const auto tables = row_tables<T>(at<std::byte>(call.space, tables_), std::max(key_block_, query_chunk_));
    T* const weights = at<T>(call.space, weights_);
    T* const gradients = at<T>(call.space, gradients_);
    T* const sum_q = at<T>(call.space, sum_q_);
    // Queries before the first key do not see it.
    for (std::int64_t block = attributes_.causal ? first / query_block : 0; block < blocks_; ++block) {
      const std::int64_t query = block * query_block, queries = is_whole(block) ? query_block : last_queries_;
      multiply_rows(scores_.of(is_whole(block)), keys.base, keys.row_stride, count,
                    packed(scores_, packed_scores_, call, block), weights, query_block, false, tables);
      multiply_rows(inner_.of(is_whole(block)), values.base, values.row_stride, count,
                    packed(inner_, packed_inner_, call, block), gradients, query_block, false, tables);
      for (std::int64_t r = 0; r < count; ++r) {
        differentiate_row(call, matrix, first + r, query, queries, weights + r * query_block,
                          gradients + r * query_block);
      }
      multiply_rows(for_values_.of(is_whole(block)), weights, query_block, count,
                    packed(for_values_, packed_for_values_, call, block), sum_v, v_.columns, true, tables);
      multiply_rows(for_keys_.of(is_whole(block)), gradients, query_block, count,
                    packed(for_keys_, packed_for_keys_, call, block), sum_k, k_.columns, true, tables);
      for (std::int64_t part = 0; part < queries; part += query_chunk_) {
        multiply_rows(for_queries, gradients + part, 1, std::min(query_chunk_, queries - part), right_keys,
                      sum_q + (query + part) * q_.columns, q_.columns, true, tables);
      }
    }
    for (std::int64_t r = 0; r < count; ++r) {
      store_row(by_k_, call.output(1), matrix, first + r, sum_k + r * k_.columns);
      store_row(by_v_, call.output(2), matrix, first + r, sum_v + r * v_.columns);
    }
  }

  void differentiate_row(const Call& call, std::int64_t matrix, std::int64_t key, std::int64_t query,
                         std::int64_t queries, T* weights, T* gradients) const noexcept {
    const std::int64_t hidden = attributes_.causal ? std::clamp<std::int64_t>(key - query, 0, queries) : 0;
    const std::int64_t first = hidden / row_lanes * row_lanes, count = with_room(queries) - first;
    const T* added = nullptr;
    if (masked_) {
      T* const mask = at<T>(call.space, added_);
      MaskBlock<T>(mask_, call.input(6), matrix).of_key(key, query + first, queries - first, mask);
      std::fill(mask + queries - first, mask + count, T(0));
      added = mask;
    }
    const T* const log_sums = at<T>(call.space, rows_) + query + first;
    loops_.differentiate(count, weights + first, gradients + first, added, static_cast<T>(attributes_.scale), log_sums,
                         log_sums + with_room(q_.rows));
    std::fill_n(weights, hidden, T(0));
    std::fill_n(gradients, hidden, T(0));
  }

  core::AttentionAttributes attributes_;
  MatrixStack q_, k_, v_, log_sums_, deltas_, g_, by_q_, by_k_, by_v_, mask_;
  bool masked_;
  const RowLoops<T>& loops_;
  std::int64_t last_queries_, blocks_;
  std::int64_t key_block_ = 1, last_keys_ = 0, key_blocks_ = 0, query_chunk_ = 1;
  BlockedProduct<T> scores_, inner_, for_values_, for_keys_, for_queries_;
  int threads_ = 1;
  WorkspaceLayout own_;  // of one thread
  std::size_t packed_scores_ = 0, packed_inner_ = 0, packed_for_values_ = 0, packed_for_keys_ = 0,
              packed_for_queries_ = 0, wide_ = 0, wide_keys_ = 0, wide_values_ = 0, rows_ = 0, weights_ = 0,
              gradients_ = 0, added_ = 0, sum_q_ = 0, sum_k_ = 0, sum_v_ = 0, tables_ = 0;
};

}  // namespace

std::shared_ptr<const core::Kernel> prepare_attention_gradient(const core::Step& step) {
  if (std::ranges::all_of(step.outputs, [](const core::Operand& each) { return each.view.count() == 0; })) {
    return no_work();
  }
  if (step.inputs[0].dtype == DType::f64) return std::make_shared<const AttentionGradientKernel<double>>(step);
  return std::make_shared<const AttentionGradientKernel<float>>(step);
}

}  // namespace tyto::cpu::attention
