// SPDX-License-Identifier: MIT
// Joins the group of processes that a launcher started, and leaves it.
#include <cxxabi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <typeinfo>
#include <utility>
#include <vector>

#include "core/device/agreements.hpp"
#include "core/device/process_group.hpp"
#include "core/system/backtrace.hpp"
#include "core/system/process.hpp"
#include "core/value/text.hpp"
#include "distributed/mpi_group.hpp"
#include "distributed/transport.hpp"
#include "tyto/device.hpp"
#include "tyto/distributed.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/error.hpp"
#include "tyto/reduce.hpp"

namespace tyto {
namespace distributed TYTO_API {

namespace {

int rank_for_messages = 0;
std::terminate_handler outer_handler = nullptr;

void say(const std::string& message) {
  std::fprintf(stderr, "tyto: rank %d: %s\n", rank_for_messages, message.c_str());
  std::fflush(stderr);
}

std::string reason_to_terminate() {
  const std::exception_ptr error = std::current_exception();
  if (!error) return "std::terminate was called";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    return known.what();
  } catch (...) {
    const std::type_info* const type = abi::__cxa_current_exception_type();
    return core::text("an exception of type ", type == nullptr ? "unknown" : core::demangled(type->name()),
                      " was not caught");
  }
}

// The launcher ends the others when this process does; what went wrong is said first, and where. MPI_Abort of MPICH now
// and then loses what was said last.
[[noreturn]] void end_all(const std::string& message, int status) {
  say(message);
  note_failure(status);
  std::_Exit(status);
}

void say_rank_and_terminate() {
  constexpr int aborted = 134;  // as shells say it
  end_all(reason_to_terminate(), aborted);
}

// Launchers bind each process to a core, say; threads would share it.
void warn_of_bound_threads() {
  const int cores = core::processors_of_thread();
  if (cores != 0 && cores < threads()) {
    say(core::text("it computes on ", threads(), " threads, but its launcher bound it to ", cores,
                   cores == 1 ? " core" : " cores", "; bind to none, or set TYTO_THREADS"));
  }
}

std::mutex group_mutex;

}  // namespace

class Group::Connection {
 public:
  Connection() = default;
  Connection(const Flavour& flavour, const StartOptions& options) : mpi_(&load(flavour)) {
    static bool was_started = false;  // MPI is initialised once in a process
    if (std::exchange(was_started, true)) {
      throw GraphError("distributed: the group of this process has ended; it can be started once");
    }
    mpi_->start();
    rank_for_messages = mpi_->rank(0);
    transport_ = mpi_->name();
    outer_handler = std::set_terminate(say_rank_and_terminate);
    if (mpi_->size(0) > 1) core::set_process_group(std::make_shared<MpiGroup>(*mpi_, options));
    warn_of_bound_threads();
  }
  ~Connection() {
    if (mpi_ == nullptr) return;
    core::set_process_group(nullptr);
    std::set_terminate(outer_handler);
    // Left by an exception, the process ends without MPI's consent: its launcher ends the others.
    if (std::uncaught_exceptions() != 0) {
      note_failure(1);
      return;
    }
    if (std::this_thread::get_id() != thread_) {
      say("the group ends on another thread than the one that called start(), which alone can tell MPI");
    } else {
      mpi_->finish();
    }
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  const std::string& transport() const { return transport_; }

 private:
  const TytoMpi* mpi_ = nullptr;
  std::string transport_ = "single";
  std::thread::id thread_ = std::this_thread::get_id();
};

Group::Group(std::shared_ptr<Connection> connection, std::int64_t number)
    : connection_(std::move(connection)), number_(number) {}

int Group::rank() const { return core::process_group(number_).rank(); }
int Group::size() const { return core::process_group(number_).size(); }
const std::string& Group::transport() const { return connection_->transport(); }

void Group::barrier() const {
  if (size() == 1) return;
  (void)core::processes_of_call("Group::barrier");
  core::CollectiveCalls calls;
  calls.add("Group::barrier", {number_});
  core::agree(calls);
  core::process_group(number_).barrier();
}

Group Group::split(int colour, int key) const {
  if (colour < 0) core::throw_error<ValueError>("Group::split: a colour is no less than 0, not ", colour);
  (void)core::processes_of_call("Group::split");
  // A number above those in use on any of the processes, so that all sort their groups alike.
  const std::int64_t number = core::largest_of_all("Group::split", core::next_process_group(), number_);
  core::add_process_group(number, core::process_group(number_).split(colour, key));
  return Group(connection_, number);
}

void Group::abort(const std::string& message, int status) const { end_all(message, status); }

GroupScope::GroupScope(const Group& group) : group_(group), outer_(core::enter_process_group(group.number_)) {}
GroupScope::~GroupScope() { core::enter_process_group(outer_); }

Group start(const StartOptions& options) {
  static std::weak_ptr<Group::Connection> living;
  const std::lock_guard lock(group_mutex);
  if (auto connection = living.lock()) return Group(std::move(connection));
  if (options.timeout_seconds < 0) {
    core::throw_error<ValueError>("distributed: a timeout of ", options.timeout_seconds,
                                  " s is none; 0 waits for ever");
  }
  const Flavour* flavour = nullptr;
  if (options.backend != Backend::single) {
    flavour = launched_by();
    for (const Flavour& each : flavours) {
      if (each.backend != options.backend || flavour == &each) continue;
      throw DeviceError(flavour == nullptr
                            ? core::text("distributed: no launcher of ", each.title,
                                         " started this process; run it by tyto launch --mpi ", each.name)
                            : core::text("distributed: ", each.title, " is asked for, but the launcher of ",
                                         flavour->title, " started this process; run it by tyto launch --mpi ",
                                         each.name));
    }
    if (flavour == nullptr) refuse_other_launcher();
  }
  if (const std::string_view call = core::first_call_alone(); flavour != nullptr && !call.empty()) {
    if (processes_started(*flavour) > 1) {
      core::throw_error<GraphError>("distributed: ", call,
                                    " was called before start(), for this process alone, and what "
                                    "was recorded or loaded then would go on alone; start() comes first");
    }
  }
  auto connection = flavour == nullptr ? std::make_shared<Group::Connection>()
                                       : std::make_shared<Group::Connection>(*flavour, options);
  living = connection;
  return Group(std::move(connection));
}

std::vector<std::string> backends() {
  std::vector<std::string> names{"single"};
  for (const Flavour& flavour : flavours) {
    if (is_there(flavour)) names.emplace_back(flavour.name);
  }
  return names;
}

void broadcast_states(const std::vector<Tensor<Any>>& states, int root) {
  if (core::processes_of_call("broadcast_states") == 1) return;
  // Computed here, not when they are read: which states a process reads later may depend on its rank.
  for (const Tensor<Any>& state : states) {
    assign(state, distributed::broadcast(state, root));
    eval({state});
  }
}

void check_equal(const NamedList<Tensor<Any>>& tensors) {
  if (core::processes_of_call("check_equal") == 1 || tensors.empty()) return;
  std::vector<double> differ;
  for (const auto& [name, tensor] : tensors) {
    const Tensor<Any> first = distributed::broadcast(tensor);
    differ.push_back(any((tensor != first) & ((tensor == tensor) | (first == first))).item<bool>() ? 1 : 0);  // of NaN
  }
  const auto count = static_cast<std::int64_t>(differ.size());
  const std::vector<double> of_all = distributed::all_gather(Tensor<Eager>::from(differ, {count})).to_vector<double>();
  const auto place = std::find(of_all.begin(), of_all.end(), 1);
  if (place == of_all.end()) return;
  const std::int64_t at = place - of_all.begin();
  const auto own = Tensor<Eager>::full({1}, core::process_group(0).rank(), DType::i64);
  const std::vector<std::int64_t> ranks = distributed::all_gather(own).to_vector<std::int64_t>();  // among all
  core::throw_error<ValueError>("check_equal: '", tensors[static_cast<std::size_t>(at % count)].name,
                                "' has other elements on rank ", ranks[static_cast<std::size_t>(at / count)],
                                " than on rank ", ranks[0]);
}

void separate_draws() {
  (void)core::processes_of_call("separate_draws");
  const int rank = core::process_group().rank();
  if (rank == 0) return;
  const RandomState now = random_state();
  random_state({Key{now.seed, 0}.split(static_cast<std::uint64_t>(rank)).seed, now.draws});
}

}  // namespace TYTO_API
}  // namespace tyto
