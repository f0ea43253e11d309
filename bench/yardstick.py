# SPDX-License-Identifier: MIT
"""Measures a state of Tyto, one figure a line: lines by folder, the size of the stripped library, a clean
build, the networks of models_bench and networks_bench, the models of $TYTO_DATA/zoo, programs_bench, and the lines of
docs/numpy.md (rows_bench).

yardstick.py BUILD [--against TABLE | --beside LIBRARY_FOLDER] [--only lines,size,build,models,zoo,networks,programs,rows]
             [--sizes 10000,1000000] [--threads 1,2] [--rounds 3] [--seconds 3] [--weights FOLDER]

Prints a table of tab-separated names and values. With --against, an earlier table, a column of ratios follows and then a
summary: the geometric mean of each group and what takes over 1.03 (lines of NumPy: 1.3) of before. With --beside, the folder
of an earlier build's libtyto, both libraries are measured by turns with the programs of this build, which a busy machine
needs; networks only where that build has its networks_bench. --build compiles the library alone in a new folder, without
ccache; it is measured only when it is named by --only.
The weights of models_bench are made by models_peers.py, which needs PyTorch, unless FOLDER has them."""
import argparse
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
FOLDERS = ("include", "core", "ops", "numerics", "optimiser", "devices/cpu", "devices/opencl", "engine", "nn", "io",
           "onnx", "distributed", "cli", "tests", "bench")
MODELS = ("resnet50_b1", "mobilenet_v2", "encoder", "mnist_step", "resnet18_step", "gpt_step", "lstm_step",
          "gpt_decoding")
WORTH_TELLING = {"rows": 1.3}  # others: 1.03


def lines(_):
    total = 0
    for folder in FOLDERS:
        count = 0
        for path in pathlib.Path(ROOT, folder).rglob("*"):
            if path.suffix in (".cpp", ".hpp", ".inc", ".def"):
                count += path.read_bytes().count(b"\n")
        total += 0 if folder in ("tests", "bench") else count
        yield folder, count
    yield "product", total


def size(run):
    with tempfile.TemporaryDirectory() as folder:
        stripped = os.path.join(folder, "libtyto")
        subprocess.run(["strip", "-o", stripped, os.path.join(run.library or f"{run.build}/lib", "libtyto.so")],
                       check=True)
        yield "stripped MB", os.path.getsize(stripped) / 1e6


def build(_):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                        "-DCMAKE_CXX_COMPILER_LAUNCHER="], check=True, stdout=subprocess.DEVNULL)
        before, began = os.times(), time.time()
        subprocess.run(["cmake", "--build", folder, "--parallel", str(os.cpu_count()), "--target", "tyto"], check=True,
                       stdout=subprocess.DEVNULL)
        after = os.times()
        yield "wall s", time.time() - began
        yield "processor s", after.children_user - before.children_user + after.children_system - before.children_system


