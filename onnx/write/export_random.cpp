// SPDX-License-Identifier: MIT
// Exports random numbers: those that a key settles as constants; the others are drawn by ONNX anew in each run.
#include "onnx/file/element_types.hpp"
#include "onnx/write/export.hpp"

namespace tyto::onnx {

namespace {

using T = Tensor<Eager>;

Shape shape_of(const ExportedNode& n) { return n.result().shape; }
double first_of(const ExportedNode& n) { return n.scalar("first").as_double(); }
double second_of(const ExportedNode& n) { return n.scalar("second").as_double(); }

/// The key of a draw, unless it comes from the sequence that goes on from run to run.
std::optional<Key> key_of(const ExportedNode& n) {
  const std::optional<T>& value = n.input(0).value;
  if (!value) return std::nullopt;
  const std::vector<std::int64_t> words = value->to_vector<std::int64_t>();
  return Key{static_cast<std::uint64_t>(words[0]), static_cast<std::uint64_t>(words[1])};
}

/// A node of ONNX that draws: its two parameters are numbers of f32 there. Halves are drawn in f32, as ONNX Runtime has
/// it.
Name drawn(const ExportedNode& n, const char* op, const char* first, double a, const char* second, double b,
           DType dtype) {
  const DType there = size_of(dtype) == 2 ? DType::f32 : dtype;
  const Name x = n.add(op, {}, {{first, a}, {second, b}, {"shape", shape_of(n)}, {"dtype", element_type_of(there)}});
  return n.out().cast(x, there, dtype);
}
Name drawn_uniform(const ExportedNode& n, double low, double high, DType dtype) {
  return drawn(n, "RandomUniform", "low", low, "high", high, dtype);
}

Names uniform(const ExportedNode& n) {
  const DType dtype = n.result().dtype;
  if (const auto key = key_of(n))
    return {n.out().constant(T::uniform(shape_of(n), {first_of(n), second_of(n), dtype, key}))};
  return {drawn_uniform(n, first_of(n), second_of(n), dtype)};
}

Names normal(const ExportedNode& n) {
  const DType dtype = n.result().dtype;
  if (const auto key = key_of(n))
    return {n.out().constant(T::normal(shape_of(n), {first_of(n), second_of(n), dtype, key}))};
  return {drawn(n, "RandomNormal", "mean", first_of(n), "scale", second_of(n), dtype)};
}

Names bernoulli(const ExportedNode& n) {
  const DType dtype = n.result().dtype;
  if (const auto key = key_of(n)) return {n.out().constant(T::bernoulli(shape_of(n), {first_of(n), dtype, key}))};
  // ONNX Runtime's Bernoulli yields ones with the probability of zeros.
  const Name truth = n.add("Less", {drawn_uniform(n, 0, 1, DType::f32), n.out().number(first_of(n), DType::f32)});
  return {n.out().cast(truth, DType::boolean, dtype)};
}

Names integers(const ExportedNode& n) {
  const DType dtype = n.result().dtype;
  const double low = first_of(n), high = second_of(n);
  if (const auto key = key_of(n)) {
    return {n.out().constant(
        T::integers(shape_of(n), {static_cast<std::int64_t>(low), static_cast<std::int64_t>(high), dtype, key}))};
  }
  // The ends of the interval would be rounded to f32; a fraction of its length is not.
  const Name fraction = drawn_uniform(n, 0, 1, DType::f64);
  const auto number = [&](double value) { return n.out().number(value, DType::f64); };
  const Name place = n.add("Floor", {n.add("Mul", {fraction, number(high - low)})});
  const Name within = n.add("Min", {n.add("Add", {place, number(low)}), number(high - 1)});
  return {n.out().cast(within, DType::f64, dtype)};
}

Names exponential(const ExportedNode& n) {
  const DType dtype = n.result().dtype;
  if (const auto key = key_of(n)) return {n.out().constant(T::exponential(shape_of(n), {first_of(n), dtype, key}))};
  // One less the fraction is never zero.
  const auto number = [&](double value) { return n.out().number(value, DType::f64); };
  const Name left = n.add("Sub", {number(1), drawn_uniform(n, 0, 1, DType::f64)});
  return {n.out().cast(n.add("Mul", {n.add("Log", {left}), number(-1 / first_of(n))}), DType::f64, dtype)};
}

Names permutation(const ExportedNode& n) {
  if (const auto key = key_of(n)) return {n.out().constant(T::permutation(shape_of(n)[0], {key}))};
  const Name order = n.out().integers({shape_of(n)[0]});
  return {n.out().nodes("TopK", {drawn_uniform(n, 0, 1, DType::f64), order}, 2)[1]};
}

// ONNX has no words for these distributions.
[[noreturn]] void refuse_draw(const ExportedNode& n) {
  n.refuse(
      "ONNX draws uniform and normal numbers, not these; of a key of their own (`.key = Key{1}`) the numbers are "
      "written");
}
Names truncated_normal(const ExportedNode& n) {
  const auto key = key_of(n);
  if (!key) refuse_draw(n);
  return {n.out().constant(T::truncated_normal(shape_of(n), {first_of(n), second_of(n), n.result().dtype, key}))};
}
Names gamma(const ExportedNode& n) {
  const auto key = key_of(n);
  if (!key) refuse_draw(n);
  return {n.out().constant(T::gamma(shape_of(n), {first_of(n), second_of(n), n.result().dtype, key}))};
}

constexpr ExportRow random_export_table[] = {
    {"random_bernoulli", bernoulli},
    {"random_exponential", exponential},
    {"random_gamma", gamma},
    {"random_integers", integers},
    {"random_normal", normal},
    {"random_permutation", permutation},
    {"random_truncated_normal", truncated_normal},
    {"random_uniform", uniform},
};

}  // namespace

std::span<const ExportRow> random_exports() { return random_export_table; }

}  // namespace tyto::onnx
