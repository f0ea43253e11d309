// SPDX-License-Identifier: MIT
// The table for the MPI whose mpi.h this is compiled with: libtyto-openmpi.so or libtyto-mpich.so.
#include "distributed/mpi/table.hpp"

// The C++ interface that MPI once had needs libraries of its own.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <string>
#include <vector>

namespace {

using tyto::DType;
using tyto::core::Reduction;

MPI_Datatype type_of(DType type) {
  switch (type) {
    case DType::i8: return MPI_INT8_T;
    case DType::u8: return MPI_UINT8_T;
    case DType::i16: return MPI_INT16_T;
    case DType::u16: return MPI_UINT16_T;
    case DType::i32: return MPI_INT32_T;
    case DType::u32: return MPI_UINT32_T;
    case DType::i64: return MPI_INT64_T;
    case DType::u64: return MPI_UINT64_T;
    case DType::f32: return MPI_FLOAT;
    default: return MPI_DOUBLE;
  }
}

// Tyto's minimum and maximum: a NaN if there is one, and the first of equal elements such as zeros of both signs. MPI
// leaves both open. Ranks come in order, the earlier ones in `in`, as the operation is not commutative.
template <class T, bool larger>
void extreme(void* in, void* inout, int* count, MPI_Datatype*) {
  const T* from = static_cast<const T*>(in);
  T* to = static_cast<T*>(inout);
  for (int i = 0; i < *count; ++i) {
    const bool first = larger ? from[i] >= to[i] : from[i] <= to[i];
    if (first || std::isnan(from[i])) to[i] = from[i];
  }
}

MPI_Op floating_extremes[2][2];  // min and max, of f32 and f64

MPI_Op operation_of(DType type, Reduction reduction) {
  if (reduction == Reduction::sum) return MPI_SUM;
  const bool larger = reduction == Reduction::max;
  if (type == DType::f32 || type == DType::f64) return floating_extremes[larger][type == DType::f64];
  return larger ? MPI_MAX : MPI_MIN;
}

void start() {
  int given = 0;
  // One thread communicates.
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given);
  MPI_Op_create(extreme<float, false>, 0, &floating_extremes[0][0]);
  MPI_Op_create(extreme<double, false>, 0, &floating_extremes[0][1]);
  MPI_Op_create(extreme<float, true>, 0, &floating_extremes[1][0]);
  MPI_Op_create(extreme<double, true>, 0, &floating_extremes[1][1]);
}

std::vector<MPI_Comm>& groups() {
  static std::vector<MPI_Comm> known{MPI_COMM_WORLD};
  return known;
}
MPI_Comm group_of(std::int32_t number) { return groups()[static_cast<std::size_t>(number)]; }

/// A message on its way.
struct Sent {
  MPI_Request request = MPI_REQUEST_NULL;
  std::vector<char> bytes;
};

std::deque<Sent>& messages() {
  static std::deque<Sent> known;
  return known;
}

bool is_done(MPI_Request& request) {
  int done = 0;
  MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  return done != 0;
}

/// Messages that arrived and that nobody received, such as those of a run that threw.
void receive_rest() {
  std::vector<char> bytes;
  for (const MPI_Comm group : groups()) {
    for (int there = 1; there != 0;) {
      MPI_Status message;
      MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, group, &there, &message);
      if (there == 0) continue;
      int count = 0;
      MPI_Get_count(&message, MPI_BYTE, &count);
      bytes.resize(static_cast<std::size_t>(count));
      MPI_Recv(bytes.data(), count, MPI_BYTE, message.MPI_SOURCE, message.MPI_TAG, group, MPI_STATUS_IGNORE);
    }
  }
}

// A large message is only sent when somebody receives it, and MPICH 4.2 ends the process where one was left.
void finish() {
  for (Sent& each : messages()) {
    while (!is_done(each.request)) receive_rest();
  }
  MPI_Request all_sent = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &all_sent);
  while (!is_done(all_sent)) receive_rest();
  receive_rest();
  MPI_Finalize();
}

std::int32_t rank(std::int32_t group) {
  int own = 0;
  MPI_Comm_rank(group_of(group), &own);
  return own;
}

std::int32_t size(std::int32_t group) {
  int all = 0;
  MPI_Comm_size(group_of(group), &all);
  return all;
}

std::int32_t split(std::int32_t group, std::int32_t colour, std::int32_t key) {
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(group_of(group), colour, key, &part);
  groups().push_back(part);
  return static_cast<std::int32_t>(groups().size() - 1);
}

const char* name() {
  static const std::string first_words = [] {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    std::string words(text, static_cast<std::size_t>(length));
    words.resize(std::min(words.find_first_of(",\n"), words.size()));
    // "MPICH Version:\t4.0.2"
    if (const std::size_t at = words.find(" Version:"); at != std::string::npos)
      words.erase(at, sizeof " Version:" - 1);
    for (char& letter : words) letter = letter == '\t' ? ' ' : letter;
    words.erase(words.find_last_not_of(' ') + 1);
    return words;
  }();
  return first_words.c_str();
}

