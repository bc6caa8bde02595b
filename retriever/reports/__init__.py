"""Nsight Compute reports in any text form to one Profile per kernel launch."""
