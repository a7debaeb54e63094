"""Losses with a saddle at the start, and the optimisers that race from there."""