void all_reduce(std::int32_t group, void* data, std::int32_t count, DType type, Reduction reduction) {
  MPI_Allreduce(MPI_IN_PLACE, data, count, type_of(type), operation_of(type, reduction), group_of(group));
}

// MPI_Reduce_scatter_block takes Open MPI 4.1 five times as long, from 256 KiB on.
void reduce_scatter(std::int32_t group, const void* parts, void* own, std::int32_t count, DType type,
                    Reduction reduction) {
  static std::vector<int> counts;
  counts.assign(static_cast<std::size_t>(size(group)), count);
  MPI_Reduce_scatter(parts, own, counts.data(), type_of(type), operation_of(type, reduction), group_of(group));
}

void all_gather(std::int32_t group, const void* own, void* all, std::int32_t bytes) {
  MPI_Allgather(own, bytes, MPI_BYTE, all, bytes, MPI_BYTE, group_of(group));
}

void broadcast(std::int32_t group, void* data, std::int32_t bytes, std::int32_t root) {
  MPI_Bcast(data, bytes, MPI_BYTE, root, group_of(group));
}

void barrier(std::int32_t group) { MPI_Barrier(group_of(group)); }

// Processes in a ring all send before they receive: a send that waited would wait for ever.
void send(std::int32_t group, const void* data, std::int32_t bytes, std::int32_t to, std::int32_t tag) {
  const auto place =
      std::find_if(messages().begin(), messages().end(), [](Sent& each) { return is_done(each.request); });
  Sent& message = place != messages().end() ? *place : messages().emplace_back();
  const char* const first = static_cast<const char*>(data);
  message.bytes.assign(first, first + bytes);
  MPI_Isend(message.bytes.data(), bytes, MPI_BYTE, to, tag, group_of(group), &message.request);
}

void recv(std::int32_t group, void* data, std::int32_t bytes, std::int32_t from, std::int32_t tag) {
  MPI_Recv(data, bytes, MPI_BYTE, from, tag, group_of(group), MPI_STATUS_IGNORE);
}

/// A file that lies in no folder, as other processes of this machine find it: MPI's own shared windows need room in
/// /dev/shm, without which some processes fail and the others wait for them.
struct SharedFile {
  long process = 0;
  long descriptor = -1;
  unsigned long device = 0;  // which file it is, wherever the path may lead
  unsigned long number = 0;
};

bool identify(int file, SharedFile& shared) {
  struct stat facts {};
  if (fstat(file, &facts) != 0) return false;
  shared.device = facts.st_dev;
  shared.number = facts.st_ino;
  return true;
}

int made(std::size_t bytes, SharedFile& shared) {
  const int file = memfd_create("tyto", MFD_CLOEXEC);
  if (file < 0) return -1;
  // Without its bytes a mapping would be there all the same, and end whoever touches it.
  if (ftruncate(file, static_cast<off_t>(bytes)) != 0 || !identify(file, shared)) {
    close(file);
    return -1;
  }
  shared.process = getpid();
  shared.descriptor = file;
  return file;
}

int opened(const SharedFile& shared) {
  if (shared.descriptor < 0) return -1;
  const std::string path = "/proc/" + std::to_string(shared.process) + "/fd/" + std::to_string(shared.descriptor);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  SharedFile found;
  if (file >= 0 && identify(file, found) && found.device == shared.device && found.number == shared.number) return file;
  if (file >= 0) close(file);
  return -1;
}

std::uint64_t* shared_words(std::int32_t group, std::int32_t* count, std::int32_t* ranks) {
  MPI_Comm machine = MPI_COMM_NULL;
  MPI_Comm_split_type(group_of(group), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  int place = 0, all = 0;
  MPI_Comm_rank(machine, &place);
  MPI_Comm_size(machine, &all);
  const std::int32_t own = rank(0);
  MPI_Allgather(&own, 1, MPI_INT32_T, ranks, 1, MPI_INT32_T, machine);
  *count = all;
  const std::size_t bytes = sizeof(std::uint64_t) * static_cast<std::size_t>(all);
  SharedFile shared;
  int file = place == 0 ? made(bytes, shared) : -1;
  MPI_Bcast(&shared, sizeof shared, MPI_BYTE, 0, machine);
  if (place != 0) file = opened(shared);
  void* const words = file < 0 ? MAP_FAILED : mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  int there = words != MAP_FAILED;
  MPI_Allreduce(MPI_IN_PLACE, &there, 1, MPI_INT, MPI_MIN, machine);
  MPI_Comm_free(&machine);
  if (file >= 0) close(file);
  if (there != 0) return static_cast<std::uint64_t*>(words);
  if (words != MAP_FAILED) munmap(words, bytes);
  return nullptr;
}

const TytoMpi table{tyto_mpi_version, start,      finish,    rank,    size, name, split,       all_reduce,
                    reduce_scatter,   all_gather, broadcast, barrier, send, recv, shared_words};

}  // namespace

extern "C" __attribute__((visibility("default"))) const TytoMpi* tyto_mpi() { return &table; }
