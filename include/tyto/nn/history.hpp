// SPDX-License-Identifier: MIT
// The metrics of a training run, a row an epoch: recorded, written as CSV and for TensorBoard, and drawn on one page of
// curves.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tyto/named.hpp"

namespace tyto {
namespace nn TYTO_API {

class EventFile;

/// Numbers under names, such as {{"test accuracy", 0.93}}.
using Figures = NamedList<double>;

/// Options of TrainingHistory.
struct HistoryOptions {
  std::int64_t every = 0;          ///< a row every so many steps; 0: at the end of each epoch
  std::string csv = {};            ///< file written anew with each row; empty: none
  std::string tensorboard = {};    ///< folder in which a file of events for TensorBoard begins; empty: none
  std::string page = {};           ///< HTML file written anew with each row; empty: none
  std::string title = "Training";  ///< of the page
};

/// Rows of metrics. The first column is the loss: the mean of the steps since the row before.
///
///     nn::TrainingHistory history({.csv = "run.csv", .page = "run.html"});
///     nn::Checkpoint checkpoint;
///     checkpoint.add("history", history);
///     nn::Batches<Tensor> batches(inputs, targets);
///     const auto validate = [&] { return nn::Figures{{"accuracy", accuracy(model)}}; };
///     nn::train(step, batches, {.epochs = 10, .validate = validate, .history = &history});
class TYTO_API TrainingHistory {
 public:
  /// Metrics at one time.
  struct Row {
    std::int64_t epoch = 0;  ///< counted from 1
    std::int64_t step = 0;   ///< of the whole run
    Figures figures;         ///< metrics by name
  };

  explicit TrainingHistory(HistoryOptions options = {});  // without options: TrainingHistory history;

  /// All rows so far.
  const std::vector<Row>& rows() const { return rows_; }
  /// How many steps there were.
  std::int64_t steps() const { return steps_; }

  /// Records the loss of a step; true when a row is due.
  bool add_loss(double loss);
  /// Whether rows end with epochs, not after a number of steps.
  bool ends_with_epoch() const { return options_.every == 0; }
  /// A row of the mean loss since the last one and these metrics, which must be the same each time. Writes the files.
  void add_row(std::int64_t epoch, const Figures& figures);
  /// How many rows have come since the best value of a metric. Throws ValueError when there is no such metric.
  std::int64_t rows_since_best(const std::string& figure, bool larger_is_better) const;

  /// One line for people: "epoch 3  step 240  loss 1.2345  accuracy 0.61".
  std::string last_row() const;
  /// "epoch,step,loss,..." and a line a row, with as many digits as give the numbers back.
  std::string csv() const;
  /// A page without scripts or anything from elsewhere: a curve for each metric, and the rows as a table.
  std::string html() const;

  /// All of it as text, and back; what a checkpoint holds. Throws ValueError for what is no history.
  std::string state() const;
  void restore(const std::string& state);

 private:
  HistoryOptions options_;
  std::shared_ptr<const EventFile> events_;  // since the first row of this object
  std::vector<Row> rows_;
  std::int64_t steps_ = 0;
  double loss_sum_ = 0;  // of the steps since the last row
  std::int64_t loss_count_ = 0;
};

}  // namespace TYTO_API
}  // namespace tyto
