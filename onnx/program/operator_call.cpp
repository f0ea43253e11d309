// SPDX-License-Identifier: MIT
// Inputs and attributes of one node, with errors that name it.
#include "onnx/program/operator_call.hpp"

#include <numeric>

#include "onnx/file/element_types.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

std::string described(const NodeMessage& node) {
  std::string_view name = node.name;
  if (name.empty() && !node.outputs.empty()) name = node.outputs.front();
  const std::string domain = node.domain.empty() ? "" : std::string(node.domain) + ".";
  return core::text("node '", name, "' (", domain, node.operator_name, ")");
}

Outputs::Outputs() = default;
Outputs::Outputs(const Array& only) { emplace_back(only); }
Outputs::Outputs(const Operand& only) { push_back(only); }
Outputs::Outputs(const Array& first, const Array& second) : Outputs(first) { emplace_back(second); }
Outputs::Outputs(const Array& first, const Array& second, const Array& third) : Outputs(first, second) {
  emplace_back(third);
}
Outputs::Outputs(const Array& first, const Array& second, const Array& third, const Array& fourth)
    : Outputs(first, second, third) {
  emplace_back(fourth);
}
Outputs::Outputs(std::vector<Operand> all) : std::vector<Operand>(std::move(all)) {}
Outputs::Outputs(std::vector<Array> all) : std::vector<Operand>(all.begin(), all.end()) {}
Outputs::Outputs(const Outputs& other) = default;
Outputs::Outputs(Outputs&& other) noexcept = default;
Outputs& Outputs::operator=(const Outputs& other) = default;
Outputs& Outputs::operator=(Outputs&& other) = default;
Outputs::~Outputs() = default;

bool OperatorCall::has(std::size_t i) const { return i < inputs_.size() && inputs_[i].there(); }
const Array& OperatorCall::optional(std::size_t i) const {
  static const Array left_out;
  return has(i) ? (*this)[i] : left_out;
}
bool OperatorCall::known(std::size_t i) const { return has(i) && inputs_[i].known; }
std::int64_t OperatorCall::element_type(std::size_t i) const { return has(i) ? inputs_[i].element_type : 0; }
int OperatorCall::bits(std::size_t i) const { return packed_bits(element_type(i)); }
bool OperatorCall::is_text(std::size_t i) const { return element_type(i) == text_type; }
bool OperatorCall::wants(std::size_t i) const { return i < node_.outputs.size() && !node_.outputs[i].empty(); }

std::string OperatorCall::where() const { return weights_.file() + ": " + described(node_); }

const Array& OperatorCall::operator[](std::size_t i) const {
  if (operand(i).sequence != nullptr) refuse("input ", i + 1, " is a sequence, expected a tensor");
  return inputs_[i].tensor;
}

const Operand& OperatorCall::operand(std::size_t i) const {
  if (!has(i)) refuse("input ", i + 1, " is missing");
  return inputs_[i];
}

const std::vector<Operand>& OperatorCall::sequence(std::size_t i) const {
  if (operand(i).sequence == nullptr) refuse("input ", i + 1, " is a tensor, expected a sequence");
  return *inputs_[i].sequence;
}

std::vector<Array> OperatorCall::tensors() const {
  std::vector<Array> list;
  for (std::size_t i = 0; i < inputs_.size(); ++i) list.push_back((*this)[i]);
  return list;
}

void OperatorCall::require_known(std::size_t i) const {
  static_cast<void>((*this)[i]);
  if (inputs_[i].known) return;
  throw DataDependence(
      core::text(where(), ": a shape depends on the elements of its input ", i + 1, ", '",
                 i < node_.inputs.size() ? node_.inputs[i] : "",
                 "', which are not known while the graph is recorded; bind a value to the input of the "
                 "model that they come from, or work in eager mode"));
}

std::vector<std::int64_t> OperatorCall::integers_in(std::size_t i) const {
  if ((*this)[i].size() == 0) return {};
  require_known(i);
  return cast((*this)[i], DType::i64).to_vector<std::int64_t>();
}

std::vector<double> OperatorCall::numbers_in(std::size_t i) const {
  if ((*this)[i].size() == 0) return {};
  require_known(i);
  return cast((*this)[i], DType::f64).to_vector<double>();
}

