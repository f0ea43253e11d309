// SPDX-License-Identifier: MIT
// Compares runs with a reference session: the same steps where every tensor has memory of its own, which is NaN before
// and after its lifetime.
#include "engine/run/verification.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <vector>

#include "core/system/environment.hpp"
#include "core/value/text.hpp"
#include "engine/run/arrays.hpp"
#include "engine/run/session.hpp"

namespace tyto::run {

namespace {

/// Prints at the end of the process what was compared.
struct Tally {
  std::atomic<std::size_t> graphs{0};
  std::atomic<std::size_t> runs{0};
  ~Tally() {
    std::fprintf(stderr,
                 "verified: %zu runs of %zu graphs gave the same bits without reuse of memory and allocated nothing\n",
                 runs.load(), graphs.load());
  }
};

Tally& tally() {
  static Tally all;
  return all;
}

core::Array copy_of(core::Device& device, const core::Array& array) {
  core::Array copy = new_array(device, array.dtype, array.view.shape);
  const std::vector<std::byte> bytes = host_bytes(array);
  if (!bytes.empty()) device.copy_in(copy.buffer->at(0), bytes.data(), bytes.size());
  return copy;
}

}  // namespace

bool asks_for_verification() { return core::environment_flag("TYTO_VERIFY"); }

bool can_be_verified(const Executable& executable) {
  if (executable.options().memory_strategy == "bump" && executable.is_poisoned()) return false;
  return std::ranges::none_of(executable.graph().nodes(), [](const core::GraphNode& node) {
    return core::calls_user_function(node) || core::has_effect(node);
  });
}

void Session::run_beside_reference() {
  const Executable& plan = *executable_;
  core::Device& device = plan.device();
  for (std::uint32_t i = 0; i < inputs_.size(); ++i) {
    if (plan.needs(i)) require(i);
  }
  if (!reference_) {
    CompileOptions options = plan.options();
    options.passes = as_recorded;
    options.memory_strategy = "bump";
    options.poison = true;
    options.check_plan = true;
    options.memory_limit = 0;
    options.concurrency = 1;
    options.dump = nullptr;
    reference_ = std::make_unique<Session>(std::make_shared<const Executable>(plan.graph(), device, options));
    ++tally().graphs;
  }
  for (std::uint32_t i = 0; i < inputs_.size(); ++i) {
    reference_->hold(i, plan.is_written(i) ? copy_of(device, inputs_[i]) : inputs_[i]);
  }
  reference_->run_steps();
  const std::size_t before = unplanned_;
  run_steps();
  if (unplanned_ != before) {
    core::throw_error<GraphError>("verify: a run allocated ", unplanned_ - before, " buffers that were not planned");
  }
  const auto compare = [&](const core::Array& own, const core::Array& other, const char* what, std::size_t index) {
    if (host_bytes(own) == host_bytes(other)) return;
    core::throw_error<GraphError>("verify: ", what, " ", index, " of shape ", own.view.shape,
                                  " has other bits than without reuse of memory; planned by ", plan.plan().strategy);
  };
  for (std::size_t i = 0; i < outputs_.size(); ++i) compare(outputs_[i], reference_->outputs_[i], "output", i);
  for (std::uint32_t i = 0; i < inputs_.size(); ++i) {
    if (plan.is_written(i)) compare(inputs_[i], reference_->inputs_[i], "the new value of input", i);
  }
  reference_->release_inputs();
  ++tally().runs;
}

}  // namespace tyto::run
