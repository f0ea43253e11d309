// SPDX-License-Identifier: MIT
// Runs a program in lazy mode: segments that are compiled and planned, and between them the steps that must see
// elements.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "onnx/program/program.hpp"
#include "tyto/graph.hpp"

namespace tyto::onnx {

/// The data that all sessions of a model share: its segments, and their compiled functions.
class Segments {
 public:
  /// `recording` is held while the program itself is run: recorded, or at once.
  Segments(const Program& program, CompileOptions options, Limits& limits, std::recursive_mutex& recording)
      : program_(program), options_(std::move(options)), limits_(limits), recording_(recording) {}

 private:
  friend class SegmentSession;

  /// Steps that run as one compiled function; where sequences come to it, one for each of their lengths.
  struct Segment {
    std::size_t end = 0;                  // the step behind it
    std::vector<std::int32_t> arguments;  // slots that it reads and that are not known from the start
    std::vector<std::int32_t> results;    // slots that it makes and that later steps or the caller read
    std::map<Layout, std::shared_ptr<const detail::CompiledCore>> functions = {};
  };

  bool runs_at_once(std::size_t step);
  std::shared_ptr<Segment> segment_at(std::size_t begin);
  std::shared_ptr<const detail::CompiledCore> function_of(Segment& segment, const Layout& layout);
  /// The step was found to need elements of what the segment that begins there computes.
  void cut(std::size_t begin, std::size_t step);
  std::shared_ptr<Segment> made_segment(std::size_t begin, std::size_t end) const;

  const Program& program_;
  CompileOptions options_;
  Limits& limits_;
  std::recursive_mutex& recording_;
  std::mutex mutex_;               // of what follows
  std::set<std::size_t> at_once_;  // steps that were found to need elements of what is computed; none is foreseen
  std::map<std::size_t, std::shared_ptr<Segment>> segments_;  // by first step
};

/// One thread's way to run them.
class SegmentSession {
 public:
  explicit SegmentSession(Segments& shared) : shared_(shared) {}

  /// Runs the whole program: `start` adds the inputs to what is known, `finish` reads the outputs.
  void run(const std::function<Slots(Slots)>& start, const std::function<void(const Slots&)>& finish);

  /// How often it recorded and compiled steps so far.
  std::size_t recordings() const { return recordings_; }

  /// The largest plan among the segments of the last run.
  const MemoryPlan& plan() const;
  std::vector<GraphReport> reports() const;

 private:
  void run_segment(std::size_t begin, Segments::Segment& segment);
  void run_at_once(std::size_t step);

  Segments& shared_;
  std::map<std::shared_ptr<const detail::CompiledCore>, detail::CompiledCore> functions_;
  std::map<std::size_t, const detail::CompiledCore*> last_;  // of the last run, by first step
  std::atomic<bool> running_ = false;
  std::size_t recordings_ = 0;
  // Lists of a run, kept for their memory.
  Slots slots_;
  std::vector<Operand> operands_;
  Layout layout_;
  std::vector<Value> values_;
};

}  // namespace tyto::onnx
