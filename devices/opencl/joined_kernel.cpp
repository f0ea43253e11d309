// The text of joined kernels, and the table of arguments that each launch of one reads.
#include "devices/opencl/joined_kernel.hpp"

#include <bit>
#include <string>
#include <unordered_map>

#include "core/text.hpp"
#include "devices/opencl/kernel_text.hpp"
#include "tyto/error.hpp"

namespace tyto::opencl {

namespace {

using core::text;

// Pointers among a kernel's parameters, of which OpenCL promises 1024 bytes.
constexpr std::size_t most_buffers = 96;
// Of one kernel, which is compiled as one function.
constexpr std::size_t most_functions = 64;
// Items that each unit may begin with. One that has waited for long leaves its unit to others, and the next one tries
// again.
constexpr std::size_t items_a_unit = 64;
constexpr int patience = 1 << 20;  // looks at a counter, some milliseconds

constexpr std::size_t numbers_a_stage = 3;    // tasks up to its end, its function, and where its arguments begin
constexpr std::size_t counter_distance = 16;  // ints: each counter has a cache line of its own

bool can_be_stage(const EnqueuedKernel::Stage& stage) {
  if (stage.source == nullptr || stage.local != std::array<std::size_t, 3>{1, 1, 1} || stage.global[1] != 1 ||
      stage.global[2] != 1) {
    return false;
  }
  return stage.source->find("barrier(") == std::string::npos && stage.source->find("  local ") == std::string::npos &&
         stage.source->find("get_local") == std::string::npos;
}

/// The text of a kernel as that of a function of its item. Functions stay apart: as one, compilers need several times
/// as long for them.
std::string function_of(const std::string& source, std::size_t number) {
  static constexpr std::string_view head = "void KERNEL(";
  std::string out = source;
  const std::size_t at = out.find(head);
  out.replace(0, at + head.size(),
              text("__attribute__((noinline)) static void KERNEL_", number, "(const size_t item, "));
  replace_all(out, "get_global_id(0)", "item");
  replace_all(out, "get_group_id(0)", "item");
  return out;
}

/// How a function's arguments are read from the table, from place a on.
std::string call_of(const EnqueuedKernel::Stage& stage, std::size_t number) {
  std::string out = text("KERNEL_", number, "(item");
  std::size_t at = 0;
  for (const Argument& argument : stage.arguments) {
    const std::string value = text("a[", at++, "]");
    if (std::holds_alternative<MemoryArgument>(argument)) {
      out += text(", (global void*)buffers[", value, "], a[", at++, "]");
    } else if (std::holds_alternative<std::int64_t>(argument)) {
      out += text(", ", value);
    } else if (std::holds_alternative<std::int32_t>(argument)) {
      out += text(", (int)", value);
    } else if (std::holds_alternative<double>(argument)) {
      out += text(", as_double(", value, ")");
    } else if (std::holds_alternative<float>(argument)) {
      out += text(", as_float((int)", value, ")");
    } else {
      out += text(", (global void*)buffers[", value, "]");
    }
  }
  return out + ");";
}

// An item looks for the next task that nobody has claimed. It waits until all stages before that task's are done. What
// it waits for is always claimed by an item that has begun, so an item that leaves leaves nothing behind, and no item
// depends on another's running at the same time. Who leaves last clears the counters for the next launch. Both counters
// only grow, so that a plain look at them may be late but never wrong; the fence behind the atomic operation that
// claims a task is what the results of the stages before are seen behind.
constexpr std::string_view loop_head = R"(
  const int all = (int)table[(stages - 1) * 3];
  int stage = 0, before = 0, waited = 0;
  while (waited < PATIENCE) {
    const int task = *CLAIMED;
    if (task >= all) break;
    while (task >= (int)table[stage * 3]) before = (int)table[stage++ * 3];
    if (*DONE < before) { ++waited; continue; }
    if (atomic_cmpxchg(CLAIMED, task, task + 1) != task) continue;
    waited = 0;
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    const size_t item = task - before;
    const global long* a = table + table[stage * 3 + 2];
    switch ((int)table[stage * 3 + 1]) {
)";
constexpr std::string_view loop_tail = R"(    }
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    atomic_inc(DONE);
  }
  if (atomic_inc(GONE) == (int)get_global_size(0) - 1) {
    atomic_xchg(CLAIMED, 0); atomic_xchg(DONE, 0); atomic_xchg(GONE, 0);
  }
}
)";

