// SPDX-License-Identifier: MIT
// Execution of oneDNN primitives with argument objects made beforehand.
#include "devices/cpu/products/onednn/primitive.hpp"

#include "core/value/text.hpp"
#include "devices/cpu/device/kernel_choice.hpp"

#if defined(TYTO_HAVE_ONEDNN)

#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include <omp.h>

#include <tyto/error.hpp>

#include "devices/cpu/system/awake_threads.hpp"
#include "devices/cpu/system/forked_process.hpp"
#include "devices/cpu/system/spinning.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu::onednn {

namespace {

constexpr int most_arguments = 8;
// Sets of argument objects: how many threads may execute one primitive at the same moment before one waits.
constexpr int most_callers = 4;

dnnl_stream_t stream() {
  static const dnnl::stream* const only = new dnnl::stream(engine());
  return only->get();
}

// Names that differ between the two interfaces of oneDNN.
#if DNNL_VERSION_MAJOR >= 3
const_dnnl_memory_desc_t c_layout(const dnnl::memory::desc& layout) { return layout.get(); }

// A blocked layout is bound as it is: whoever writes it writes its padding.
dnnl_status_t bind_address(dnnl_memory_t memory, void* address) { return dnnl_memory_set_data_handle(memory, address); }

void append(dnnl::post_ops& epilogue, dnnl::algorithm function, float alpha, float beta) {
  epilogue.append_eltwise(function, alpha, beta);
}

std::string text_of(const dnnl::memory::desc& layout) {
  if (layout.get_format_kind() != dnnl::memory::format_kind::blocked) return {};
  std::string numbers;
  for (const auto& list :
       {layout.get_padded_dims(), layout.get_strides(), layout.get_inner_blks(), layout.get_inner_idxs()}) {
    for (const auto number : list) numbers += std::to_string(number) + ' ';
    numbers += ';';
  }
  return numbers;
}
#else
const dnnl_memory_desc_t* c_layout(const dnnl::memory::desc& layout) { return &layout.data; }

// Writes zeros to the padding of a blocked layout.
dnnl_status_t bind_address(dnnl_memory_t memory, void* address) {
  return dnnl_memory_set_data_handle_v2(memory, address, stream());
}

void append(dnnl::post_ops& epilogue, dnnl::algorithm function, float alpha, float beta) {
  epilogue.append_eltwise(1.0f, function, alpha, beta);
}

std::string text_of(const dnnl::memory::desc& layout) {
  return {reinterpret_cast<const char*>(&layout.data), sizeof layout.data};
}
#endif

void check(dnnl_status_t status, const char* what) {
  if (status != dnnl_success) {
    core::throw_error<DeviceError>("oneDNN: ", what, " failed with status ", static_cast<int>(status));
  }
}

}  // namespace

const dnnl::engine& engine() {
  // Never destroyed: kernels in static objects may outlive any order of destruction we could choose.
  static const dnnl::engine* const only = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *only;
}

bool has_avx512() {
  // Its numbers are sets of bits.
  constexpr auto wanted = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & wanted) == wanted;
}

ThreadCount::ThreadCount(int count) noexcept : before_(omp_get_max_threads()), was_dynamic_(omp_get_dynamic() != 0) {
  if (count != before_) omp_set_num_threads(count);
  if (was_dynamic_) omp_set_dynamic(0);
}

ThreadCount::~ThreadCount() {
  omp_set_num_threads(before_);
  if (was_dynamic_) omp_set_dynamic(1);
}

dnnl::primitive_attr attributes_with_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

void append_limits(dnnl::post_ops& epilogue, const Limits<double>& limits) {
  if (!limits.any()) return;
  const Limits<float> at = limits.as<float>();
  const bool relu = at.low == 0 && at.high == Limits<float>::infinity;
  append(epilogue, relu ? dnnl::algorithm::eltwise_relu : dnnl::algorithm::eltwise_clip, relu ? 0.0f : at.low,
         relu ? 0.0f : at.high);
}

struct Primitive::State {
  // Argument objects hold the addresses of one execution, so two executions at once need two sets.
  struct Caller {
    std::atomic_flag busy = ATOMIC_FLAG_INIT;
    std::array<dnnl_exec_arg_t, most_arguments> arguments{};
    std::array<void*, most_arguments> addresses{};
  };

  dnnl::primitive primitive;
  int count = 0;  // scratchpad included, last
  int threads = 1;
  std::size_t scratchpad_bytes = 0;
  mutable std::array<Caller, most_callers> callers{};

  ~State() {
    for (Caller& caller : callers) {
      for (int i = 0; i < count; ++i) dnnl_memory_destroy(caller.arguments[static_cast<std::size_t>(i)].memory);
    }
  }

