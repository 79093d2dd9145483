"""The law of arrivals that was asked for beside what was drawn, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["arrivals_text"]

_FIGURES = {"rate": "rate", "cv": "CV of the gaps", "dispersion": "index of dispersion"}


def arrivals_text(drawn: Mapping[str, Any], unit: str) -> str:
    """A sentence on the arrivals of the first replication; "" where nothing came over time.

    Parameters:
        drawn: as `Scenario.drawn_figures` gives it, or a manifest has it.
        unit: ``"steps"`` or ``"s"``.

    >>> came = {"requests": 500, "rate": 2.1, "cv": 0.98, "dispersion": None, "window": 5.0}
    >>> arrivals_text({"configured": [{"label": "", "kind": "poisson", "rate": 2.0}], "realised": came}, "s")
    'Asked for: poisson, rate 2 per s. Drawn in the first replication: 500 requests, rate ...'
    """
    came = drawn.get("realised") or {}
    if came.get("rate") is None:
        return ""
    asked = [_law(law, unit) for law in drawn.get("configured", ())]
    figures = ", ".join([f"{came['requests']:,} requests", *_figures(came, unit)])
    return f"Asked for: {'; '.join(asked)}. Drawn in the first replication: {figures}."


def _law(law: Mapping[str, Any], unit: str) -> str:
    label = f"{law['label']}: " if law.get("label") else ""
    return label + ", ".join([str(law.get("kind")), *_figures(law, unit)])


def _figures(figures: Mapping[str, Any], unit: str) -> list[str]:
    per = f" per {'step' if unit == 'steps' else unit}"
    known = ((name, figures.get(name)) for name in _FIGURES)
    return [
        f"{_FIGURES[name]} {value:.4g}{per if name == 'rate' else ''}"
        for name, value in known
        if value is not None
    ]