std::string kernel_text(const std::vector<const EnqueuedKernel::Stage*>& functions, std::size_t buffers) {
  std::string out, parameters, pointers, calls;
  for (std::size_t i = 0; i < functions.size(); ++i) {
    out += function_of(*functions[i]->source, i);
    calls += text("      case ", i, ": ", call_of(*functions[i], i), " break;\n");
  }
  for (std::size_t i = 0; i < buffers; ++i) {
    parameters += text(", global uchar* b", i);
    pointers += text(i == 0 ? "" : ", ", "b", i);
  }
  out += text("kernel void KERNEL(volatile global int* counters, const global long* table, const int stages",
              parameters, ") {\n  global uchar* buffers[] = {", pointers, "};", loop_head, calls, loop_tail);
  replace_all(out, "*CLAIMED", "counters[0]");
  replace_all(out, "*DONE", text("counters[", counter_distance, "]"));
  replace_all(out, "CLAIMED", "counters");
  replace_all(out, "DONE", text("(counters + ", counter_distance, ")"));
  replace_all(out, "GONE", text("(counters + ", 2 * counter_distance, ")"));
  replace_all(out, "PATIENCE", text(patience));
  return out;
}

class Planner {
 public:
  explicit Planner(std::span<const core::LaunchedStep> steps) : steps_(steps) {}

  std::vector<JoinedPlan> plan() {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const auto* const kernel = dynamic_cast<const EnqueuedKernel*>(steps_[i].kernel);
      bool joins = kernel != nullptr && steps_[i].buffers.size() + extra_buffers(*kernel) <= most_buffers;
      for (std::size_t k = 0; joins && k < kernel->stages().size(); ++k) joins = can_be_stage(kernel->stages()[k]);
      if (!joins) {
        end();
        continue;
      }
      if (!fits(steps_[i], *kernel)) end();
      add(i, *kernel);
    }
    end();
    return std::move(plans_);
  }

 private:
  static std::size_t extra_buffers(const EnqueuedKernel& kernel) {
    std::size_t count = 0;
    for (const EnqueuedKernel::Stage& stage : kernel.stages()) count += stage.tables.size() + (stage.may_fault ? 1 : 0);
    return count;
  }

  bool fits(const core::LaunchedStep& step, const EnqueuedKernel& kernel) const {
    if (now_.operands.empty()) return true;
    std::size_t more = extra_buffers(kernel), texts = 0;
    for (const std::uint32_t buffer : step.buffers) more += slots_.contains(buffer) ? 0 : 1;
    for (const EnqueuedKernel::Stage& stage : kernel.stages()) texts += functions_.contains(stage.source) ? 0 : 1;
    return now_.buffers + slots_.size() + more <= most_buffers && texts_.size() + texts <= most_functions;
  }

  void add(std::size_t step, const EnqueuedKernel& kernel) {
    if (now_.operands.empty()) now_.first = step;  // a step without elements has no stage
    now_.past = step + 1;
    std::vector<std::size_t>& operands = now_.operands.emplace_back();
    for (const std::uint32_t buffer : steps_[step].buffers) {
      const auto at = slots_.try_emplace(buffer, slots_.size()).first;
      operands.push_back(at->second);
    }
    for (const EnqueuedKernel::Stage& stage : kernel.stages()) {
      const auto [at, is_new] = functions_.try_emplace(stage.source, texts_.size());
      if (is_new) texts_.push_back(&stage);
      now_.stages.push_back({step - now_.first, &stage, at->second, now_.table});
      now_.table += stage.arguments.size() + stage.memory.size();
    }
    now_.buffers += extra_buffers(kernel);
  }

  void end() {
    if (now_.stages.size() > 1) {
      for (JoinedStage& stage : now_.stages) stage.arguments += now_.stages.size() * numbers_a_stage;
      now_.table += now_.stages.size() * numbers_a_stage;
      now_.buffers += slots_.size();  // after those of operands
      now_.launch.name = "joined";
      now_.launch.launches = {{kernel_text(texts_, now_.buffers), {}}};
      plans_.push_back(std::move(now_));
    }
    now_ = {};
    slots_.clear();
    functions_.clear();
    texts_.clear();
  }

  std::span<const core::LaunchedStep> steps_;
  std::vector<JoinedPlan> plans_;
  JoinedPlan now_;
  std::unordered_map<std::uint32_t, std::size_t> slots_;
  std::unordered_map<const std::string*, std::size_t> functions_;
  std::vector<const EnqueuedKernel::Stage*> texts_;
};

