// SPDX-License-Identifier: MIT
// Clients that call one ONNX model at the same time, each call on one thread; clients_peers.py runs it by turns with
// ONNX Runtime, whose threads share a session.
//
//   clients_bench MODEL.onnx CLIENTS SECONDS sessions|pool|BATCH
//
// `sessions`: one for each client; `pool`: as many as there are processors; a number: the same with so many calls put
// together. Lengths that the file leaves open are 1. Prints calls a second, the median and the 99th percentile of
// milliseconds a call, and the growth of the process's peak memory in MB.
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <tyto/onnx.hpp>
#include <tyto/sessions.hpp>
#include <tyto/tyto.hpp>

namespace {

using Tensor = tyto::Tensor<tyto::Lazy>;
using Inputs = tyto::NamedList<Tensor>;
using Clock = std::chrono::steady_clock;

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// Each client has its own: calls with equal arguments tell a pool nothing, and are not put together.
Inputs inputs_of(const tyto::OnnxModel<Tensor>& model, int client) {
  Inputs inputs;
  for (const tyto::ModelTensor& input : model.inputs()) {
    tyto::Shape shape;
    for (const tyto::ModelLength& length : input.shape.value()) shape.push_back(length.length.value_or(1));
    inputs.push_back(
        {input.name, Tensor::full(shape, 0.5 / (1 + client), tyto::DType::f32).astype(input.dtype.value())});
    (void)inputs.back().value.bytes();
  }
  return inputs;
}

void measure(int clients, double seconds, double before, const std::function<std::function<void()>(int)>& prepare) {
  std::atomic<int> ready = 0;
  std::atomic<bool> go = false, stop = false;
  std::vector<std::vector<double>> times(static_cast<std::size_t>(clients));
  std::vector<std::thread> threads;
  for (int client = 0; client < clients; ++client) {
    threads.emplace_back([&, client] {
      const tyto::ThreadLimit one(1);
      const std::function<void()> call = prepare(client);
      for (int i = 0; i < 3; ++i) call();
      ++ready;
      while (!go) std::this_thread::yield();
      while (!stop) {
        const auto start = Clock::now();
        call();
        times[static_cast<std::size_t>(client)].push_back(
            std::chrono::duration<double, std::milli>(Clock::now() - start).count());
      }
    });
  }
  while (ready != clients) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto start = Clock::now();
  go = true;
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  stop = true;
  for (std::thread& thread : threads) thread.join();
  const double passed = std::chrono::duration<double>(Clock::now() - start).count();
  std::vector<double> all;
  for (const std::vector<double>& each : times) all.insert(all.end(), each.begin(), each.end());
  std::sort(all.begin(), all.end());
  const auto at = [&](double share) {
    return all[static_cast<std::size_t>(share * static_cast<double>(all.size() - 1))];
  };
  std::printf("%.1f %.3f %.3f %.1f\n", static_cast<double>(all.size()) / passed, at(0.5), at(0.99),
              peak_megabytes() - before);
}

void run(const std::string& path, int clients, double seconds, const std::string& way) {
  const double before = peak_megabytes();
  auto model = tyto::read_onnx<Tensor>(path);
  const auto read = [](const tyto::NamedList<Tensor>& outputs) {
    for (const tyto::Named<Tensor>& output : outputs) (void)output.value.bytes();
  };
  if (way == "sessions") {
    return measure(clients, seconds, before, [&](int client) -> std::function<void()> {
      return [&read, inputs = inputs_of(model, client), mine = model.session()]() mutable { read(mine(inputs)); };
    });
  }
  const int processors = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  tyto::SessionPool pool(model, {.sessions = processors,
                                 .threads = 1,
                                 .batch = way == "pool" ? 1 : std::stoll(way),
                                 .wait_us = way == "pool" ? 0 : 200});
  measure(clients, seconds, before, [&](int client) -> std::function<void()> {
    return [&pool, &read, inputs = inputs_of(model, client)] { read(pool(inputs)); };
  });
}

}  // namespace

int main(int count, char** words) {
  try {
    if (count != 5) throw tyto::ValueError("usage: clients_bench MODEL.onnx CLIENTS SECONDS sessions|pool|BATCH");
    run(words[1], std::atoi(words[2]), std::atof(words[3]), words[4]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
