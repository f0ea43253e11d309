// SPDX-License-Identifier: MIT
// Einstein summation: the equation is read once, then operands are contracted from left to right as matrix products.
#include <algorithm>
#include <array>
#include <vector>

#include "ops/define.hpp"
#include "tyto/products.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto TYTO_API {

namespace {

/// Names of axes: letters as their code, the axes under "..." counted from the last one as -1, -2, ...
using Labels = std::vector<int>;

bool has(const Labels& labels, int label) { return std::find(labels.begin(), labels.end(), label) != labels.end(); }

struct Equation {
  std::vector<Labels> operands;
  Labels result;
};

class EquationParser {
 public:
  EquationParser(std::string_view text, std::span<const Shape> shapes) : text_(text), shapes_(shapes) {}

  Equation read() {
    Equation out;
    const std::size_t arrow = text_.find("->");
    std::string_view rest = text_.substr(0, arrow);
    for (std::size_t i = 0;; ++i) {
      const std::size_t comma = rest.find(',');
      const std::string_view term = rest.substr(0, comma);
      if (i < shapes_.size()) out.operands.push_back(labels_of(term, shapes_[i], i));
      terms_ = i + 1;
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
    if (terms_ != shapes_.size()) {
      core::throw_error<ValueError>(what(), "the equation names ", terms_, " operands, given are ", shapes_.size());
    }
    if (arrow != std::string_view::npos) {
      out.result = result_labels(text_.substr(arrow + 2), out.operands);
    } else {
      out.result = once_named(out.operands);
    }
    return out;
  }

 private:
  std::string what() const { return core::text("einsum(\"", text_, "\"): "); }

  // Letters in the order in which they stand; `dots` is told where an ellipsis stands among them.
  Labels letters(std::string_view term, std::ptrdiff_t& dots) const {
    Labels out;
    dots = -1;
    for (std::size_t i = 0; i < term.size(); ++i) {
      const char c = term[i];
      if (c == ' ') continue;
      if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
        out.push_back(c);
      } else if (term.substr(i, 3) == "..." && dots < 0) {
        dots = static_cast<std::ptrdiff_t>(out.size());
        i += 2;
      } else {
        core::throw_error<ValueError>(what(), "'", std::string(1, c), "' is neither a letter nor one \"...\" a term");
      }
    }
    return out;
  }

  Labels labels_of(std::string_view term, const Shape& shape, std::size_t operand) {
    std::ptrdiff_t dots = -1;
    Labels out = letters(term, dots);
    const auto rank = static_cast<std::ptrdiff_t>(shape.size());
    const auto named = static_cast<std::ptrdiff_t>(out.size());
    if (dots < 0 ? named != rank : named > rank) {
      core::throw_error<ShapeError>(what(), "\"", term, "\" names ", named, " axes; operand ", operand + 1,
                                    " has shape ", shape);
    }
    if (dots >= 0) {
      const int hidden = static_cast<int>(rank - named);
      hidden_ = std::max(hidden_, hidden);
      for (int i = 1; i <= hidden; ++i) out.insert(out.begin() + dots, -i);
    }
    return out;
  }

  Labels hidden_labels() const {
    Labels out;
    for (int i = hidden_; i > 0; --i) out.push_back(-i);
    return out;
  }

  Labels result_labels(std::string_view term, const std::vector<Labels>& operands) const {
    std::ptrdiff_t dots = -1;
    Labels out = letters(term, dots);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::string letter(1, static_cast<char>(out[i]));
      if (std::count(out.begin(), out.end(), out[i]) != 1) {
        core::throw_error<ValueError>(what(), "the result names '", letter, "' twice");
      }
      if (std::none_of(operands.begin(), operands.end(), [&](const Labels& labels) { return has(labels, out[i]); })) {
        core::throw_error<ValueError>(what(), "the result names '", letter, "', which no operand has");
      }
    }
    if (dots >= 0) {
      const Labels hidden = hidden_labels();
      out.insert(out.begin() + dots, hidden.begin(), hidden.end());
    }
    return out;
  }

  // Without "->": what broadcasts, then every letter that is named once, in alphabetical order.
  Labels once_named(const std::vector<Labels>& operands) const {
    std::array<int, 128> count{};
    for (const Labels& labels : operands) {
      for (const int label : labels) {
        if (label > 0) ++count[static_cast<std::size_t>(label)];
      }
    }
    Labels out = hidden_labels();
    for (int letter = 'A'; letter <= 'z'; ++letter) {
      if (count[static_cast<std::size_t>(letter)] == 1) out.push_back(letter);
    }
    return out;
  }

