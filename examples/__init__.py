"""Losses with a saddle at the start; run one with ``python -m examples.matrix_factorisation``."""
