"""Preflight: every reason why a plan would fail, before any money is spent. Pure."""
