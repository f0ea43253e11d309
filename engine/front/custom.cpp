// SPDX-License-Identifier: MIT
// Users' operators: what was given is checked once, what a call needs is made once for each list of input types.
#include "tyto/custom.hpp"
#include "core/graph/op_ids.hpp"

#include <algorithm>
#include <mutex>

#include "core/graph/builder.hpp"
#include "core/graph/custom.hpp"
#include "core/graph/in_f32.hpp"
#include "core/value/text.hpp"
#include "engine/run/arrays.hpp"
#include "ops/define.hpp"
#include "tyto/shaping.hpp"

namespace tyto::run {

namespace {

using Operator = std::shared_ptr<const core::CustomOperator>;

std::string listed(ArrayTypes types) {
  std::string out;
  for (const ArrayType& type : types) out += core::text(out.empty() ? "" : ", ", type.dtype, type.shape);
  return '(' + out + ')';
}

/// Calls a user's rule; exceptions that are not ours get the operator's name and the inputs' types.
template <class Rule>
auto ask(const std::string& name, const char* what, const Rule& rule, ArrayTypes inputs) {
  try {
    return rule();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    core::throw_error<ShapeError>("'", name, "'", listed(inputs), ": ", what, ": ", error.what());
  }
}

std::array<std::size_t, 3> three(const std::string& name, const char* what, const std::vector<std::size_t>& counts) {
  if (counts.empty() || counts.size() > 3) {
    core::throw_error<ShapeError>("'", name, "': ", what, " along ", counts.size(), " axes; there are 1 to 3");
  }
  std::array<std::size_t, 3> out = {1, 1, 1};
  std::copy(counts.begin(), counts.end(), out.begin());
  return out;
}

core::DeviceSource source_for(const CustomOptions& options, ArrayTypes inputs, ArrayTypes results) {
  const OpenClKernel& given = options.opencl;
  core::DeviceSource source;
  if (given.source.empty()) return source;
  source.text = given.source;
  source.kernel = given.kernel.empty() ? options.name : given.kernel;
  source.global_size[0] = static_cast<std::size_t>(element_count(results[0].shape));
  if (given.global_size) {
    const auto items = ask(
        options.name, "rule for work-items", [&] { return given.global_size(inputs, results); }, inputs);
    source.global_size = three(options.name, "work-items", items);
  }
  if (!given.local_size.empty()) {
    source.local_size = three(options.name, "groups", given.local_size);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (source.local_size[axis] != 0 && source.global_size[axis] % source.local_size[axis] == 0) continue;
      core::throw_error<ShapeError>("'", options.name, "': ", source.global_size[axis], " work-items along axis ", axis,
                                    " are not a multiple of the local size ", source.local_size[axis]);
    }
  }
  if (given.scalar_arguments) {
    source.scalar_arguments = ask(
        options.name, "rule for numbers", [&] { return given.scalar_arguments(inputs, results); }, inputs);
  }
  return source;
}

decltype(core::CustomOperator::host) host_for(const std::shared_ptr<const CustomOptions>& options,
                                              const std::vector<ArrayType>& inputs,
                                              const std::vector<ArrayType>& results) {
  if (!options->host) return {};
  return [options, inputs, results](std::span<const core::HostBuffer> from, std::span<const core::HostBuffer> to) {
    std::vector<HostInput> read;
    std::vector<HostResult> written;
    for (std::size_t i = 0; i < from.size(); ++i) read.emplace_back(options->name, i, inputs[i], from[i].data);
    for (std::size_t i = 0; i < to.size(); ++i) written.emplace_back(options->name, i, results[i], to[i].data);
    options->host(read, written);
  };
}

// Results that nobody took a gradient of count as zero.
std::vector<Value> gradient_by(const CustomOptions& options, std::span<const Value> inputs,
                               std::span<const Value> results, std::span<const Value> gradients) {
  using Tensors = std::vector<Tensor<Any>>;
  Tensors given;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const bool reached = i < gradients.size() && gradients[i];
    given.push_back(reached ? Tensor<Any>(gradients[i]) : zeros_like(Tensor<Any>(results[i])));
  }
  std::vector<ArrayType> types;
  for (const Value& input : inputs) types.push_back({input.dtype(), input.shape()});
  const auto rule = [&] {
    return options.gradient(Tensors(inputs.begin(), inputs.end()), Tensors(results.begin(), results.end()), given);
  };
  const Tensors found = ask(options.name, "gradient", rule, types);
  std::vector<Value> out;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const bool castable = i < inputs.size() && found[i].defined() && is_inexact(inputs[i].dtype());
    out.push_back(castable ? core::cast_to(core::resolve(found[i]), inputs[i].dtype()) : Value(found[i]));
  }
  return out;
}

decltype(core::CustomOperator::gradient) gradient_for(const std::shared_ptr<const CustomOptions>& options) {
  if (!options->gradient) return {};
  return [options](std::span<const Value> inputs, std::span<const Value> results, std::span<const Value> gradients) {
    return gradient_by(*options, inputs, results, gradients);
  };
}

}  // namespace

class CustomDefinition {
 public:
  explicit CustomDefinition(CustomOptions options) : options_(std::make_shared<CustomOptions>(std::move(options))) {}

  const CustomOptions& options() const { return *options_; }

