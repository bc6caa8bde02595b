"""The GPU table: names people use resolve, facts that must differ do, and a broken table is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from indexer.errors import CorpusError, InputError
from indexer.gpus import GpuTable, load_gpus, resolve_gpu

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def table() -> GpuTable:
    return load_gpus(ROOT)


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("h200", "h200-sxm"),
        ("NVIDIA H200", "h200-sxm"),
        ("H200 SXM", "h200-sxm"),
        ("h200-141gb", "h200-sxm"),
        ("h100", "h100-sxm"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm"),
        ("H100-PCIe", "h100-pcie"),
        ("NVIDIA H100 PCIe", "h100-pcie"),
        ("a100", "a100-sxm-80gb"),
        ("A100-80G", "a100-sxm-80gb"),
        ("NVIDIA A100-SXM4-80GB", "a100-sxm-80gb"),
        ("a100 40gb", "a100-sxm-40gb"),
        ("NVIDIA A100-PCIE-40GB", "a100-pcie-40gb"),
        ("Tesla T4", "t4"),
        ("V100", "v100-sxm2-16gb"),
        ("Tesla V100-SXM2-32GB", "v100-sxm2-32gb"),
        ("4090", "rtx-4090"),
        ("rtx 4090", "rtx-4090"),
        ("RTX4090", "rtx-4090"),
        ("NVIDIA GeForce RTX 4090", "rtx-4090"),
        ("5090", "rtx-5090"),
        ("GeForce RTX 5090", "rtx-5090"),
        ("rtx pro 6000", "rtx-pro-6000"),
        ("RTX 6000 Ada", "rtx-6000-ada"),
        ("b200", "b200"),
        ("GH200", "gh200-96gb"),
        ("gh200 144gb", "gh200-144gb"),
        ("dgx spark", "gb10"),
        ("NVIDIA GB10", "gb10"),
        ("jetson agx thor", "jetson-thor"),
        ("Jetson AGX Orin", "jetson-agx-orin-64gb"),
    ],
)
def test_a_product_resolves_from_the_spelling_a_person_uses(table: GpuTable, name: str, id: str) -> None:
    gpu = resolve_gpu(name, table)
    assert gpu.id == id
    assert gpu.product is not None
    assert gpu.asked == name


def test_every_product_resolves_from_its_own_id_name_and_aliases(table: GpuTable) -> None:
    for id, product in table.gpus.items():
        for name in (id, product.name, *product.aliases):
            assert resolve_gpu(name, table).id == id, name


@pytest.mark.parametrize("name", ["9.0", "sm_90", "sm_90a", "90", "compute_90", "cc 9.0", "sm90"])
def test_a_bare_compute_capability_resolves_without_a_product(table: GpuTable, name: str) -> None:
    gpu = resolve_gpu(name, table)
    assert (gpu.id, gpu.compute_capability, gpu.sm, gpu.product) == ("sm_90", "9.0", 90, None)


def test_an_unknown_name_lists_the_nearest_names(table: GpuTable) -> None:
    with pytest.raises(InputError) as caught:
        resolve_gpu("rtx-4099", table)
    assert str(caught.value) == (
        'unknown GPU "rtx-4099"; nearest: rtx-4090, rtx-4090-d, rtx-3090. `warplore gpu` lists all; '
        "a compute capability such as 9.0 works too"
    )


def test_a_name_like_nothing_lists_capabilities_instead(table: GpuTable) -> None:
    with pytest.raises(InputError) as caught:
        resolve_gpu("?!", table)
    assert str(caught.value) == (
        'unknown GPU "?!"; nearest: 10.0, 10.3, 11.0, 12.0, 12.1, 7.0. `warplore gpu` lists all; a compute capability such as 9.0 works too'
    )


def test_an_unlisted_capability_is_unknown(table: GpuTable) -> None:
    with pytest.raises(InputError, match='unknown GPU "sm_61"'):
        resolve_gpu("sm_61", table)


def test_h200_has_the_compute_of_h100_and_more_bandwidth_and_memory(table: GpuTable) -> None:
    h100, h200 = table.gpus["h100-sxm"], table.gpus["h200-sxm"]
    assert h200.peaks_tflops == h100.peaks_tflops
    assert (h100.bandwidth_gbps, h200.bandwidth_gbps) == (3350, 4800)
    assert (h100.memory_bytes, h200.memory_bytes) == (80e9, 141e9)


def test_export_variants_keep_their_reduced_figures(table: GpuTable) -> None:
    h100, h20, h800 = (table.gpus[id] for id in ("h100-sxm", "h20-96gb", "h800-sxm"))
    assert h20.peaks_tflops["bf16"] < 0.2 * h100.peaks_tflops["bf16"]
    assert h20.bandwidth_gbps > h100.bandwidth_gbps
    assert (h800.peaks_tflops["fp64"], h100.peaks_tflops["fp64"]) == (1, 34)


@pytest.mark.parametrize(
    ("name", "absent", "present"),
    [
        ("v100", {"cp-async", "mma-sync-bf16", "ldmatrix"}, {"mma-sync"}),
        ("t4", {"cp-async", "mma-sync-bf16", "redux"}, {"ldmatrix", "mma-sync-int8"}),
        ("a100", {"tma", "wgmma", "tcgen05", "clusters", "mma-sync-fp8"}, {"cp-async", "mma-sync-bf16", "redux"}),
        ("rtx 4090", {"tma", "wgmma", "stmatrix"}, {"mma-sync-fp8", "fp8-convert"}),
        ("h100", {"tcgen05", "tensor-memory", "fp4-convert", "fma-f32x2"}, {"tma", "wgmma", "setmaxnreg", "multimem"}),
        ("b200", {"wgmma", "mma-sync-block-scaled"}, {"tma", "tcgen05", "tensor-memory", "cta-pair", "redux-f32"}),
        ("thor", {"wgmma", "redux-f32", "mma-sync-block-scaled"}, {"tcgen05", "cta-pair", "tma"}),
        ("5090", {"wgmma", "tcgen05", "tensor-memory", "cta-pair", "redux-f32"}, {"tma", "clusters", "mma-sync-block-scaled"}),
    ],
)
def test_features_follow_the_assembler(table: GpuTable, name: str, absent: set[str], present: set[str]) -> None:
    features = resolve_gpu(name, table).features
    assert not absent & features
    assert present <= features


def test_wgmma_belongs_to_capability_9_0_alone(table: GpuTable) -> None:
    assert [key for key, body in table.compute_capabilities.items() if "wgmma" in body.features] == ["9.0"]


def test_peaks_are_dense(table: GpuTable) -> None:
    advertised_with_sparsity = {"h100-sxm": 1979, "a100-sxm-80gb": 624, "l40s": 733, "b200": 4500, "rtx-pro-6000": 1010}
    for id, sparse in advertised_with_sparsity.items():
        assert table.gpus[id].peaks_tflops["fp16"] == pytest.approx(sparse / 2, rel=0.02), id


def test_peaks_use_the_names_the_schema_documents(table: GpuTable) -> None:
    allowed = {"fp64", "fp64-tensor", "fp32", "tf32", "fp16", "bf16", "fp8", "fp6", "fp4", "int8", "int4"}
    used = {dtype for product in table.gpus.values() for dtype in product.peaks_tflops}
    assert used <= allowed


def test_the_table_is_broad(table: GpuTable) -> None:
    assert len(table.gpus) >= 35
    assert set(table.compute_capabilities) == {"7.0", "7.5", "8.0", "8.6", "8.7", "8.9", "9.0", "10.0", "10.3", "11.0", "12.0", "12.1"}


def test_every_source_is_used(table: GpuTable) -> None:
    used = {key for body in (*table.gpus.values(), *table.compute_capabilities.values()) for key in body.sources}
    assert used == set(table.sources)


SMALL = """
schema: 1
sources: {sheet: {title: A data sheet}}
compute_capabilities:
  "9.0": {architecture: Hopper, features: [tma], warps_per_sm: 64, blocks_per_sm: 32, registers_per_sm: 65536,
          registers_per_thread: 255, smem_per_sm_bytes: 233472, smem_per_block_bytes: 232448, sources: [sheet]}
