// Inputs and attributes of one node, with errors that name it.
#include "onnx/operator_call.hpp"

#include "tyto/shaping.hpp"

namespace tyto::onnx {

std::string described(const NodeMessage& node) {
  std::string_view name = node.name;
  if (name.empty() && !node.outputs.empty()) name = node.outputs.front();
  const std::string domain = node.domain.empty() ? "" : std::string(node.domain) + ".";
  return core::text("node '", name, "' (", domain, node.operator_name, ")");
}

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
  require_known(i);
  return cast((*this)[i], DType::i64).to_vector<std::int64_t>();
}

std::vector<double> OperatorCall::numbers_in(std::size_t i) const {
  require_known(i);
  return cast((*this)[i], DType::f64).to_vector<double>();
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

const AttributeMessage* OperatorCall::find(std::string_view attribute) const {
  for (std::size_t i = 0; i < node_.attributes.size(); ++i) {
    if (node_.attributes[i].name != attribute) continue;
    read_[i] = true;
    return &node_.attributes[i];
  }
  return nullptr;
}

const AttributeMessage* OperatorCall::find(std::string_view attribute, AttributeKind kind) const {
  const AttributeMessage* found = find(attribute);
  if (found != nullptr && found->kind != kind) {
    refuse("attribute '", attribute, "' is of kind ", found->declared_kind,
           " of AttributeProto.AttributeType, expected ", static_cast<int>(kind));
  }
  return found;
}

std::int64_t OperatorCall::integer(std::string_view attribute, std::int64_t otherwise) const {
  const AttributeMessage* found = find(attribute, AttributeKind::integer);
  return found == nullptr ? otherwise : found->integer;
}

std::int64_t OperatorCall::integer(std::string_view attribute) const {
  const AttributeMessage* found = find(attribute, AttributeKind::integer);
  if (found == nullptr) refuse("attribute '", attribute, "' is missing");
  return found->integer;
}

double OperatorCall::number(std::string_view attribute, double otherwise) const {
  const AttributeMessage* found = find(attribute, AttributeKind::number);
  return found == nullptr ? otherwise : static_cast<double>(found->number);
}

std::string OperatorCall::text(std::string_view attribute, std::string_view otherwise) const {
  const AttributeMessage* found = find(attribute, AttributeKind::text);
  return std::string(found == nullptr ? otherwise : found->text);
}

std::vector<std::int64_t> OperatorCall::integers(std::string_view attribute,
                                                 std::vector<std::int64_t> otherwise) const {
  const AttributeMessage* found = find(attribute, AttributeKind::integers);
  return found == nullptr ? otherwise : found->integers;
}

std::vector<double> OperatorCall::numbers(std::string_view attribute, std::vector<double> otherwise) const {
  const AttributeMessage* found = find(attribute, AttributeKind::numbers);
  return found == nullptr ? otherwise : std::vector<double>(found->numbers.begin(), found->numbers.end());
}

std::vector<std::string> OperatorCall::texts(std::string_view attribute) const {
  const AttributeMessage* found = find(attribute, AttributeKind::texts);
  return found == nullptr ? std::vector<std::string>()
                          : std::vector<std::string>(found->texts.begin(), found->texts.end());
}

Operand OperatorCall::tensor(std::string_view attribute) const {
  const AttributeMessage* found = find(attribute, AttributeKind::tensor);
  if (found == nullptr || !found->tensor) refuse("attribute '", attribute, "' holds no tensor");
  return weights_.operand(*found->tensor);
}

Body OperatorCall::body(std::string_view attribute) const {
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
