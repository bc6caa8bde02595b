"""Small kernels that show what an instruction does on the GPU at hand, each against a plain model, and what it costs.

Needs torch, numpy, cuda-bindings and the CUDA toolkit, as the harness does. Listing the probes needs numpy alone.
"""
