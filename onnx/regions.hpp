// What operators whose bodies are graphs share: models that a recorded graph cannot hold.
#pragma once

#include "onnx/operator_call.hpp"
#include "tyto/flow.hpp"

namespace tyto::onnx {

/// Calls `record`. What a graph cannot hold (arms of several shapes, carries that grow) is left to be computed at its
/// place, where data decides what happens.
template <class F>
Outputs recorded(const OperatorCall& call, const F& record) {
  try {
    return record();
  } catch (const DataDependence&) {
    throw;
  } catch (const LimitError&) {
    throw;
  } catch (const core::AllocationRefused&) {
    throw;
  } catch (const Error& error) {
    throw DataDependence(
        core::text(call.where(), ": data decides what it does, and a graph cannot hold it: ", error.what()));
  }
}

}  // namespace tyto::onnx
