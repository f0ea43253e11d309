// SPDX-License-Identifier: MIT
// Moves that spell out the left side of a rewrite rule over whatever tensors there are, read from the rule itself.
#include <map>
#include <string_view>

#include "core/graph/op_ids.hpp"
#include "core/system/number_text.hpp"
#include "ops/define.hpp"
#include "optimiser/passes/families.hpp"
#include "tests/fuzz/drawing.hpp"

namespace tyto::fuzz {

namespace {

using optimiser::Rule;

constexpr std::string_view delimiters = "(), !";

const core::OpDef* named(std::string_view name) {
  const core::OpDef* def = core::find_operator(name);
  return def != nullptr && (core::is_listed_elementwise(def->id) || def->id == core::OpId::cast) ? def : nullptr;
}

/// Whether a pattern is all element-wise operators and casts; others have attributes, which it does not tell.
bool is_spelled_out(const Rule& rule) {
  std::string_view rest = rule.pattern;
  if (rest.find("...") != rest.npos) return false;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find_first_of(delimiters));
    rest.remove_prefix(word.size());
    if (rest.starts_with('(') && (word == "op" ? rule.each == nullptr : named(word) == nullptr)) return false;
    rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(delimiters)));
  }
  return true;
}

/// The operators that a rule of many is about, as far as they are element-wise.
std::vector<const core::OpDef*> operators_of(const Rule& rule) {
  std::vector<const core::OpDef*> list;
  for (const core::OpDef& def : core::op_table()) {
    if (rule.each != nullptr && core::is_listed_elementwise(def.id) && rule.each(def)) list.push_back(&def);
  }
  return list;
}

struct Spelled {
  const Rule* rule;
  std::vector<const core::OpDef*> each;  // what `op` may be; empty where the pattern has none
};

const std::vector<Spelled>& spelled_rules() {
  static const std::vector<Spelled> list = [] {
    std::vector<Spelled> found;
    for (const optimiser::RuleFamily& family : optimiser::rule_families()) {
      for (const Rule& rule : family.rules) {
        if (!is_spelled_out(rule)) continue;
        std::vector<const core::OpDef*> each = operators_of(rule);
        if (rule.each == nullptr || !each.empty()) found.push_back({&rule, std::move(each)});
      }
    }
    return found;
  }();
  return list;
}

template <class M>
class Speller {
 public:
  Speller(Drawing<M>& drawing, const Spelled& spelled)
      : d_(drawing),
        rest_(spelled.rule->pattern),
        each_(spelled.each.empty() ? nullptr : d_.dice().from(spelled.each)) {
    bool whole = each_ != nullptr && takes_integers(*each_);
    for (std::string_view rest = rest_; !whole && !rest.empty();) {
      const std::string_view word = rest.substr(0, rest.find_first_of(delimiters));
      rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(delimiters, word.size())));
      whole = named(word) != nullptr && takes_integers(*named(word));
    }
    const Tensor<M> x = d_.any();
    const bool moved = (whole && is_floating(x.dtype())) || d_.dice().one_in(5);
    first_ =
        moved ? cast(x, d_.dice().of({DType::i32, DType::i64, DType::u8, DType::u32, DType::u64, DType::boolean})) : x;
  }

  /// The pattern; now and then something inside it has another reader, so that its rule must not fire.
  Tensor<M> made() {
    Tensor<M> whole = term();
    if (inner_.size() < 2 || !d_.dice().one_in(5)) return whole;
    return d_.perturbed(whole) + d_.perturbed(inner_[d_.dice().below(inner_.size() - 1)]);
  }

 private:
  static bool takes_integers(const core::OpDef& def) {
    return def.domain == core::Domain::bitwise || def.domain == core::Domain::integer;
  }

  bool skip(char wanted) {
    if (!rest_.starts_with(wanted)) return false;
    rest_.remove_prefix(1);
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
    return true;
  }

  // Of the type of what stands beside it, or one that gives way to it.
  Tensor<M> number(double value) {
    return d_.dice().one_in(2) ? Tensor<M>(value) : Tensor<M>::full({}, value, first_.dtype());
  }

  Tensor<M> leaf(std::string_view word) {
    if (word == "identity") {
      return number(each_->traits.identity_element ? *each_->traits.identity_element
                                                   : *each_->traits.right_identity_element);
    }
    if (word == "absorbing") return number(*each_->traits.absorbing_element);
    if (word == "C" || word == "D") return number(d_.dice().of({-2.0, -1.0, 0.25, 0.5, 1.0, 2.0, 3.0, 4.0}));
    if (word.front() >= 'a' && word.front() <= 'z') {
      if (const auto found = letters_.find(word); found != letters_.end()) return found->second;
      const Tensor<M> x = letters_.empty() ? first_ : d_.beside(first_);
      // A condition is one of bools.
      return letters_.emplace(word, word == "c" ? cast(x, DType::boolean) : x).first->second;
    }
    double value = 0;
    (void)core::number_from(word, value);
    return number(value);
  }

  Tensor<M> term() {
    const std::string_view word = rest_.substr(0, rest_.find_first_of(delimiters));
    rest_.remove_prefix(word.size());
    if (!skip('(')) return leaf(word);
    const core::OpDef* def = word == "op" ? each_ : named(word);
    std::vector<Tensor<M>> operands;
    do {
      operands.push_back(d_.perturbed(term()));
    } while (skip(','));
    skip(')');
    skip('!');
    if (def->id == core::OpId::cast) {
      inner_.push_back(cast(operands[0], d_.dtype()));
    } else {
      std::vector<Value> values;
      for (const Tensor<M>& operand : operands) values.push_back(core::operand(operand));
      inner_.push_back(Tensor<M>(core::emit_elementwise(def->id, values)));
    }
    return inner_.back();
  }

  Drawing<M>& d_;
  std::string_view rest_;
  const core::OpDef* each_;
  Tensor<M> first_;
  std::map<std::string_view, Tensor<M>> letters_;
  std::vector<Tensor<M>> inner_;  // results of the pattern's operators, the root's last
};

template <class M>
Tensor<M> rule(Drawing<M>& d) {
  return Speller<M>(d, d.dice().from(spelled_rules())).made();
}

}  // namespace

TYTO_FUZZ_MOVES(rule_moves, {"rule", 12, rule<M>})

}  // namespace tyto::fuzz
