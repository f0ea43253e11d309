# SPDX-License-Identifier: MIT
"""The tables of the texts that Tyto follows, measured here and printed beside the published numbers: Owl's figure 7,
MemoMalloc's table 3.1 and figures 3.3, 3.4 and 4.1, the counts of NNC, and Nervana's L2 norm.

papers.py BUILD [--quick] [--only figure7,plans,clients,nnc,l2] [--seconds 4] [--threads 1] [--clients 1,2,4,...]
          [--networks NAME,...] [--torch PYTHON] [--jemalloc LIBRARY] [--page FILE]

Writes a page of the same tables with plots, which needs no network. With --quick, which takes less than two minutes of
one core, Mask R-CNN is left out and few client threads run. --threads are those of figure 7, --networks those that
clients run. --torch is a Python with torch and torchvision, in which the same models run under jemalloc; it is looked
for in the path."""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

from page import Page

HERE = pathlib.Path(__file__).parent
PUBLISHED = json.loads((HERE / "published.json").read_text())
PARTS = ("figure7", "plans", "clients", "nnc", "l2")
JEMALLOC = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"
THESIS = ("bump", "mip", "gergov", "greedy_by_size", "mincost_flow", "greedy_by_breadth")


def output(*command, **environment):
    done = subprocess.run([str(word) for word in command], env={**os.environ, **environment}, stdout=subprocess.PIPE,
                          text=True, check=True)
    return done.stdout


def tabbed(*command):
    return [line.split("\t") for line in output(*command).splitlines()]


def markdown(text):
    """The rows of a table as benchmarks print it, each by the names of its columns; names come once only."""
    rows = [[cell.strip() for cell in line.strip("| \n").split(" | ")] for line in text.splitlines() if " | " in line]
    return [list(zip(rows[0], row)) for row in rows[1:]]


def number(value, digits=2):
    return "" if value is None else f"{value:.{digits}f}"


def figure7(run, page):
    published = PUBLISHED["figure7"]
    networks = [name for name in published if isinstance(published[name][0], float)]
    if run.quick:
        networks.remove("mask_rcnn")
    text = output(run.bin / "modes_bench", 0.2 if run.quick else run.seconds, *networks,
                  TYTO_THREADS=str(run.threads), OMP_NUM_THREADS=str(run.threads))
    rows, times, smaller_by = [], [], []
    for cells in markdown(text):
        name, mode, building, ms, faster, rss, smaller, planned, _, difference = (value for _, value in cells)
        owl = published[name]
        eager = mode == "eager"
        comparable = name not in published["whole training runs"]
        rows.append([name, mode, "" if eager else building, ms, faster, rss, smaller, planned, difference,
                     "" if eager else number(owl[1] * 1e3, 0),
                     number(owl[0 if eager else 2] * 1e3, 0) if comparable else "",
                     number(owl[0] / owl[0 if eager else 2]), number(owl[3 if eager else 4], 0),
                     number(owl[3] / owl[3 if eager else 4])])
        if not eager:
            times.append((f"{name}, {mode}", float(faster), owl[0] / owl[2]))
            smaller_by.append((f"{name}, {mode}", float(smaller), owl[3] / owl[4]))
    page.table("Owl's figure 7: eager mode, compiled functions, explicit graphs",
               text.splitlines()[0] + ("; milliseconds are of the processor" if run.threads == 1 else "")
               + ". RSS: the largest resident set of a process for each line. Owl's times for MNIST are of a whole "
               "training run, so only their ratio is shown. Published: " + published["source"] + ".",
               ["network", "mode", "building ms", "run ms", "eager / it", "RSS MB", "eager / it", "planned MB",
                "difference", "Owl: building", "Owl: run ms", "eager / it", "RSS MB", "eager / it"], rows)
    page.bars("Time: eager over graph", ("here", "Owl"), times)
    page.bars("Memory: eager over graph", ("here", "Owl"), smaller_by)
    if run.quick:
        page.line("Mask R-CNN is left out of the quick run.")


