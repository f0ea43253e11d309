// SPDX-License-Identifier: MIT
// Operators by name: the table of docs/operators.md as data, calls for importers and bindings, and the shape rule
// alone.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tyto/custom.hpp"
#include "tyto/named.hpp"
#include "tyto/tensor.hpp"

namespace tyto TYTO_API {

/// An attribute of an operator: a truth, a number, a list of integers, an element type, or a word.
class Attribute {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> Attribute(T number) : value_(Scalar(number)) {}
  Attribute(const Scalar& number) : value_(number) {}
  Attribute(IntList list) : value_(std::move(list)) {}
  Attribute(std::initializer_list<std::int64_t> list) : value_(IntList(list)) {}
  Attribute(DType type) : value_(type) {}
  Attribute(std::string word) : value_(std::move(word)) {}
  Attribute(const char* word) : value_(std::string(word)) {}

  /// The value that it holds.
  const std::variant<Scalar, IntList, DType, std::string>& value() const { return value_; }
  /// As text, the way docs/operators.md writes it.
  std::string to_string() const;

 private:
  std::variant<Scalar, IntList, DType, std::string> value_;
};

/// One row of the table.
struct OperatorInfo {
  std::string name;                      ///< what it is called
  std::string doc;                       ///< what it does, in a sentence
  int min_inputs = 1;                    ///< the fewest that it takes
  int max_inputs = 1;                    ///< -1: any number
  int results = 1;                       ///< how many it has
  bool elementwise = false;              ///< each result is computed of one element of each input
  bool differentiable = false;           ///< has a gradient
  bool random = false;                   ///< takes no inputs: the next draw, or that of `key` and `stream`
  NamedList<Attribute> attributes = {};  ///< with what they are when left out
  std::vector<DType> types = {};         ///< of the inputs, or of the first one; integers may become f32
};

/// All operators that can be called by name, in the order of docs/operators.md.
const std::vector<OperatorInfo>& operators();

/// The operator of that name, or null.
const OperatorInfo* find_operator(std::string_view name);

/// Applies an operator by its name: its results. Axes may be negative; reductions without `axes` take all. Throws
/// ValueError for a name or an attribute that there is not, TypeError for an attribute of another kind, and what the
/// operator itself throws.
///
///     const Tensor total = call("sum", {x}, {{"axes", {0, 1}}, {"keepdims", true}})[0];
template <class M>
std::vector<Tensor<M>> call(std::string_view name, const std::vector<Tensor<M>>& inputs,
                            const NamedList<Attribute>& attributes = {});
template <class M>
std::vector<Tensor<M>> call(std::string_view name, std::initializer_list<Tensor<M>> inputs,
                            const NamedList<Attribute>& attributes = {}) {
  return call(name, std::vector<Tensor<M>>(inputs), attributes);
}

/// The types and shapes of the results that call() would give, with nothing computed; throws what it would throw.
std::vector<ArrayType> result_types(std::string_view name, ArrayTypes inputs,
                                    const NamedList<Attribute>& attributes = {});

}  // namespace TYTO_API
