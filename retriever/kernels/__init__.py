"""Kernel source to facts, by parsing and never by running it."""
