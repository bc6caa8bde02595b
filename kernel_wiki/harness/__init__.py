"""Run a zoo implementation in its own process, check it, time it against its baselines, and write the record.

Needs torch, what torch's CUDA wheel brings (triton, cuda-bindings), numpy and the CUDA toolkit, and nothing else of Warplore, so that it
runs on a bare GPU host.
"""
