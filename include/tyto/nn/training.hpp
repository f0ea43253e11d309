// The training loop: a step on each batch, with a line that says how it goes.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>

#include "tyto/nn/batches.hpp"

namespace tyto {
namespace nn TYTO_API {

/// One line on the terminal, written over again: step, steps per second, loss, time left. Writes nothing when the
/// standard output is no terminal.
class TYTO_API ProgressLine {
 public:
  ProgressLine(std::int64_t done, std::int64_t total);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(std::int64_t epoch, std::int64_t done, double loss);
  /// Clears the line, so that something else can be written.
  void clear();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// What is told after each step.
struct StepReport {
  std::int64_t epoch = 0;  ///< of the batch just used
  std::int64_t steps = 0;  ///< made in this call, this one included
  double loss = 0;
};

struct TrainingOptions {
  std::int64_t epochs = 1;  ///< of the data set, those before the batches' position included
  std::int64_t steps = std::numeric_limits<std::int64_t>::max();  ///< at most so many in this call
  bool progress = true;
  /// Called after each step; training stops when it returns false.
  std::function<bool(const StepReport&)> after_step = {};
};

struct TrainingReport {
  std::int64_t steps = 0;
  double seconds = 0;
  double loss = 0;  ///< of the last step
};

namespace detail {
/// A loss of any floating-point type as a number.
double loss_value(const Tensor<Any>& loss);
double seconds_now();
/// `batches_left` in `epoch`, and those of the epochs after it.
std::int64_t steps_left(std::int64_t epoch, std::int64_t batches_left, std::int64_t batches_per_epoch,
                        const TrainingOptions& options);
}  // namespace detail

/// Calls `step(inputs, targets)`, which updates the parameters and returns the loss, on batch after batch, from where
/// the batches stand.
template <class F, class T>
TrainingReport train(F&& step, Batches<T>& batches, const TrainingOptions& options = {}) {
  TrainingReport report;
  const double start = detail::seconds_now();
  const std::int64_t total =
      detail::steps_left(batches.position().epoch, batches.batches_left(), batches.batches_per_epoch(), options);
  std::unique_ptr<ProgressLine> line;
  if (options.progress) line = std::make_unique<ProgressLine>(0, total);
  while (report.steps < options.steps && batches.position().epoch < options.epochs) {
    const std::int64_t epoch = batches.position().epoch;
    const auto batch = batches.next();
    if (!batch) continue;
    report.loss = detail::loss_value(Tensor<Any>(step(batch->first, batch->second).value()));
    ++report.steps;
    if (line) line->show(epoch, report.steps, report.loss);
    if (options.after_step && !options.after_step({epoch, report.steps, report.loss})) break;
  }
  report.seconds = detail::seconds_now() - start;
  return report;
}

}  // namespace TYTO_API
}  // namespace tyto
