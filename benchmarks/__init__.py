"""Measurements of speed and memory: ratios taken side by side in one run, never a timed test."""
