// The device interface: memory, kernels prepared once and launched many times, and the limits of both.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/graph/operator.hpp"
#include "core/value/storage.hpp"

namespace tyto::core {

struct ProductAttributes;

/// An operand as a kernel sees it: element type and place relative to an address given at launch.
struct Operand {
  DType dtype = DType::f32;
  View view;  // the offset counts elements from the operand's address
};

/// One operator application ready to be prepared: all that is known before memory exists.
struct Step {
  OpId op;
  const Attributes* attributes;
  std::span<const Operand> inputs;
  std::span<const Operand> outputs;
};

/// A prepared step. Immutable and shared between threads; whatever it needs to write to is given to it.
class Kernel {
 public:
  virtual ~Kernel() = default;
  /// Bytes of scratch memory that each launch needs; planned with everything else, never allocated at launch.
  virtual std::size_t workspace() const { return 0; }
  /// Runs (CPU) or enqueues (elsewhere). Addresses stand in the order of the step's inputs and outputs.
  virtual void launch(std::span<const Address> inputs, std::span<const Address> outputs, Address workspace) const = 0;
  /// The same with results whose bytes are all zero: a kernel that would clear them first need not.
  virtual void launch_into_zeros(std::span<const Address> inputs, std::span<const Address> outputs,
                                 Address workspace) const {
    launch(inputs, outputs, workspace);
  }
};

struct DeviceProperties {
  std::string name;            // "cpu", "opencl:0"
  std::string description;     // vendor's text
  std::size_t alignment = 64;  // of every address handed to a kernel, in bytes
  std::size_t max_buffer = SIZE_MAX;
  bool host_memory = true;  // Buffer::memory() is a pointer that the host may follow
};

class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceProperties& properties() const = 0;

  /// A buffer of at least `bytes`, aligned as properties() says. Throws DeviceError naming the size when there is none.
  virtual BufferRef allocate(std::size_t bytes) = 0;
  /// Lets the system have the pages of a buffer whose contents are needed no more, where the device keeps freed buffers
  /// for reuse.
  virtual void discard(Buffer& /*buffer*/) {}
  /// From and to the host's memory, which is free again, or filled, on return.
  virtual void copy_in(Address target, const void* source, std::size_t bytes) = 0;
  virtual void copy_out(void* target, Address source, std::size_t bytes) = 0;
  /// Within the device's memory, in turn with what else was enqueued.
  virtual void copy(Address target, Address source, std::size_t bytes) = 0;
  /// The pattern of 1, 2, 4, 8 or 16 bytes again and again, in turn with what else was enqueued.
  virtual void fill(Address target, std::span<const std::byte> pattern, std::size_t bytes) = 0;

  /// Whether the device has a kernel for the operator on these types.
  virtual bool supports(OpId op, std::span<const DType> inputs, std::span<const DType> outputs) const = 0;
  /// Inputs (bit i) that the kernel for this step requires dense; the caller copies them first where they are strided.
  virtual std::uint64_t requires_dense(const Step& step) const = 0;
  /// Whether the kernel for this step can write results with the strides and offsets that the step states. Dense ones
  /// at offset zero it always can.
  virtual bool writes_strided(const Step& step) const = 0;
  /// Bytes of the weights of a product with an epilogue in the layout that its kernel reads fastest, for operands of
  /// the shapes `left` and `weights`; 0 where packing them does not pay.
  virtual std::int64_t packed_bytes(OpId /*op*/, const ProductAttributes& /*product*/, DType /*dtype*/) const {
    return 0;
  }
  /// Chooses or compiles the kernel. Throws DeviceError when there is none.
  virtual std::shared_ptr<const Kernel> prepare(const Step& step) = 0;
  /// The kernels of many steps, in the same order: a device that compiles can do so once for all of them.
  virtual std::vector<std::shared_ptr<const Kernel>> prepare_all(std::span<const Step> steps) {
    std::vector<std::shared_ptr<const Kernel>> kernels;
    kernels.reserve(steps.size());
    for (const Step& step : steps) kernels.push_back(prepare(step));
    return kernels;
  }

  /// Waits until everything enqueued has run.
  virtual void synchronise() = 0;
  /// Bytes now held by buffers of this device.
  virtual std::size_t allocated() const = 0;
  /// Buffers handed out to the calling thread so far.
  virtual std::size_t allocations() const = 0;
};

}  // namespace tyto::core
