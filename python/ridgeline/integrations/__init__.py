"""Ridgeline in training frameworks. Each module is imported by whoever uses it; none imports its framework."""
