"""No search of its own: what the descent reports goes to the proof at once."""

from unsaddle.core.kernel import Phase, go_to, iterate
from unsaddle.core.phases import BEGIN, NOTHING, PROVE
from unsaddle.escapes.never import never

at_once = never._replace(phases={BEGIN: Phase(iterate, NOTHING, go_to(PROVE))})
