import triton
import triton.language as tl


@triton.jit
def fwd(Q, K, V, Out, scale, n_ctx, D: tl.constexpr, BLOCK_M: tl.constexpr = 128, BLOCK_N: tl.constexpr = 64):
    rows, keys, d = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N), tl.arange(0, D)
    q = tl.load(Q + rows[:, None] * D + d[None, :])
    m_i = tl.full([BLOCK_M], -float("inf"), tl.float32)
    l_i = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, D], tl.float32)
    for start in range(0, n_ctx, BLOCK_N):
        tile = (start + keys)[:, None] * D + d[None, :]
        s = tl.dot(q, tl.trans(tl.load(K + tile))) * scale
        m_new = tl.maximum(m_i, tl.max(s, 1))
        p = tl.exp2(s - m_new[:, None])
        alpha = tl.exp2(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.bfloat16), tl.load(V + tile), acc * alpha[:, None])
        m_i = m_new
    tl.store(Out + rows[:, None] * D + d[None, :], acc / l_i[:, None])
