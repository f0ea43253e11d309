// SPDX-License-Identifier: MIT
// Training and test pictures of digits: the real set from a folder, or drawn ones.
#pragma once

#include <string>
#include <tyto/tensor.hpp>

#include "options.hpp"

/// Pictures (count, 28, 28, 1) and labels (count,), both u8.
struct Digits {
  tyto::Tensor<tyto::Eager> images;
  tyto::Tensor<tyto::Eager> labels;
};

struct DigitSets {
  Digits training;
  Digits test;
  std::string origin;
};

DigitSets load_digits(const Options& options);
