// SPDX-License-Identifier: MIT
// Stores, compares and prints rows of metrics.
#include "tyto/nn/history.hpp"

#include <charconv>
#include <cmath>
#include <fstream>

#include "core/system/number_text.hpp"
#include "core/system/path.hpp"
#include "core/value/text.hpp"
#include "nn/curves_page.hpp"
#include "nn/event_file.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace {

/// The shortest decimal text that is read back as the same number.
std::string shortest(double number) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  return {digits, end};
}

std::string rounded(double number) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, number, std::chars_format::general, 5).ptr;
  return {digits, end};
}

/// A field of CSV: in quotes where it must be (RFC 4180).
std::string field(const std::string& words) {
  if (words.find_first_of(",\"\n") == std::string::npos) return words;
  std::string quoted = "\"";
  for (const char letter : words) quoted += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  return quoted + "\"";
}

void write_text(const std::string& path, const std::string& contents) {
  std::ofstream file(core::path_of(path), std::ios::binary);
  file << contents;
  file.close();
  if (!file) core::throw_error<IoError>(path, ": cannot be written");
}

/// Reads the text of state() piece by piece.
class StateReader {
 public:
  explicit StateReader(const std::string& from) : rest_(from) {}

  template <class Number>
  Number number() {
    const std::string_view word = up_to(' ');
    Number value{};
    const auto [end, error] = core::number_from(word, value);
    if (error != std::errc() || end != word.data() + word.size()) refuse();
    return value;
  }
  std::int64_t count() {
    const auto value = number<std::int64_t>();
    if (value < 0) refuse();
    return value;
  }
  std::string name() {
    const auto length = static_cast<std::size_t>(count());
    if (length >= rest_.size()) refuse();
    std::string word(rest_.substr(0, length));
    rest_.remove_prefix(length + 1);
    return word;
  }
  void expect_end() const {
    if (!rest_.empty()) refuse();
  }

 private:
  [[noreturn]] static void refuse() { throw ValueError("TrainingHistory: what is to be restored is no history"); }
  std::string_view up_to(char end) {
    const std::size_t at = rest_.find(end);
    if (at == std::string_view::npos) refuse();
    const std::string_view word = rest_.substr(0, at);
    rest_.remove_prefix(at + 1);
    return word;
  }

  std::string_view rest_;
};

}  // namespace

TrainingHistory::TrainingHistory(HistoryOptions options) : options_(std::move(options)) {
  if (options_.every < 0)
    core::throw_error<ValueError>("TrainingHistory: every = ", options_.every, " must be at least 0");
}

bool TrainingHistory::add_loss(double loss) {
  ++steps_;
  loss_sum_ += loss;
  ++loss_count_;
  return options_.every > 0 && steps_ % options_.every == 0;
}

void TrainingHistory::add_row(std::int64_t epoch, const Figures& figures) {
  Row row{
      epoch + 1, steps_, {{"loss", loss_count_ == 0 ? std::nan("") : loss_sum_ / static_cast<double>(loss_count_)}}};
  row.figures.insert(row.figures.end(), figures.begin(), figures.end());
  if (!rows_.empty()) {
    const Figures& before = rows_.back().figures;
    bool equal = before.size() == row.figures.size();
    for (std::size_t i = 0; equal && i < before.size(); ++i) equal = before[i].name == row.figures[i].name;
    if (!equal) {
      core::throw_error<ValueError>("TrainingHistory: the figures of epoch ", row.epoch,
                                    " have other names than those before");
    }
  }
  rows_.push_back(std::move(row));
  loss_sum_ = 0;
  loss_count_ = 0;
  if (!options_.csv.empty()) write_text(options_.csv, csv());
  if (!options_.page.empty()) write_text(options_.page, html());
  if (options_.tensorboard.empty()) return;
  if (!events_) events_ = std::make_shared<const EventFile>(options_.tensorboard);
  events_->add(rows_.back().step, rows_.back().figures);
}

std::int64_t TrainingHistory::rows_since_best(const std::string& figure, bool larger_is_better) const {
  std::size_t best = 0;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const double* value = rows_[i].figures.find(figure);
    if (value == nullptr) {
      std::string names;
      for (const Named<double>& each : rows_[i].figures) names += (names.empty() ? "" : ", ") + each.name;
      core::throw_error<ValueError>("TrainingHistory: no figure is called '", figure, "' among ", names);
    }
    const double least = *rows_[best].figures.find(figure);
    // A figure that is no number is no improvement, and any number is one on it.
    if (larger_is_better ? *value > least : *value < least) best = i;
    else if (std::isnan(least) && !std::isnan(*value)) best = i;
  }
  return rows_.empty() ? 0 : static_cast<std::int64_t>(rows_.size() - 1 - best);
}

std::string TrainingHistory::last_row() const {
  if (rows_.empty()) return {};
  const Row& row = rows_.back();
  std::string line = core::text("epoch ", row.epoch, "  step ", row.step);
  for (const Named<double>& figure : row.figures) line += "  " + figure.name + " " + rounded(figure.value);
  return line;
}

std::string TrainingHistory::csv() const {
  std::string out = "epoch,step";
  if (rows_.empty()) return out + ",loss\n";
  for (const Named<double>& figure : rows_[0].figures) out += "," + field(figure.name);
  out += "\n";
  for (const Row& row : rows_) {
    out += core::text(row.epoch, ",", row.step);
    for (const Named<double>& figure : row.figures) out += "," + shortest(figure.value);
    out += "\n";
  }
  return out;
}

std::string TrainingHistory::html() const { return curves_page(options_.title, rows_); }

std::string TrainingHistory::state() const {
  std::string out = core::text(steps_, " ", shortest(loss_sum_), " ", loss_count_, " ", rows_.size(), " ");
  for (const Row& row : rows_) {
    out += core::text(row.epoch, " ", row.step, " ", row.figures.size(), " ");
    for (const Named<double>& figure : row.figures) {
      out += core::text(figure.name.size(), " ", figure.name, " ", shortest(figure.value), " ");
    }
  }
  return out;
}

void TrainingHistory::restore(const std::string& state) {
  StateReader reader(state);
  TrainingHistory read(options_);
  read.steps_ = reader.count();
  read.loss_sum_ = reader.number<double>();
  read.loss_count_ = reader.count();
  for (std::int64_t rows = reader.count(); rows > 0; --rows) {
    Row row;
    row.epoch = reader.count();
    row.step = reader.count();
    for (std::int64_t figures = reader.count(); figures > 0; --figures) {
      std::string name = reader.name();
      row.figures.push_back({std::move(name), reader.number<double>()});
    }
    read.rows_.push_back(std::move(row));
  }
  reader.expect_end();
  read.events_ = std::move(events_);
  *this = std::move(read);
}

}  // namespace nn
}  // namespace TYTO_API
