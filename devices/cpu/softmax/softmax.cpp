// softmax and log_softmax along an axis.
#include <algorithm>

#include "core/op_ids.hpp"
#include "devices/cpu/instruction_set.hpp"
#include "devices/cpu/kernels.hpp"
#include "devices/cpu/softmax/softmax_loops.hpp"
#include "devices/cpu/walk.hpp"

namespace tyto::cpu {

namespace {

using core::OpId;

SoftmaxLoops loops_for(bool logarithm, DType dtype) {
#if defined(TYTO_HAVE_X86_ISA)
  if (instruction_set() == InstructionSet::avx512) return avx512::softmax_loops(logarithm, dtype);
  if (instruction_set() == InstructionSet::avx2) return avx2::softmax_loops(logarithm, dtype);
#endif
  return baseline::softmax_loops(logarithm, dtype);
}

std::size_t axis_of(const core::Step& step) {
  return static_cast<std::size_t>(std::get<core::AxisAttributes>(*step.attributes).axis);
}

/// Elements of the axis lie side by side, so it is worked on line by line; else in columns of the axes behind it.
bool in_lines(const core::View& view, std::size_t axis) { return view.strides[axis] == 1 || view.shape[axis] == 1; }

bool columns_adjoin(const core::View& view, std::size_t axis) {
  for (std::size_t i = view.shape.size(); i-- > 0;) {
    if (i != axis && view.shape[i] != 1) return view.strides[i] == 1;
  }
  return true;
}

std::uint64_t wants_dense(const core::Step& step) {
  const core::View& x = step.inputs[0].view;
  if (x.rank() == 0 || x.count() == 0) return 0;
  const std::size_t axis = axis_of(step);
  return (in_lines(step.outputs[0].view, axis) ? in_lines(x, axis) : columns_adjoin(x, axis)) ? 0 : 1;
}

std::shared_ptr<const core::Kernel> prepare(const core::Step& step) {
  core::View x = step.inputs[0].view, y = step.outputs[0].view;
  const std::int64_t total = y.count();
  if (total == 0) return make_kernel([](auto, auto, auto) {});
  const SoftmaxLoops loops = loops_for(step.op == OpId::log_softmax, step.outputs[0].dtype);
  const auto element = static_cast<std::int64_t>(size_of(step.outputs[0].dtype));
  const int workers = threads_for(static_cast<double>(total) * 0.4);

  const auto take = [](core::View& view, std::size_t axis) {
    const std::int64_t stride = view.strides[axis];
    view.shape.erase(axis);
    view.strides.erase(axis);
    return stride;
  };
  const bool lines = y.rank() == 0 || in_lines(y, axis_of(step));
  const std::int64_t count = y.rank() == 0 ? 1 : y.shape[axis_of(step)];
  std::int64_t x_step = 1, y_step = 1, width = 1;
  if (y.rank() != 0) {
    x_step = take(x, axis_of(step));
    y_step = take(y, axis_of(step));
  }
  std::array<core::View, 2> views{x, y};
  core::collapse(views);
  if (!lines) {
    const std::size_t last = views[0].shape.size() - 1;
    width = views[0].shape[last];
    take(views[0], last);
    take(views[1], last);
  }
  const Walk<2> outer(std::move(views));
  const std::int64_t chunks = (width + softmax_columns - 1) / softmax_columns;
  return make_kernel([=](std::span<const core::Address> inputs, std::span<const core::Address> outputs, core::Address) {
    const std::byte* from = inputs[0].pointer();
    std::byte* to = outputs[0].pointer();
    run_team(workers, [&](Team team) {
      const Range mine = share(outer.count() * chunks, team.member, team.size);
      for (std::int64_t unit = mine.begin; unit < mine.end; ++unit) {
        const auto offsets = outer.at(unit / chunks);
        const std::int64_t column = unit % chunks * softmax_columns;
        const std::byte* source = from + (offsets[0] + column) * element;
        std::byte* target = to + (offsets[1] + column) * element;
        if (lines) {
          loops.line(source, target, count);
        } else {
          loops.columns(source, x_step, target, y_step, count, std::min(softmax_columns, width - column));
        }
      }
    });
  });
}

constexpr KernelEntry entries[] = {{OpId::softmax, prepare, wants_dense}, {OpId::log_softmax, prepare, wants_dense}};

}  // namespace

std::span<const KernelEntry> softmax_kernels() { return entries; }

}  // namespace tyto::cpu
