// SPDX-License-Identifier: MIT
// Buckets: sums over processes that follow one another become one, of their operands side by side. Those are computed
// straight into the bucket where they can be (optimiser/storage/destinations.hpp), and consumers read parts of it.
#include <algorithm>
#include <vector>

#include "core/graph/op_ids.hpp"
#include "optimiser/passes/pass.hpp"

namespace tyto::optimiser {

namespace {

using Index = GraphEditor::Index;

/// Bytes of a bucket: as of a message (distributed/mpi/table.hpp), below which latency counts. What is larger is a
/// bucket of its own.
constexpr std::int64_t bucket_bytes = 1 << 20;

class Bucketing {
 public:
  explicit Bucketing(PassContext& context) : context_(context), editor_(context.editor) {}

  void run() {
    const std::span<const Index> known = editor_.order();
    const std::vector<Index> order(known.begin(), known.end());
    // Of each node, how many of the effects before it it depends on: the number of the last one, counted from 1.
    std::vector<std::uint32_t> last_effect(editor_.index_limit(), 0);
    std::uint32_t effects = 0;
    for (const Index index : order) {
      std::uint32_t last = 0;
      for (const Port input : editor_.inputs(index)) last = std::max(last, last_effect[editor_.producer(input)]);
      if (core::has_effect(editor_.node(index))) {
        if (!joins(index, last)) close(effects + 1);
        if (editor_.node(index).op == OpId::all_reduce) take(index);
        last = ++effects;
      }
      last_effect[index] = last;
    }
    close(0);
    for (const std::vector<Index>& bucket : buckets_) {
      if (bucket.size() > 1) join(bucket);
    }
  }

 private:
  Port operand(Index index) { return editor_.input(index, 0); }
  std::int64_t bytes_of(Port port) const {
    return element_count(editor_.shape(port)) * static_cast<std::int64_t>(size_of(editor_.dtype(port)));
  }

  /// Whether the sum fits into the bucket, and needs nothing of it.
  bool joins(Index index, std::uint32_t last_effect) {
    if (open_.empty() || editor_.node(index).op != OpId::all_reduce || last_effect >= first_effect_) return false;
    return editor_.attributes(index) == editor_.attributes(open_.front()) &&
           editor_.dtype(operand(index)) == editor_.dtype(operand(open_.front())) &&
           bytes_ + bytes_of(operand(index)) <= bucket_bytes;
  }
  void take(Index index) {
    open_.push_back(index);
    bytes_ += bytes_of(operand(index));
  }
  /// The next bucket begins with effect number `next`.
  void close(std::uint32_t next) {
    if (!open_.empty()) buckets_.push_back(std::move(open_));
    open_.clear();
    bytes_ = 0;
    first_effect_ = next;
  }

  Port flat(Index at, Port port) {
    return editor_.add(at, OpId::reshape, core::ListAttributes{{element_count(editor_.shape(port))}}, {port});
  }

  void join(const std::vector<Index>& bucket) {
    const Index at = bucket.back();
    std::vector<Port> parts;
    for (const Index each : bucket) parts.push_back(flat(at, operand(each)));
    const Port whole = editor_.add(at, OpId::concat, core::AxisAttributes{0}, parts);
    const Port sums = editor_.add(at, OpId::all_reduce, editor_.node(at).attributes, std::span<const Port>(&whole, 1));
    std::int64_t begin = 0;
    for (const Index each : bucket) {
      const Port result = editor_.node(each).first_result;
      const Shape shape = editor_.shape(result);
      const std::int64_t count = element_count(shape);
      const Port part = editor_.add(each, OpId::slice, core::SliceAttributes{{begin}, {count}, {1}}, {sums});
      const Port shaped = editor_.add(each, OpId::reshape, core::ListAttributes{shape}, {part});
      editor_.replace_effect(each, shaped);
      begin += count;
    }
    context_.fired("joined_sums", bucket.size());
  }

  PassContext& context_;
  GraphEditor& editor_;
  std::vector<std::vector<Index>> buckets_;
  std::vector<Index> open_;
  std::int64_t bytes_ = 0;
  std::uint32_t first_effect_ = 1;
};

}  // namespace

void form_buckets(PassContext& context) {
  if (context.editor.count(OpId::all_reduce) > 1) Bucketing(context).run();
}

}  // namespace tyto::optimiser
