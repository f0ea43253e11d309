// SPDX-License-Identifier: MIT
// Maps numbers and words to labels of classes by a list of keys and one of values.
#include <algorithm>

#include "onnx/file/element_types.hpp"
#include "onnx/program/operators.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/indexing.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

namespace {

Operand as_text(const OperatorCall& call, const std::vector<std::string>& words, const Shape& shape) {
  std::vector<std::int64_t> codes;
  for (const std::string& word : words) codes.push_back(call.code_of(word));
  Operand text(Array::from(codes, shape), true);
  text.element_type = text_type;
  return text;
}

/// The list that the node has as one of `NAME_strings`, `NAME_int64s`, `NAME_floats` and `NAME_tensor`.
Operand list_of(const OperatorCall& call, const std::string& name) {
  const std::string strings = name + "_strings", integers = name + "_int64s", numbers = name + "_floats",
                    tensor = name + "_tensor";
  if (call.has(tensor.c_str())) return call.tensor(tensor.c_str());
  if (call.has(strings.c_str())) {
    const std::vector<std::string> words = call.texts(strings.c_str());
    return as_text(call, words, {std::ssize(words)});
  }
  if (call.has(integers.c_str())) {
    const std::vector<std::int64_t>& list = call.integers(integers.c_str());
    return {Array::from(list, {std::ssize(list)}), true};
  }
  if (!call.has(numbers.c_str())) call.refuse("has no ", name, ": expected ", strings, ", or another of its lists");
  const std::vector<double> list = call.numbers(numbers.c_str());
  return {cast(Array::from(list, {std::ssize(list)}), DType::f32), true};
}

/// The default value for missing keys, where the attribute is not given.
Operand usual_default(const OperatorCall& call, const Operand& values) {
  if (call.has("default_tensor")) {
    Operand stated = call.tensor("default_tensor");
    stated.tensor = reshape(stated.tensor, {});
    return stated;
  }
  if (values.element_type == text_type) {
    return as_text(call, {std::string(call.text("default_string", "_Unused"))}, {});
  }
  if (is_floating(values.tensor.dtype())) {
    return {Array::full({}, call.number("default_float", -0.0), values.tensor.dtype()), true};
  }
  return {Array::full({}, call.integer("default_int64", -1), values.tensor.dtype()), true};
}

// Where a key occurs more than once the first one counts. NaN is the key of NaN.
Operand looked_up(const OperatorCall& call, const Operand& keys, const Operand& values, const Operand& otherwise) {
  const Array& x = call[0];
  if (keys.tensor.ndim() != 1 || !(keys.tensor.shape() == values.tensor.shape())) {
    call.refuse("keys of shape ", keys.tensor.shape(), " for values of shape ", values.tensor.shape());
  }
  if (x.dtype() != keys.tensor.dtype() || call.is_text(0) != (keys.element_type == text_type)) {
    call.refuse("looks elements of type ", call.is_text(0) ? "string" : name_of(x.dtype()), " up among keys of type ",
                keys.element_type == text_type ? "string" : name_of(keys.tensor.dtype()));
  }
  const bool floating = is_floating(x.dtype());
  Operand y(broadcast_to(cast(otherwise.tensor, values.tensor.dtype()), x.shape()));
  y.element_type = values.element_type != 0 ? values.element_type : element_type_of(values.tensor.dtype());
  if (keys.tensor.size() == 0) return y;
  // Stable, and NaN is last.
  const Array order = argsort(keys.tensor, 0);
  const Array sorted = take(keys.tensor, order, 0), results = take(values.tensor, order, 0);
  const Array place = minimum(searchsorted(sorted, x), keys.tensor.size() - 1), key = take(sorted, place, 0);
  Array found = equal(key, x);
  if (floating) found = logical_or(found, logical_and(isnan(key), isnan(x)));
  y.tensor = where(found, take(results, place, 0), y.tensor);
  return y;
}

// Maps words to indices in a list, or back; of a word that occurs twice the last place counts, as ONNX Runtime has
// it.
Outputs encoded_by_classes(const OperatorCall& call) {
  std::vector<std::string> words = call.texts("classes_strings");
  std::reverse(words.begin(), words.end());
  const Operand texts = as_text(call, words, {std::ssize(words)});
  const Operand numbers(Array::arange(std::ssize(words) - 1, -1, -1), true);
  const Operand number(Array::full({}, call.integer("default_int64", -1), DType::i64), true);
  const Operand word = as_text(call, {std::string(call.text("default_string", "_Unused"))}, {});
  return {call.is_text(0) ? looked_up(call, texts, numbers, number) : looked_up(call, numbers, texts, word)};
}

Outputs encoded_by_lists(const OperatorCall& call) {
  for (const char* unread : {"default_string", "default_int64", "default_float"}) call.ignore(unread);
  const Operand values = list_of(call, "values");
  return {looked_up(call, list_of(call, "keys"), values, usual_default(call, values))};
}

constexpr OperatorRow label_table[] = {
    {"LabelEncoder", 1, encoded_by_classes},
    {"LabelEncoder", 2, encoded_by_lists},
};

}  // namespace

std::span<const OperatorRow> label_rows() { return label_table; }

}  // namespace tyto::onnx
