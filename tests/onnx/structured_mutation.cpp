// SPDX-License-Identifier: MIT
// Each kind of damage is a function that changes one place of the tree, or nothing where the tree has no such place.
#include "tests/onnx/structured_mutation.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace tyto::onnx_tests {

namespace structured_mutation {
namespace {

using Draw = std::mt19937_64;

std::size_t below(Draw& draw, std::size_t end) { return end == 0 ? 0 : static_cast<std::size_t>(draw() % end); }
bool one_in(Draw& draw, std::size_t count) { return below(draw, count) == 0; }
template <class List>
auto& any_of(Draw& draw, List& list) {
  return list[below(draw, std::size(list))];
}

// Adds the messages of a kind, or the fields of a number in such messages, at any depth.
template <class Tree>
void collect(Tree& tree, MessageKind kind, std::vector<Tree*>& found) {
  if (tree.form != FieldForm::message) return;
  if (tree.kind == kind) found.push_back(&tree);
  for (Tree& each : tree.fields) collect(each, kind, found);
}
std::vector<FieldTree*> all(FieldTree& tree, MessageKind kind) {
  std::vector<FieldTree*> found;
  collect(tree, kind, found);
  return found;
}
std::vector<FieldTree*> fields_of(FieldTree& message, std::initializer_list<std::uint32_t> numbers) {
  std::vector<FieldTree*> found;
  for (FieldTree& each : message.fields) {
    if (std::find(numbers.begin(), numbers.end(), each.number) != numbers.end()) found.push_back(&each);
  }
  return found;
}

std::int64_t edge(Draw& draw, std::int64_t now) {
  constexpr std::int64_t edges[] = {-1,        0,          1,          2,         3,         7,
                                    -2,        -3,         64,         255,       65'536,    INT32_MAX,
                                    INT32_MIN, 1LL << 31,  1LL << 32,  1LL << 33, 1LL << 40, INT64_MAX,
                                    INT64_MIN, -INT64_MAX, -1LL << 40, 1LL << 62, 1'003};
  switch (below(draw, 4)) {
    case 0: return static_cast<std::int64_t>(static_cast<std::uint64_t>(now) + 1);
    case 1: return static_cast<std::int64_t>(static_cast<std::uint64_t>(now) - 1);
    case 2: return static_cast<std::int64_t>(below(draw, 5)) - 1;
    default: return any_of(draw, edges);
  }
}
double real_edge(Draw& draw) {
  using limits = std::numeric_limits<double>;
  constexpr double edges[] = {0,
                              -0.0,
                              1,
                              -1,
                              0.5,
                              1e-40,
                              3e38,
                              -3e38,
                              1e300,
                              limits::infinity(),
                              -limits::infinity(),
                              limits::quiet_NaN(),
                              9.3e18,
                              -9.3e18,
                              2147483648.0,
                              1e10};
  return any_of(draw, edges);
}

// Element types that ONNX numbers, known here or not.
std::int64_t element_type(Draw& draw) {
  constexpr std::int64_t known[] = {1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 16, 21, 22};
  return one_in(draw, 8) ? static_cast<std::int64_t>(below(draw, 28)) - 1 : any_of(draw, known);
}
// In bits; 0 where elements have no width that the format knows.
std::size_t width(std::int64_t type) {
  switch (type) {
    case 1:
    case 6:
    case 12: return 32;
    case 2:
    case 3:
    case 9: return 8;
    case 4:
    case 5:
    case 10:
    case 16: return 16;
    case 7:
    case 11:
    case 13: return 64;
    case 21:
    case 22: return 4;
    default: return 0;
  }
}

bool is_floating(std::int64_t type) { return type == 1 || type == 10 || type == 11 || type == 16; }

// One field less, twice, elsewhere, or as another.
void shuffle(std::vector<FieldTree>& fields, std::size_t at, Draw& draw) {
  if (at >= fields.size()) return;
  const auto place = fields.begin() + static_cast<std::ptrdiff_t>(at);
  switch (below(draw, 4)) {
    case 0: fields.erase(place); break;
    case 1: {
      const FieldTree copy = *place;
      fields.insert(fields.begin() + static_cast<std::ptrdiff_t>(below(draw, fields.size() + 1)), copy);
      break;
    }
    case 2: std::swap(*place, any_of(draw, fields)); break;
    default: std::rotate(fields.begin(), place, fields.end()); break;
  }
}
// The same of a field that has one of these numbers.
void shuffle_one(FieldTree& message, std::initializer_list<std::uint32_t> numbers, Draw& draw) {
  std::vector<FieldTree*> found = fields_of(message, numbers);
  if (!found.empty())
    shuffle(message.fields, static_cast<std::size_t>(any_of(draw, found) - message.fields.data()), draw);
}

std::vector<std::string> names_in(FieldTree& tree) {
  std::vector<std::string> names;
  for (FieldTree* node : all(tree, MessageKind::node)) {
    for (FieldTree* name : fields_of(*node, {1, 2})) names.push_back(name->text);
  }
  for (FieldTree* value : all(tree, MessageKind::value)) {
    for (FieldTree* name : fields_of(*value, {1})) names.push_back(name->text);
  }
  names.emplace_back();
  return names;
}

void change_attribute_number(FieldTree& tree, Draw& draw) {
  std::vector<FieldTree*> numbers;
  for (FieldTree* attribute : all(tree, MessageKind::attribute)) {
    for (FieldTree* number : fields_of(*attribute, {2, 3, 7, 8})) numbers.push_back(number);
  }
  if (numbers.empty()) return;
  FieldTree& number = *any_of(draw, numbers);
  if (number.form == FieldForm::integer) number.integer = edge(draw, number.integer);
  else number.real = real_edge(draw);
}

void change_attribute_list(FieldTree& tree, Draw& draw) {
  std::vector<FieldTree*> lists;
  for (FieldTree* attribute : all(tree, MessageKind::attribute)) {
    if (!fields_of(*attribute, {7, 8, 9}).empty()) lists.push_back(attribute);
  }
  if (!lists.empty()) shuffle_one(*any_of(draw, lists), {7, 8, 9}, draw);
}

void change_names(FieldTree& tree, std::initializer_list<std::uint32_t> numbers, Draw& draw) {
  std::vector<FieldTree*> nodes = all(tree, MessageKind::node);
  if (nodes.empty()) return;
  FieldTree& node = *any_of(draw, nodes);
  const std::vector<std::string> names = names_in(tree);
  std::vector<FieldTree*> fields = fields_of(node, numbers);
  if (fields.empty() || one_in(draw, 4)) {
    node.fields.push_back(text_field(*numbers.begin(), any_of(draw, names)));
  } else if (one_in(draw, 2)) {
    any_of(draw, fields)->text = any_of(draw, names);
  } else {
    shuffle_one(node, numbers, draw);
  }
}

// Elements at the edges of their type, in raw bytes or in a list.
void change_elements(FieldTree& tensor, Draw& draw) {
  const FieldTree* stated = tensor.find(2);
  const std::int64_t type = stated == nullptr ? 0 : stated->integer;
  FieldTree* raw = tensor.find(9);
  const std::size_t bytes = width(type) / 8;
  for (std::size_t changes = 1 + below(draw, 3); changes-- > 0;) {
    if (raw != nullptr && bytes > 0 && raw->text.size() >= bytes) {
      char* element = raw->text.data() + below(draw, raw->text.size() / bytes) * bytes;
      if (type == 1) {
        const auto value = static_cast<float>(real_edge(draw));
        std::memcpy(element, &value, sizeof value);
      } else if (type == 11) {
        const double value = real_edge(draw);
        std::memcpy(element, &value, sizeof value);
      } else if (is_floating(type)) {
        const auto bits = static_cast<std::uint16_t>(draw());
        std::memcpy(element, &bits, sizeof bits);
      } else {
        std::int64_t value = 0;
        std::memcpy(&value, element, bytes);
        value = edge(draw, value);
        std::memcpy(element, &value, bytes);
      }
    }
    std::vector<FieldTree*> listed = fields_of(tensor, {4, 5, 7, 10, 11});
    if (listed.empty()) continue;
    FieldTree& element = *any_of(draw, listed);
    if (element.form == FieldForm::integer) element.integer = edge(draw, element.integer);
    else element.real = real_edge(draw);
  }
}

// Another shape or type with as many bytes as it needs, so that what is wrong is found by who uses it.
void reshape(FieldTree& tensor, Draw& draw) {
  std::vector<std::int64_t> lengths;
  std::int64_t type = 1;
  std::string bytes;
  for (const FieldTree& each : tensor.fields) {
    if (each.number == 1) lengths.push_back(each.integer);
    if (each.number == 2) type = each.integer;
    if (each.number == 9) bytes = each.text;
    if (each.number == 5 || each.number == 7) {
      const std::size_t size = width(type) / 8;
      bytes.append(reinterpret_cast<const char*>(&each.integer), size);
    }
  }
  if (one_in(draw, 3)) type = element_type(draw);
  if (one_in(draw, 2)) lengths.resize(below(draw, 5), static_cast<std::int64_t>(below(draw, 3)));
  if (!lengths.empty() && one_in(draw, 2)) any_of(draw, lengths) = static_cast<std::int64_t>(below(draw, 5));
  if (!lengths.empty() && one_in(draw, 4)) std::swap(lengths.front(), lengths.back());
  std::int64_t count = 1;
  for (const std::int64_t length : lengths) {
    if (length < 0 || length > 65'536 || (count *= length) > 65'536) return;
  }
  const std::size_t needed = (static_cast<std::size_t>(count) * width(type) + 7) / 8;
  if (bytes.empty()) bytes.assign(1, '\1');
  while (bytes.size() < needed) bytes += bytes;
  bytes.resize(needed);
  std::erase_if(tensor.fields, [](const FieldTree& each) { return each.number != 8; });
  for (const std::int64_t length : lengths) tensor.fields.push_back(integer_field(1, length));
  tensor.fields.push_back(integer_field(2, type));
  tensor.fields.push_back(text_field(9, bytes));
}

void change_tensor(FieldTree& tree, Draw& draw) {
  std::vector<FieldTree*> tensors = all(tree, MessageKind::tensor);
  if (tensors.empty()) return;
  FieldTree& tensor = *any_of(draw, tensors);
  switch (below(draw, 8)) {
    case 0: {
      std::vector<FieldTree*> numbers = fields_of(tensor, {1, 2, 14});
      if (!numbers.empty()) any_of(draw, numbers)->integer = edge(draw, 1);
      break;
    }
    case 1: shuffle_one(tensor, {1, 2, 5, 7, 8, 9}, draw); break;
    case 2:
    case 3:
    case 4: reshape(tensor, draw); break;
    default: change_elements(tensor, draw); break;
  }
}

void change_value(FieldTree& tree, Draw& draw) {
  std::vector<FieldTree*> types = all(tree, MessageKind::tensor_type);
  if (types.empty()) return;
  FieldTree& type = *any_of(draw, types);
  std::vector<FieldTree*> dimensions = all(type, MessageKind::dimension);
  switch (below(draw, 5)) {
    case 0:
      for (FieldTree* number : fields_of(type, {1})) number->integer = element_type(draw);
      break;
    case 1:
    case 2:
      if (dimensions.empty()) break;
      for (FieldTree* length : fields_of(*any_of(draw, dimensions), {1})) {
        length->integer = one_in(draw, 4) ? edge(draw, length->integer) : static_cast<std::int64_t>(below(draw, 5));
      }
      break;
    case 3:
      for (FieldTree* shape : all(type, MessageKind::shape)) shuffle_one(*shape, {1}, draw);
      break;
    default: shuffle_one(type, {1, 2}, draw); break;
  }
}

void change_version(FieldTree& tree, Draw& draw) {
  for (FieldTree* set : all(tree, MessageKind::operator_set)) {
    for (FieldTree* version : fields_of(*set, {2})) {
      version->integer =
          one_in(draw, 8) ? edge(draw, version->integer) : static_cast<std::int64_t>(7 + below(draw, 20));
    }
  }
}

// Nodes, inputs, outputs and initialisers of a graph, bodies of loops and arms of branches included.
void change_graph(FieldTree& tree, Draw& draw) {
  std::vector<FieldTree*> graphs = all(tree, MessageKind::graph);
  if (graphs.empty()) return;
  FieldTree& graph = *any_of(draw, graphs);
  constexpr std::uint32_t numbers[] = {1, 5, 11, 12};
  shuffle_one(graph, {any_of(draw, numbers)}, draw);
}

void change_anything(FieldTree& tree, Draw& draw) {
  FieldTree* at = &tree;
  while (!at->fields.empty()) {
    FieldTree& next = any_of(draw, at->fields);
    if (next.form != FieldForm::message || next.fields.empty() || one_in(draw, 5)) break;
    at = &next;
  }
  if (!at->fields.empty()) shuffle(at->fields, below(draw, at->fields.size()), draw);
}

}  // namespace
}  // namespace structured_mutation

StructuredMutation::StructuredMutation(std::span<const FieldTree> seeds) {
  using structured_mutation::collect;
  for (const FieldTree& seed : seeds) {
    collect(seed, MessageKind::node, nodes_);
    collect(seed, MessageKind::attribute, attributes_);
  }
  for (const FieldTree* attribute : attributes_) {
    for (const FieldTree& each : attribute->fields) {
      if (each.number == 4 || each.number == 9) texts_.push_back(each.text);
    }
  }
}

FieldTree StructuredMutation::mutated(FieldTree tree, std::mt19937_64& draw) const {
  using namespace structured_mutation;
  const bool numbers_alone = one_in(draw, 2);  // such models are refused later than others
  for (std::size_t changes = 1 + below(draw, 4); changes-- > 0;) {
    std::vector<FieldTree*> nodes = all(tree, MessageKind::node);
    FieldTree* node = nodes.empty() ? nullptr : any_of(draw, nodes);
    constexpr std::size_t of_numbers[] = {0, 1, 2, 3, 7, 8, 9};
    switch (numbers_alone ? of_numbers[below(draw, std::size(of_numbers))] : below(draw, 16)) {
      case 0:
      case 1:
      case 2: change_attribute_number(tree, draw); break;
      case 3: change_attribute_list(tree, draw); break;
      case 4:
      case 5: change_names(tree, {1}, draw); break;
      case 6: change_names(tree, {2}, draw); break;
      case 7:
      case 8:
      case 9: change_tensor(tree, draw); break;
      case 10: change_value(tree, draw); break;
      case 11: change_version(tree, draw); break;
      case 12: change_graph(tree, draw); break;
      case 13:
        if (node == nullptr) break;
        if (one_in(draw, 2)) {  // its attributes: one from elsewhere, one less, twice, in another order
          node->fields.push_back(*any_of(draw, attributes_));
        } else {
          shuffle_one(*node, {5}, draw);
        }
        break;
      case 14: {  // another operator works on the same inputs
        if (node == nullptr) break;
        const FieldTree& other = *any_of(draw, nodes_);
        const bool with_attributes = one_in(draw, 2);
        std::erase_if(node->fields, [&](const FieldTree& each) {
          return each.number == 4 || each.number == 7 || (with_attributes && each.number == 5);
        });
        for (const FieldTree& each : other.fields) {
          if (each.number == 4 || each.number == 7 || (with_attributes && each.number == 5)) {
            node->fields.push_back(each);
          }
        }
        break;
      }
      default: {
        if (one_in(draw, 2) || texts_.empty()) {
          change_anything(tree, draw);
          break;
        }
        std::vector<FieldTree*> places;
        for (FieldTree* attribute : all(tree, MessageKind::attribute)) {
          for (FieldTree* place : fields_of(*attribute, {4, 9, 20})) places.push_back(place);
        }
        if (places.empty()) break;
        FieldTree& place = *any_of(draw, places);
        if (place.form == FieldForm::integer) place.integer = static_cast<std::int64_t>(below(draw, 16)) - 1;
        else place.text = any_of(draw, texts_);
        break;
      }
    }
  }
  return tree;
}

}  // namespace tyto::onnx_tests
