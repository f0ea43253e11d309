// SPDX-License-Identifier: MIT
// Builds the text of one kernel together with the list of arguments that it will be launched with.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "core/device/device.hpp"
#include "core/value/text.hpp"
#include "devices/opencl/runtime/launch_plan.hpp"
#include "devices/opencl/text/element_types.hpp"

namespace tyto::opencl {

inline void replace_all(std::string& in, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = in.find(what, at)) != std::string::npos; at += by.size()) {
    in.replace(at, what.size(), by);
  }
}

class KernelText {
 public:
  using Role = MemoryArgument::Role;

  /// Index arithmetic is in long, or in int where `narrow_indices` says that every index fits.
  explicit KernelText(bool narrow_indices) : index_(narrow_indices ? "int" : "long") {}

  /// The type of indices.
  const char* index() const { return index_; }

  /// Memory of elements of a type, named `name` in the body.
  void memory(Role role, std::size_t which, const core::Operand& operand, std::string_view name) {
    memory(role, which, storage_name(operand.dtype), size_of(operand.dtype), operand.view.offset, name);
  }
  void memory(Role role, std::size_t which, std::string_view type, std::size_t element_bytes, std::int64_t offset,
              std::string_view name) {
    const char* constant = role == Role::input ? "const " : "";
    parameter(core::text(constant, "global ", type, "* restrict ", name, "_base"),
              MemoryArgument{role, which, element_bytes, offset});
    parameters_ += core::text(", const long ", name, "_offset");
    line(core::text("  ", constant, "global ", type, "* restrict ", name, " = ", name, "_base + ", name, "_offset;"));
  }

  /// A size or a stride. The name stands for it in the body. Past what every driver takes it becomes a constant of the
  /// text, and shapes no longer share the kernel.
  void number(std::string_view name, std::int64_t value) {
    if (launch_.arguments.size() >= most_arguments) {
      line(core::text("  const ", index_, " ", name, " = ", value, ";"));
    } else if (std::string_view(index_) == "int") {
      parameter(core::text("const int ", name), static_cast<std::int32_t>(value));
    } else {
      parameter(core::text("const long ", name), value);
    }
  }
  /// Any other constant, as an argument of its C type.
  void constant(std::string_view type, std::string_view name, const Argument& value) {
    parameter(core::text("const ", type, " ", name), value);
  }

  /// Numbers known when the step is prepared, elements of `type`.
  void table(std::string_view type, std::string_view name, Table contents) {
    parameter(core::text("const global ", type, "* restrict ", name), TableArgument{launch_.tables.size()});
    launch_.tables.push_back(std::move(contents));
  }

  /// Where note_fault and position_in note what is wrong, called `faults` in the body.
  void faults() { parameter("volatile global int* faults", FaultsArgument{}); }

  void line(std::string_view text) { body_.append(text).append("\n"); }

  /// An item a task, whose number is `task`. Needs wide indices.
  void item_a_task(std::int64_t tasks) {
    line("  const long task = get_global_id(0);");
    launch_.global[0] = static_cast<std::size_t>(tasks);
    launch_.local[0] = 0;
  }

  /// Opens a loop over `task`, which a `}` closes: every item takes a run of so many of the `tasks` tasks that no more
  /// than `items` items are needed. Needs wide indices.
  void distribute(std::int64_t tasks, std::int64_t items) {
    const std::int64_t most = std::clamp<std::int64_t>(items, 1, tasks);
    const std::int64_t share = (tasks + most - 1) / most;
    number("tasks", tasks);
    number("share", share);
    line("  const long first = (long)get_global_id(0) * share;");
    line("  const long past = min(first + share, tasks);");
    line("  for (long task = first; task < past; ++task) {");
    launch_.global[0] = static_cast<std::size_t>((tasks + share - 1) / share);
  }

  /// The whole kernel. `attributes` stand before it. A product and the sum that it goes into are rounded separately, as
  /// they are when they are kernels of their own; what is to be rounded once says fma.
  KernelLaunch finish(std::string_view attributes = "") {
    launch_.source = core::text("kernel ", attributes, "void KERNEL(", parameters_,
                                ") {\n#pragma OPENCL FP_CONTRACT OFF\n", body_, "}\n");
    return std::move(launch_);
  }

 private:
  // A parameter list of 1024 bytes is the least that OpenCL 1.2 promises; memory counts twice.
  static constexpr std::size_t most_arguments = 72;

  void parameter(const std::string& text, const Argument& argument) {
    if (!parameters_.empty()) parameters_ += ", ";
    parameters_ += text;
    launch_.arguments.push_back(argument);
  }

  const char* index_;
  std::string parameters_;
  std::string body_;
  KernelLaunch launch_;
};

}  // namespace tyto::opencl
