// SPDX-License-Identifier: MIT
// Pure functions on views; every one is checked against element-by-element indexing in the tests.
#include "core/value/view.hpp"

#include <vector>

namespace tyto::core {

bool is_dense(const View& view) {
  std::int64_t expected = 1;
  for (std::size_t i = view.shape.size(); i-- > 0;) {
    if (view.shape[i] == 0) return true;
    if (view.shape[i] != 1 && view.strides[i] != expected) return false;
    expected *= view.shape[i];
  }
  return true;
}

bool same_layout(const View& a, const View& b) {
  if (a.shape != b.shape || a.offset != b.offset) return false;
  for (std::size_t i = 0; i < a.shape.size(); ++i) {
    if (a.shape[i] != 1 && a.strides[i] != b.strides[i]) return false;
  }
  return true;
}

ElementRange touched(const View& view) {
  ElementRange range{view.offset, view.offset + 1};
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] == 0) return {view.offset, view.offset};
    const std::int64_t reach = (view.shape[i] - 1) * view.strides[i];
    (reach < 0 ? range.first : range.past) += reach;
  }
  return range;
}

bool may_overlap(const View& a, const View& b) {
  const ElementRange x = touched(a);
  const ElementRange y = touched(b);
  return x.first < y.past && y.first < x.past && x.first != x.past && y.first != y.past;
}

bool repeats_elements(const View& view) {
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] > 1 && view.strides[i] == 0) return true;
  }
  return false;
}

IntList inverse_order(const IntList& order) {
  IntList back(order.size(), 0);
  for (std::size_t i = 0; i < order.size(); ++i)
    back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  return back;
}

View permute(const View& view, const IntList& order) {
  View out{Shape(order.size(), 0), Strides(order.size(), 0), view.offset};
  for (std::size_t i = 0; i < order.size(); ++i) {
    out.shape[i] = view.shape[static_cast<std::size_t>(order[i])];
    out.strides[i] = view.strides[static_cast<std::size_t>(order[i])];
  }
  return out;
}

View broadcast_to(const View& view, const Shape& shape) {
  View out{shape, Strides(shape.size(), 0), view.offset};
  const std::size_t shift = shape.size() - view.shape.size();
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    out.strides[i + shift] = view.shape[i] == shape[i + shift] ? view.strides[i] : 0;
  }
  return out;
}

View slice(const View& view, const IntList& start, const IntList& count, const IntList& step) {
  View out{count, Strides(count.size(), 0), view.offset};
  bool empty = false;
  for (const std::int64_t length : count) empty |= length == 0;
  for (std::size_t i = 0; i < count.size(); ++i) {
    if (!empty) out.offset += start[i] * view.strides[i];
    out.strides[i] = view.strides[i] * step[i];
  }
  return out;
}

std::optional<View> reshape(const View& view, const Shape& shape) {
  if (element_count(shape) == 0) return View{shape, row_major(shape), view.offset};
  // Runs of old axes that are contiguous among themselves are matched with runs of new axes of equal product.
  Shape lengths;
  Strides steps;
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] == 1) continue;
    lengths.push_back(view.shape[i]);
    steps.push_back(view.strides[i]);
  }
  View out{shape, Strides(shape.size(), 0), view.offset};
  std::size_t old_axis = 0;
  std::size_t new_axis = 0;
  while (new_axis < shape.size()) {
    if (shape[new_axis] == 1) {
      out.strides[new_axis++] = 1;
      continue;
    }
    std::size_t old_end = old_axis + 1;
    std::size_t new_end = new_axis + 1;
    std::int64_t old_count = lengths[old_axis];
    std::int64_t new_count = shape[new_axis];
    while (old_count != new_count) {
      if (old_count < new_count) {
        if (steps[old_end - 1] != lengths[old_end] * steps[old_end]) return std::nullopt;
        old_count *= lengths[old_end++];
      } else {
        new_count *= shape[new_end++];
      }
    }
    std::int64_t step = steps[old_end - 1];
    for (std::size_t i = new_end; i-- > new_axis;) {
      out.strides[i] = step;
      step *= shape[i];
    }
    old_axis = old_end;
    new_axis = new_end;
  }
  return out;
}

void collapse(std::span<View> views) {
  if (views.empty()) return;
  const Shape shape = views[0].shape;
  Shape merged;
  std::vector<Strides> strides(views.size());
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    bool fits = !merged.empty();
    for (std::size_t v = 0; fits && v < views.size(); ++v) fits = strides[v].back() == shape[i] * views[v].strides[i];
    if (fits) merged[merged.size() - 1] *= shape[i];
    else merged.push_back(shape[i]);
    for (std::size_t v = 0; v < views.size(); ++v) {
      if (fits) strides[v][strides[v].size() - 1] = views[v].strides[i];
      else strides[v].push_back(views[v].strides[i]);
    }
  }
  for (std::size_t v = 0; v < views.size(); ++v) {
    views[v].shape = merged;
    views[v].strides = strides[v];
  }
}

}  // namespace tyto::core
