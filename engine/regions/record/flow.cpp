// SPDX-License-Identifier: MIT
// Runs loops and branches in eager mode, where they are C++; lazy ones are recorded (region_record.cpp).
#include "tyto/flow.hpp"

#include <algorithm>

#include "core/graph/builder.hpp"
#include "core/graph/op_ids.hpp"
#include "core/graph/tracked_reads.hpp"
#include "core/value/text.hpp"
#include "engine/graph/random.hpp"
#include "engine/regions/record/region_values.hpp"
#include "ops/define.hpp"
#include "tyto/shaping.hpp"

namespace tyto::run {

namespace {

using core::AnyTensor;

Value number_of(std::int64_t value) { return core::scalar_constant(Scalar(value), DType::i64); }

std::int64_t value_of(std::string_view op, const Count& count) {
  if (!count.tensor()) return count.number();
  return AnyTensor(one_number(op, "a bound", count.tensor())).item<std::int64_t>();
}

bool holds(std::string_view op, std::string_view what, const Value& value) {
  return AnyTensor(one_truth(op, what, value)).item<bool>();
}

/// The rows of a stack one after the other. The gradient of a part is as large as what it is a part of, so a stack that
/// has a gradient is halved, and halved again.
class RowReader {
 public:
  RowReader(Value stack, bool reverse) : row_(row_type(stack)), reverse_(reverse), pending_{std::move(stack)} {}

  Value next() {
    for (;;) {
      const Value whole = std::move(pending_.back());
      pending_.pop_back();
      const std::int64_t rows = whole.shape()[0];
      if (rows == 1) return core::emit(core::OpId::reshape, core::ListAttributes{row_.shape}, {whole});
      const std::int64_t half = whole.node()->tracked() ? rows / 2 : reverse_ ? rows - 1 : 1;
      const Value first = core::part_along(whole, 0, 0, half), second = core::part_along(whole, 0, half, rows - half);
      pending_.push_back(reverse_ ? first : second);
      pending_.push_back(reverse_ ? second : first);
    }
  }

