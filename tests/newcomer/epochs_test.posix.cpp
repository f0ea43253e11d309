// SPDX-License-Identifier: MIT
// Epochs of nn::train are those of the data, not of the call: a call that has none left makes no step and says so.
#include <doctest/doctest.h>

#include <unistd.h>
#include <cmath>
#include <cstdio>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

#include "tests/support/both_modes.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/numbers.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace tyto;
using tyto_test::Numbers;
using tyto_test::numbers;

namespace {

/// The standard output of `function`.
template <class F>
std::string output_of(const std::string& path, F function) {
  std::fflush(stdout);
  const int before = dup(STDOUT_FILENO);
  std::FILE* file = std::fopen(path.c_str(), "w");
  dup2(fileno(file), STDOUT_FILENO);
  function();
  std::fflush(stdout);
  dup2(before, STDOUT_FILENO);
  close(before);
  std::fclose(file);
  return tyto::testing::text_of(path);
}

}  // namespace

BOTH_MODES("a second call of train with .epochs = 1 says that no step is left, and has no loss") {
  using T = Tensor<Mode>;
  const tyto::testing::TemporaryFolder folder;
  const T w = T::variable(0.0, "w");
  auto step = compile([&](T x, T t) {
    auto [loss, g] = value_and_grad([&](T in) { return mean(square(w * in - t)); }, {w})(x);
    assign(w, w - 0.25 * g[0]);
    return loss;
  });
  nn::Batches<T> batches(T::ones({8}), T::full({8}, 4.0), {.size = 4});
  nn::TrainingReport report;
  const auto once = [&](const nn::TrainingOptions& options) {
    return output_of(folder / "output", [&] { report = nn::train(step, batches, options); });
  };
  CHECK(once({.epochs = 1}).empty());
  CHECK(report.steps == 2);
  CHECK(report.loss == 4);  // of w = 2, after 0
  CHECK(once({.epochs = 1}) ==
        "train: no step is made: .epochs = 1 counts all epochs of the batches, which are through them already\n");
  CHECK(report.steps == 0);
  CHECK(std::isnan(report.loss));
  CHECK(once({.epochs = 1, .progress = false}).empty());
  CHECK(once({.epochs = 2}).empty());
  CHECK(report.steps == 2);
  CHECK(numbers(w) == Numbers{3.75});
}
