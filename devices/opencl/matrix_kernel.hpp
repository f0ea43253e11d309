// The text of a kernel in which each team has a matrix of every stack, and memory of its own.
#pragma once

#include <cstdint>
#include <string>

#include "core/device.hpp"
#include "devices/opencl/context.hpp"
#include "devices/opencl/kernel_text.hpp"
#include "devices/opencl/launch_plan.hpp"
#include "devices/opencl/team_loop.hpp"

namespace tyto::opencl {

/// Dense matrices one behind the other.
struct MatrixStack {
  std::int64_t count = 1, rows = 1, columns = 1;
};
MatrixStack matrix_stack(const core::Operand& operand);

class MatrixKernel {
 public:
  /// `wide`: the longest row or column that teams work on.
  MatrixKernel(const Context& context, const core::Step& step, std::int64_t count, std::int64_t longest);

  /// An operand, of which `name` is the team's part: so many elements for each matrix, or the whole where none is
  /// given.
  void input(std::size_t which, std::string_view name, std::int64_t elements);
  void output(std::size_t which, std::string_view name, std::int64_t elements);
  /// Memory of the team's own, of elements of the matrices' type, of such parts as these have, or of another one.
  void room(std::string_view name, std::int64_t elements) { room(name, element_, element_size_, elements); }
  void real_room(std::string_view name, std::int64_t elements) { room(name, real_, real_size_, elements); }
  void room(std::string_view name, std::string_view type, std::size_t bytes, std::int64_t elements);
  /// A length.
  void length(std::string_view name, std::int64_t value);
  /// Parts of what the team does, in OpenCL C with @ for the suffix of the matrices' type, ELEMENT and REAL for the
  /// names of it and of its parts, and TEAM for the arguments that tell a function who calls it.
  void run(std::string_view statements) { body_ += statements; }

  LaunchPlan finish();

 private:
  void operand(MemoryArgument::Role role, std::size_t which, const core::Operand& from, std::string_view name,
               std::int64_t elements);

  core::Step step_;
  LaunchPlan plan_;
  TeamLoop team_;
  KernelText kernel_{false};
  std::string element_, real_, suffix_, parts_, body_;
  std::size_t element_size_, real_size_;
};

}  // namespace tyto::opencl
