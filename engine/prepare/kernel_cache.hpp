// SPDX-License-Identifier: MIT
// Caches the kernels that eager mode prepared last, thread by thread: the same operator on the same layouts reuses one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/device/device.hpp"
#include "core/graph/symbol.hpp"

namespace tyto::run {

/// An operator on operands of given types and places, ready to be launched.
struct PreparedOperator {
  /// Prepares a node whose inputs have the given contents; `home` is the device that its results are to be on.
  PreparedOperator(const core::Node& node, std::span<const core::Array* const> inputs, core::Device& home);

  struct Input {
    DType dtype;
    core::View view;       // the offset counts only where `any_start` is false
    core::Device* device;  // that it lies on
  };
  struct Result {
    DType dtype;
    core::View view;
    std::size_t bytes;
  };

  core::OpId op;
  core::Device* home;
  core::Device* device;  // where it runs: home, or the CPU where home has no kernel
  bool any_start;        // the kernel is given the address of an input's first element, wherever that is
  bool direct = true;    // no input has to be moved or made dense first
  std::shared_ptr<const core::Attributes> attributes;
  std::vector<Input> inputs;
  std::vector<Result> results;
  std::vector<std::shared_ptr<const core::Kernel>> copies;  // make inputs dense first; null for the others, or none
  std::shared_ptr<const core::Kernel> kernel;
  std::uint64_t epoch = 0;
};

/// The same, kept from the last time where there was one. Valid until the next call on this thread.
const PreparedOperator& prepared_operator(const core::Node& node, std::span<const core::Array* const> inputs,
                                          core::Device& home);

}  // namespace tyto::run
