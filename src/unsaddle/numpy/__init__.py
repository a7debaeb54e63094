"""The NumPy backend: its operations, its loop and its public functions."""
