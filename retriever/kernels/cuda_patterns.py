"""Techniques, features and dtypes that a pattern shows in CUDA C++ whose comments are blanked."""

from __future__ import annotations

from retriever.kernels.patterns import Pattern
from retriever.kernels.ptx import INSTRUCTION_FEATURES, INSTRUCTION_TECHNIQUES

LOG2_E = r"\b1\.442[67]\d*"
"""log2(e) as a factor: it is multiplied into a scale, so that exp becomes exp2."""
_VECTOR = r"(?:u?int[24]|u?longlong2|float[24]|double2|u?short4|u?char4|half2|__half2|__nv_bfloat162)"

TECHNIQUES: tuple[Pattern, ...] = (
    ("vectorized-access", rf"reinterpret_cast\s*<\s*(?:const\s+)?(?:volatile\s+)?{_VECTOR}\s*(?:const\s*)?\*"),
    ("vectorized-access", rf"\(\s*(?:const\s+)?{_VECTOR}\s*(?:const\s*)?\*\s*\)|\b(?:const\s+)?{_VECTOR}\s*\*\s*(?:__restrict__\s*)?\w+"),
    ("vectorized-access", rf"\btypedef\s+{_VECTOR}\s+\w+\s*;|\busing\s+\w+\s*=\s*{_VECTOR}\s*;"),
    (
        "async-copy",
        r"\b(?:__pipeline_memcpy_async|cuda::memcpy_async|memcpy_async|cuda::pipeline)\b|cp_async_cg\w*|cp_async_ca\w*|SM80_CP_ASYNC\w*",
    ),
    ("tma-bulk-copy", r"\bCUtensorMap\b|\bcp_async_bulk\w*|\btma_load\w*|\bSM90_TMA_LOAD\w*|cuTensorMapEncodeTiled"),
    ("tma-multicast", r"SM90_TMA_LOAD_MULTICAST|tma_load_multicast"),
    ("software-pipelining", r"\b__pipeline_wait_prior\s*\(\s*[1-9]"),
    (
        "software-pipelining",
        r"%\s*(?:k?NUM_STAGES|k?STAGES|kStages|k?NumStages|num_stages|STAGE_COUNT)\b|\b(?:STAGES|NUM_STAGES|kStages)\s*-\s*[12]\b",
    ),
    (
        "software-pipelining",
        r"__shared__[^;]*\[\s*2\s*\]\s*\[[^\]]+\]\s*\[|\b(?:stage|buf|buffer|ping|phase|cur|write_stage)\w*\s*(?:\^=\s*1|=\s*1\s*-\s*\w+)",
    ),
    ("tensor-core-mma", r"\b(?:nvcuda::)?wmma::mma_sync|\bmma_sync\s*\(|\bSM80_16x8x\w+|\bmma_m\d+n\d+k\d+\w*"),
    ("wgmma-pipeline", r"\bwarpgroup_(?:arrive|wait|commit)\w*|\bSM90_64x\w+"),
    ("tcgen05-mma", r"\bSM100_MMA\w*|\btcgen05_mma\w*"),
    (
        "warp-shuffle-reduction",
        r"\b__shfl_(?:xor|down)_sync|\b__reduce_(?:add|max|min|and|or|xor)_sync|\bcg::reduce\b|\b__shfl_(?:xor|down)\b|\bWarpReduce\b",
    ),
    ("occupancy-tuning", r"__launch_bounds__\s*\([^)]*\)|\b__maxnreg__\b"),
    ("warp-aggregated-atomics", r"\b__match_any_sync\b|\bcoalesced_threads\s*\("),
    ("fast-math", r"\b__(?:exp|log|log2|log10|exp10|sin|cos|pow|tan)f\s*\(|\bexp2f\s*\(|\b__fdividef\s*\(|\bh2?exp2?\s*\(|\b__frsqrt_rn\b"),
    ("packed-math", r"\b__h(?:fma|add|mul|sub|max|min|div)2\w*\s*\(|\bh2(?:exp|rcp|rsqrt)\w*\s*\(|\b__dp4a\s*\("),
    (
        "thread-block-clusters",
        r"\b__cluster_dims__|\bthis_cluster\s*\(|\bmap_shared_rank\b|\bcluster_group\b|cudaLaunchAttributeClusterDimension",
    ),
    ("programmatic-launch", r"\bcudaGridDependencySynchronize|\bcudaTriggerProgrammaticLaunchCompletion|ProgrammaticStreamSerialization"),
    ("cache-hints", r"\b__(?:ld(?:g|cs|cg|ca|cv|lu)|st(?:cs|cg|wb|wt))\s*\(|\bcudaAccessPropertyPersisting\b|EVICT_(?:FIRST|LAST)"),
    (
        "persistent-kernel",
        r"\+=\s*[^;{}]*\bgridDim\b|\bblockIdx\.x\s*\+\s*\w+\s*\*\s*gridDim\.x|\b(?:TileScheduler|tile_scheduler|get_next_tile)\b",
    ),
    ("stream-k", r"(?i)\bstream_?k\w*"),
    ("split-k", r"(?i)\bsplit_?k(?:v|_\w+|\w*)\b|\bnum_splits?\b|\bk_splits?\b"),
    ("two-stage-reduction", r"\bpartials?\w*\s*\[\s*blockIdx\.x\s*\]\s*=|\b__threadfence\s*\(\s*\)"),
    ("online-softmax", r"\*=\s*\w*exp\w*\(\s*\(?\s*\w+(?:\[[^\]]*\])?\s*-\s*\w*(?:new|cur|next|m)\w*"),
    ("online-softmax", r"\b(\w*(?:sum|denom|d|l|l_i|norm)\w*)\s*=\s*\1\s*\*\s*\w*exp\w*\(\s*\w+\s*-\s*\w+"),
    ("strength-reduction", rf"{LOG2_E}|\bM_LOG2E\b|(?i:\b\w*log2_?e\b)"),
    (
        "relaxed-fences",
        r"\bmemory_order(?:_|::)(?:relaxed|acquire|release|acq_rel)\b|\b__threadfence_block\s*\(|\bthread_scope_(?:block|device)\b",
    ),
    ("fast-division", r"\b__umulhi\s*\(|(?i:\bfast_?div\w*)"),
    ("tile-rasterization", r"\b(?:GROUP_M|GROUP_SIZE_M|group_size_m|group_m|kGroupM|rasteriz\w+|block_swizzle\w*|swizzle_tile\w*)\b"),
    ("warp-specialization", r"\b(?:is_)?producer_warp\w*|\bwarpgroup_reg_(?:de)?alloc\w*|\bconsumer_warp\w*"),
    ("cuda-graphs", r"\bcudaGraphLaunch\b|\bcudaStreamBeginCapture\b"),
    ("work-balancing", r"\bcu_seqlens\w*"),
    ("low-precision", r"\b__nv_fp(?:8|4|6)\w*|\bfloat_e[245]m[123]\w*"),
    *INSTRUCTION_TECHNIQUES,
)
SWIZZLE = (
    r"\b(\w+)\s*\^\s*\(+\s*(?!\1\b)\w+[^;^]{0,40}?(?:%|&(?!&)|/)"
    r"|\b(?:\w*_)?swizzle(?:d|_\w+)?\s*\(|\bSwizzle\s*<|\[[^\]\[;]*\w\s*\^\s*\w[^\]\[;]*\]"
)
"""An index XORed with bits of another one; `v ^= v >> 5`, a hash, is none."""
PADDED_DIMENSION = r"\[[^\[\]]*\+\s*(?:\w*(?:PAD|pad|SKEW|skew)\w*|1|2|4|8|16)\s*\]"

