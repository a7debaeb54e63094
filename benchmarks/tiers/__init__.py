"""Three tiers of problems on which ``auto`` is compared with SciPy's methods."""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
