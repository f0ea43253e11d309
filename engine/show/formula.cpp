// SPDX-License-Identifier: MIT
// Each node's expression is made once, from those of its operands; what is read twice, or grows long, gets a name.
#include "engine/show/formula.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

#include "core/graph/builder.hpp"
#include "core/graph/op_ids.hpp"
#include "core/value/text.hpp"
#include "engine/show/state_names.hpp"
#include "tyto/tensor.hpp"

namespace tyto::run {

namespace {

using core::Graph;
using core::GraphNode;
using core::OpId;
using core::Port;

/// How tightly an expression holds together; a looser one is put in brackets.
enum class Binding : std::uint8_t { comparison, sum, product, sign, matrix_product, power, whole };

struct Expression {
  std::string text = {};
  Binding binding = Binding::whole;
  std::optional<OpId> made_by = {};  // an operator that stands between its operands
};

struct Infix {
  std::string_view text;
  std::string_view latex;
  Binding binding;
  bool left;   // a left operand of the same binding needs no brackets: it is computed first
  bool right;  // nor does a right one that the same operator made: it does not matter which is computed first
};

const Infix* infix_of(OpId op) {
  static const std::map<OpId, Infix> table = {
      {OpId::add, {" + ", " + ", Binding::sum, true, true}},
      {OpId::subtract, {" - ", " - ", Binding::sum, true, false}},
      {OpId::multiply, {" * ", R"( \odot )", Binding::product, true, true}},
      {OpId::divide, {" / ", " / ", Binding::product, true, false}},
      {OpId::matmul, {" @ ", R"(\, )", Binding::matrix_product, true, false}},
      {OpId::less, {" < ", " < ", Binding::comparison, false, false}},
      {OpId::less_equal, {" <= ", R"( \le )", Binding::comparison, false, false}},
      {OpId::greater, {" > ", " > ", Binding::comparison, false, false}},
      {OpId::greater_equal, {" >= ", R"( \ge )", Binding::comparison, false, false}},
      {OpId::equal, {" == ", " = ", Binding::comparison, false, false}},
      {OpId::not_equal, {" != ", R"( \ne )", Binding::comparison, false, false}},
  };
  const auto found = table.find(op);
  return found == table.end() ? nullptr : &found->second;
}

/// Operators that LaTeX has a command for.
std::string_view latex_function(std::string_view name) {
  for (const std::string_view each : {"exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "max", "min"}) {
    if (name == each) return each;
  }
  return {};
}

std::string escaped(std::string_view word) {
  std::string out;
  for (const char c : word) {
    if (std::string_view("_%&#{}$").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

bool reverses_axes(const core::Attributes& attributes) {
  const auto* list = std::get_if<core::ListAttributes>(&attributes);
  return list != nullptr && list->list == IntList{1, 0};
}

/// Identifiers with "." or "/" between them; "a-b" would read as a difference, "0.weight" as a number.
bool reads_as_one_name(std::string_view name) {
  bool begins = true;
  for (const char c : name) {
    const bool separates = c == '.' || c == '/';
    const bool digit = c >= '0' && c <= '9';
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
    if (begins ? !letter : !letter && !digit && !separates) return false;
    begins = separates;
  }
  return !begins;
}

class Formula {
 public:
  Formula(const Graph& graph, FormulaStyle style)
      : graph_(graph),
        latex_(style == FormulaStyle::latex),
        expressions_(graph.port_count()),
        readers_(graph.port_count()) {}

  std::string run() {
    for (const GraphNode& node : graph_.nodes()) {
      for (const Port input : graph_.inputs_of(node)) ++readers_[input];
    }
    for (const Port output : graph_.outputs()) ++readers_[output];
    for (const core::GraphUpdate& update : graph_.updates()) ++readers_[update.port];
    name_inputs();
    for (const GraphNode& node : graph_.nodes()) add(node);
    const bool alone = graph_.outputs().size() == 1 && taken_.insert("y").second;
    for (const Port output : graph_.outputs()) line(alone ? "y" : free_name("y"), output);
    for (const core::GraphUpdate& update : graph_.updates()) {
      const std::string& state = expressions_[graph_.inputs()[update.input].port].text;
      out_ += latex_ ? state + R"( &\leftarrow )" : state + " <- ";
      out_ += expressions_[update.port].text;
      end_line();
    }
    for (const std::string& constant : constants_) {
      out_ += constant;
      end_line();
    }
    return latex_ ? "\\begin{aligned}\n" + out_ + "\\end{aligned}\n" : out_;
  }

 private:
  static constexpr std::size_t longest = 100;  // characters of an expression without a name

  void end_line() { out_ += latex_ ? " \\\\\n" : "\n"; }
  void line(const std::string& name, Port port) {
    out_ += name + (latex_ ? " &= " : " = ") + expressions_[port].text;
    end_line();
  }

  std::string identifier(std::string_view name) const {
    if (!latex_ || name.size() == 1) return std::string(name);
    return R"(\mathit{)" + escaped(name) + "}";
  }
  std::string numbered(const char* letter, std::size_t number) const {
    return latex_ ? core::text(letter, "_{", number, "}") : core::text(letter, number);
  }

  void name_inputs() {
    InputNames paths = names_of_inputs(graph_, names_of_states(graph_));
    for (const core::GraphInput& input : graph_.inputs()) {
      if (input.generator) continue;
      std::string given = std::move(paths[input.port]);
      if (!reads_as_one_name(given)) given = input.name;
      // "placeholder 3" is a name that nobody gave.
      if (!reads_as_one_name(given)) continue;
      std::ranges::replace(given, '/', '.');  // of scopes: nothing is divided
      std::string name = identifier(given);
      for (std::size_t number = 2; !taken_.insert(name).second; ++number) {
        name = identifier(core::text(given, '_', number));
      }
      expressions_[input.port].text = std::move(name);
    }
    for (const core::GraphInput& input : graph_.inputs()) {
      if (!expressions_[input.port].text.empty()) continue;
      expressions_[input.port].text = free_name(input.generator ? "r" : "x");
    }
  }
  /// "t1", "t2" ..., those left out that inputs have.
  std::string free_name(const char* letter) {
    std::string name;
    do name = numbered(letter, ++count_[letter]);
    while (!taken_.insert(name).second);
    return name;
  }

  std::string in_brackets(const Expression& expression) const {
    return latex_ ? R"(\left()" + expression.text + R"(\right))" : "(" + expression.text + ")";
  }
  /// The text as an operand of an operator of that precedence: in brackets where it binds less tightly.
  std::string within(const Expression& expression, Binding binding, bool same_may_stand) const {
    const bool stands = expression.binding > binding || (same_may_stand && expression.binding == binding);
    return stands ? expression.text : in_brackets(expression);
  }

  void add(const GraphNode& node) {
    if (node.result_count == 0 || !expressions_[node.first_result].text.empty()) return;
    if (node.op == core::OpId::constant) {
      expressions_[node.first_result] = constant(node);
      return;
    }
    Expression made = expression_of(node);
    if (node.result_count == 1 && readers_[node.first_result] <= 1 && made.text.size() <= longest) {
      expressions_[node.first_result] = std::move(made);
      return;
    }
    std::string names;
    for (std::uint32_t r = 0; r < node.result_count; ++r) {
      expressions_[node.first_result + r].text = free_name("t");
      names += (r == 0 ? "" : ", ") + expressions_[node.first_result + r].text;
    }
    out_ += latex_ ? names + " &= " : "let " + names + " = ";
    out_ += made.text;
    end_line();
  }

  static Expression number(const Scalar& value) {
    std::ostringstream text;
    text << value;
    return {text.str(), text.str().front() == '-' ? Binding::sign : Binding::whole};
  }

  Expression constant(const GraphNode& node) {
    const core::TensorType& type = graph_.type(node.first_result);
    if (type.shape.rank() == 0) {
      return number(Tensor<Eager>(core::constant(core::Mode::eager, *graph_.constant(node.first_result))).item());
    }
    const std::string name = free_name("c");
    const std::string attributes = core::to_string(graph_.attributes(node));  // "array=f32(2,) {1, 2}"
    if (!latex_) {
      constants_.push_back("where " + name + " is a constant " + attributes.substr(attributes.find('=') + 1));
      return {name};
    }
    std::string numbers;
    if (attributes.ends_with('}')) {
      const std::size_t first = attributes.find('{');
      numbers = R"(= \)" + attributes.substr(first, attributes.size() - first - 1) + R"(\} )";
    }
    constants_.push_back(name + " &" + numbers +
                         core::text(R"(\in \text{)", name_of(type.dtype), "}^{", type.shape, "}"));
    return {name};
  }

  Expression expression_of(const GraphNode& node) {
    const auto operand = [&](std::size_t i) -> const Expression& { return expressions_[graph_.inputs_of(node)[i]]; };
    // As gradients begin; written out, it would only be read over.
    if (node.op == OpId::multiply && operand(0).text == "1") return operand(1);
    if (const Infix* infix = infix_of(node.op)) {
      if (latex_ && node.op == OpId::divide) return {R"(\frac{)" + operand(0).text + "}{" + operand(1).text + "}"};
      return {within(operand(0), infix->binding, infix->left) + std::string(latex_ ? infix->latex : infix->text) +
                  within(operand(1), infix->binding, infix->right && operand(1).made_by == node.op),
              infix->binding, node.op};
    }
    switch (node.op) {
      case OpId::negate: return {"-" + within(operand(0), Binding::sign, false), Binding::sign};
      case OpId::square: return power(operand(0), "2");
      case OpId::power: return power(operand(0), operand(1).text);
      case OpId::reciprocal:
        if (latex_) return {R"(\frac{1}{)" + operand(0).text + "}"};
        return {"1 / " + within(operand(0), Binding::product, false), Binding::product};
      case OpId::sqrt:
        if (latex_) return {R"(\sqrt{)" + operand(0).text + "}"};
        break;
      case OpId::abs:
        if (latex_) return {R"(\left|)" + operand(0).text + R"(\right|)"};
        break;
      case OpId::transpose:
        if (reverses_axes(graph_.attributes(node))) {
          return {within(operand(0), Binding::power, false) + (latex_ ? R"(^{\top})" : ".T")};
        }
        break;
      case OpId::fill:
        if (const auto& range = std::get<core::RangeAttributes>(graph_.attributes(node)); range.shape.rank() == 0) {
          return number(range.start);
        }
        break;
      case OpId::read:
      case OpId::alias: return operand(0);
      default: break;
    }
    return call(node);
  }

  Expression power(const Expression& base, const std::string& exponent) const {
    const std::string below = within(base, Binding::power, false);
    if (latex_) return {below + "^{" + exponent + "}", Binding::power};
    const bool plain = exponent.find_first_of(" -") == std::string::npos;
    return {below + (plain ? "^" + exponent : "^(" + exponent + ")"), Binding::power};
  }

  Expression call(const GraphNode& node) {
    const std::string_view name = core::definition(node.op).name;
    std::string arguments;
    for (const Port input : graph_.inputs_of(node)) {
      arguments += (arguments.empty() ? "" : ", ") + expressions_[input].text;
    }
    // Regions and user functions have no formula.
    if (node.attributes && core::regions_of(*node.attributes).empty() && !core::calls_user_function(node)) {
      std::string attributes = core::to_string(*node.attributes);
      if (latex_ && !attributes.empty()) attributes = R"(\text{)" + escaped(attributes) + "}";
      if (!attributes.empty()) arguments += (arguments.empty() ? "" : "; ") + attributes;
    }
    if (!latex_) return {core::text(name, "(", arguments, ")")};
    const std::string_view command = latex_function(name);
    const std::string function =
        command.empty() ? R"(\operatorname{)" + escaped(name) + "}" : "\\" + std::string(command);
    return {function + R"(\left()" + arguments + R"(\right))"};
  }

  const Graph& graph_;
  const bool latex_;
  std::vector<Expression> expressions_;       // by port
  std::vector<std::uint32_t> readers_;        // by port
  std::vector<std::string> constants_;        // a line each
  std::set<std::string> taken_;               // names
  std::map<std::string, std::size_t> count_;  // of names by letter
  std::string out_;
};

}  // namespace

std::string formula_of(const core::Graph& graph, FormulaStyle style) { return Formula(graph, style).run(); }

}  // namespace tyto::run