gpus:
  x100: {name: NVIDIA X100, aliases: [x one], compute_capability: "9.0", sms: 100, sources: {sheet: [compute_capability, sms]}}
"""


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (
            ("[compute_capability, sms]", "[compute_capability]"),
            "kernel_wiki/gpus.yaml:8: gpus.x100: no source for sms",
        ),
        (
            ("[compute_capability, sms]", "[compute_capability, sms, price]"),
            "kernel_wiki/gpus.yaml:8: gpus.x100: sources name fields that do not exist: price",
        ),
        (
            ("{sheet: [compute_capability, sms]}", "{rumour: [compute_capability, sms]}"),
            "kernel_wiki/gpus.yaml:8: gpus.x100: unknown source rumour",
        ),
        (("features: [tma]", "features: [tmaa]"), 'kernel_wiki/gpus.yaml:5: compute_capabilities.9.0: unknown feature "tmaa"'),
        (
            ('compute_capability: "9.0"', 'compute_capability: "9.1"'),
            "kernel_wiki/gpus.yaml:8: gpus.x100: compute capability 9.1 is not in compute_capabilities",
        ),
    ],
)
def test_a_broken_table_is_refused_with_the_reason(tmp_path: Path, edit: tuple[str, str], message: str) -> None:
    with pytest.raises(CorpusError) as caught:
        load_gpus(_corpus(tmp_path, SMALL.replace(*edit)))
    assert caught.value.problems == [message]


def test_two_products_may_not_share_a_name(tmp_path: Path) -> None:
    document = yaml.safe_load(SMALL)
    document["gpus"]["y100"] = document["gpus"]["x100"] | {"name": "GeForce X 100", "aliases": []}
    with pytest.raises(CorpusError) as caught:
        load_gpus(_corpus(tmp_path, yaml.safe_dump(document)))
    assert caught.value.problems == ['kernel_wiki/gpus.yaml:25: gpus.y100: the name "x100" also means x100']


def test_the_balance_table_of_the_bandwidth_page_agrees_with_the_gpu_table(table: GpuTable) -> None:
    page = (ROOT / "kernel_wiki/hardware/memory-hierarchy-and-bandwidth.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if (match := re.match(r"\| ([\w-]+) \|", line)) and match[1] in table.gpus]
    assert len(rows) >= 20
    for row in rows:
        assert row == _balance_row(row.split("|")[1].strip(), table)


def _balance_row(id: str, table: GpuTable) -> str:
    """The page's row for a product: bandwidth, bandwidth an SM, L2 in MiB, operations a byte in fp32, fp16 and fp8."""
    product = table.gpus[id]
    bandwidth = product.bandwidth_gbps
    cells = [
        id,
        f"{bandwidth:,.0f}",
        f"{bandwidth / product.sms:.1f}" if product.sms else "",
        f"{product.l2_bytes / 2**20:.4g}" if product.l2_bytes else "",
        *(
            f"{1000 * product.peaks_tflops[dtype] / bandwidth:.0f}" if dtype in product.peaks_tflops else ""
            for dtype in ("fp32", "fp16", "fp8")
        ),
    ]
    return "| " + " | ".join(cells) + " |"


def _corpus(root: Path, gpus: str) -> Path:
    """A corpus root that holds the real vocabulary and the given GPU table."""
    (root / "kernel_wiki").mkdir()
    for name, text in (("gpus.yaml", gpus), ("vocabulary.yaml", (ROOT / "kernel_wiki/vocabulary.yaml").read_text(encoding="utf-8"))):
        (root / "kernel_wiki" / name).write_text(text, encoding="utf-8")
    return root
