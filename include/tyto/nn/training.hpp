// SPDX-License-Identifier: MIT
// The training loop: runs a step on each batch, prints its progress, and records a history of metrics.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "tyto/graph.hpp"
#include "tyto/named.hpp"
#include "tyto/nn/batches.hpp"
#include "tyto/nn/history.hpp"
#include "tyto/nn/layer.hpp"
#include "tyto/tensor.hpp"

namespace tyto {
namespace nn TYTO_API {

class Checkpoint;

/// One line on the terminal, written over again: step, steps per second, loss, time left. Where the standard output is
/// no terminal, a line every 30 seconds.
class TYTO_API ProgressLine {
 public:
  ProgressLine(std::int64_t done, std::int64_t total);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Writes the line anew where it is time for it.
  void show(std::int64_t epoch, std::int64_t done, double loss);
  /// Clears the line, so that something else can be written.
  void clear();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Progress as reported after each step.
struct StepReport {
  std::int64_t epoch = 0;  ///< of the batch just used
  std::int64_t steps = 0;  ///< made in this call, this one included
  double loss = 0;         ///< of this step
};

/// Early stopping: training ends once a metric was no better than its best for `patience` rows of the history, at once
/// where those of the checkpoint that a run goes on from say so (processes agree on it after a step).
struct EarlyStop {
  std::string figure = "loss";    ///< the metric that is watched
  std::int64_t patience = 5;      ///< rows without a better value
  bool larger_is_better = false;  ///< whether the metric should grow
};

/// A checkpoint, its file, and how often `train` writes it.
struct SavedRun {
  const Checkpoint* checkpoint = nullptr;  ///< all that the run needs
  std::string file = {};                   ///< empty: nothing is written
  std::int64_t every = 0;                  ///< steps of the run between two writings; 0: at the call's end alone
};

/// Options of `train`.
struct TrainingOptions {
  std::int64_t epochs = 1;  ///< of the data set, those before the batches' position included
  std::int64_t steps = std::numeric_limits<std::int64_t>::max();  ///< at most so many in this call
  bool progress = true;  ///< a line on the terminal, and one for each row of the history where something fills it
  /// Called after each step; training stops when it returns false.
  std::function<bool(const StepReport&)> after_step = {};
  /// Computes validation metrics, such as the accuracy on pictures held back, for each row of the history.
  std::function<Figures()> validate = {};
  /// Records the loss of each step and what `validate` yields. One that a checkpoint holds goes on when it is loaded.
  TrainingHistory* history = nullptr;
  /// The checkpoint that is written now and then and at the end, also of a run that was interrupted or stopped early.
  /// Among processes that train together the first one writes it.
  ///
  ///     nn::Checkpoint checkpoint;
  ///     checkpoint.add("model", model.named_states());
  ///     nn::TrainingOptions options{.epochs = 12, .save = {&checkpoint, "run.npz", 50}};
  SavedRun save = {};
  /// Early stopping; none if left out.
  std::optional<EarlyStop> stop_early = {};
  /// A NaN loss ends training by a ValueError, before it is reported or anything saved; false: training goes on.
  bool stop_on_nan = true;
  /// The first SIGINT (Ctrl-C) or SIGTERM ends training after the current step, and its epoch where that was the last
  /// batch; TrainingReport::interrupted_by names it; a second one ends the program at once, unless it is the same
  /// within half a second. Signals that the program ignores or handles itself stay its own. Processes that train
  /// together end after the same step, whichever of them received the signal or stopped by itself.
  bool interruptible = true;
  /// States that get their values from before the step back when its loss is NaN: those of the model and of the
  /// descent. They are held twice while a step runs.
  ///
  ///     nn::TrainingOptions options;
  ///     options.keep = {model.named_states(), descent.state(model.named_parameters())};
  std::vector<NamedList<Tensor<Any>>> keep = {};
};

/// Report of a call of train().
struct TrainingReport {
  std::int64_t steps = 0;      ///< made in this call
  double seconds = 0;          ///< time taken
  double loss = 0;             ///< of the last step; NaN where none was made
  bool stopped_early = false;  ///< by `stop_early`
  int interrupted_by = 0;      ///< SIGINT or SIGTERM that ended it, or came as it ended; 0: neither
};

namespace detail {
/// A loss of any floating-point type as a number.
double loss_value(const Tensor<Any>& loss);
double seconds_now();
/// `batches_left` in `epoch`, and those of the epochs after it.
std::int64_t steps_left(std::int64_t epoch, std::int64_t batches_left, std::int64_t batches_per_epoch,
                        const TrainingOptions& options);

/// One call of train() without its data and its step: counts, progress, history, checkpoints, and when to stop.
class TYTO_API TrainingCourse {
 public:
  /// `steps_before` of the run were made before this call, by the position of its batches; it makes `steps_to_come`.
  TrainingCourse(const TrainingOptions& options, std::int64_t steps_before, std::int64_t steps_to_come);
  ~TrainingCourse();
  TrainingCourse(const TrainingCourse&) = delete;
  TrainingCourse& operator=(const TrainingCourse&) = delete;

  bool goes_on(std::int64_t epoch) const;
  void begin_step();
  void end_step(std::int64_t epoch, double loss);
  void end_epoch(std::int64_t epoch);
  void save_if_due();
  TrainingReport finish();

 private:
  struct State;
  void note_step(std::int64_t epoch, double loss);
  void add_row(std::int64_t epoch);

  std::unique_ptr<State> state_;
};

template <class F, class T>
constexpr bool is_training_step = !std::is_base_of_v<Layer, F> && requires(F & step, const T& batch) {
  step(batch, batch).value();
};
// A compiled function says itself what it takes.
template <class F, class T>
constexpr bool is_training_step<Compiled<F>, T> = !requires {
  requires std::is_void_v<std::invoke_result_t<F&, T, T>>;
};
}  // namespace detail

/// Calls `step(inputs, targets)`, which updates the parameters and returns the loss, on batch after batch, from where
/// the batches stand. An epoch ends, with its row of the history, once its last batch was trained, whatever ends the
/// call.
template <class F, class T>
TrainingReport train(F&& step, Batches<T>& batches, const TrainingOptions& options = {}) {
  constexpr bool is_step = detail::is_training_step<std::remove_cvref_t<F>, T>;
  static_assert(is_step, "train calls step(inputs, targets), which updates the parameters and returns the loss");
  if constexpr (is_step) {
    const std::int64_t epochs = batches.position().epoch, left = batches.batches_left(),
                       all = batches.batches_per_epoch();
    detail::TrainingCourse course(options, (epochs + 1) * all - left, detail::steps_left(epochs, left, all, options));
    while (course.goes_on(batches.position().epoch)) {
      const std::int64_t epoch = batches.position().epoch;
      const auto batch = batches.next();
      if (batch) {
        course.begin_step();
        // A compiled function that does not take such a batch asserts so and returns void: one error is enough.
        if constexpr (!std::is_void_v<decltype(step(batch->first, batch->second))>) {
          course.end_step(epoch, detail::loss_value(Tensor<Any>(step(batch->first, batch->second).value())));
        }
      }
      if (batches.batches_left() == 0) (void)batches.next();
      if (batches.position().epoch != epoch) course.end_epoch(epoch);
      course.save_if_due();
    }
    return course.finish();
  }
}

}  // namespace TYTO_API
}  // namespace tyto
