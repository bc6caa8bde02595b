import triton
import triton.language as tl


@triton.jit
def column_norm(x_ptr, y_ptr, table_ptr, n_rows, n_cols, BLOCK: tl.constexpr):
    column = tl.program_id(0)
    rows = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n_rows, BLOCK):
        page = tl.load(table_ptr + start)
        x = tl.load(x_ptr + (start + rows) * n_cols + column)
        total += x * x + page
    scale = tl.rsqrt(tl.sum(total, axis=0) / n_rows)
    for start in range(0, n_rows, BLOCK):
        x = tl.load(x_ptr + (start + rows) * n_cols + column)
        tl.store(y_ptr + (start + rows) * n_cols + column, x * scale)


def run(x, y, table):
    column_norm[(1,)](x, y, table, x.shape[0], x.shape[1], BLOCK=1024)
