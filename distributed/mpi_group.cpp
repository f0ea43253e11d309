// SPDX-License-Identifier: MIT
// Sends messages in pieces, and compares the collective calls that processes are about to make.
#include "distributed/mpi_group.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>

#include "core/device/agreements.hpp"
#include "core/value/copy_bytes.hpp"
#include "core/value/text.hpp"
#include "tyto/error.hpp"

namespace tyto::distributed {

namespace {

SharedProgress progress_of(const TytoMpi& mpi, std::int32_t group) {
  SharedProgress progress;
  progress.own_rank = mpi.rank(0);
  progress.ranks.resize(static_cast<std::size_t>(mpi.size(group)));
  std::int32_t count = 0;
  std::uint64_t* const words = mpi.shared_words(group, &count, progress.ranks.data());
  progress.ranks.resize(static_cast<std::size_t>(count));
  if (words != nullptr) {
    progress.begun = {words, static_cast<std::size_t>(count)};
  } else if (progress.ranks[0] == progress.own_rank) {
    std::fprintf(stderr,
                 "tyto: rank %d: the processes of this machine share no memory, so that the "
                 "watchdog names none that hangs\n",
                 progress.own_rank);
  }
  return progress;
}

/// Calls visit(first, count) for pieces of `count` elements.
template <class Visit>
void each_piece(std::int64_t count, std::int64_t element_bytes, const Visit& visit) {
  const std::int64_t most = std::max<std::int64_t>(1, tyto_mpi_piece_bytes / element_bytes);
  for (std::int64_t begin = 0; begin < count; begin += most) {
    visit(begin, static_cast<std::int32_t>(std::min(most, count - begin)));
  }
}

std::string text_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    lines.push_back(text.substr(begin, end - begin));
  }
  return lines;
}

constexpr int everyone = core::Party::everyone;
static_assert(everyone == Watchdog::everyone);

}  // namespace

/// While it lives, the watchdog knows that this process waits for others, or for one.
class MpiGroup::Call {
 public:
  explicit Call(MpiGroup& group, int peer = everyone) : watchdog_(group.watchdog_) {
    Agreed& agreed = group.current_[peer];
    const bool named = agreed.calls != nullptr && agreed.next < agreed.calls->size();
    watchdog_.begin(named ? (*agreed.calls)[agreed.next++].c_str() : "a call", group.among_all(peer));
  }
  Call(MpiGroup& group, const char* name, int peer) : watchdog_(group.watchdog_) {
    watchdog_.begin(name, group.among_all(peer));
  }
  ~Call() { watchdog_.end(); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  Watchdog& watchdog_;
};

MpiGroup::MpiGroup(const TytoMpi& mpi, const StartOptions& options, std::int32_t number)
    : mpi_(mpi),
      number_(number),
      rank_(mpi.rank(number)),
      size_(mpi.size(number)),
      options_(options),
      members_(static_cast<std::size_t>(size_)),
      watchdog_(options.timeout_seconds, progress_of(mpi, number)) {
  const std::int32_t own = mpi_.rank(0);
  mpi_.all_gather(number_, &own, members_.data(), sizeof own);
}

std::int32_t MpiGroup::among_all(int rank) const {
  return rank == everyone ? everyone : members_[static_cast<std::size_t>(rank)];
}

void MpiGroup::all_reduce(std::byte* data, std::int64_t count, DType dtype, core::Reduction reduction) {
  const Call call(*this);
  const auto element = static_cast<std::int64_t>(size_of(dtype));
  each_piece(count, element, [&](std::int64_t begin, std::int32_t part) {
    mpi_.all_reduce(number_, data + begin * element, part, dtype, reduction);
  });
}

void MpiGroup::reduce_scatter(const std::byte* parts, std::byte* own, std::int64_t count, DType dtype,
                              core::Reduction reduction) {
  const Call call(*this);
  const auto element = static_cast<std::int64_t>(size_of(dtype));
  each_piece(count, element * size_, [&](std::int64_t begin, std::int32_t part) {
    const std::int64_t bytes = part * element;
    const std::byte* from = parts;
    if (part != count) {  // the pieces of all parts do not lie side by side
      packed_.resize(static_cast<std::size_t>(bytes * size_));
      for (int i = 0; i < size_; ++i) {
        core::copy_bytes(packed_.data() + i * bytes, parts + (i * count + begin) * element,
                         static_cast<std::size_t>(bytes));
      }
      from = packed_.data();
    }
    mpi_.reduce_scatter(number_, from, own + begin * element, part, dtype, reduction);
  });
}

void MpiGroup::all_gather(const std::byte* own, std::byte* all, std::int64_t bytes) {
  if (bytes > std::numeric_limits<std::int32_t>::max()) {
    core::throw_error<DeviceError>("all_gather: ", bytes,
                                   " bytes of each process are more than MPI takes; gather parts");
  }
  const Call call(*this);
  mpi_.all_gather(number_, own, all, static_cast<std::int32_t>(bytes));
}

void MpiGroup::broadcast(std::byte* data, std::int64_t bytes, int root) {
  const Call call(*this);
  each_piece(bytes, 1,
             [&](std::int64_t begin, std::int32_t part) { mpi_.broadcast(number_, data + begin, part, root); });
}

void MpiGroup::barrier() {
  const Call call(*this);
  mpi_.barrier(number_);
}

void MpiGroup::send(const std::byte* data, std::int64_t bytes, int to) {
  each_piece(bytes, 1,
             [&](std::int64_t begin, std::int32_t part) { mpi_.send(number_, data + begin, part, to, sent_[to]); });
}

void MpiGroup::recv(std::byte* data, std::int64_t bytes, int from) {
  const Call call(*this, from);
  each_piece(bytes, 1, [&](std::int64_t begin, std::int32_t part) {
    mpi_.recv(number_, data + begin, part, from, received_[from]);
  });
}

std::shared_ptr<core::ProcessGroup> MpiGroup::split(int colour, int key) {
  const Call call(*this);
  return std::make_shared<MpiGroup>(mpi_, options_, mpi_.split(number_, colour, key));
}

void MpiGroup::agree(const core::CollectiveCalls::With& calls, const core::GraphOutline& graph) {
  if (std::this_thread::get_id() != thread_) {
    core::throw_error<GraphError>("distributed: ", calls.calls.front(),
                                  " is called on another thread than start(); "
                                  "MPI serves that one alone, so make all calls of a group there");
  }
  const auto [known, fresh] = agreed_.try_emplace(calls.hash);
  if (fresh) known->second = calls.calls;
  current_[calls.party.peer] = {&known->second, 0};
  if (calls.party.peer != everyone) return agree_on_messages(calls);
  const Call call(*this, calls.calls.front().c_str(), everyone);
  struct Hashes {
    std::uint64_t calls, graph, arguments;
    bool operator==(const Hashes&) const = default;
  };
  const Hashes own{calls.hash, options_.compare_graphs ? graph.hash : 0, graph.arguments};
  std::vector<Hashes> all(static_cast<std::size_t>(size_));
  mpi_.all_gather(number_, &own, all.data(), sizeof own);
  if (std::ranges::all_of(all, [&](const Hashes& each) { return each == own; })) return;
  if (!std::ranges::all_of(all, [&](const Hashes& each) { return each.calls == own.calls; })) {
    throw core::DifferentCalls(
        difference(lines_of_all(text_of(calls.calls)), "call",
                   "all processes call the same operators on the same shapes, in the same order"));
  }
  std::map<std::uint64_t, std::size_t> first;  // of the ranks that were given such arguments
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].graph == 0) continue;
    const std::size_t other = first.try_emplace(all[i].arguments, i).first->second;
    if (all[i].graph == all[other].graph) continue;
    const Lists lines = lines_of_all(graph.lines);
    throw core::DifferentCalls(difference({lines[other], lines[i]}, "operator",
                                          "all processes compute what they communicate in the same way, unless "
                                          "StartOptions::compare_graphs is false"));
  }
}