  std::string_view text_;
  std::span<const Shape> shapes_;
  std::size_t terms_ = 0;
  int hidden_ = 0;  // most axes under an ellipsis
};

/// Whether the result is one sum, or one product of two operands, each of which lacks what the other and the result do.
bool is_one_operator(const Equation& read) {
  if (read.operands.size() != 2) return read.operands.size() < 2;
  const auto met = [&](const Labels& own, const Labels& other) {
    return std::ranges::all_of(own, [&](int label) { return has(other, label) || has(read.result, label); });
  };
  return met(read.operands[0], read.operands[1]) && met(read.operands[1], read.operands[0]);
}

/// An operand with names for its axes, no name twice.
template <class M>
struct Term {
  Tensor<M> tensor;
  Labels labels;

  std::int64_t length(int label) const {
    const auto at = std::find(labels.begin(), labels.end(), label) - labels.begin();
    return tensor.shape()[static_cast<std::size_t>(at)];
  }
  /// Axes put into this order; all labels are named.
  Tensor<M> ordered(const Labels& order) const {
    if (order == labels) return tensor;
    IntList axes;
    for (const int label : order) axes.push_back(std::find(labels.begin(), labels.end(), label) - labels.begin());
    return transpose(tensor, axes);
  }
};

/// An axis named twice is traversed along its diagonal.
template <class M>
Term<M> without_repeats(std::string_view equation, Term<M> term) {
  for (std::size_t i = 0; i < term.labels.size(); ++i) {
    for (std::size_t j = i + 1; j < term.labels.size();) {
      if (term.labels[j] != term.labels[i]) {
        ++j;
        continue;
      }
      if (term.tensor.shape()[i] != term.tensor.shape()[j]) {
        core::throw_error<ShapeError>("einsum(\"", equation, "\"): '",
                                      std::string(1, static_cast<char>(term.labels[i])), "' names axes of lengths ",
                                      term.tensor.shape()[i], " and ", term.tensor.shape()[j],
                                      " of one operand of shape ", term.tensor.shape());
      }
      term.tensor = diagonal(term.tensor, 0, static_cast<std::int64_t>(i), static_cast<std::int64_t>(j));
      const int label = term.labels[i];
      term.labels.erase(term.labels.begin() + static_cast<std::ptrdiff_t>(j));
      term.labels.erase(term.labels.begin() + static_cast<std::ptrdiff_t>(i));
      term.labels.push_back(label);
      return without_repeats(equation, std::move(term));
    }
  }
  return term;
}

/// Summed over the axes whose labels are not in `kept`.
template <class M>
Term<M> summed_to(const Term<M>& term, const Labels& kept) {
  IntList axes;
  Labels left;
  for (std::size_t i = 0; i < term.labels.size(); ++i) {
    if (has(kept, term.labels[i])) {
      left.push_back(term.labels[i]);
    } else {
      axes.push_back(static_cast<std::int64_t>(i));
    }
  }
  if (axes.empty()) return term;
  return {sum(term.tensor, Axes(axes)).astype(term.tensor.dtype()), left};
}

/// Two operands as one batched matrix product, or an element-wise one when there is nothing to sum over.
template <class M>
Term<M> contracted(const Term<M>& a, const Term<M>& b, const Labels& kept) {
  Labels batch;
  Labels inner;
  Labels rows;
  Labels columns;
  for (const int label : a.labels) {
    (!has(b.labels, label) ? rows : has(kept, label) ? batch : inner).push_back(label);
  }
  for (const int label : b.labels) {
    if (!has(a.labels, label)) columns.push_back(label);
  }
  const auto joined = [](std::initializer_list<const Labels*> lists) {
    Labels out;
    for (const Labels* list : lists) out.insert(out.end(), list->begin(), list->end());
    return out;
  };
  const auto lengths = [](const Term<M>& term, const Labels& labels) {
    Shape out;
    for (const int label : labels) out.push_back(term.length(label));
    return out;
  };
  const Shape batch_shape = lengths(a, batch);
  const Shape row_shape = lengths(a, rows);
  const Shape column_shape = lengths(b, columns);
  const auto shaped = [](std::initializer_list<const Shape*> parts) {
    Shape out;
    for (const Shape* part : parts) {
      for (const std::int64_t length : *part) out.push_back(length);
    }
    return out;
  };
  const Labels result = joined({&batch, &rows, &columns});
  if (inner.empty()) {
    const Shape ones_for_columns(std::vector<std::int64_t>(columns.size(), 1));
    const Shape ones_for_rows(std::vector<std::int64_t>(rows.size(), 1));
    return {reshape(a.ordered(joined({&batch, &rows})), shaped({&batch_shape, &row_shape, &ones_for_columns})) *
                reshape(b.ordered(joined({&batch, &columns})), shaped({&batch_shape, &ones_for_rows, &column_shape})),
            result};
  }
  const std::int64_t depth = element_count(lengths(a, inner));
  const Shape tall{element_count(row_shape), depth};
  const Shape wide{depth, element_count(column_shape)};
  const Tensor<M> product =
      matmul(reshape(a.ordered(joined({&batch, &rows, &inner})), shaped({&batch_shape, &tall})),
             reshape(b.ordered(joined({&batch, &inner, &columns})), shaped({&batch_shape, &wide})));
  return {reshape(product, shaped({&batch_shape, &row_shape, &column_shape})), result};
}

