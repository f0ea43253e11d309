// SPDX-License-Identifier: MIT
// Counts of n-grams among integers (TfIdfVectorizer); those of text are refused.
#include <algorithm>
#include <utility>

#include "onnx/program/operators.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/indexing.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

namespace {

/// The n-grams of one length: `count` of them, listed one behind the other.
struct Grams {
  std::int64_t length = 1, count = 0;
  std::vector<std::int64_t> numbers, places;
};

/// How often each n-gram occurs in each row of `x` with its members `step` apart: f32 (rows, n-grams).
Array occurrences(const Array& x, const Grams& grams, std::int64_t step) {
  const std::int64_t windows = axis_length(x, 1) - (grams.length - 1) * step;
  if (windows <= 0) return Array::zeros({axis_length(x, 0), grams.count});
  const Array listed = Array::from(grams.numbers, {grams.count, grams.length});
  Array found;
  for (std::int64_t i = 0; i < grams.length; ++i) {
    const Array member = reshape(part_of(x, 1, i * step, i * step + windows), {axis_length(x, 0), windows, 1});
    const Array same = equal(member, at_position(listed, 1, i));
    found = found.defined() ? logical_and(found, same) : same;
  }
  return sum(cast(found, DType::f32), 1);
}

/// Column i of `found` added to column places[i] of a result of so many; several n-grams may have the same place.
Array in_their_places(const Array& found, const Grams& grams, std::int64_t width) {
  const Array places = Array::from(grams.places, {grams.count});
  return transpose(scatter_add(Array::zeros({width, axis_length(found, 0)}), {places}, transpose(found)));
}

std::vector<Grams> listed_grams(const OperatorCall& call, std::int64_t& width) {
  if (call.has("pool_strings")) call.refuse("n-grams of text, which Tyto has no tensors of; integers are read");
  const std::vector<std::int64_t>&pool = call.integers("pool_int64s"), &starts = call.integers("ngram_counts"),
        &places = call.integers("ngram_indexes");
  std::vector<Grams> all;
  std::size_t at = 0, place = 0;
  for (std::size_t n = 0; n < starts.size(); ++n) {
    const std::int64_t end = n + 1 < starts.size() ? starts[n + 1] : std::ssize(pool);
    const auto length = static_cast<std::int64_t>(n + 1);
    if (starts[n] != static_cast<std::int64_t>(at) || end < starts[n] || end > std::ssize(pool) ||
        (end - starts[n]) % length != 0) {
      call.refuse("ngram_counts does not divide ", pool.size(), " integers of pool_int64s into n-grams");
    }
    Grams grams{length, (end - starts[n]) / length, {}, {}};
    if (static_cast<std::size_t>(grams.count) > places.size() - place) {
      call.refuse("ngram_indexes has ", places.size(), " integers, fewer than there are n-grams");
    }
    for (; at < static_cast<std::size_t>(end); ++at) grams.numbers.push_back(pool[at]);
    for (std::int64_t i = 0; i < grams.count; ++i) grams.places.push_back(places[place++]);
    all.push_back(std::move(grams));
  }
  if (place != places.size()) call.refuse("ngram_indexes has ", places.size(), " integers for ", place, " n-grams");
  width = 0;
  call.require_bounded("ngram_indexes", places);
  for (const std::int64_t each : places) {
    if (each < 0) call.refuse("ngram_indexes has ", each, "; places are 0 and more");
    width = std::max(width, each + 1);
  }
  return all;
}

Outputs counted_grams(const OperatorCall& call) {
  const std::string_view mode = call.text("mode", "");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") call.refuse("mode '", mode, "'; known are TF, IDF, TFIDF");
  const std::int64_t shortest = call.integer("min_gram_length"), longest = call.integer("max_gram_length"),
                     skips = call.integer("max_skip_count");
  call.require_bounded("max_skip_count", skips);
  if (shortest < 1 || longest < shortest || skips < 0) {
    call.refuse("n-grams of ", shortest, " to ", longest, " members with up to ", skips, " skipped");
  }
  std::int64_t width = 0, before = 0;  // n-grams listed before the current ones
  const std::vector<Grams> all = listed_grams(call, width);
  const std::vector<double> weights = call.numbers("weights");
  const std::size_t listed = call.integers("ngram_indexes").size();
  if (!weights.empty() && weights.size() != listed) call.refuse(weights.size(), " weights for ", listed, " n-grams");
  const bool single = call[0].ndim() == 1;
  if (!single && call[0].ndim() != 2) call.refuse("input of shape ", call[0].shape(), "; a vector or a matrix is read");
  const Array x = cast(single ? reshape(call[0], {1, -1}) : call[0], DType::i64);
  Array counts = Array::zeros({axis_length(x, 0), width});
  for (const Grams& grams : all) {
    const std::int64_t first = std::exchange(before, before + grams.count);
    if (grams.count == 0 || grams.length < shortest || grams.length > longest) continue;
    Array found = occurrences(x, grams, 1);
    // Beyond the row's end nothing is found, however much is skipped.
    const std::int64_t steps = grams.length == 1 ? 1 : std::min(skips + 1, axis_length(x, 1));
    for (std::int64_t step = 2; step <= steps; ++step) found = found + occurrences(x, grams, step);
    if (mode == "IDF") found = cast(greater(found, 0.0), DType::f32);
    if (mode != "TF" && !weights.empty()) {
      const std::vector<double> own(weights.begin() + first, weights.begin() + first + grams.count);
      found = found * cast(Array::from(own, {grams.count}), DType::f32);
    }
    counts = counts + in_their_places(found, grams, width);
  }
  return {single ? reshape(counts, {width}) : counts};
}

constexpr OperatorRow ngram_table[] = {{"TfIdfVectorizer", 9, counted_grams}};

}  // namespace

std::span<const OperatorRow> ngram_rows() { return ngram_table; }

}  // namespace tyto::onnx