  /// The operator for inputs of these types. Equal calls get the same one, so that graphs holding it are equal too.
  Operator for_inputs(std::vector<ArrayType> inputs) {
    if (Operator op = known(inputs)) return op;
    // Not under the lock: the rules are the user's code, which may apply this very operator.
    Known made{std::move(inputs), {}};
    made.op = make(made.inputs);
    const std::lock_guard lock(mutex_);
    for (const Known& other : known_) {
      if (other.inputs == made.inputs) return other.op;
    }
    // Bounded, since shapes may differ at every call.
    constexpr std::size_t most = 32;
    if (known_.size() == most) known_.erase(known_.begin());
    known_.push_back(std::move(made));
    return known_.back().op;
  }

 private:
  struct Known {
    std::vector<ArrayType> inputs;
    Operator op;
  };

  Operator known(const std::vector<ArrayType>& inputs) {
    const std::lock_guard lock(mutex_);
    for (const Known& each : known_) {
      if (each.inputs == inputs) return each.op;
    }
    return nullptr;
  }

  Operator make(const std::vector<ArrayType>& inputs) const {
    const std::string& name = options_->name;
    const std::vector<ArrayType> results = ask(
        name, "rule for results", [&] { return options_->results(inputs); }, inputs);
    if (results.empty()) core::throw_error<GraphError>("'", name, "': the rule for results yields none");
    auto op = std::make_shared<core::CustomOperator>();
    op->name = name;
    for (const ArrayType& result : results) {
      for (const std::int64_t length : result.shape) {
        if (length >= 0) continue;
        core::throw_error<ShapeError>("'", name, "'", listed(inputs), ": a result of shape ", result.shape,
                                      " has a negative length");
      }
      ask(
          name, "result", [&] { return byte_count(result.dtype, result.shape); }, inputs);
      op->results.push_back({result.dtype, result.shape, false});
    }
    op->opencl = source_for(*options_, inputs, results);
    op->host = host_for(options_, inputs, results);
    op->gradient = gradient_for(options_);
    return op;
  }

  std::shared_ptr<const CustomOptions> options_;
  std::mutex mutex_;
  std::vector<Known> known_;
};

}  // namespace tyto::run

namespace tyto TYTO_API {

void* HostOperand::elements(DType asked, const char* role) const {
  if (asked != dtype()) {
    core::throw_error<TypeError>("'", *owner_, "': ", role, " ", index_, " is ", dtype(), shape(), ", asked for as ",
                                 asked);
  }
  return data_;
}

// Public headers do not name tyto::run, since a user's function may have that name.
class CustomOp::Definition : public run::CustomDefinition {
  using CustomDefinition::CustomDefinition;
};

CustomOp::CustomOp(CustomOptions options) {
  if (options.name.empty()) throw ValueError("custom_op: the operator has no name");
  const auto refuse = [&](const char* what) {
    core::throw_error<ValueError>("custom_op: '", options.name, "' ", what);
  };
  if (!options.results) refuse("has no rule for its results");
  if (!options.host && options.opencl.source.empty()) refuse("has neither a host function nor OpenCL source");
  const std::string& kernel = options.opencl.kernel.empty() ? options.name : options.opencl.kernel;
  if (!options.opencl.source.empty() && options.opencl.source.find(kernel) == std::string::npos) {
    core::throw_error<ValueError>("custom_op: the OpenCL source of '", options.name, "' has no kernel '", kernel, "'");
  }
  definition_ = std::make_shared<Definition>(std::move(options));
}

template <class M>
std::vector<Tensor<M>> CustomOp::call(const std::vector<Tensor<M>>& inputs, bool one_result) const {
  const CustomOptions& options = definition_->options();
  if (inputs.size() != options.inputs) {
    core::throw_error<GraphError>("'", options.name, "' takes ", options.inputs,
                                  options.inputs == 1 ? " input" : " inputs", ", given ", inputs.size());
  }
  if (!options.half) {
    const auto as_f32 = [&](const std::vector<Tensor<M>>& wide) { return call(wide, one_result); };
    if (const auto found = core::in_f32(as_f32, inputs)) return *found;
  }
  std::vector<Value> operands;
  std::vector<ArrayType> types;
  for (const Tensor<M>& input : inputs) {
    core::require(options.name, input);
    operands.push_back(core::cast_to(core::resolve(input), input.dtype()));  // numbers take on their own type
    types.push_back({operands.back().dtype(), operands.back().shape()});
  }
  const core::CustomAttributes attributes{definition_->for_inputs(std::move(types))};
  const std::size_t count = attributes.op->results.size();
  if (one_result && count != 1) {
    core::throw_error<GraphError>("'", options.name, "' has ", count, " results: apply() yields them all");
  }
  const core::Mode mode = std::is_same_v<M, Lazy> ? core::Mode::lazy : core::Mode::eager;
  const Value first = operands.empty() ? core::emit(mode, core::OpId::custom, attributes)
                                       : core::emit(core::OpId::custom, attributes, operands);
  std::vector<Tensor<M>> results;
  for (std::uint32_t i = 0; i < count; ++i) results.emplace_back(core::result(first, i));
  return results;
}
template std::vector<Tensor<Eager>> CustomOp::call(const std::vector<Tensor<Eager>>&, bool) const;
template std::vector<Tensor<Lazy>> CustomOp::call(const std::vector<Tensor<Lazy>>&, bool) const;
template std::vector<Tensor<Any>> CustomOp::call(const std::vector<Tensor<Any>>&, bool) const;

CustomOp custom_op(CustomOptions options) { return CustomOp(std::move(options)); }

}  // namespace TYTO_API