class Joined final : public core::JoinedKernel {
 public:
  Joined(const Context& context, JoinedPlan plan, const EnqueuedKernel::Compiled& program)
      : context_(context), plan_(std::move(plan)), what_(context.name + ": joined steps") {
    cl_int status = CL_SUCCESS;
    kernel_ = KernelHandle(clCreateKernel(program.program, program.name.c_str(), &status));
    check(status, "clCreateKernel", what_);
    std::vector<cl_int> zeros(3 * counter_distance, 0);
    counters_ = MemoryHandle(clCreateBuffer(context.context.get(), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                            zeros.size() * sizeof(cl_int), zeros.data(), &status));
    check(status, "clCreateBuffer", what_);
    table_ = MemoryHandle(
        clCreateBuffer(context.context.get(), CL_MEM_READ_ONLY, plan_.table * sizeof(cl_long), nullptr, &status));
    check(status, "clCreateBuffer", what_);
    set(0, counters_.get());
    set(1, table_.get());
    const auto stages = static_cast<cl_int>(plan_.stages.size());
    check(clSetKernelArg(kernel_.get(), 2, sizeof stages, &stages), "clSetKernelArg", what_);
    given_.resize(plan_.table);
    fixed_arguments();
    // Every argument is set, that of a buffer without elements too.
    for (std::size_t i = 0; i < plan_.buffers; ++i) set(first_buffer + static_cast<cl_uint>(i), counters_.get());
  }

  ~Joined() override {
    const cl_event event = sent_.get();
    if (event != nullptr) (void)clWaitForEvents(1, &event);
  }
  Joined(const Joined&) = delete;
  Joined& operator=(const Joined&) = delete;

