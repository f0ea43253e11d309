// SPDX-License-Identifier: MIT
// Stability: compositions and powers that lose digits or overflow, as the one operator that does not.
//
// Here the optimised graph is nearer to the true value than the graph as written; the difference is what the graph as
// written had lost.
#include "core/graph/op_ids.hpp"
#include "optimiser/passes/families.hpp"
#include "optimiser/passes/rule.hpp"

namespace tyto::optimiser {

namespace {

Port log_softmax(Match& m) {
  return m.editor.add(m.root, OpId::log_softmax, m.editor.attributes(m.node(1)), {m.tensor('x')});
}
Port logsumexp(Match& m) {
  return m.editor.add(m.root, OpId::logsumexp, m.editor.attributes(m.node(1)), {m.tensor('x')});
}

// clang-format off
const Rule stability_table[] = {
    {"log_of_softmax",      "log(softmax(x))",                              "log_softmax(x)",  {}, log_softmax},
    {"log_of_sum_of_exp",   "log(sum(exp(x)!)!)",                           "logsumexp(x)",    {}, logsumexp},
    {"log_of_sigmoid",      "log(sigmoid(x))",                              "log_sigmoid(x)",  {}},
    {"log_of_one_plus_exp", "log(add(exp(x), 1)!)",                         "softplus(x)",     {}},
    {"log_of_one_plus",     "log(add(x, 1)!)",                              "log1p(x)",        {}},
    {"log1p_of_exp",        "log1p(exp(x))",                                "softplus(x)",     {}},
    {"exp_minus_one",       "subtract(exp(x)!, 1)",                         "expm1(x)",        {}},
    {"sigmoid_spelled_out", "reciprocal(add(exp(negate(x)!)!, 1)!)",        "sigmoid(x)",      {}},
    {"sigmoid_as_quotient", "divide(1, add(exp(negate(x)!)!, 1)!)",         "sigmoid(x)",      {}},
    {"real_power_two",      "power(x, 2)",                                  "square(x)",       {&floating}},
    {"power_minus_one",     "power(x, -1)",                                 "reciprocal(x)",   {&floating}},
};
// clang-format on

}  // namespace

std::span<const Rule> stability_rules() { return stability_table; }

}  // namespace tyto::optimiser
