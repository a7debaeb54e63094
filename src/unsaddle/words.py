"""Words that were not understood: which one was probably meant, and what is missing."""

import difflib
from typing import Any


def meant(word: str, known: Any) -> str:
    """Ask whether the nearest of the known words was meant, if one is near."""
    close = difflib.get_close_matches(str(word).lower(), known, n=1)
    return f"did you mean {close[0]!r}? " if close else ""


def nearest(word: str, known: Any) -> str:
    """Say which of the known words was probably meant."""
    asked = meant(word, known)
    return f"{asked}{'The' if asked else 'the'} known ones are {', '.join(known)}"


def require(missing: list[str], who: str, otherwise: str = "") -> None:
    """Complain of all the constants that are missing, if there are any."""
    if missing:
        are, them = ("are", "them") if missing[1:] else ("is", "it")
        bounds = ", ".join(f"{name}=<a bound>" for name in missing)
        raise ValueError(
            f"{', '.join(missing)} {are} missing: {who} needs {them}; pass {bounds}{otherwise}"
        )