  void launch(std::span<const core::StepAddresses> steps) override {
    resolve(steps);
    send();
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      // Each time: a kernel does not retain its buffers, and another one may have the handle of one that is gone.
      set(first_buffer + static_cast<cl_uint>(i), wanted_[i] != nullptr ? wanted_[i] : counters_.get());
    }
    const std::size_t global = context_.units * items_a_unit, local = 1;
    context_.queue.enqueue("clEnqueueNDRangeKernel", what_, [&](cl_command_queue queue, cl_event* event) {
      return clEnqueueNDRangeKernel(queue, kernel_.get(), 1, nullptr, &global, &local, 0, nullptr, event);
    });
    if (may_fault_) context_.faults.expect();
  }

 private:
  static constexpr cl_uint first_buffer = 3;

  void set(cl_uint position, cl_mem memory) {
    check(clSetKernelArg(kernel_.get(), position, sizeof memory, &memory), "clSetKernelArg", what_);
  }

  // What no launch changes.
  void fixed_arguments() {
    wanted_.assign(plan_.buffers, nullptr);
    std::size_t next = plan_.buffers;
    for (const JoinedStage& joined : plan_.stages) {
      std::size_t at = joined.arguments;
      for (const Argument& argument : joined.stage->arguments) {
        if (std::holds_alternative<MemoryArgument>(argument)) {
          at += 2;
        } else if (const auto* whole = std::get_if<std::int64_t>(&argument)) {
          given_[at++] = *whole;
        } else if (const auto* narrow = std::get_if<std::int32_t>(&argument)) {
          given_[at++] = *narrow;
        } else if (const auto* real = std::get_if<double>(&argument)) {
          given_[at++] = std::bit_cast<std::int64_t>(*real);
        } else if (const auto* single = std::get_if<float>(&argument)) {
          given_[at++] = std::bit_cast<std::int32_t>(*single);
        } else if (const auto* table = std::get_if<TableArgument>(&argument)) {
          given_[at++] = static_cast<cl_long>(--next);
          wanted_[next] = joined.stage->tables[table->index].get();
        } else {
          given_[at++] = static_cast<cl_long>(--next);
          wanted_[next] = context_.faults.memory();
          may_fault_ = true;
        }
      }
    }
  }

  void resolve(std::span<const core::StepAddresses> steps) {
    table_now_ = given_;
    cl_long tasks = 0;
    for (std::size_t i = 0; i < plan_.stages.size(); ++i) {
      const JoinedStage& joined = plan_.stages[i];
      const core::StepAddresses& step = steps[joined.step];
      const std::vector<std::size_t>& operands = plan_.operands[joined.step];
      const EnqueuedKernel::Stage& stage = *joined.stage;
      const bool is_left_out = stage.unless && lies_in_place(*stage.unless, step.inputs, step.outputs[0]);
      tasks += is_left_out ? 0 : static_cast<cl_long>(stage.global[0]);
      table_now_[i * numbers_a_stage] = tasks;
      table_now_[i * numbers_a_stage + 1] = static_cast<cl_long>(joined.function);
      table_now_[i * numbers_a_stage + 2] = static_cast<cl_long>(joined.arguments);
      std::size_t at = joined.arguments;
      for (const Argument& argument : stage.arguments) {
        const auto* memory = std::get_if<MemoryArgument>(&argument);
        if (memory == nullptr) {
          ++at;
          continue;
        }
        std::size_t operand = memory->index;
        if (memory->role == MemoryArgument::Role::output) operand += step.inputs.size();
        if (memory->role == MemoryArgument::Role::workspace) operand = step.inputs.size() + step.outputs.size();
        const core::Address& address = memory->role == MemoryArgument::Role::input    ? step.inputs[memory->index]
                                       : memory->role == MemoryArgument::Role::output ? step.outputs[memory->index]
                                                                                      : step.workspace;
        const std::size_t slot = operands[operand];
        wanted_[slot] = static_cast<cl_mem>(address.memory);
        table_now_[at++] = static_cast<cl_long>(slot);
        table_now_[at++] = static_cast<cl_long>(address.offset / memory->element_bytes) + memory->offset;
      }
    }
  }

  // The table is written when something lies elsewhere than in the launch before.
  void send() {
    if (table_now_ == table_sent_) return;
    wait_for_table();
    table_sent_.clear();
    context_.queue.enqueue("clEnqueueWriteBuffer", what_, [&](cl_command_queue queue, cl_event* event) {
      cl_event written = nullptr;
      const cl_int status = clEnqueueWriteBuffer(queue, table_.get(), CL_FALSE, 0, table_now_.size() * sizeof(cl_long),
                                                 table_now_.data(), 0, nullptr, &written);
      if (status != CL_SUCCESS) return status;
      sent_ = EventHandle(written);
      if (event == nullptr) return status;
      *event = written;
      return clRetainEvent(written);
    });
    table_sent_.swap(table_now_);  // keeps its place in memory until it has been read
  }

  void wait_for_table() const {
    const cl_event event = sent_.get();
    if (event != nullptr) check(clWaitForEvents(1, &event), "clWaitForEvents", what_);
  }

  const Context& context_;
  JoinedPlan plan_;
  std::string what_;
  KernelHandle kernel_;
  MemoryHandle counters_, table_;
  EventHandle sent_;  // the last writing of the table
  std::vector<cl_long> given_, table_now_, table_sent_;
  std::vector<cl_mem> wanted_;
  bool may_fault_ = false;
};

}  // namespace

std::vector<JoinedPlan> plan_joined(std::span<const core::LaunchedStep> steps) { return Planner(steps).plan(); }

std::shared_ptr<core::JoinedKernel> joined_kernel(const Context& context, JoinedPlan plan,
                                                  const EnqueuedKernel::Compiled& program) {
  return std::make_shared<Joined>(context, std::move(plan), program);
}

}  // namespace tyto::opencl