std::vector<std::int64_t> OperatorCall::axes_in(std::size_t i, std::int64_t rank) const {
  if (known(i) || (*this)[i].size() != rank) return integers_in(i);
  std::vector<std::int64_t> axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

std::int64_t OperatorCall::integer_in(std::size_t i) const {
  const std::vector<std::int64_t> all = integers_in(i);
  if (all.size() != 1) refuse("input ", i + 1, " has ", all.size(), " elements, expected one");
  return all[0];
}

double OperatorCall::number_in(std::size_t i) const {
  const std::vector<double> all = numbers_in(i);
  if (all.size() != 1) refuse("input ", i + 1, " has ", all.size(), " elements, expected one");
  return all[0];
}

const AttributeMessage* OperatorCall::find(const char* attribute) const {
  for (std::size_t i = 0; i < node_.attributes.size(); ++i) {
    if (node_.attributes[i].name != attribute) continue;
    read_[i] = true;
    return &node_.attributes[i];
  }
  return nullptr;
}

const AttributeMessage* OperatorCall::find(const char* attribute, AttributeKind kind) const {
  const AttributeMessage* found = find(attribute);
  if (found != nullptr && found->kind != kind) {
    refuse("attribute '", attribute, "' is of kind ", found->declared_kind,
           " of AttributeProto.AttributeType, expected ", static_cast<int>(kind));
  }
  return found;
}

std::int64_t OperatorCall::integer(const char* attribute, std::int64_t otherwise) const {
  const AttributeMessage* found = find(attribute, AttributeKind::integer);
  return found == nullptr ? otherwise : found->integer;
}

std::int64_t OperatorCall::integer(const char* attribute) const {
  const AttributeMessage* found = find(attribute, AttributeKind::integer);
  if (found == nullptr) refuse("attribute '", attribute, "' is missing");
  return found->integer;
}

std::int64_t OperatorCall::axis(std::int64_t otherwise, std::int64_t rank) const {
  const std::int64_t stated = integer("axis", otherwise);
  if (stated < -rank || stated >= rank) refuse("axis ", stated, " of ", rank, " axes");
  return stated < 0 ? stated + rank : stated;
}

void OperatorCall::require_bounded(const char* attribute, std::span<const std::int64_t> numbers) const {
  constexpr std::int64_t largest = std::int64_t{1} << 31;
  for (const std::int64_t number : numbers) {
    if (number > largest || number < -largest) refuse(attribute, " ", number, "; no axis is so long");
  }
}

double OperatorCall::number(const char* attribute, double otherwise) const {
  const AttributeMessage* found = find(attribute, AttributeKind::number);
  return found == nullptr ? otherwise : static_cast<double>(found->number);
}

std::string_view OperatorCall::text(const char* attribute, const char* otherwise) const {
  const AttributeMessage* found = find(attribute, AttributeKind::text);
  return found == nullptr ? std::string_view(otherwise) : found->text;
}

std::vector<std::int64_t> OperatorCall::integers(const char* attribute, std::vector<std::int64_t> otherwise) const {
  const AttributeMessage* found = find(attribute, AttributeKind::integers);
  return found == nullptr ? otherwise : found->integers;
}

const std::vector<std::int64_t>& OperatorCall::integers(const char* attribute) const {
  static const std::vector<std::int64_t> none;
  const AttributeMessage* found = find(attribute, AttributeKind::integers);
  return found == nullptr ? none : found->integers;
}

std::vector<double> OperatorCall::numbers(const char* attribute, std::vector<double> otherwise) const {
  const AttributeMessage* found = find(attribute, AttributeKind::numbers);
  return found == nullptr ? otherwise : std::vector<double>(found->numbers.begin(), found->numbers.end());
}

std::vector<std::string> OperatorCall::texts(const char* attribute) const {
  const AttributeMessage* found = find(attribute, AttributeKind::texts);
  return found == nullptr ? std::vector<std::string>()
                          : std::vector<std::string>(found->texts.begin(), found->texts.end());
}

Operand OperatorCall::tensor(const char* attribute) const {
  const AttributeMessage* found = find(attribute, AttributeKind::tensor);
  if (found == nullptr || !found->tensor) refuse("attribute '", attribute, "' holds no tensor");
  return weights_.operand(*found->tensor);
}

Operand OperatorCall::stored_tensor(const char* attribute) const {
  const AttributeMessage* found = find(attribute, AttributeKind::tensor);
  if (found == nullptr || !found->tensor) refuse("attribute '", attribute, "' holds no tensor");
  return weights_.stored_operand(*found->tensor);
}

Body OperatorCall::body(const char* attribute) const {
  const AttributeMessage* found = find(attribute, AttributeKind::graph);
  if (found == nullptr || !found->graph) refuse("attribute '", attribute, "' holds no graph");
  return find_body_(*found->graph);
}

void OperatorCall::check_attributes() const {
  for (std::size_t i = 0; i < read_.size(); ++i) {
    if (!read_[i]) refuse("attribute '", node_.attributes[i].name, "' is not known in version ", version_);
  }
}

}  // namespace tyto::onnx
