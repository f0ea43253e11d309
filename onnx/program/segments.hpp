// SPDX-License-Identifier: MIT
// A program run in lazy mode: segments that are compiled and planned, and between them the steps that must see
// elements.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "onnx/program/program.hpp"
#include "tyto/graph.hpp"

namespace tyto::onnx {

class Segments {
 public:
  Segments(const Program& program, CompileOptions options, Limits& limits)
      : program_(program), options_(std::move(options)), limits_(limits) {}

  /// Runs the whole program; slots hold the inputs, and then the outputs.
  void run(Slots& slots);

  /// How often steps were recorded and compiled so far.
  std::size_t recordings() const { return recordings_; }

  /// Of the last run: the plan of the segment with the largest one.
  const MemoryPlan& plan() const;
  std::vector<GraphReport> reports() const;

 private:
  /// Steps that run as one compiled function; where sequences come to it, one for each of their lengths.
  struct Segment {
    std::map<Layout, detail::CompiledCore> functions;
    detail::CompiledCore* last = nullptr;
    std::vector<std::int32_t> arguments;  // slots that it reads and that are not known from the start
    std::vector<std::int32_t> results;    // slots that it makes and that later steps or the caller read
  };
  std::unique_ptr<Segment> segment_of(std::size_t begin, std::size_t end) const;
  void run_segment(Slots& slots, std::size_t begin, std::size_t end);
  void run_at_once(Slots& slots, std::size_t step);

  const Program& program_;
  CompileOptions options_;
  Limits& limits_;
  std::size_t recordings_ = 0;
  std::set<std::size_t> at_once_;  // steps that were found to need elements of what is computed; none is foreseen
  std::map<std::size_t, std::unique_ptr<Segment>> segments_;  // by first step
};

}  // namespace tyto::onnx
