"""A callback that counts steps and can ask to stop."""

from __future__ import annotations

from xcwork.progress import Callback


class Stopper(Callback):
    """Counts steps, and asks to stop at step number `stop_at`."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.steps, self.stop_at = 0, stop_at

    def on_step(self, phase: str, step: int, total: int | None) -> bool:
        self.steps += 1
        return self.stop_at is not None and self.steps > self.stop_at
