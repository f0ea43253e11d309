# SPDX-License-Identifier: MIT
"""Writes bert/: a BERT of a few numbers as Hugging Face saves it, sentences, and their vectors for the example search.

Run from the root of the repository; needs NumPy, safetensors and tokenizers. Tokens are those of the package tokenizers,
the network is written here in NumPy (f64).
"""
import json
import math
import pathlib

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

folder = pathlib.Path(__file__).parent / "bert"
folder.mkdir(exist_ok=True)
words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "owl", "##s", "##et", "see", "a", "cafe", "strasse", "æon", ".", ",", "!",
         "in", "dark", "##ness", "-", "¿", "…"]
tokenizer = Tokenizer(models.WordPiece({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
tokenizer.normalizer = normalizers.BertNormalizer()
tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]",
                                                         special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
tokenizer.save(str(folder / "tokenizer.json"))

sentences = ["The owl sees a owlet.", "OWLS, owls,  in the dark-darkness!", "A Café in Æon…", "¿Strasse\tÀ quickly", "owlx sees",
             "the " * 20 + "owl"]
(folder / "sentences.txt").write_text("\n".join(sentences) + "\n")

config = {"vocab_size": len(words), "type_vocab_size": 2, "max_position_embeddings": 18, "hidden_size": 8,
          "num_attention_heads": 2, "intermediate_size": 12, "num_hidden_layers": 2, "layer_norm_eps": 1e-12}
(folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")

random = np.random.default_rng(3)
features, hidden = config["hidden_size"], config["intermediate_size"]
states = {}


def state(name, *shape, mean=0.0, deviation=0.4):
    states[name] = random.normal(mean, deviation, shape).astype(np.float32)


def linear(name, fan_in, fan_out):
    state(name + ".weight", fan_out, fan_in)
    state(name + ".bias", fan_out)


def norm(name):
    state(name + ".weight", features, mean=1.0, deviation=0.1)
    state(name + ".bias", features, deviation=0.1)


state("embeddings.word_embeddings.weight", len(words), features, deviation=2.0)
state("embeddings.position_embeddings.weight", config["max_position_embeddings"], features)
state("embeddings.token_type_embeddings.weight", 2, features)
norm("embeddings.LayerNorm")
for i in range(config["num_hidden_layers"]):
    layer = f"encoder.layer.{i}."
    for part in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
        linear(layer + part, features, features)
    norm(layer + "attention.output.LayerNorm")
    linear(layer + "intermediate.dense", features, hidden)
    linear(layer + "output.dense", hidden, features)
    norm(layer + "output.LayerNorm")
linear("pooler.dense", features, features)
states["embeddings.position_ids"] = np.arange(config["max_position_embeddings"])[None]
save_file(states, folder / "model.safetensors")
(folder / "model.safetensors").chmod(0o644)


def apply_linear(name, x):
    return x @ states[name + ".weight"].astype(np.float64).T + states[name + ".bias"]


def apply_norm(name, x):
    x = x - x.mean(-1, keepdims=True)
    x = x / np.sqrt((x * x).mean(-1, keepdims=True) + config["layer_norm_eps"])
    return x * states[name + ".weight"] + states[name + ".bias"]


def gelu(x):
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def attention(name, x):
    heads = config["num_attention_heads"]
    query, key, value = (apply_linear(f"{name}.self.{part}", x).reshape(len(x), heads, -1).swapaxes(0, 1)
                         for part in ("query", "key", "value"))
    scores = query @ key.swapaxes(1, 2) / math.sqrt(query.shape[-1])
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return apply_linear(f"{name}.output.dense", (weights @ value).swapaxes(0, 1).reshape(len(x), -1))


vectors = []
for sentence in sentences:
    tokens = tokenizer.encode(sentence).ids
    if len(tokens) > config["max_position_embeddings"]:
        tokens = tokens[:config["max_position_embeddings"] - 1] + tokens[-1:]
    print(tokens)
    x = states["embeddings.word_embeddings.weight"][tokens].astype(np.float64)
    x = x + states["embeddings.position_embeddings.weight"][:len(tokens)] + states["embeddings.token_type_embeddings.weight"][0]
    x = apply_norm("embeddings.LayerNorm", x)
    for i in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{i}."
        x = apply_norm(layer + "attention.output.LayerNorm", x + attention(layer + "attention", x))
        small = apply_linear(layer + "output.dense", gelu(apply_linear(layer + "intermediate.dense", x)))
        x = apply_norm(layer + "output.LayerNorm", x + small)
    mean = x.mean(0)
    vectors.append(mean / np.linalg.norm(mean))
np.save(folder / "vectors.npy", np.array(vectors, np.float32))