def plans(run, page):
    cells = {}
    for name, strategy, *values in tabbed(run.bin / "papers_bench", "plans", 128):
        cells.setdefault(name, {})[strategy] = [float(value) for value in values]
    published = PUBLISHED["table3.1"]
    rows = []
    for name, by_strategy in cells.items():
        recorded, best = by_strategy["recorded"], by_strategy["best"]
        rows.append([name, *(f"{x:.0f}" for x in recorded[:2]), number(recorded[2]), *(f"{x:.0f}" for x in best[:2]),
                     number(best[2]), number(best[3]), *published.get(name, [""] * 4)])
    page.table("MemoMalloc's table 3.1: intermediate allocations of one run",
               "A picture of 128 x 128, f32; workspaces of kernels are among the blocks. Published: "
               + published["source"] + ".",
               ["network", "steps as recorded", "blocks", "MB", "steps", "blocks", "MB", "alive at once, MB",
                "TorchScript", "MB", "profiled", "MB"], rows)
    names = list(cells)
    bounds = {name: cells[name]["best"][3] for name in names}
    strategies = [each for each in cells[names[0]] if each != "recorded"]
    strategies.sort(key=lambda each: each not in THESIS)
    rows = [["lower bound", *(number(bounds[name]) for name in names), ""]]
    ratios = []
    for each in strategies:
        ratio = sum(cells[name][each][4] / bounds[name] for name in names) / len(names)
        rows.append([each, *(number(cells[name][each][4]) for name in names), number(ratio, 3)])
        ratios.append((each, ratio, None))
    slab = PUBLISHED["figure3.4"]
    rows.append(["MemoMalloc's slab", *(number(slab.get(name)) for name in names), ""])
    page.table("MemoMalloc's figure 3.4: peak in MB by strategy",
               "Every plan passed the checker; the thesis's strategies come first. Published: " + slab["source"] + ".",
               ["strategy", *names, "mean of peak / bound"], rows)
    page.bars("Mean of peak over bound", ("here",), ratios)
    rows = [[each, *(number(cells[name][each][5], 3) for name in names)] for each in strategies]
    page.table("MemoMalloc's figure 3.3: milliseconds of planning",
               "Searches stop at a plan that meets the bound, as mip does here before it begins. Published, in words: "
               "greedy by size is fast enough to plan before every run.", ["strategy", *names], rows)


def torch_python(run):
    """A Python with torch and torchvision, or what is missing."""
    python = run.torch or shutil.which("python3")
    if not os.path.exists(run.jemalloc):
        return None, f"{run.jemalloc} is missing (--jemalloc)"
    found = python and subprocess.run([python, "-c", "import torch, torchvision"], capture_output=True, check=False)
    works = found and found.returncode == 0
    return (python, "") if works else (None, f"{python} has no torch and torchvision (--torch)")


def client_times(lines):
    """Milliseconds per run, of the processor and of the wall, by the number of clients."""
    return {int(n): (float(spent), float(wall)) for _, n, spent, wall in lines}


def clients(run, page):
    python, missing = torch_python(run)
    rows, growth, fewest = [], [], min(run.clients)
    for name in run.networks:
        ours = client_times(tabbed(run.bin / "papers_bench", "clients", run.clients_seconds, name, *run.clients))
        peers = {}
        if python:
            text = output(python, HERE / "clients_torch.py", run.clients_seconds, name, *run.clients,
                          LD_PRELOAD=run.jemalloc, MALLOC_CONF="oversize_threshold:1048576")
            peers = client_times(line.split("\t") for line in text.splitlines())
        for n in run.clients:
            (spent, wall), (peer, peer_wall) = ours[n], peers.get(n, (None, None))
            rows.append([name, n, number(spent), number(peer), number(peer and peer / spent),
                         number(wall), number(peer_wall), number(peer_wall and peer_wall / wall)])
        growth.append((name, [(n, ours[n][0] / ours[fewest][0]) for n in run.clients]))
    published = PUBLISHED["figure4.1"]
    page.table("MemoMalloc's figure 4.1: milliseconds per run, by client threads",
               f"A picture of 128 x 128; {os.cpu_count()} processors. Processor time leaves out waiting for locks; "
               "wall time, which has it, is that of the measurement divided by the runs of all clients. Published: "
               f"{published['source']}.",
               ["network", "clients", "processor: Tyto", "PyTorch, jemalloc", "PyTorch / Tyto",
                "wall: Tyto", "PyTorch, jemalloc", "PyTorch / Tyto"], rows)
    page.lines(f"Processor time per run over that with {fewest} client{'' if fewest == 1 else 's'}", "client threads",
               growth)
    if missing:
        page.line(f"PyTorch under jemalloc: skipped, {missing}.")


