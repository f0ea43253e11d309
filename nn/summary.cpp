// A model looked at from outside: its calls are observed while it is recorded, its plan and its steps tell the rest.
#include "tyto/nn/summary.hpp"

#include <algorithm>
#include <cstdlib>
#include <iomanip>
#include <map>
#include <ostream>
#include <set>

#include "core/value/text.hpp"
#include "nn/distinct_states.hpp"
#include "nn/running_call.hpp"
#include "tyto/graph.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace {

struct RecordedCall {
  const Layer* layer;
  int depth;
  Shape input;
  DType dtype;
  Shape output;
};

/// Notes the calls, and labels what each records with its number.
class Notes final : public detail::CallObserver {
 public:
  Tensor<Any> call(const Layer& layer, const Tensor<Any>& x, const std::function<Tensor<Any>()>& forward) override {
    const std::size_t number = calls.size();
    calls.push_back({&layer, depth_, x.shape(), x.dtype(), {}});
    const NameScope scope(core::text("#", number));
    ++depth_;
    const Tensor<Any> y = forward();
    --depth_;
    calls[number].output = y.shape();
    return y;
  }

  std::vector<RecordedCall> calls;

 private:
  int depth_ = 0;
};

/// Calls by number that a label "#0/#3/#4" stands in.
std::vector<std::size_t> calls_in(const std::string& label) {
  std::vector<std::size_t> numbers;
  for (std::size_t at = label.find('#'); at != std::string::npos; at = label.find('#', at + 1)) {
    numbers.push_back(static_cast<std::size_t>(std::strtoull(label.c_str() + at + 1, nullptr, 10)));
  }
  return numbers;
}

using Lazily = Tensor<Lazy>;

MemoryPlan plan_of(const Layer& layer, const Shape& shape, DType dtype) {
  const Lazily x = Lazily::placeholder(shape, dtype, "x");
  const Lazily y = layer(x);
  if (same_value(x.value(), y.value())) return {};
  Graph graph({.inputs = {x}, .outputs = {y}});
  return graph.plan();
}

std::string with_thousands(std::int64_t count) {
  static const std::vector<const char*> thousands{"", " k", " M", " G", " T"};
  auto number = static_cast<double>(count);
  std::size_t power = 0;
  for (; number >= 1000 && power + 1 < thousands.size(); ++power) number /= 1000;
  std::ostringstream out;
  out << std::fixed << std::setprecision(power == 0 ? 0 : 2) << number << thousands[power];
  return out.str();
}

std::string bytes_as_text(std::size_t bytes) {
  std::ostringstream out;
  if (bytes < 1024) out << bytes << " B";
  else if (bytes < 1024 * 1024)
    out << std::fixed << std::setprecision(1) << static_cast<double>(bytes) / 1024 << " KiB";
  else out << std::fixed << std::setprecision(1) << static_cast<double>(bytes) / (1024 * 1024) << " MiB";
  return out.str();
}

}  // namespace

Summary summary(const Layer& model, const Shape& input, DType dtype) {
  const Lazily x = Lazily::placeholder(input, dtype, "x");
  Summary out;
  std::vector<RecordedCall> calls;
  {
    Notes notes;
    const Lazily y = model(x);
    calls = std::move(notes.calls);
    if (!same_value(x.value(), y.value())) {
      // Without passes every step is that of one line of one layer.
      Graph steps({.inputs = {x}, .outputs = {y}}, {.passes = "none"});
      steps.set(x, Lazily::zeros(input, dtype));
      out.layers.resize(calls.size());
      for (const StepProfile& step : steps.profile().steps) {
        for (const std::size_t call : calls_in(step.label)) out.layers[call].multiply_adds += step.multiply_adds;
      }
    }
  }
  out.layers.resize(calls.size());
  std::map<const Module*, std::string> paths;
  model.visit([&](const std::string& path, const Module& module) { paths.emplace(&module, path); });
  for (std::size_t i = 0; i < calls.size(); ++i) {
    LayerSummary& row = out.layers[i];
    const auto path = paths.find(calls[i].layer);
    row.name = path == paths.end() ? std::string() : path->second;
    row.kind = class_name(*calls[i].layer);
    row.depth = calls[i].depth;
    row.output = calls[i].output;
    row.parameters = parameter_count(*calls[i].layer);
    const MemoryPlan plan = plan_of(*calls[i].layer, calls[i].input, calls[i].dtype);
    row.planned_bytes = static_cast<std::size_t>(plan.height);
    if (i == 0) out.bound_bytes = static_cast<std::size_t>(plan.bound);
  }
  out.parameters = parameter_count(model);
  for (const Tensor<Any>& parameter : model.parameters()) out.trained_parameters += parameter.size();
  DistinctStates counted;
  for (const Named<Tensor<Any>>& state : model.named_states()) {
    if (!counted.add(state.value)) continue;
    out.state_bytes += static_cast<std::size_t>(state.value.size()) * size_of(state.value.dtype());
  }
  out.multiply_adds = out.layers[0].multiply_adds;
  out.planned_bytes = out.layers[0].planned_bytes;
  return out;
}

std::ostream& operator<<(std::ostream& out, const Summary& summary) {
  std::vector<std::vector<std::string>> rows{{"layer", "output", "parameters", "planned", "multiply-adds"}};
  for (const LayerSummary& layer : summary.layers) {
    const std::size_t point = layer.name.rfind('.');
    const std::string own = point == std::string::npos ? layer.name : layer.name.substr(point + 1);
    rows.push_back(
        {std::string(static_cast<std::size_t>(2 * layer.depth), ' ') + own + (own.empty() ? "" : " ") + layer.kind,
         to_string(layer.output), layer.parameters == 0 ? "" : std::to_string(layer.parameters),
         bytes_as_text(layer.planned_bytes), layer.multiply_adds == 0 ? "" : with_thousands(layer.multiply_adds)});
  }
  std::vector<std::size_t> widths(rows[0].size(), 0);
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - row[i].size(), ' ');
      if (i == 0) out << row[i] << blanks;
      else out << "  " << blanks << row[i];
    }
    out << '\n';
  }
  out << summary.parameters << " parameters, " << summary.trained_parameters << " of them trained; states of "
      << bytes_as_text(summary.state_bytes) << "; plan of " << bytes_as_text(summary.planned_bytes) << " (bound "
      << bytes_as_text(summary.bound_bytes) << "); " << with_thousands(summary.multiply_adds) << " multiply-adds\n";
  return out;
}

}  // namespace nn
}  // namespace TYTO_API
