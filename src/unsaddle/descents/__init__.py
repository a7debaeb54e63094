"""Descents: what a method does where the gradient is large. One file each."""