class Run:
    """Programs of the build with its own library, or of another build with that one's: those that it lacks are ours."""

    def __init__(self, options, library=None):
        self.build, self.options, self.library = options.build, options, library
        self.environment = dict(os.environ, OMP_WAIT_POLICY="passive")
        if library:
            self.environment["LD_LIBRARY_PATH"] = library

    def path(self, program):
        own = f"{self.library}/../bin/{program}" if self.library else ""
        return own if os.path.exists(own) else f"{self.build}/bin/{program}"

    def output(self, program, *words, **more):
        environment = dict(self.environment, **more)
        return subprocess.run([self.path(program), *map(str, words)], env=environment, check=True, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def models(run):
    folder = run.options.weights
    for name in MODELS:
        if not os.path.exists(f"{folder}/{name}.weights.npz"):
            # Without onnxscript it fails behind the weights, at the files for ONNX Runtime, which nobody needs here.
            subprocess.run([sys.executable, f"{HERE}/peers/models_peers.py", "--prepare", name, folder],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for threads in run.options.threads.split(","):
            words = run.output("models_bench", name, folder, run.options.seconds, TYTO_THREADS=threads).split()
            yield f"{name} {threads} threads ms", float(words[1])


def zoo(run):
    """The models of $TYTO_DATA/zoo, with random inputs of the shapes that bench/zoo/zoo.py gives them."""
    sys.path.insert(0, f"{HERE}/zoo")
    from zoo import MODELS as known
    for file, _, shapes, bound in known:
        model = os.path.join(os.environ.get("TYTO_DATA", ""), "zoo", file)
        if not os.path.exists(model):
            continue
        first = re.search(r"inputs\n +(\S+)", run.output("tyto", "show", model))[1]
        words = ["run", model, "--time", "20"] + [f"--bind={name}={value}" for name, value in bound.items()]
        words += [f"--shape={name or first}={','.join(map(str, shape))}" for name, shape in shapes.items()]
        for threads in run.options.threads.split(","):
            found = re.search(r"shortest ([0-9.e+-]+) ms", run.output("tyto", *words, "--threads", threads))
            yield f"{file} {threads} threads ms", float(found[1])


def networks(run):
    # The program contains the library: with ours, another library's figures would be our own.
    if run.library and run.path("networks_bench") == f"{run.build}/bin/networks_bench":
        return
    for line in run.output("networks_bench", run.options.seconds).splitlines():
        if re.match(r"\| [^|]+ \| [0-9.]+ \|", line):
            cells = [cell.strip() for cell in line.split("|")]
            yield f"{cells[1]} ms", float(cells[6])


def programs(run):
    for line in run.output("programs_bench", PATH="").splitlines():  # no python3, no JAX
        if found := re.match(r"(\S+) +([0-9.]+)$", line):
            yield f"{found[1]} us", float(found[2])


def rows(run):
    sys.path.insert(0, f"{HERE}/peers")
    import rows_peers
    library = [f"LD_LIBRARY_PATH={run.library}"] if run.library else []
    racer = rows_peers.Racer(["env", *library, run.path("rows_bench")], False)
    for count in map(int, run.options.sizes.split(",")):
        for kind in ("integers", "floats"):
            for row, (section, expression) in enumerate(rows_peers.lines_of_page()):
                if section not in rows_peers.UNTIMED and (answer := racer.ask(row, count, kind)):
                    yield f"{count} {kind} {expression} us", answer[0] * 1e-3


GROUPS = {"lines": lines, "size": size, "build": build, "models": models, "zoo": zoo, "networks": networks,
          "programs": programs, "rows": rows}


def fastest(measure, runs, rounds):
    """By run, the smallest of each figure over the rounds, in which the runs take turns."""
    tables = [{} for _ in runs]
    for _ in range(rounds):
        for run, table in zip(runs, tables):
            for name, value in measure(run):
                table[name] = min(table.get(name, math.inf), value)
    return tables


def summary(group, ratios):
    positive = {name: ratio for name, ratio in ratios.items() if ratio > 0}
    if not positive:
        return
    mean = math.exp(sum(map(math.log, positive.values())) / len(positive))
    most = WORTH_TELLING.get(group, 1.03)
    print(f"# {group}: {len(positive)} figures, geometric mean {mean:.3f}; above {most}:")
    for name, ratio in sorted(positive.items(), key=lambda pair: -pair[1]):
        if ratio > most:
            print(f"#   {ratio:.2f}  {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--against")
    parser.add_argument("--beside")
    parser.add_argument("--only", default="lines,size,models,zoo,networks,programs,rows")
    parser.add_argument("--sizes", default="10000,1000000")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--weights", default=os.path.join(tempfile.gettempdir(), "tyto_yardstick"))
    options = parser.parse_args()
    os.makedirs(options.weights, exist_ok=True)
    earlier = {}
    if options.against:
        with open(options.against, encoding="utf-8") as file:
            earlier = dict(line.rstrip("\n").split("\t")[:2] for line in file if "\t" in line)
    for group in options.only.split(","):
        timed = group not in ("lines", "size", "build")
        others = [Run(options, options.beside)] if options.beside and group not in ("lines", "build") else []
        runs = [Run(options), *others]
        tables = fastest(GROUPS[group], runs, options.rounds if timed else 1)
        ratios = {}
        for name, value in tables[0].items():
            full = f"{group}: {name}"
            before = tables[1].get(name) if len(tables) > 1 else earlier.get(full)
            if before is None:
                print(f"{full}\t{value:.6g}", flush=True)
                continue
            ratios[name] = value / float(before) if float(before) else 1.0
            print(f"{full}\t{value:.6g}\t{float(before):.6g}\t{ratios[name]:.3f}", flush=True)
        summary(group, ratios)


if __name__ == "__main__":
    main()
