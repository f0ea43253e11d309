# SPDX-License-Identifier: MIT
"""Clients of one model: Tyto's sessions and pools beside one shared session of ONNX Runtime, by turns.

clients_peers.py PATH/clients_bench MODEL.onnx ... [--clients 1,2,8,64] [--seconds 4] [--rounds 3] [--ways sessions,pool,8]

Each call runs on one thread; lengths that a model leaves open are 1. Each system runs in a process of its own. A line a
model, number of clients and system: of the best round calls a second, the median and the 99th percentile of
milliseconds a call, the growth of the process's peak memory in MB; and calls a second over ONNX Runtime's.
A way that is a number puts so many calls together, which takes a model that leaves its first length open.
Needs numpy and onnxruntime."""
import argparse
import os
import resource
import subprocess
import sys
import threading
import time


def peak_megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def serve(path, clients, seconds):
    """ONNX Runtime: all threads call one session."""
    import numpy
    import onnxruntime

    before = peak_megabytes()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    types = {"tensor(float)": numpy.float32, "tensor(int64)": numpy.int64}
    given = {
        x.name: numpy.full([n if isinstance(n, int) and n > 0 else 1 for n in x.shape], 0.5, types[x.type])
        for x in session.get_inputs()
    }
    times = [[] for _ in range(clients)]
    stop = threading.Event()
    ready = threading.Barrier(clients + 1)

    def client(own):
        for _ in range(3):
            session.run(None, given)
        ready.wait()
        while not stop.is_set():
            start = time.perf_counter()
            session.run(None, given)
            own.append((time.perf_counter() - start) * 1e3)

    threads = [threading.Thread(target=client, args=(own,)) for own in times]
    for thread in threads:
        thread.start()
    ready.wait()
    start = time.perf_counter()
    time.sleep(seconds)
    stop.set()
    for thread in threads:
        thread.join()
    passed = time.perf_counter() - start
    every = numpy.sort(numpy.concatenate([numpy.array(own) for own in times]))
    print(len(every) / passed, every[int(0.5 * (len(every) - 1))], every[int(0.99 * (len(every) - 1))],
          peak_megabytes() - before)


def measured(command):
    environment = dict(os.environ, TYTO_THREADS="1", OMP_NUM_THREADS="1")
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        return done.stderr.strip().splitlines()[-1]
    return [float(number) for number in done.stdout.split()]


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("program")
    words.add_argument("models", nargs="+")
    words.add_argument("--clients", default="1,2,8,64")
    words.add_argument("--seconds", default="4")
    words.add_argument("--rounds", type=int, default=3)
    words.add_argument("--ways", default="sessions,pool,8")
    asked = words.parse_args()
    print(f"{'model':<24}{'clients':>8}  {'system':<14}{'calls/s':>9}{'p50 ms':>10}{'p99 ms':>10}{'MB':>8}{'ratio':>7}")
    for path in asked.models:
        for clients in asked.clients.split(","):
            commands = {"ONNX Runtime": [sys.executable, __file__, "--serve", path, clients, asked.seconds]}
            for way in asked.ways.split(","):
                commands[f"batch {way}" if way.isdigit() else way] = [asked.program, path, clients, asked.seconds, way]
            best = {}
            for _ in range(asked.rounds):
                for system, command in commands.items():
                    figures = measured(command)
                    known = best.get(system)
                    if known is None or isinstance(known, str) or (not isinstance(figures, str) and figures[0] > known[0]):
                        best[system] = figures
            for system, figures in best.items():
                line = f"{os.path.basename(path)[:23]:<24}{clients:>8}  {system:<14}"
                if isinstance(figures, str):
                    print(line + figures)
                    continue
                calls, median, late, memory = figures
                reference = best["ONNX Runtime"]
                ratio = f"{calls / reference[0]:7.2f}" if not isinstance(reference, str) else "      -"
                print(f"{line}{calls:9.1f}{median:10.3f}{late:10.3f}{memory:8.1f}{ratio}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 5 and sys.argv[1] == "--serve":
        serve(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
    else:
        main()
