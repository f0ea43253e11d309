// SPDX-License-Identifier: MIT
// The training loop: counts, reports and decides between the steps.
#include "tyto/nn/training.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <limits>

#include "core/device/agreements.hpp"
#include "core/device/process_group.hpp"
#include "core/system/process.hpp"
#include "core/value/text.hpp"
#include "nn/interruption.hpp"
#include "tyto/graph.hpp"
#include "tyto/nn/checkpoint.hpp"
#include "tyto/shaping.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace detail {

double loss_value(const Tensor<Any>& loss) {
  if (loss.size() != 1)
    core::throw_error<ShapeError>("train: the loss must be one number, not of shape ", loss.shape());
  switch (loss.dtype()) {
    case DType::f64: return loss.item<double>();
    case DType::f32: return static_cast<double>(loss.item<float>());
    default: return cast(loss, DType::f64).item<double>();
  }
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::int64_t steps_left(std::int64_t epoch, std::int64_t batches_left, std::int64_t batches_per_epoch,
                        const TrainingOptions& options) {
  if (epoch >= options.epochs) return 0;
  const std::int64_t epochs = options.epochs - epoch;
  // More epochs than i64 can count steps of: only the limit of steps applies.
  if (epochs > std::numeric_limits<std::int64_t>::max() / batches_per_epoch) return options.steps;
  return std::min(options.steps, (epochs - 1) * batches_per_epoch + batches_left);
}

struct TrainingCourse::State {
  TrainingOptions options;
  TrainingHistory own_history;
  std::unique_ptr<ProgressLine> line;
  TrainingReport report;
  double start = seconds_now();
  std::vector<Value> kept;  // of options.keep, before the step
  std::optional<Interruption> interruption;
  bool stops = false;                                    // this process, by after_step or early stopping
  bool has_nan = false;                                  // its loss
  bool has_ended = false;                                // the training of all
  int signal = 0;                                        // that ended it
  std::uint64_t agreements_before = core::agreements();  // this call
  std::int64_t steps_before = 0;                         // of the run

  /// The group that trains together: that in which a step, or what follows one, has communicated.
  std::optional<std::int64_t> group() const { return core::group_that_agreed(agreements_before); }
  int own_signal() const { return interruption ? interruption->signal() : 0; }
  /// Puts back what was kept.
  void restore();
  ValueError nan_error(const std::string& loss, const std::string& step) const;
  void save();
  /// Ends the training of all processes that train together after the same step: where one of them received a signal,
  /// stops or threw an exception. Throws on all of them then.
  void agree_on_end(const std::exception_ptr& thrown = nullptr);
  /// Calls work() and returns what it throws, so that the others can be told. A refused comparison goes through: every
  /// process throws that.
  template <class Work>
  std::exception_ptr thrown_by(const Work& work) const;

  TrainingHistory& history() { return options.history != nullptr ? *options.history : own_history; }
  void note_early_stop() {
    const std::optional<EarlyStop>& early = options.stop_early;
    if (!early || history().rows().empty()) return;
    if (history().rows_since_best(early->figure, early->larger_is_better) >= early->patience) {
      stops = report.stopped_early = true;
    }
  }
};

TrainingCourse::TrainingCourse(const TrainingOptions& options, std::int64_t steps_before, std::int64_t steps_to_come)
    : state_(std::make_unique<State>()) {
  state_->options = options;
  state_->steps_before = steps_before;
  if (options.save.checkpoint == nullptr && !options.save.file.empty()) {
    core::throw_error<ValueError>("train: options.save names the file ", options.save.file, ", but no checkpoint");
  }
  state_->note_early_stop();
  if (options.interruptible) state_->interruption.emplace();
  state_->report.loss = std::numeric_limits<double>::quiet_NaN();
  if (options.progress) state_->line = std::make_unique<ProgressLine>(0, steps_to_come);
  if (options.progress && steps_to_come == 0 && options.steps > 0) {
    std::printf(
        "train: no step is made: .epochs = %lld counts all epochs of the batches, which are through them already\n",
        static_cast<long long>(options.epochs));
  }
}
TrainingCourse::~TrainingCourse() = default;

bool TrainingCourse::goes_on(std::int64_t epoch) const {
  const State& state = *state_;
  if (state.has_ended || state.report.steps >= state.options.steps || epoch >= state.options.epochs) return false;
  // In a group the first step tells whether others wait for this process.
  const bool is_alone = !state.group() && (core::process_group().size() == 1 || state.report.steps > 0);
  return !is_alone || (state.own_signal() == 0 && !state.stops);
}

void TrainingCourse::State::restore() {
  if (kept.empty()) return;
  std::size_t next = 0;
  for (const NamedList<Tensor<Any>>& list : options.keep) {
    for (const Named<Tensor<Any>>& each : list) assign(each.value, Tensor<Any>(kept[next++]));
  }
}

ValueError TrainingCourse::State::nan_error(const std::string& loss, const std::string& step) const {
  return ValueError(core::text(
      "train: ", loss, " is NaN in step ", step,
      kept.empty() ? "; the states are as this step left them, unless options.keep lists those of model and descent"
                   : "; the states that options.keep lists are as they were before this step",
      "; TYTO_NAN=1 in the environment names the operator and layer of the first NaN"));
}

void TrainingCourse::State::agree_on_end(const std::exception_ptr& thrown) {
  const std::optional<std::int64_t> together = group();
  if (!together) {
    if (thrown) std::rethrow_exception(thrown);
    signal = own_signal();
    has_ended = stops || signal != 0;
    return;
  }
  // The largest ends training: a NaN, any other exception, a signal, or that a process stops by itself.
  constexpr std::int64_t exception = 1 << 16, nan = std::int64_t{1} << 32;
  const int rank = core::process_group(0).rank();
  const std::int64_t own = has_nan ? nan + rank : thrown ? exception + rank : 2 * own_signal() + (stops ? 1 : 0);
  std::int64_t largest = own;
  try {
    largest = core::largest_of_all("nn::train after a step", own, *together);
  } catch (const core::DifferentCalls&) {
    if (thrown) std::rethrow_exception(thrown);
    throw;
  }
  if (largest >= nan && !has_nan) restore();
  if (thrown) std::rethrow_exception(thrown);
  if (largest >= nan) {
    throw nan_error(core::text("the loss of rank ", largest - nan), core::text(report.steps, " of this call"));
  }
  if (largest >= exception) {
    core::throw_error<GraphError>("train: rank ", largest - exception,
                                  " threw an exception after this step, which ends the training of all");
  }
  has_ended = largest != 0;
  signal = static_cast<int>(largest / 2);
  if (signal != 0 && interruption) interruption->note_signal_of_other_process(signal);
}

template <class Work>
std::exception_ptr TrainingCourse::State::thrown_by(const Work& work) const {
  try {
    work();
  } catch (const core::DifferentCalls& refused) {
    if (group() == refused.group) throw;
    return std::current_exception();
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

void TrainingCourse::State::save() {
  const SavedRun& run = options.save;
  if (run.checkpoint == nullptr || run.file.empty()) return;
  run.checkpoint->save_together(run.file);
}

// A state that is held is copied before it is written.
void TrainingCourse::begin_step() {
  State& state = *state_;
  state.kept.clear();
  if (!state.options.stop_on_nan) return;
  for (const NamedList<Tensor<Any>>& list : state.options.keep) {
    for (const Named<Tensor<Any>>& each : list) state.kept.push_back(tyto::detail::value_now(each.value));
  }
}

void TrainingCourse::end_step(std::int64_t epoch, double loss) {
  State& state = *state_;
  state.agree_on_end(state.thrown_by([&] { note_step(epoch, loss); }));
}

// Where the call ends is saved by finish().
void TrainingCourse::save_if_due() {
  State& state = *state_;
  const std::int64_t every = state.options.save.every, done = state.steps_before + state.report.steps;
  if (every > 0 && done % every == 0 && !state.has_ended) state.save();
}

void TrainingCourse::note_step(std::int64_t epoch, double loss) {
  State& state = *state_;
  if (std::isnan(loss) && state.options.stop_on_nan) {
    if (state.line) state.line->clear();
    state.restore();
    state.has_nan = true;
    throw state.nan_error("the loss", core::text(state.report.steps + 1, " of this call, in epoch ", epoch + 1));
  }
  state.report.loss = loss;
  ++state.report.steps;
  if (state.line) state.line->show(epoch, state.report.steps, loss);
  if (state.history().add_loss(loss)) add_row(epoch);
  const StepReport now{epoch, state.report.steps, loss};
  if (state.options.after_step && !state.options.after_step(now)) state.stops = true;
}

void TrainingCourse::end_epoch(std::int64_t epoch) {
  State& state = *state_;
  if (!state.history().ends_with_epoch()) return;
  const std::exception_ptr thrown = state.thrown_by([&] { add_row(epoch); });
  // Others may have no row here: whatever they do next fails where this process throws. That it stops can wait until
  // the next step.
  if (thrown) state.agree_on_end(thrown);
}

void TrainingCourse::add_row(std::int64_t epoch) {
  State& state = *state_;
  TrainingHistory& history = state.history();
  if (state.line) state.line->clear();
  history.add_row(epoch, state.options.validate ? state.options.validate() : Figures{});
  if (state.options.progress && (state.options.validate || state.options.history != nullptr)) {
    std::printf("%s\n", history.last_row().c_str());
    std::fflush(stdout);
  }
  state.note_early_stop();
}

TrainingReport TrainingCourse::finish() {
  State& state = *state_;
  state.report.seconds = seconds_now() - state.start;
  state.save();
  if (state.signal == 0) state.agree_on_end();  // a signal that came meanwhile
  state.report.interrupted_by = state.signal;
  return state.report;
}

}  // namespace detail

struct ProgressLine::State {
  bool terminal = false;
  std::int64_t first = 0;
  std::int64_t total = 0;
  double start = 0;
  double shown = 0;
  bool visible = false;
};

ProgressLine::ProgressLine(std::int64_t done, std::int64_t total) : state_(std::make_unique<State>()) {
  state_->terminal = core::prints_to_terminal(stdout);
  state_->first = done;
  state_->total = total;
  state_->start = detail::seconds_now();
  if (!state_->terminal) state_->shown = state_->start;
}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::show(std::int64_t epoch, std::int64_t done, double loss) {
  constexpr double between_looks = 0.1, between_lines = 30;
  const double now = detail::seconds_now();
  const double passed = now - state_->shown;
  if (state_->terminal ? passed < between_looks && done < state_->total : passed < between_lines) return;
  state_->shown = now;
  state_->visible = state_->terminal;
  const double rate = static_cast<double>(done - state_->first) / std::max(now - state_->start, 1e-9);
  const auto left = static_cast<long long>(static_cast<double>(state_->total - done) / rate + 0.5);
  if (state_->terminal) std::fputs("\r\x1b[K", stdout);
  std::printf("epoch %lld  step %lld of %lld  %.1f steps/s  loss %.4f  %lld:%02lld left%s",
              static_cast<long long>(epoch + 1), static_cast<long long>(done), static_cast<long long>(state_->total),
              rate, loss, left / 60, left % 60, state_->terminal ? "" : "\n");
  std::fflush(stdout);
}

void ProgressLine::clear() {
  if (!state_->visible) return;
  std::fputs("\r\x1b[K", stdout);
  std::fflush(stdout);
  state_->visible = false;
}

}  // namespace nn
}  // namespace TYTO_API