/// An axis of length one stretches to the length that the other operands give its label.
template <class M>
void stretch(std::string_view equation, std::vector<Term<M>>& terms) {
  for (Term<M>& term : terms) {
    Shape shape = term.tensor.shape();
    for (std::size_t i = 0; i < term.labels.size(); ++i) {
      for (const Term<M>& other : terms) {
        if (!has(other.labels, term.labels[i])) continue;
        const std::int64_t length = other.length(term.labels[i]);
        if (shape[i] != length && shape[i] != 1 && length != 1) {
          const std::string name =
              term.labels[i] > 0 ? std::string(1, static_cast<char>(term.labels[i])) : std::string("...");
          core::throw_error<ShapeError>("einsum(\"", equation, "\"): '", name, "' stands for lengths ", shape[i],
                                        " and ", length);
        }
        if (shape[i] == 1) shape[i] = length;
      }
    }
    if (shape != term.tensor.shape()) term.tensor = broadcast_to(term.tensor, shape);
  }
}

}  // namespace

template <class M>
Tensor<M> einsum(std::string_view equation, const std::vector<Tensor<M>>& operands) {
  TYTO_ONCE(einsum, equation, operands);
  if (operands.empty()) throw ValueError("einsum: no operands");
  std::vector<Shape> shapes;
  std::vector<Value> values;
  for (const Tensor<M>& operand : operands) {
    values.push_back(core::given("einsum", operand));
    shapes.push_back(operand.shape());
  }
  const DType type = core::common_type(values);
  const Equation read = EquationParser(equation, shapes).read();
  if (!is_one_operator(read)) {
    const auto again = [&](const std::vector<Tensor<M>>& wide) { return einsum(equation, wide); };
    if (const auto found = core::in_f32(again, operands)) return *found;
  }
  std::vector<Term<M>> terms;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    terms.push_back(without_repeats(equation, Term<M>{core::cast_to(values[i], type), read.operands[i]}));
  }
  stretch(equation, terms);
  Term<M> whole = terms[0];
  for (std::size_t i = 0; i < terms.size(); ++i) {
    // Labels that later steps need: those of the result and of operands still to come.
    Labels kept = read.result;
    for (std::size_t j = i + 1; j < terms.size(); ++j) {
      kept.insert(kept.end(), terms[j].labels.begin(), terms[j].labels.end());
    }
    if (i == 0) {
      whole = summed_to(whole, kept);
      continue;
    }
    Labels for_left = kept;
    Labels for_right = kept;
    for_left.insert(for_left.end(), terms[i].labels.begin(), terms[i].labels.end());
    for_right.insert(for_right.end(), whole.labels.begin(), whole.labels.end());
    whole = contracted(summed_to(whole, for_left), summed_to(terms[i], for_right), kept);
  }
  // Sums of integers are as wide as the operands, as those of products are.
  return core::cast_to(whole.ordered(read.result), type);
}
#define TYTO_INSTANTIATE_EINSUM(M) template Tensor<M> einsum(std::string_view, const std::vector<Tensor<M>>&);
TYTO_INSTANTIATE_EINSUM(Eager)
TYTO_INSTANTIATE_EINSUM(Lazy)
TYTO_INSTANTIATE_EINSUM(Any)
#undef TYTO_INSTANTIATE_EINSUM

}  // namespace TYTO_API
