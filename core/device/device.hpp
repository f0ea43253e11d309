// SPDX-License-Identifier: MIT
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

/// One operator application, from which a kernel is prepared before any memory is allocated.
struct Step {
  OpId op;
  const Attributes* attributes;
  std::span<const Operand> inputs;
  std::span<const Operand> outputs;
  bool beside_others = false;  // its kernel runs on one thread, while others run kernels on theirs
};

/// Arguments of a launch.
struct LaunchAddresses {
  std::span<const Address> inputs, outputs;
  Address workspace;
};

/// Launches one after the other, each with operands that lie so many bytes after those of the one before.
struct Repetition {
  std::int64_t launches = 1;
  std::span<const std::ptrdiff_t> strides;  // of the inputs, then of the outputs
  /// In the host's memory: a launch that leaves a zero there is the last one. Null: all launches run.
  const std::byte* goes_on = nullptr;
};

/// A loop over the elements of a result, which other kernels of its device can run on parts of the result. Devices
/// derive classes of it that hold the compiled loop.
class ElementLoop {
 protected:
  ~ElementLoop() = default;
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

  /// Whether `repeat` takes less time than as many launches; `stops`: with Repetition::goes_on.
  virtual bool repeats(bool /*stops*/) const { return false; }
  /// Launches at least once, and returns how often. `operands` are the addresses of the inputs and then of the outputs
  /// for the first launch. The bits are those of as many launches. Only where `repeats` says so.
  virtual std::int64_t repeat(std::span<const Address> /*operands*/, const Repetition& /*repetition*/) const {
    return 0;
  }

  /// The kernel's loop for kernels that join it; null where it has none.
  virtual const ElementLoop* element_loop() const { return nullptr; }
  /// Whether this kernel and the one that is launched next are faster as one launch.
  virtual bool joins(const Kernel& /*next*/) const { return false; }
  /// Launches both, with the bits of one after the other: at once where `joins` says so.
  virtual void launch_joined(const LaunchAddresses& own, const Kernel& next, const LaunchAddresses& of_next) const {
    launch(own.inputs, own.outputs, own.workspace);
    next.launch(of_next.inputs, of_next.outputs, of_next.workspace);
  }
};

struct DeviceProperties {
  std::string name;            // "cpu", "opencl:0"
  std::string description;     // vendor's text
  std::size_t alignment = 64;  // of every address handed to a kernel, in bytes
  std::size_t max_buffer = SIZE_MAX;
  bool host_memory = true;  // Buffer::memory() is a pointer that the host may follow
  /// Estimated rates of one thread, per nanosecond: operations of products, other operations, bytes moved; and the
  /// nanoseconds that handing work to all threads takes. Read only where lanes() may exceed 1.
  double product_operations = 0, other_operations = 0, bytes_moved = 0, nanoseconds_to_meet = 0;
};

class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceProperties& properties() const = 0;

  /// A buffer of at least `bytes`, aligned as properties() says. Throws DeviceError naming the size when there is none.
  virtual BufferRef allocate(std::size_t bytes) = 0;
  /// Returns the pages of a buffer to the system (its contents are lost), where the device keeps freed buffers for
  /// reuse.
  virtual void discard(Buffer& /*buffer*/) {}
  /// Copies from and to the host's memory, and return when that may be reused, or is filled.
  virtual void copy_in(Address target, const void* source, std::size_t bytes) = 0;
  virtual void copy_out(void* target, Address source, std::size_t bytes) = 0;
  /// Bytes of a buffer of the host as a read-only buffer of this device without a copy, which keeps the host's for as
  /// long as the device may read it. Null where they are better copied.
  virtual BufferRef share_from_host(const BufferRef& /*host*/, std::size_t /*offset*/, std::size_t /*bytes*/) {
    return nullptr;
  }
  /// Bytes of a buffer of this device as a read-only buffer of the host without a copy, once what was enqueued has run.
  /// Null where they are better copied.
  virtual BufferRef share_with_host(const BufferRef& /*buffer*/, std::size_t /*offset*/, std::size_t /*bytes*/,
                                    Device& /*host*/) {
    return nullptr;
  }
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

  /// How many kernels may be launched at the same time, each on one thread.
  virtual int lanes() const { return 1; }
  /// body(context, lane) for each lane, at the same time where the device can. The body must not throw.
  virtual void run_lanes(int count, void (*body)(const void* context, int lane), const void* context) {
    for (int lane = 0; lane < count; ++lane) body(context, lane);
  }

  /// Waits until everything enqueued has run.
  virtual void synchronise() = 0;
  /// From now on until `stop_clock`, what this thread has the device do is timed by the device's own clock, if it has
  /// one.
  virtual void start_clock() {}
  /// Waits for the device. Milliseconds from the beginning of the first to the end of the last piece of work since the
  /// clock started or was asked last; nothing when there was none, or no clock.
  virtual std::optional<double> lap() {
    synchronise();
    return {};
  }
  virtual void stop_clock() {}
  /// Bytes now held by buffers of this device.
  virtual std::size_t allocated() const = 0;
  /// Buffers handed out to the calling thread so far.
  virtual std::size_t allocations() const = 0;
};

}  // namespace tyto::core
