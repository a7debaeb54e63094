"""One algorithm: every method asks the same questions on every backend."""
