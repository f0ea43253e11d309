# SPDX-License-Identifier: MIT
"""Training steps on several processes: Tyto beside DistributedDataParallel of PyTorch on gloo, and its own threads.

ranks_peers.py PATH/models_bench [--seconds 6] [--rounds 5] [--only TEXT,TEXT] [--ranks 2] [--mpi openmpi|mpich]
               [--peers torch,channels_last,compiled] [--folder DIR]

`tyto` lies beside models_bench. Each process has one thread and its part of one batch, from equal weights; "threads" is
one process of Tyto with the whole batch and as many threads. DIR keeps weights and inputs for the next call. A line
each, whose cells are Tyto's processes / the other = ratio: milliseconds of the best step of all rounds, which
alternate; processor time of a step, of all processes together; MiB of the process that has the most, at its peak, and
by how much training made it grow, as the median round has them. The last column is the largest relative difference of
the first losses (with batch normalisation, whose statistics are those of a part, threads compute something else). On a
busy machine waiting processes lose their turn: chrt -f 1 before the command keeps it. Needs numpy and torch."""
import argparse
import contextlib
import importlib.util
import os
import socket
import subprocess
import sys
import tempfile

import numpy
from models_peers import COMPARED_STEPS, PEERS, measured, network_of, peak, training_step

NAMES = ("mnist_step", "resnet18_step", "gpt_step")


def run_ddp(system, row, folder, seconds):
    """One of the processes that torch's own launcher would start: the environment says which."""
    import torch
    from torch import distributed
    from torch.nn.parallel import DistributedDataParallel

    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    rank, ranks = distributed.get_rank(), distributed.get_world_size()

    def of_all(number, how):
        whole = torch.tensor(float(number), dtype=torch.float64)
        distributed.all_reduce(whole, how)
        return whole.item()

    inputs = {}
    for name, value in numpy.load(f"{folder}/{row}.inputs.npz").items():
        size = len(value)
        inputs[name] = torch.from_numpy(value[size * rank // ranks:size * (rank + 1) // ranks].copy())
    x = inputs["x"]
    if x.dim() == 4:
        x = x.permute(0, 3, 1, 2)
        if system == "torch":
            x = x.contiguous()
    before = peak()
    network = network_of(row)
    if system != "torch":
        torch.backends.mha.set_fastpath_enabled(False)
        network = network.to(memory_format=torch.channels_last)
    # No copies of gradients beside the buckets, and no broadcast of running statistics, which Tyto does not do either.
    network = DistributedDataParallel(network, gradient_as_bucket_view=True, broadcast_buffers=False)
    forward = torch.compile(network) if system == "compiled" else network
    network.train()
    step = training_step(row, forward, network.parameters(), x, inputs["t"])
    losses, first, times, busy = measured(step, seconds, COMPARED_STEPS,
                                          lambda runs: of_all(runs, distributed.ReduceOp.MAX))
    losses = [of_all(loss, distributed.ReduceOp.SUM) / ranks for loss in losses]
    figures = [of_all(number, distributed.ReduceOp.MAX) for number in (peak() - before, peak())]
    busy = of_all(busy, distributed.ReduceOp.SUM)
    if rank == 0:
        numpy.save(f"{folder}/{row}.{system}.npy", numpy.array(losses, numpy.float32))
        print(first, min(times) * 1e3, sorted(times)[len(times) // 2] * 1e3, *figures, busy * 1e3, flush=True)
    distributed.barrier()
    os._exit(0)  # at its usual end PyTorch 2.13 terminates now and then, where something was compiled


def free_port():
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return str(any_port.getsockname()[1])


def figures_of(processes):
    """The line of figures that one of them prints, or None and why there is none."""
    with contextlib.ExitStack() as files:
        errors = [files.enter_context(tempfile.TemporaryFile("w+")) for _ in processes]  # pipes could fill up
        started = [subprocess.Popen(command, env=dict(os.environ, **environment), stdout=subprocess.PIPE,
                                    stderr=file, text=True)
                   for (command, environment), file in zip(processes, errors)]
        texts = [process.communicate()[0] for process in started]
        for process, file in zip(started, errors):
            if process.returncode != 0:
                file.seek(0)
                return None, (file.read().strip().splitlines() or ["failed"])[-1]
    return [float(word) for word in "".join(texts).split()[-6:]], None


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("program")
    arguments.add_argument("--seconds", type=float, default=6)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--only", default="")
    arguments.add_argument("--ranks", type=int, default=2)
    arguments.add_argument("--mpi", default="")
    arguments.add_argument("--peers", default="torch,channels_last,compiled")
    arguments.add_argument("--folder")
    given = arguments.parse_args()
    this = [sys.executable, os.path.abspath(__file__)]
    launch = [os.path.join(os.path.dirname(given.program), "tyto"), "launch", "-n", str(given.ranks)]
    launch += ["--mpi", given.mpi] if given.mpi else []
    print("| network | beside | step ms | processor ms | peak MiB | grown MiB | difference |\n"
          "|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or temporary
        os.makedirs(folder, exist_ok=True)
        for row in (row for row in NAMES if any(text in row for text in given.only.split(","))):
            if not os.path.exists(f"{folder}/{row}.weights.npz"):
                models = os.path.join(os.path.dirname(this[1]), "models_peers.py")
                subprocess.run([sys.executable, models, "--prepare", row, folder], check=True)
            words = [given.program, row, folder, str(given.seconds)]
            threads = str(given.ranks)
            sides = {
                "ranks": lambda: [([*launch, *words], {"TYTO_THREADS": "1", "OMP_NUM_THREADS": "1"})],
                "threads": lambda: [(words, {"TYTO_THREADS": threads, "OMP_NUM_THREADS": threads})],
            }
            for peer in filter(lambda peer: PEERS[peer](row, folder), given.peers.split(",")):

                def ddp(peer=peer):
                    group = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port(), "WORLD_SIZE": str(given.ranks),
                             "OMP_NUM_THREADS": "1"}
                    return [([*this, "--child", peer, row, folder, str(given.seconds)], dict(group, RANK=str(rank)))
                            for rank in range(given.ranks)]

                sides[peer] = ddp
            rounds, losses = {}, {}
            for _ in range(given.rounds):
                for side, processes in list(sides.items()):
                    figures, fault = figures_of(processes())
                    if figures is None:
                        print(f"{row}: {side} is left out: {fault}", file=sys.stderr)
                        del sides[side]
                        continue
                    rounds.setdefault(side, []).append(figures)
                    file = "tyto" if side in ("ranks", "threads") else side
                    losses[side] = numpy.load(f"{folder}/{row}.{file}.npy").astype(numpy.float64)

            if "ranks" not in rounds:
                continue

            def best(side):
                return min(figures[1] for figures in rounds[side])

            def median(side, column):
                return sorted(figures[column] for figures in rounds[side])[len(rounds[side]) // 2]

            def difference(side):
                return (numpy.abs(losses[side] - losses["ranks"]) / losses["ranks"]).max()

            for side in (side for side in rounds if side != "ranks"):
                cells = []
                for ours, theirs in ((best("ranks"), best(side)), (median("ranks", 5), median(side, 5)),
                                     (median("ranks", 4) / 2**20, median(side, 4) / 2**20),
                                     (median("ranks", 3) / 2**20, median(side, 3) / 2**20)):
                    cells.append(f"{ours:.1f} / {theirs:.1f} = {ours / theirs:.2f}")
                print(f"| {row} | {side} | {' | '.join(cells)} | {difference(side):.1e} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        run_ddp(*sys.argv[2:5], float(sys.argv[5]))
    else:
        main()
