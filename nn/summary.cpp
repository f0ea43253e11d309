// SPDX-License-Identifier: MIT
// Summarises a model: observes its calls while it is recorded, and reads memory and arithmetic from its plan and steps.
#include "tyto/nn/summary.hpp"

#include <algorithm>
#include <cstdlib>
#include <iomanip>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <sstream>

#include "core/graph/label.hpp"
#include "core/value/text.hpp"
#include "nn/distinct_states.hpp"
#include "nn/running_call.hpp"
#include "tyto/graph.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace {

struct RecordedCall {
  const Module* module;
  int depth;
  std::optional<Shape> input;  // none where there are several
  DType dtype;
  std::optional<Shape> output = {};
};

/// Notes the calls, and labels what each records with its number where that is wanted.
class Notes final : public detail::CallObserver {
 public:
  enum class Labels : std::uint8_t { numbers, none };
  explicit Notes(Labels labels) : labels_(labels) {}

  Tensor<Any> call(const Module& module, const Tensor<Any>& x, const std::function<Tensor<Any>()>& function) override {
    const std::size_t number = calls.size();
    if (x.defined()) calls.push_back({&module, depth_, x.shape(), x.dtype()});
    else calls.push_back({&module, depth_, {}, {}});
    std::optional<NameScope> scope;
    if (labels_ == Labels::numbers) scope.emplace(core::text("#", number));
    ++depth_;
    failed = number;
    const Tensor<Any> y = function();
    --depth_;
    if (y.defined()) calls[number].output = y.shape();
    return y;
  }

  std::vector<RecordedCall> calls;
  std::size_t failed = 0;  // the innermost call that throws

 private:
  Labels labels_;
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

using Paths = std::map<const Module*, std::string>;

Paths paths_in(const Layer& model) {
  Paths paths;
  model.visit([&](const std::string& path, const Module& module) { paths.emplace(&module, path); });
  return paths;
}

/// "  linear5 Linear", further to the right the deeper it stands.
std::string row_name(const std::string& path, const std::string& kind, int depth) {
  const std::size_t point = path.rfind('.');
  const std::string own = point == std::string::npos ? path : path.substr(point + 1);
  return std::string(static_cast<std::size_t>(2 * depth), ' ') + own + (own.empty() ? "" : " ") + kind;
}

using Row = std::vector<std::string>;

/// The first column to the left, the others to the right.
void write_table(std::ostream& out, const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows[0].size(), 0);
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - row[i].size(), ' ');
      if (i == 0) out << row[i] << blanks;
      else out << "  " << blanks << row[i];
    }
    out << '\n';
  }
}

/// The calls up to the one that failed, which has no output, nor has any around it.
std::string table_until_failure(const std::vector<RecordedCall>& calls, std::size_t failed, const Paths& paths) {
  std::vector<Row> rows{{"layer", "input", "output"}};
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const RecordedCall& call = calls[i];
    const auto path = paths.find(call.module);
    rows.push_back({row_name(path == paths.end() ? "" : path->second, class_name(*call.module), call.depth),
                    call.input ? to_string(*call.input) : "",
                    call.output   ? to_string(*call.output)
                    : i == failed ? "fails"
                                  : ""});
  }
  std::ostringstream out;
  write_table(out, rows);
  return out.str();
}

using Lazily = Tensor<Lazy>;

/// Throws what the model throws, with the calls up to there.
void require_works(const Layer& model, const Lazily& x) {
  Notes notes(Notes::Labels::none);
  try {
    model(x);
  } catch (const Error& error) {
    core::rethrow_with_message(
        core::text("summary: ", error.what(), '\n', table_until_failure(notes.calls, notes.failed, paths_in(model))));
  }
}

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

}  // namespace

Summary summary(const Layer& model, const Shape& input, DType dtype) {
  const Lazily x = Lazily::placeholder(input, dtype, "x");
  require_works(model, x);
  Summary out;
  std::vector<RecordedCall> calls;
  {
    Notes notes(Notes::Labels::numbers);
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
  const Paths paths = paths_in(model);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    LayerSummary& row = out.layers[i];
    const auto path = paths.find(calls[i].module);
    row.name = path == paths.end() ? std::string() : path->second;
    row.kind = class_name(*calls[i].module);
    row.depth = calls[i].depth;
    row.output = calls[i].output;
    row.parameters = parameter_count(*calls[i].module);
    if (!calls[i].input) continue;
    const MemoryPlan plan = plan_of(dynamic_cast<const Layer&>(*calls[i].module), *calls[i].input, calls[i].dtype);
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
  out.planned_bytes = *out.layers[0].planned_bytes;
  return out;
}

std::ostream& operator<<(std::ostream& out, const Summary& summary) {
  std::vector<Row> rows{{"layer", "output", "parameters", "planned", "multiply-adds"}};
  for (const LayerSummary& layer : summary.layers) {
    rows.push_back({row_name(layer.name, layer.kind, layer.depth), layer.output ? to_string(*layer.output) : "",
                    layer.parameters == 0 ? "" : std::to_string(layer.parameters),
                    layer.planned_bytes ? core::bytes_in_words(*layer.planned_bytes) : "",
                    layer.multiply_adds == 0 ? "" : with_thousands(layer.multiply_adds)});
  }
  write_table(out, rows);
  out << summary.parameters << " parameters, " << summary.trained_parameters << " of them trained; states of "
      << core::bytes_in_words(summary.state_bytes) << "; plan of " << core::bytes_in_words(summary.planned_bytes)
      << " (bound " << core::bytes_in_words(summary.bound_bytes) << "); " << with_thousands(summary.multiply_adds)
      << " multiply-adds\n";
  return out;
}

std::ostream& operator<<(std::ostream& out, const Module& model) {
  std::vector<std::pair<std::string, std::string>> rows;  // a layer, its states
  model.visit([&](const std::string& path, const Module& module) {
    std::string states;
    for (const Member& member : module.members()) {
      if (!member.state().defined()) continue;
      states += core::text(states.empty() ? "" : ", ", member.name(), ' ', member.state().shape());
    }
    rows.emplace_back(path.empty() ? class_name(module) : "  " + path + " " + class_name(module), std::move(states));
  });
  std::size_t width = 0;
  for (const auto& row : rows) width = std::max(width, row.first.size());
  for (const auto& [layer, states] : rows) {
    out << layer;
    if (!states.empty()) out << std::string(width - layer.size() + 2, ' ') << states;
    out << '\n';
  }
  return out << parameter_count(model) << " parameters\n";
}

}  // namespace nn
}  // namespace TYTO_API
