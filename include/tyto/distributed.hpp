// SPDX-License-Identifier: MIT
// Processes that work together: a group of them, the operators that communicate, and what data-parallel training needs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tyto/named.hpp"
#include "tyto/tensor.hpp"

namespace tyto {
namespace distributed TYTO_API {

/// The transport of messages. `automatic` is the MPI of the launcher that started this process, and `single` where none
/// did.
enum class Backend : std::uint8_t { automatic, single, open_mpi, mpich };

/// Options of `start`.
struct StartOptions {
  Backend backend = Backend::automatic;  ///< what carries messages
  /// So long may a process wait for the others; then it ends the job, naming who is missing. 0: for ever.
  double timeout_seconds = 300;
  /// Whether compiled functions and graphs that communicate must be made of the same operators on all processes, where
  /// their arguments have the same shapes. Graphs with messages or with calls of several groups need not be.
  bool compare_graphs = true;
};

/// The processes that were started together. While it lives, the operators below reach all of them; the last copy ends
/// the connection. An exception that leaves it ends all processes.
class TYTO_API Group {
 public:
  /// This process's number, from 0 on, and how many there are.
  int rank() const;
  int size() const;
  /// Whether this is the process of rank 0, which prints and saves for all.
  bool is_first() const { return rank() == 0; }
  /// Name of the transport: "single", "Open MPI 4.1.4", ...
  const std::string& transport() const;
  /// Returns when every process has called it.
  void barrier() const;
  /// The group of those processes of this one that gave the same colour, in the order of their keys, then ranks. All
  /// call it together; it lives as long as this one.
  ///
  ///     const auto pair = group.split(group.rank() / 2);
  ///     const tyto::distributed::GroupScope scope(pair);  // sums are those of two processes
  Group split(int colour, int key = 0) const;
  /// Ends all processes, with this message on standard error and the status.
  [[noreturn]] void abort(const std::string& message, int status = 1) const;

 private:
  friend Group start(const StartOptions& options);
  friend class GroupScope;
  class Connection;
  explicit Group(std::shared_ptr<Connection> connection, std::int64_t number = 0);

  std::shared_ptr<Connection> connection_;
  std::int64_t number_;
};

/// While it lives, the operators below work in that group, instead of in that of all processes. What a function records
/// in it stays in that group.
class TYTO_API GroupScope {
 public:
  explicit GroupScope(const Group& group);
  ~GroupScope();
  GroupScope(const GroupScope&) = delete;
  GroupScope& operator=(const GroupScope&) = delete;

 private:
  Group group_;
  std::int64_t outer_;
};

/// Joins the group of the processes that were started together, as by `tyto launch -n 4 program`. Throws DeviceError
/// where the launcher's MPI cannot be used, or is unknown, and GraphError where an operator below was already called
/// for this process alone. A program that no launcher started is a group of one, and needs no MPI. All calls of the
/// group come from the thread that called this.
///
///     const auto group = tyto::distributed::start();
Group start(const StartOptions& options = {});

/// The backends of this build of Tyto: "single", and "openmpi" and "mpich" where they were found when it was built.
std::vector<std::string> backends();

/// How elements of several processes are combined.
enum class Reduce : std::uint8_t { sum, mean, min, max };

// Operators. Every process calls the same ones, in the same order, on tensors of the same type and shape; a difference
// is a GraphError on all of them. In a compiled function each runs, in the order written, whether its result is used or
// not; outside of one, lazy mode runs what is read. The body of a loop or branch cannot call them, nor can vmap's
// function.

/// The elements of all processes combined, on every process. The mean of integers is f32.
template <class M>
Tensor<M> all_reduce(const Tensor<M>& x, Reduce how = Reduce::sum);

/// The tensors of all processes joined along axis 0, in the order of ranks, on every process; numbers become a vector.
template <class M>
Tensor<M> all_gather(const Tensor<M>& x);

/// The sum over all processes, of which each keeps its part along axis 0.
template <class M>
Tensor<M> reduce_scatter(const Tensor<M>& x);

/// The tensor of the process `root`, on every process.
template <class M>
Tensor<M> broadcast(const Tensor<M>& x, int root = 0);

/// The tensor as it is, once every process is here.
template <class M>
Tensor<M> barrier(const Tensor<M>& x);

/// The tensor as it is, which also goes to the process `to`; that one calls recv. Its gradient is what that one's
/// gradient of `recv` sends back, and the own one. A process does not wait until the message has arrived.
template <class M>
Tensor<M> send(const Tensor<M>& x, int to);

/// Receives a tensor from the process `from`; it has the type and shape of `like`, whose elements do not matter. The
/// gradient sends that of the result back to `from`; the gradient of `like` is zero. Around a ring of processes:
///
///     auto from_left = tyto::distributed::recv(tyto::distributed::send(x, right), left);
template <class M>
Tensor<M> recv(const Tensor<M>& like, int from);

/// The mean over processes of what each computed from so many samples, each sample counting alike: of a loss that is a
/// mean over them.
template <class M>
Tensor<M> average(const Tensor<M>& x, std::int64_t samples);

/// The same of gradients, from the last to the first, as a backward pass yields them.
///
///     auto [loss, gradients] = tyto::value_and_grad(objective, model.parameters())(x, t);
///     descent.update(model.parameters(), tyto::distributed::average(gradients, x.shape()[0]));
template <class M>
std::vector<Tensor<M>> average(const std::vector<Tensor<M>>& gradients, std::int64_t samples);

/// Gradients still to be summed over processes. The optimizer takes the sums, of which it may need a part alone
/// (nn::Descent::shard).
template <class M>
struct Weighted {
  std::vector<Tensor<M>> parts;           ///< this process's, one for each gradient
  std::optional<double> norm_limit = {};  ///< of all sums together, as nn::clip_by_global_norm asks for it
};

/// Each times this process's share of the samples of all: what they sum to over processes is their average.
///
///     auto [loss, gradients] = tyto::value_and_grad(objective, model.parameters())(x, t);
///     descent.update(model.parameters(), tyto::distributed::weighted(gradients, x.shape()[0]));
template <class M>
Weighted<M> weighted(const std::vector<Tensor<M>>& gradients, std::int64_t samples);

/// Gives every state the value that it has on the process `root`, at once.
void broadcast_states(const std::vector<Tensor<Any>>& states, int root = 0);

/// Throws ValueError on all processes, naming the tensor and the rank, where one has other elements than on rank 0. All
/// call it, once an epoch say: parameters drift apart where initial values or rates differ, or gradients were not
/// averaged. It takes about as long as `broadcast_states`.
///
///     tyto::distributed::check_equal(model.named_parameters());
void check_equal(const NamedList<Tensor<Any>>& tensors);

/// From here on the random sequence yields other numbers on each process, and on rank 0 those that it would have: for
/// dropout and noise. Called when parameters are the same everywhere, and again when a checkpoint was loaded.
void separate_draws();

}  // namespace TYTO_API
}  // namespace tyto
