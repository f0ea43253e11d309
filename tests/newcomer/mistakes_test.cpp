// SPDX-License-Identifier: MIT
// Mistakes that only a run can find are errors at their line, which state what was given and what fits.
#include <doctest/doctest.h>

#include <cstdio>
#include <functional>
#include <string>
#include <type_traits>
#include <tyto/io.hpp>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>
#include <vector>

#include "tests/support/both_modes.hpp"

using namespace tyto;

namespace {

struct Mistake {
  const char* said;  // all of the message
  std::function<void()> line;
};

/// The message of the error thrown, or a text that says that none was.
std::string told(const std::function<void()>& line) {
  try {
    line();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

template <class Mode>
std::vector<Mistake> mistakes() {
  using T = Tensor<Mode>;
  const T x = T::ones({2, 3});
  return {
      {"add: shapes (2,3) and (2,2) do not broadcast: axis lengths 3 and 2 differ and neither is 1",
       [=] {
         x + T::ones({2, 2});
       }},
      {"matmul: inner sizes differ: (2,3) x (2,3)", [=] { matmul(x, x); }},
      {"reshape: (2,3) has 6 elements, (4,2) would have 8",
       [=] {
         x.reshape({4, 2});
       }},
      {"concat: parts of shapes (2,3) and (2,4) must agree but for axis 0",
       [=] {
         concat({x, T::ones({2, 4})});
       }},
      {"sum: axis 2 is outside [-2, 1] for a tensor of rank 2", [=] { sum(x, 2); }},
      {"index: 2 is outside axis 0 of length 2", [=] { x(2); }},
      {"index: 3 indices for a tensor of rank 2, shape (2,3)", [=] { x(0, 0, 0); }},
      {"index: a tensor of f32 cannot index; integers or a mask can",
       [=] {
         x(T{0.0, 1.0});
       }},
      {"item: a tensor of shape (2,3) has 6 elements, not one", [=] { x.template item<float>(); }},
      {"item: the element is 1.5 (f32), which i32 does not hold; cast first with astype",
       [] { T(1.5).template item<int>(); }},
      {"bool: the truth of a tensor of shape (2,3) is ambiguous; use any() or all()",
       [=] {
         if (x > 0) return;
       }},
      {"bitwise_xor: operands of type f32 are not accepted; it works on bool and integers", [=] { x ^ 2; }},
      {"Tensor{...}: ragged rows: axis 1 has rows of 2 and of 1 elements",
       [] {
         T{{1, 2}, {3}};
       }},
      {"from: 3 elements do not fill shape (2,2) of 4",
       [] {
         T::from(std::vector<float>{1, 2, 3}, {2, 2});
       }},
      {"Linear: the last axis of x (2,3) must be 4", [=] { nn::Linear({.in = 4, .out = 2})(x); }},
      {"Linear: in = 2 and out = 0 must be at least 1", [] { nn::Linear({.in = 2}); }},
      {"Conv2d: x (8,8,1) must have 4 axes, the last of 1 channels",
       [] {
         nn::Conv2d({.in = 1, .out = 2, .window = 3})(T::ones({8, 8, 1}));
       }},
      {"Conv2d: x (2,1,28,28) must have 4 axes, the last of 1 channels, not axis 1 as in PyTorch; transpose it",
       [] {
         nn::Conv2d({.in = 1, .out = 2, .window = 3})(T::ones({2, 1, 28, 28}));
       }},
      {"cross_entropy: labels (2,) for logits (3,2) must have shape (3,)",
       [] {
         cross_entropy(T::ones({3, 2}), T{0, 1});
       }},
      {"cross_entropy: distributions (3,) must have the logits' shape (3,2); class labels are integers: "
       "labels.astype(DType::i64)",
       [] {
         cross_entropy(T::ones({3, 2}), T{0.0, 1.0, 1.0});
       }},
      {"cross_entropy: distributions (3,) must have the logits' shape (3,2); class labels are integers: "
       "labels.astype(DType::i64)",
       [] {
         nn::cross_entropy(T::ones({3, 2}), T{0.0, 1.0, 1.0}, {.smoothing = 0.1});
       }},
      {"value_and_grad: the loss must be one number, not of shape (2,3); take sum or mean, or use jacobian",
       [=] { grad([](T v) { return v * 2; })(x); }},
      {"grad: a gradient with respect to a tensor of i64 does not exist; {1.0, 2.0} makes one of f32, {1, 2} one of "
       "integers",
       [] {
         grad([](T v) { return sum(v * v); })(T{1, 2});
       }},
      {"value_and_grad: the parameters must be variables (Tensor::variable); `w = ...` makes a plain tensor of such a "
       "name: write w -= ... or assign(w, ...)",
       [=] { value_and_grad([=] { return sum(x); }, std::vector{x})(); }},
      {"assign: the tensor is no variable, persistent tensor or placeholder; Tensor::variable and Tensor::persistent "
       "make one",
       [=] { assign(x, x); }},
      {"Batches: inputs (2,3) and targets (3,) must have equally many samples along the first axis",
       [=] { nn::Batches(x, T::ones({3})); }},
      {"/nowhere.npy: cannot be opened: No such file or directory", [] { read_npy<T>("/nowhere.npy"); }},
  };
}

}  // namespace

BOTH_MODES("a mistake is told at its line by what was given and what fits") {
  for (const Mistake& mistake : mistakes<Mode>()) CHECK(told(mistake.line) == mistake.said);
}

BOTH_MODES("batches take their mode from the tensors, and checkpoints the states of a model") {
  using T = Tensor<Mode>;
  nn::Batches batches(T{{1.0}, {2.0}, {3.0}}, T{1, 2, 3}, {.size = 2, .shuffle = false});
  static_assert(std::is_same_v<typename decltype(batches)::tensor, T>);
  CHECK(array_equal(batches.next()->second, T{1, 2}));

  const nn::Linear saved({.in = 1, .out = 1}), read({.in = 1, .out = 1});
  assign(saved.weight, Tensor<Any>{{7.0}});
  const std::string path = "newcomer_mistakes.npz";
  nn::Checkpoint().add("model", saved).save(path);
  nn::Checkpoint().add("model", read).load(path);
  std::remove(path.c_str());
  CHECK(read.weight.template item<float>() == 7);
}
