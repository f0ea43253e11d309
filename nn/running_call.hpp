// The calls of layers that run on this thread: whose phase inner calls have, and whether members() lists what they
// call.
#pragma once

#include <string>

#include "nn/distinct_states.hpp"
#include "tyto/nn/layer.hpp"

namespace tyto::nn {

/// While alive, the states of layers that are called are not looked for among those of the outermost one.
class CallsUnchecked {
 public:
  CallsUnchecked();
  ~CallsUnchecked();
  CallsUnchecked(const CallsUnchecked&) = delete;
  CallsUnchecked& operator=(const CallsUnchecked&) = delete;

 private:
  const DistinctStates* states_;
};

/// The name of a module's class, without namespaces, functions or template arguments around it.
std::string class_name(const Module& module);

}  // namespace tyto::nn
