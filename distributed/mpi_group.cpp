// SPDX-License-Identifier: MIT
// Messages in pieces, and the comparison of what processes are about to do.
#include "distributed/mpi_group.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>

#include "core/value/copy_bytes.hpp"
#include "core/value/text.hpp"
#include "tyto/error.hpp"

namespace tyto::distributed {

namespace {

/// Bytes of a message: MPI's scratch memory for larger ones costs more than the transfer (Open MPI 4.1 through shared
/// memory: 5.5 GB/s at 1 MB, 0.9 at 16 MB).
constexpr std::int64_t piece_bytes = 1 << 20;

std::int32_t type_of(DType dtype) {
  switch (dtype) {
    case DType::i8: return tyto_mpi_i8;
    case DType::u8: return tyto_mpi_u8;
    case DType::i16: return tyto_mpi_i16;
    case DType::u16: return tyto_mpi_u16;
    case DType::i32: return tyto_mpi_i32;
    case DType::u32: return tyto_mpi_u32;
    case DType::i64: return tyto_mpi_i64;
    case DType::u64: return tyto_mpi_u64;
    case DType::f32: return tyto_mpi_f32;
    case DType::f64: return tyto_mpi_f64;
    default: throw TypeError(core::text("distributed: elements of type ", dtype, " are not added"));
  }
}

std::int32_t reduction_of(core::Reduction reduction) {
  return reduction == core::Reduction::sum   ? tyto_mpi_sum
         : reduction == core::Reduction::min ? tyto_mpi_min
                                             : tyto_mpi_max;
}

SharedProgress progress_of(const TytoMpi& mpi) {
  std::int32_t count = 0;
  const std::int32_t* ranks = nullptr;
  std::uint64_t* const words = mpi.shared_words(&count, &ranks);
  SharedProgress progress;
  progress.own_rank = mpi.rank();
  if (words == nullptr) {
    if (ranks[0] == progress.own_rank) {
      std::fprintf(stderr,
                   "tyto: rank %d: the processes of this machine share no memory, so that the "
                   "watchdog names none that hangs\n",
                   progress.own_rank);
    }
    return progress;
  }
  progress.begun = {words, static_cast<std::size_t>(count)};
  progress.ranks.assign(ranks, ranks + count);
  return progress;
}

/// Calls visit(first, count) for pieces of `count` elements.
template <class Visit>
void each_piece(std::int64_t count, std::int64_t element_bytes, const Visit& visit) {
  const std::int64_t most = std::max<std::int64_t>(1, piece_bytes / element_bytes);
  for (std::int64_t begin = 0; begin < count; begin += most) {
    visit(begin, static_cast<std::int32_t>(std::min(most, count - begin)));
  }
}

}  // namespace

/// While it lives, the watchdog knows that this process waits for others.
class MpiGroup::Call {
 public:
  explicit Call(MpiGroup& group) : watchdog_(group.watchdog_) {
    const bool named = group.current_ != nullptr && group.next_ < group.current_->size();
    watchdog_.begin(named ? (*group.current_)[group.next_++].c_str() : "a call");
  }
  Call(MpiGroup& group, const char* name) : watchdog_(group.watchdog_) { watchdog_.begin(name); }
  ~Call() { watchdog_.end(); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  Watchdog& watchdog_;
};

MpiGroup::MpiGroup(const TytoMpi& mpi, double timeout_seconds)
    : mpi_(mpi), rank_(mpi.rank()), size_(mpi.size()), watchdog_(timeout_seconds, progress_of(mpi)) {}

void MpiGroup::all_reduce(std::byte* data, std::int64_t count, DType dtype, core::Reduction reduction) {
  const Call call(*this);
  const auto element = static_cast<std::int64_t>(size_of(dtype));
  each_piece(count, element, [&](std::int64_t begin, std::int32_t part) {
    mpi_.all_reduce(data + begin * element, part, type_of(dtype), reduction_of(reduction));
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
    mpi_.reduce_scatter(from, own + begin * element, part, type_of(dtype), reduction_of(reduction));
  });
}

void MpiGroup::all_gather(const std::byte* own, std::byte* all, std::int64_t bytes) {
  if (bytes > std::numeric_limits<std::int32_t>::max()) {
    throw DeviceError(
        core::text("all_gather: ", bytes, " bytes of each process are more than MPI takes; gather parts"));
  }
  const Call call(*this);
  mpi_.all_gather(own, all, static_cast<std::int32_t>(bytes));
}

void MpiGroup::broadcast(std::byte* data, std::int64_t bytes, int root) {
  const Call call(*this);
  each_piece(bytes, 1, [&](std::int64_t begin, std::int32_t part) { mpi_.broadcast(data + begin, part, root); });
}

void MpiGroup::barrier() {
  const Call call(*this);
  mpi_.barrier();
}

void MpiGroup::agree(const core::CollectiveCalls& calls) {
  if (std::this_thread::get_id() != thread_) {
    throw GraphError(core::text("distributed: ", calls.calls().front(),
                                " is called on another thread than start(); "
                                "MPI serves that one alone, so make all calls of a group there"));
  }
  const auto [known, fresh] = agreed_.try_emplace(calls.hash());
  if (fresh) known->second = calls.calls();
  current_ = &known->second;
  next_ = 0;
  const Call call(*this, calls.calls().front().c_str());
  const std::uint64_t own = calls.hash();
  std::vector<std::uint64_t> all(static_cast<std::size_t>(size_));
  mpi_.all_gather(&own, all.data(), sizeof own);
  if (std::ranges::all_of(all, [&](std::uint64_t hash) { return hash == all.front(); })) return;
  refuse_difference(calls.calls());
}

std::vector<std::vector<std::string>> MpiGroup::calls_of_all(const std::vector<std::string>& own) {
  std::string text;
  for (const std::string& call : own) text += call + '\n';
  const auto length = static_cast<std::int64_t>(text.size());
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(size_));
  mpi_.all_gather(&length, lengths.data(), sizeof length);
  std::vector<std::vector<std::string>> out(lengths.size());
  for (int i = 0; i < size_; ++i) {
    std::string theirs = i == rank_ ? text : std::string();
    theirs.resize(static_cast<std::size_t>(lengths[static_cast<std::size_t>(i)]));
    each_piece(static_cast<std::int64_t>(theirs.size()), 1,
               [&](std::int64_t begin, std::int32_t part) { mpi_.broadcast(theirs.data() + begin, part, i); });
    for (std::size_t begin = 0, end; (end = theirs.find('\n', begin)) != std::string::npos; begin = end + 1) {
      out[static_cast<std::size_t>(i)].push_back(theirs.substr(begin, end - begin));
    }
  }
  return out;
}

void MpiGroup::refuse_difference(const std::vector<std::string>& own) {
  const std::vector<std::vector<std::string>> all = calls_of_all(own);
  const auto call_of = [&](std::size_t process, std::size_t number) {
    return number < all[process].size() ? all[process][number] : std::string("nothing more");
  };
  std::size_t other = 1;
  while (other + 1 < all.size() && all[other] == all[0]) ++other;
  std::size_t number = 0;
  while (number < all[0].size() && number < all[other].size() && all[0][number] == all[other][number]) ++number;
  throw GraphError(core::text("distributed: processes are about to do different things: call ", number + 1, " is ",
                              call_of(0, number), " on rank 0 and ", call_of(other, number), " on rank ", other,
                              "; all processes call the same operators on the same shapes, in the same order"));
}

}  // namespace tyto::distributed