FEATURES: tuple[Pattern, ...] = (
    ("cp-async", r"\b__pipeline_memcpy_async\b|\bSM80_CP_ASYNC\w*"),
    ("tma", r"\bCUtensorMap\b|\bcp_async_bulk\w*|\bSM90_TMA_\w+"),
    ("mbarrier", r"\bcuda::barrier\s*<|\bmbarrier_\w+"),
    ("wgmma", r"\bSM90_64x\w+"),
    ("tcgen05", r"\bSM100_MMA\w*"),
    ("clusters", r"\b__cluster_dims__|\bthis_cluster\s*\(|cudaLaunchAttributeClusterDimension"),
    ("dsmem", r"\bmap_shared_rank\b"),
    ("griddepcontrol", r"\bcudaGridDependencySynchronize|\bcudaTriggerProgrammaticLaunchCompletion"),
    ("mma-sync-bf16", r"\bwmma::fragment\s*<[^;]*(?:bfloat16|tf32)"),
    ("mma-sync-int8", r"\bwmma::fragment\s*<\s*wmma::matrix_a[^;>]*(?:signed char|int8_t|unsigned char)"),
    ("mma-fp64", r"\bwmma::fragment\s*<\s*wmma::matrix_a[^;>]*double"),
    ("mma-sync", r"\bwmma::fragment\s*<[^;]*\b(?:half|__half)\b"),
    ("redux", r"\b__reduce_(?:add|max|min|and|or|xor)_sync"),
    ("dp4a", r"\b__dp4a\s*\("),
    ("bf16-arith", r"\b__h(?:fma|add|mul)2?\s*\([^;]*bf(?:loat)?16"),
    ("l2-persistence", r"\bcudaAccessPropertyPersisting\b"),
    *INSTRUCTION_FEATURES,
)
DTYPES: tuple[Pattern, ...] = (
    ("fp64", r"\bdouble[24]?\b(?!\s*\()"),
    ("fp4", r"\b__nv_fp4\w*|\bfloat_e2m1\w*"),
    ("fp6", r"\b__nv_fp6\w*"),
    ("fp8", r"\b__nv_fp8\w*|\bfloat_e[45]m[23]\w*"),
    ("bf16", r"\b(?:__)?nv_bfloat16(?:2|_raw)?\b|\b(?:c10|at)::BFloat16\b|\bbfloat16_t\b|\bbf16x2\b"),
    (
        "fp16",
        r"\b__half2?\b|\bhalf2\b|\bhalf\s*[*&>,]\s*(?:__restrict__|\w)|\bhalf\s+[a-z_]\w*\s*[;=\[,)(]|\b(?:c10|at)::Half\b|\bhalf_t\b",
    ),
    ("fp32", r"\bfloat[234]?\b(?!_)"),
    ("int8", r"\bu?int8_t\b|\bsigned char\b|\bchar4\b|\b__dp4a\b"),
)
INTEGER_POINTERS: tuple[Pattern, ...] = (
    ("int32", r"\b(?:int|unsigned|u?int32_t)\s*\*"),
    ("int64", r"\b(?:u?int64_t|long long|size_t)\s*\*"),
)
"""Integers count as data only where they are pointed to: as scalars they are sizes."""