// Processes in a ring all send before they receive: who sends cannot wait for an answer. So a message with what is to
// come goes before the others, and once it was refused nobody knows what the next one is. Those of a run have a tag of
// their own: what a run that threw did not send or receive is not taken for a message of the next one.
void MpiGroup::agree_on_messages(const core::CollectiveCalls::With& calls) {
  constexpr std::size_t most = 2048;  // bytes of what is told of more messages than that holds, after their hash
  std::string own = core::text(calls.hash, '\n', text_of(calls.calls));
  own.resize(std::min(own.size(), most));
  const int peer = calls.party.peer;
  std::int32_t& run = calls.party.receives ? received_[peer] : sent_[peer];
  run = run % most_runs + 1;
  if (!calls.party.receives) {
    return mpi_.send(number_, own.data(), static_cast<std::int32_t>(own.size()), peer, announcement);
  }
  if (const auto refused = refused_.find(peer); refused != refused_.end()) throw GraphError(refused->second);
  std::string theirs(most, '\0');
  {
    const Call call(*this, calls.calls.front().c_str(), peer);
    mpi_.recv(number_, theirs.data(), static_cast<std::int32_t>(most), peer, announcement);
  }
  theirs.resize(std::min(theirs.find('\0'), most));
  if (theirs == own) return;
  const auto messages_in = [](const std::string& text) { return lines_of(text.substr(text.find('\n') + 1)); };
  Lists lists{{rank_, messages_in(own)}, {peer, messages_in(theirs)}};
  if (peer < rank_) std::swap(lists[0], lists[1]);
  refused_[peer] = difference(lists, "call", "what one process sends, the other receives, in the same order");
  throw GraphError(refused_[peer]);
}

MpiGroup::Lists MpiGroup::lines_of_all(const std::string& own) {
  const auto length = static_cast<std::int64_t>(own.size());
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(size_));
  mpi_.all_gather(number_, &length, lengths.data(), sizeof length);
  Lists lists;
  for (int i = 0; i < size_; ++i) {
    std::string theirs = i == rank_ ? own : std::string();
    theirs.resize(static_cast<std::size_t>(lengths[static_cast<std::size_t>(i)]));
    each_piece(static_cast<std::int64_t>(theirs.size()), 1,
               [&](std::int64_t begin, std::int32_t part) { mpi_.broadcast(number_, theirs.data() + begin, part, i); });
    lists.emplace_back(i, lines_of(theirs));
  }
  return lists;
}

// Describes the first difference, which is the same on all processes.
std::string MpiGroup::difference(const Lists& all, const char* what, const char* rule) const {
  const std::vector<std::string>& first = all[0].second;
  std::size_t other = 1;
  while (other + 1 < all.size() && all[other].second == first) ++other;
  const std::vector<std::string>& theirs = all[other].second;
  std::size_t number = 0;
  while (number < first.size() && number < theirs.size() && first[number] == theirs[number]) ++number;
  const auto line_of = [&](const std::vector<std::string>& lines) {
    return number < lines.size() ? lines[number] : std::string("nothing more");
  };
  return core::text("distributed: processes are about to do different things: ", what, ' ', number + 1, " is ",
                    line_of(first), " on rank ", among_all(all[0].first), " and ", line_of(theirs), " on rank ",
                    among_all(all[other].first), "; ", rule);
}

}  // namespace tyto::distributed