  Caller& claim() const noexcept {
    for (;;) {
      for (Caller& caller : callers) {
        if (!caller.busy.test_and_set(std::memory_order_acquire)) return caller;
      }
      std::this_thread::yield();
    }
  }
};

Primitive::Primitive(const dnnl::primitive& primitive, const dnnl::memory::desc& scratchpad,
                     std::initializer_list<Binding> bindings, int threads)
    : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.primitive = primitive;
  state.threads = threads;
  state.scratchpad_bytes = scratchpad.get_size();
  const auto add = [&](std::size_t place, int argument, const dnnl::memory::desc& layout) {
    for (State::Caller& caller : state.callers) {
      dnnl_memory_t memory = nullptr;
      check(dnnl_memory_create(&memory, c_layout(layout), engine().get(), DNNL_MEMORY_NONE), "making an argument");
      caller.arguments[place] = {argument, memory};
    }
    state.count = static_cast<int>(place) + 1;
  };
  std::size_t place = 0;
  for (const Binding& binding : bindings) add(place++, binding.argument, binding.layout);
  add(place, DNNL_ARG_SCRATCHPAD, scratchpad);
}

Primitive::~Primitive() = default;
Primitive::Primitive(Primitive&&) noexcept = default;
Primitive& Primitive::operator=(Primitive&&) noexcept = default;

std::size_t Primitive::scratchpad_bytes() const noexcept { return state_->scratchpad_bytes; }

void Primitive::run(std::initializer_list<void*> addresses, void* scratchpad) const {
  const State& state = *state_;
  State::Caller& caller = state.claim();
  const auto bind = [&](std::size_t place, void* address) {
    // Only when the address is a new one: binding may write.
    if (caller.addresses[place] == address) return dnnl_success;
    caller.addresses[place] = address;
    return bind_address(caller.arguments[place].memory, address);
  };
  dnnl_status_t status = dnnl_success;
  const auto execute = [&] {
    share_arithmetic_rules(state.threads);
    const ThreadCount guard(state.threads);
    std::size_t place = 0;
    for (void* address : addresses) {
      if (status == dnnl_success) status = bind(place++, address);
    }
    if (status == dnnl_success) status = bind(place, scratchpad);
    if (status == dnnl_success) {
      status = dnnl_primitive_execute(state.primitive.get(), stream(), state.count, caller.arguments.data());
    }
  };
  // Within a parallel region of the program around us oneDNN takes itself to be alone, and computes one thread's share.
  if (state.threads > 1 && omp_in_parallel() != 0) with_new_threads(execute);
  else with_threads(execute);
  if (state.threads > 1) {
    const auto now = AwakeThreads::Clock::now();
    awake_threads().region_done(now);
    adapt_spinning(now);
  }
  caller.busy.clear(std::memory_order_release);
  check(status, "executing a primitive");
}

Primitive reorder(const dnnl::memory::desc& from, const dnnl::memory::desc& to, int threads) {
  const ThreadCount guard(threads);
  const dnnl::reorder::primitive_desc description(engine(), from, engine(), to, attributes_with_scratchpad());
  return Primitive(dnnl::reorder(description), description.scratchpad_desc(),
                   {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}, threads);
}

namespace {

// Its scratchpad is as large as under `layout_threads`.
Primitive packing_reorder(const dnnl::memory::desc& from, const dnnl::memory::desc& to, int threads,
                          int layout_threads) {
  Primitive agreed = reorder(from, to, layout_threads);
  if (threads == layout_threads) return agreed;
  Primitive other = reorder(from, to, threads);
  return other.scratchpad_bytes() == agreed.scratchpad_bytes() ? std::move(other) : std::move(agreed);
}

}  // namespace

Packing::Packing(const dnnl::memory::desc& from, const dnnl::memory::desc& to, int threads, int layout_threads,
                 WorkspaceLayout& packed)
    : reorder_(packing_reorder(from, to, threads, layout_threads)),
      layout_(text_of(to)),
      weights_bytes_(to.get_size()) {
  packed.reserve(whole_lines(weights_bytes_));
  scratchpad_ = packed.reserve(reorder_.scratchpad_bytes());
}

void Packing::run(const void* weights, void* packed) const {
  auto* const bytes = static_cast<std::byte*>(packed);
  reorder_.run({const_cast<void*>(weights), packed}, bytes + scratchpad_);
  std::memset(bytes + weights_bytes_, 0, whole_lines(weights_bytes_) - weights_bytes_);
  std::memset(bytes + scratchpad_, 0, reorder_.scratchpad_bytes());
}

}  // namespace tyto::cpu::onednn

#endif

std::string tyto::cpu::onednn_version() {
#if defined(TYTO_HAVE_ONEDNN)
  const dnnl_version_t* const version = dnnl_version();
  return core::text(version->major, ".", version->minor, ".", version->patch);
#else
  return {};
#endif
}
