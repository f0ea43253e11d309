// SPDX-License-Identifier: MIT
// Non-maximum suppression: boxes in the order of their scores, each kept unless a kept one overlaps it too much.
#include <algorithm>

#include "core/graph/op_ids.hpp"
#include "devices/cpu/device/kernels.hpp"
#include "devices/cpu/device/workspace.hpp"

namespace tyto::cpu {

namespace {

using core::OpId;

/// The part of what two boxes cover that both do; NaN, which exceeds nothing, for boxes without an area.
template <class T>
T shared_part(const T* a, const T* b) {
  const auto area = [](const T* box) { return (box[2] - box[0]) * (box[3] - box[1]); };
  const T width = std::max(std::min(a[2], b[2]) - std::max(a[0], b[0]), T(0));
  const T height = std::max(std::min(a[3], b[3]) - std::max(a[1], b[1]), T(0));
  const T both = width * height;
  return both / (area(a) + area(b) - both);
}

template <class T>
KernelRef nms_kernel(const core::Step& step) {
  const auto attributes = std::get<core::NmsAttributes>(*step.attributes);
  const std::int64_t boxes = step.inputs[0].view.shape[0];
  const std::int64_t first_box = step.inputs[0].view.offset, first_score = step.inputs[1].view.offset;
  WorkspaceLayout layout;
  const std::size_t order_at = layout.reserve(static_cast<std::size_t>(boxes) * sizeof(std::int64_t));
  return make_kernel(
      [=](Addresses inputs, Addresses outputs, core::Address workspace) {
        const T* const box = reinterpret_cast<const T*>(inputs[0].pointer()) + first_box;
        const T* const score = reinterpret_cast<const T*>(inputs[1].pointer()) + first_score;
        auto* const kept = reinterpret_cast<std::int64_t*>(outputs[0].pointer());
        auto* const order = at<std::int64_t>(workspace.pointer(), order_at);
        std::int64_t candidates = 0;
        for (std::int64_t i = 0; i < boxes; ++i) {
          if (static_cast<double>(score[i]) > attributes.score) order[candidates++] = i;
        }
        // Ties by index: a stable order without a stable sort's buffer.
        std::sort(order, order + candidates, [score](std::int64_t a, std::int64_t b) {
          return score[a] != score[b] ? score[a] > score[b] : a < b;
        });
        std::int64_t count = 0;
        for (std::int64_t i = 0; i < candidates && count < attributes.count; ++i) {
          const bool covered = std::any_of(kept, kept + count, [&](std::int64_t better) {
            return static_cast<double>(shared_part(box + 4 * order[i], box + 4 * better)) > attributes.overlap;
          });
          if (!covered) kept[count++] = order[i];
        }
        std::fill(kept + count, kept + attributes.count, -1);
        *reinterpret_cast<std::int64_t*>(outputs[1].pointer()) = count;
      },
      layout.bytes());
}

KernelRef prepare_nms(const core::Step& step) {
  return step.inputs[0].dtype == DType::f64 ? nms_kernel<double>(step) : nms_kernel<float>(step);
}

constexpr KernelEntry suppression_entries[] = {{OpId::nms, prepare_nms, all_dense}};

}  // namespace

std::span<const KernelEntry> suppression_kernels() { return suppression_entries; }

}  // namespace tyto::cpu