 private:
  core::TensorType row_;
  bool reverse_;
  std::vector<Value> pending_;  // what is left, its next part last
};

/// Values that cross the border of a region have a gradient of their own there, as where the region is part of a graph:
/// contributions from beyond the border are added up first. The gradients of the first values are met first.
void cross_border(std::span<Value> values) {
  for (std::size_t i = values.size(); i-- > 0;) {
    if (values[i].node()->tracked()) values[i] = core::emit(core::OpId::alias, core::NoAttributes{}, {values[i]});
  }
}

/// Rows, and zeros for those that are missing, as one tensor.
Value stacked(const std::vector<AnyTensor>& rows, const core::TensorType& row, std::int64_t count) {
  Shape missing = row.shape;
  missing.insert(0, count - static_cast<std::int64_t>(rows.size()));
  const auto zeros = [&] {
    return AnyTensor(core::emit(core::Mode::eager, core::OpId::fill, core::RangeAttributes{missing, row.dtype, 0, 0}));
  };
  if (rows.empty()) return zeros();
  if (static_cast<std::int64_t>(rows.size()) == count) return stack(rows);
  return concat(std::vector<AnyTensor>{stack(rows), zeros()});
}

std::vector<Value> changed_carries(std::string_view op, std::size_t count, std::span<const Value> yielded) {
  if (yielded.size() < count) {
    core::throw_error<GraphError>(op, ": the body yields ", yielded.size(), " tensors for ", count, " carries");
  }
  return strong(op, yielded.first(count));
}

detail::LoopResults run_eagerly(const detail::LoopCall& call) {
  const Key key = next_region_key();
  detail::LoopResults results;
  results.carries = strong(call.name, call.carries);
  cross_border(results.carries);
  const std::vector<Value> stacks = strong(call.name, call.stacks);
  std::int64_t trips = call.options.most != 0 ? call.options.most : INT64_MAX;
  std::int64_t first = 0;
  if (call.range) {
    first = value_of(call.name, call.range->first);
    const std::int64_t last = value_of(call.name, call.range->second);
    trips = std::min(trips, trips_between(first, last));
  } else if (!call.condition) {
    trips = rows_of(call.name, stacks);
  }
  const std::size_t carries = results.carries.size();
  std::vector<RowReader> readers;
  for (const Value& stack : stacks) readers.emplace_back(stack, call.options.reverse);
  std::vector<std::vector<AnyTensor>> rows;
  std::int64_t done = 0;
  while (done < trips) {
    if (call.condition) {
      const DrawScope refusing(call.name);
      if (!holds(call.name, "the condition", call.condition(results.carries))) break;
    }
    const std::int64_t row = call.options.reverse ? trips - 1 - done : done;
    const DrawScope draws(key.split(static_cast<std::uint64_t>(row)));
    std::vector<Value> given = results.carries;
    if (call.range) given.push_back(number_of(first + row));
    for (RowReader& reader : readers) given.push_back(reader.next());
    const std::vector<Value> yielded = call.body(given);
    results.carries = call.flexible ? changed_carries(call.name, carries, yielded)
                                    : next_carries(call.name, results.carries, yielded);
    cross_border(results.carries);
    std::vector<Value> own =
        strong(call.name, std::span(yielded).subspan(std::min(yielded.size(), carries + (call.stops ? 1 : 0))));
    cross_border(own);
    if (rows.empty()) rows.resize(own.size());
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (!rows[i].empty() && !(type_of(rows[i][0]) == type_of(own[i]))) {
        core::throw_error<ShapeError>(call.name, ": result ", i, " is ", own[i].dtype(), own[i].shape(), " at row ",
                                      row, " and was ", rows[i][0].dtype(), rows[i][0].shape(), " before");
      }
      rows[i].push_back(own[i]);
    }
    ++done;
    if (call.stops && holds(call.name, "whether to stop", yielded[carries])) break;
  }
  results.count = number_of(done);
  if (call.condition || (call.range && !call.flexible)) return results;
  std::vector<core::TensorType> types;
  for (const std::vector<AnyTensor>& list : rows) types.push_back(type_of(list[0]));
  if (done == 0) {
    const DrawScope draws(key.split(0));  // recording the body must draw nothing of what comes after the loop
    types = recorded_row_types(call);
    rows.resize(types.size());
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (call.options.reverse) std::reverse(rows[i].begin(), rows[i].end());
    results.stacks.push_back(stacked(rows[i], types[i], call.flexible ? done : trips));
  }
  return results;
}

std::vector<Value> branch_eagerly(std::string_view op, const Value& index, bool is_truth,
                                  std::span<const std::function<std::vector<Value>()>> arms) {
  const auto last = static_cast<std::int64_t>(arms.size()) - 1;
  const std::int64_t chosen = is_truth ? std::int64_t{!holds(op, "the condition", index)}
                                       : AnyTensor(one_number(op, "the index", index)).item<std::int64_t>();
  const DrawScope draws(next_region_key().split(0));
  std::vector<Value> results = strong(op, arms[static_cast<std::size_t>(std::clamp<std::int64_t>(chosen, 0, last))]());
  cross_border(results);
  return results;
}

// vmap records eager functions on lazy values.
bool is_recorded(detail::RegionMode mode, std::span<const Value> values) {
  if (mode == detail::RegionMode::lazy) return true;
  for (const Value& value : values) {
    if (value && core::resolve(value).node()->mode() == core::Mode::lazy) return true;
  }
  return false;
}

}  // namespace

}  // namespace tyto::run

namespace tyto TYTO_API {
namespace detail {

LoopResults run_loop(const LoopCall& call) {
  core::note_tracked_read();
  run::check_call(call);
  std::vector<Value> values = call.carries;
  values.insert(values.end(), call.stacks.begin(), call.stacks.end());
  return run::is_recorded(call.mode, values) ? run::record_loop(call) : run::run_eagerly(call);
}

std::vector<Value> run_branch(const char* name, RegionMode mode, const Value& index, bool is_truth,
                              const std::vector<std::function<std::vector<Value>()>>& arms) {
  if (arms.empty()) core::throw_error<GraphError>(name, ": there are no arms");
  core::require(name, index);
  core::note_tracked_read();
  return run::is_recorded(mode, {&index, 1}) ? run::record_branch(name, index, is_truth, arms)
                                             : run::branch_eagerly(name, index, is_truth, arms);
}

}  // namespace detail
}  // namespace TYTO_API
