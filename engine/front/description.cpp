// SPDX-License-Identifier: MIT
// Describes tensors: pending views are followed to the contents that they show.
#include "tyto/description.hpp"

#include <exception>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "core/graph/held_constant.hpp"
#include "core/graph/op_ids.hpp"
#include "core/graph/operator.hpp"
#include "core/graph/released_versions.hpp"
#include "core/graph/state_observation.hpp"
#include "core/graph/symbol.hpp"
#include "core/value/array_element.hpp"
#include "core/value/text.hpp"
#include "ops/define.hpp"

namespace tyto TYTO_API {

namespace {

using core::Array;
using core::Node;
using core::OpId;
using core::State;

TensorKind kind_of(const Node& node) {
  if (node.op() != OpId::state) {
    const bool given = node.op() == OpId::constant || node.mode() == core::Mode::eager;
    return given ? TensorKind::constant : TensorKind::computed;
  }
  switch (std::get<core::StateAttributes>(node.attributes()).state->kind()) {
    case State::Kind::placeholder: return TensorKind::input;
    case State::Kind::persistent: return TensorKind::persistent;
    case State::Kind::variable: return TensorKind::persistent | TensorKind::trainable;
    case State::Kind::parameter: break;  // of a region: computed wherever that is called
  }
  return TensorKind::computed;
}

/// The contents that are there; of a placeholder those that it was given.
Array contents_of(const Value& value) {
  const Node& node = *value.node();
  const auto holder = core::holder_of(node);
  const State* const state = holder ? holder.get() : core::state_of(value);
  if (state != nullptr && state->kind() == State::Kind::placeholder) return state->assigned();
  const Value seen = state != nullptr ? state->held().version : value;
  return seen && !core::is_released(*seen.node()) ? core::contents_of(seen) : Array();
}

struct Shown {
  Array contents;  // none where those of a constant were released; it is dense all the same
  core::View view;
  std::size_t bytes = 0;  // of what the view is of
};

/// The contents that the value shows, through views that are not computed yet.
std::optional<Shown> shown_by(const Value& value) {
  std::vector<const Node*> views;  // the innermost last
  Value source = value;
  Array contents = contents_of(source);
  while (!contents && !core::holder_of(*source.node())) {
    const Node& node = *source.node();
    if (core::definition(node).view == nullptr || node.inputs().empty()) return std::nullopt;
    views.push_back(&node);
    source = node.inputs()[0];
    contents = contents_of(source);
  }
  Shown shown{contents, contents ? contents.view : core::View::dense(source.shape())};
  shown.bytes =
      contents ? contents.buffer->bytes() : static_cast<std::size_t>(shown.view.count()) * size_of(source.dtype());
  for (std::size_t i = views.size(); i-- > 0;) {
    const std::optional<core::View> next = core::definition(*views[i]).view(views[i]->attributes(), shown.view);
    if (!next) return std::nullopt;  // a copy, which a plan places
    shown.view = *next;
  }
  shown.contents.dtype = value.dtype();
  shown.contents.view = shown.view;
  return shown;
}

std::optional<TensorLayout> layout_of(const Value& value) {
  const std::optional<Shown> shown = shown_by(value);
  if (!shown) return std::nullopt;
  const core::View& view = shown->view;
  const bool is_part =
      !core::is_dense(view) || static_cast<std::size_t>(view.count()) * size_of(value.dtype()) != shown->bytes;
  return TensorLayout{view.strides, view.offset, is_part};
}

}  // namespace

TensorDescription describe(const Value& x) {
  core::require("describe", x);
  return {x.dtype(), x.shape(), kind_of(*x.node()), layout_of(x)};
}

std::ostream& operator<<(std::ostream& out, const TensorDescription& description) {
  out << name_of(description.dtype) << core::text(description.shape);
  if (is(description.kind, TensorKind::constant)) out << " constant";
  if (is(description.kind, TensorKind::input)) out << " input";
  if (is(description.kind, TensorKind::persistent)) out << " persistent";
  if (is(description.kind, TensorKind::trainable)) out << " trainable";
  if (!description.layout) return out << ", with no contents yet";
  return out << (description.layout->is_view ? ", view" : ",") << " with strides "
             << core::text(description.layout->strides) << " from element " << description.layout->offset;
}

namespace detail {

const char* debugger_text(const Value& x) noexcept {
  static std::string shown;
  try {
    if (!x) return "undefined tensor";
    std::ostringstream out;
    out << describe(x);
    const std::optional<Shown> here = shown_by(x);
    if (here && here->contents) out << " = " << core::first_numbers(here->contents, 8);
    shown = out.str();
  } catch (const std::exception& error) {
    shown = error.what();
  }
  return shown.c_str();
}

}  // namespace detail

}  // namespace TYTO_API
