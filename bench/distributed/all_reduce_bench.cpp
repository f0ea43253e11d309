// SPDX-License-Identifier: MIT
// Gradients summed over processes in a planned step beside MPI_Allreduce of as many bytes in pieces.
//
//   tyto launch --mpi openmpi -n 2 all_reduce_bench_openmpi [MEBIBYTES ROUNDS]
//
// The step computes gradients into their buckets, sums these and updates the states that they belong to. Rank 0 prints
// the best milliseconds of each over all rounds, in which they take turns.
#define OMPI_SKIP_MPICXX 1  // the C++ interface that MPI once had needs libraries of its own
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <vector>

#include <tyto/distributed.hpp>
#include <tyto/tyto.hpp>

namespace {

namespace distributed = tyto::distributed;
using Tensor = tyto::Tensor<tyto::Lazy>;

template <class Call>
double milliseconds(const Call& call) {
  MPI_Barrier(MPI_COMM_WORLD);
  const auto begin = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

void keep_best(double& best, double time) { best = best == 0 ? time : std::min(best, time); }

void compare(std::int64_t mebibytes, int rounds) {
  const distributed::Group group = distributed::start();
  constexpr std::int64_t largest = 1 << 18;  // elements of a MiB
  std::vector<Tensor> states;
  std::vector<float> raw;
  for (std::int64_t i = 0; i < mebibytes; ++i) {
    // As networks have them: large ones, and small ones that lie beside them.
    for (const std::int64_t count : {largest / 2, largest / 4, largest / 4 - 1024, std::int64_t{1024}}) {
      states.push_back(Tensor::variable(Tensor::ones({count}), "w"));
    }
  }
  raw.resize(static_cast<std::size_t>(mebibytes * largest), 1.0f);
  const auto step_of = [&](bool sums) {
    return tyto::compile([&, sums](Tensor scale) {
      for (std::size_t i = states.size(); i-- > 0;) {
        const Tensor gradient = states[i] * scale;
        assign(states[i], (sums ? distributed::all_reduce(gradient) : gradient) * 0.5);
      }
      return scale;
    });
  };
  auto step = step_of(true), alone = step_of(false);
  const Tensor one = Tensor::full({}, 1.0f);
  double best_step = 0, best_alone = 0, best_sums = 0;
  std::map<int, double> best;  // by bytes of a piece
  for (int round = 0; round < rounds; ++round) {
    keep_best(best_step, milliseconds([&] { (void)step(one).item<float>(); }));
    keep_best(best_alone, milliseconds([&] { (void)alone(one).item<float>(); }));
    double sums = 0;
    for (const tyto::StepProfile& each : step.profile(one).steps) {
      if (each.name == "all_reduce") sums += each.milliseconds;
    }
    keep_best(best_sums, sums);
    for (int piece = 64 << 10; piece <= mebibytes << 20; piece *= 4) {
      const int most = piece / static_cast<int>(sizeof(float));
      keep_best(best[piece], milliseconds([&] {
                  for (std::size_t at = 0; at < raw.size(); at += static_cast<std::size_t>(most)) {
                    const int count = static_cast<int>(std::min<std::size_t>(raw.size() - at, most));
                    MPI_Allreduce(MPI_IN_PLACE, raw.data() + at, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
                  }
                }));
    }
  }
  if (!group.is_first()) return;
  double least = 0;
  for (const auto& [piece, time] : best) {
    std::printf("raw, pieces of %5d KiB  %8.3f ms\n", piece >> 10, time);
    keep_best(least, time);
  }
  std::printf("step %.3f ms, without sums %.3f, sums in it %.3f\n", best_step, best_alone, best_sums);
  std::printf("raw in its best pieces / sums in a planned step: %.3f\n", least / best_sums);
}

}  // namespace

int main(int count, char** words) {
  try {
    compare(count > 1 ? std::atol(words[1]) : 25, count > 2 ? std::atoi(words[2]) : 50);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "all_reduce_bench: %s\n", error.what());
    return 1;
  }
}
