// SPDX-License-Identifier: MIT
// The handle beneath every tensor: one result of one node, counted, cheap to copy, the same in both modes.
#pragma once

#include <cstdint>
#include <utility>

#include "tyto/dtype.hpp"
#include "tyto/shape.hpp"

namespace tyto::core {
class Node;  // declared outside of what is exported: nodes are the engine's own
}

namespace tyto TYTO_API {

/// A counted reference to one result of one node.
class TYTO_API Value {
 public:
  Value() = default;
  Value(core::Node* node, std::uint32_t output) : node_(node), output_(output) {
    if (node_ != nullptr) retain(node_);
  }
  Value(const Value& other) : Value(other.node_, other.output_) {}
  Value(Value&& other) noexcept : node_(std::exchange(other.node_, nullptr)), output_(other.output_) {}
  /// Releases the value held before.
  Value& operator=(Value other) noexcept {
    std::swap(node_, other.node_);
    output_ = other.output_;
    return *this;
  }
  ~Value() {
    if (node_ != nullptr) release(node_);
  }

  /// Whether there is a value.
  explicit operator bool() const { return node_ != nullptr; }
  /// Element type, shape and number of axes.
  DType dtype() const;
  const Shape& shape() const;
  int ndim() const { return shape().rank(); }

  /// The node, for code inside the engine.
  core::Node* node() const { return node_; }
  /// The number of this result among the node's.
  std::uint32_t output() const { return output_; }
  friend bool same_value(const Value& a, const Value& b) { return a.node_ == b.node_ && a.output_ == b.output_; }

 private:
  static void retain(core::Node* node);
  static void release(core::Node* node);

  core::Node* node_ = nullptr;
  std::uint32_t output_ = 0;
};

}  // namespace TYTO_API
