// SPDX-License-Identifier: MIT
// The main function of examples that run in either mode.
#pragma once

#include <exception>
#include <iostream>
#include <string>
#include <tyto/tensor.hpp>

#include "examples/command_line.hpp"

/// Reads the options and calls run<Tensor>(options) with the tensors of the mode that
/// they name.
///
///     int main(int count, char** words) {
///       Options options;
///       return run_in_mode("mnist", command_line(options), count, words, options.mode,
///                          [&]<class Tensor>() { return run<Tensor>(options); });
///     }
template <class Run>
int run_in_mode(const char* program, const CommandLine& line, int count, char** words, const std::string& mode,
                const Run& run) {
  try {
    if (!line.parse(count, words)) return 0;
    if (mode == "eager") return run.template operator()<tyto::Tensor<tyto::Eager>>();
    return run.template operator()<tyto::Tensor<tyto::Lazy>>();
  } catch (const std::exception& error) {
    std::cerr << program << ": " << error.what() << '\n';
    return 1;
  }
}
