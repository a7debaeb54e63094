"""Escapes: what a method does where the gradient is small. One file each."""