def nnc(run, page):
    rows = tabbed(run.bin / "papers_bench", "pebbles")
    published = PUBLISHED["pebbles"]
    page.table("Pebbles: one strategy is not least in time and space", "Published: " + published["source"] + ".",
               ["limit, pebbles", "steps", "pebbles", "Owl: steps", "pebbles"],
               [[limit if int(limit) else "none", steps, pebbles, *published[limit]]
                for kind, limit, steps, pebbles in (row for row in rows if row[0] == "pebbles")])
    published = PUBLISHED["regions"]
    page.table("Regions reused in parts", "100, then 60 and 40, then 100; and 8 6 3 5 8 one after the other. "
               "Published: " + published["source"] + ".", ["blocks", "strategy", "bytes", "bound", "published"],
               [[*row, published.get(f"{row[0]} {row[1]}", "")] for row in rows if row[0] in ("parts", "serial")])
    published = PUBLISHED["delays"]
    page.table("Loops x[c] = f(x[c - k]) without copies", "Published: " + published["source"] + ".",
               ["k", "arrays", "values copied", "libnnc"],
               [[k, arrays, moved, published[k]] for kind, k, arrays, moved in (r for r in rows if r[0] == "delay")])
    wanted = ("graph", "nodes", "naive MB", "bound MB", "plan MB", "plan / bound", "peer's plan MB")
    rows = [[value for name, value in row if name in wanted] for row in markdown(output(run.bin / "graphs_bench"))]
    page.table("Whole networks beside libnnc's plans",
               "Not the same conflicts: libnnc plans for any order of steps without a path between them.", wanted, rows)


def l2(run, page):
    published = PUBLISHED["l2"]
    rows = []
    for what, recorded, nodes, steps, arena in tabbed(run.bin / "papers_bench", "l2"):
        rows.append([what, recorded, nodes, steps, arena, number(int(arena) / 2**26, 3), published[what]])
    page.table("Nervana's L2 norm of x - y, 2^24 numbers", "Published: " + published["source"] + ".",
               ["program", "nodes recorded", "nodes", "steps", "bytes between", "arrays between", "published"], rows)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--clients")
    parser.add_argument("--networks", default="squeezenet1_0,resnet18,googlenet,mnasnet0_75")
    parser.add_argument("--torch")
    parser.add_argument("--jemalloc", default=JEMALLOC)
    parser.add_argument("--page", type=pathlib.Path)
    run = parser.parse_args()
    run.bin = run.build / "bin"
    run.clients = [int(n) for n in (run.clients or ("1,2,8" if run.quick else "1,2,4,8,16,32,64,128")).split(",")]
    run.networks = ["squeezenet1_0"] if run.quick else run.networks.split(",")
    run.clients_seconds = 0.5 if run.quick else run.seconds / 2
    parts = run.only.split(",")
    for name in parts:
        if name not in PARTS:
            sys.exit(f"papers.py: --only takes {', '.join(PARTS)}, not '{name}'")
    page = Page("The tables of the texts")
    for name in parts:
        globals()[name](run, page)
    path = run.page or run.build / "papers.html"
    path.write_text(page.html())
    print(f"\nwritten: {path}")


if __name__ == "__main__":
    main()
